#pragma once
// One question on its way: its prompt and tokens, where its numbers stand in a job, and its answer out of them.

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "assay/decision.h"
#include "engine/encoder.h"
#include "engine/job.h"
#include "service/prior_cache.h"

namespace assay::service {

// The letter labels that a model can answer with one token, in order of use.
struct Labels {
  std::vector<std::string> codes;
  std::vector<engine::TokenId> tokens;
};
// Those of decision::label_codes() that are one token of their own after a prompt.
Labels find_labels(const engine::Encoder& encoder);

// Where the logit of one scored token stands in a job's results.
struct TokenRead {
  std::size_t read = 0;
  std::size_t target = 0;
};

// A job under construction: reads are merged by row, so that questions that share rows share reads.
class JobBuilder {
 public:
  std::int32_t add_prompt(const engine::Tokens& tokens) { return job_.tree.add_path(tokens); }
  std::int32_t add_lead(std::int32_t row, const engine::Tokens& tokens) { return job_.tree.add_path(tokens, row); }
  TokenRead add_target(std::int32_t row, engine::TokenId token);
  void add_hidden_state(std::int32_t row);
  // The reads of an answer's tokens after `row`; the last token itself is not computed, only read.
  std::vector<TokenRead> add_answer(std::int32_t row, const engine::Tokens& tokens);

  const engine::Job& job() const { return job_; }
  engine::Job take() { return std::move(job_); }

 private:
  engine::Read& read_at(std::int32_t row);

  engine::Job job_;
  std::unordered_map<std::int32_t, std::size_t> read_of_row_;
};

// One way to put an option: what has been said before it, which is not scored, and its scored tokens.
struct AnswerPath {
  engine::Tokens lead;
  engine::Tokens tokens;
};

// What was prepared for one question before anything is computed.
struct QuestionPlan {
  Readout readout = Readout::kLetters;  // kLetters or kText
  std::string prompt_version;
  engine::EncodedPrompt prompt;
  std::vector<std::string> scored_texts;         // labels, or the options' words
  std::vector<std::vector<AnswerPath>> answers;  // by option, by lead; letters: one of one token, without a lead
  std::vector<engine::Tokens> neutral_prompts;   // text only
  // filled when the job is built
  std::int32_t prompt_row = 0;
  std::vector<std::vector<TokenRead>> reads;  // by option: the tokens of its answers, one after another
};

// Renders and tokenises. `readout` is kLetters or kText; letters with more options than labels becomes text.
Result<QuestionPlan> plan_question(const Value& state, const Question& question, Readout readout, const Labels& labels,
                                   const engine::Encoder& encoder);

// Adds the answers' rows and reads behind the prompt; the prompt itself is already in (plan.prompt_row).
void add_reads(QuestionPlan& plan, bool hidden_state, JobBuilder& builder);

// The key of a text question's priors, their rows and reads in a job, and the priors out of its result.
PriorKey prior_key(const QuestionPlan& plan);
using PriorReads = std::vector<std::vector<std::vector<TokenRead>>>;  // by neutral prompt, by option, by token
PriorReads add_prior_reads(const QuestionPlan& plan, JobBuilder& builder);
Priors priors_of(const PriorReads& reads, const engine::JobResult& result);

// The answer. `priors` only for text. Errors: kNonfiniteLogits.
Result<Answer> answer_question(const Question& question, const QuestionPlan& plan, const engine::JobResult& result,
                               const Priors* priors, bool explain, const engine::Encoder& encoder);

}  // namespace assay::service
