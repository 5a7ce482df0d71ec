#pragma once
// From prompts and answers in tokens to the engine's job: prompts become segments cut where their structure says, the
// answers behind a prompt a tree of which each unbranched run is a segment. A question's segments are the same alone
// and beside others: two prompts share theirs only where they are the same up to there, and their answers never.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "engine/encoder.h"
#include "engine/job.h"
#include "engine/token_tree.h"

namespace assay::service {

// Where the logit of one scored token stands in a job's results.
struct TokenRead {
  std::size_t read = 0;
  std::size_t target = 0;
};

// A row of the job under construction: the end of a prompt, or a row of the answers behind it.
struct RowRef {
  std::int32_t prompt = 0;                      // in the order added
  std::int32_t row = engine::TokenTree::kRoot;  // kRoot: the prompt's last token
  friend auto operator<=>(const RowRef&, const RowRef&) = default;
};

// What is worth a segment of its own where one prompt is all there is: fewer tokens are computed again sooner than in a
// decode of their own. Several prompts share theirs in one job, however few.
inline constexpr std::int32_t kSharedTokensMin = 40;

// A job under construction. Reads are merged by row.
class JobBuilder {
 public:
  // Shared parts of fewer tokens (the head's not counted) are not cut off the rest of their prompt.
  explicit JobBuilder(std::int32_t shared_tokens_min = 1) : shared_tokens_min_(shared_tokens_min) {}

  RowRef add_prompt(const engine::EncodedPrompt& prompt);
  RowRef add_lead(const RowRef& row, const engine::Tokens& tokens);
  // `vocabulary`: Read::vocabulary; once asked for in a row, it is for all of its targets.
  TokenRead add_target(const RowRef& row, engine::TokenId token, bool vocabulary = true);
  // The read's place in the job's results.
  std::size_t add_hidden_state(const RowRef& row);
  // The reads of an answer's tokens after `row`; the last token itself is not computed, only read.
  std::vector<TokenRead> add_answer(const RowRef& row, const engine::Tokens& tokens, bool vocabulary = true);

  // Tokens of all prompts, shared segments counted once.
  std::int32_t prompt_tokens() const;
  // The job. REQUIRES: called once, last.
  engine::Job take();

 private:
  struct Prompt {
    std::int32_t segment = 0;   // its last one
    engine::TokenTree answers;  // behind it
  };
  // Where a row lies in the job.
  struct Place {
    std::int32_t segment = 0;
    std::int32_t offset = 0;
  };

  std::int32_t add_segment(std::int32_t parent, engine::Tokens tokens, engine::Keep keep);
  std::size_t read_at(RowRef row);
  std::vector<Place> place_answers(const Prompt& prompt);

  const std::int32_t shared_tokens_min_;
  engine::Job job_;  // segments of the prompts; reads still without their rows
  std::vector<Prompt> prompts_;
  std::vector<RowRef> read_rows_;  // of job_.reads
  std::map<RowRef, std::size_t> read_of_row_;
};

}  // namespace assay::service
