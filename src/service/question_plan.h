#pragma once
// One question on its way: its prompt and tokens, where its numbers stand in a job, and its answer out of them.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "assay/decision.h"
#include "engine/encoder.h"
#include "engine/job.h"
#include "service/job_builder.h"
#include "service/prior_cache.h"

namespace assay::service {

// The letter labels that a model can answer with one token, in order of use.
struct Labels {
  std::vector<std::string> codes;
  std::vector<engine::TokenId> tokens;
};
// Those of decision::label_codes() that are one token of their own after a prompt.
Labels find_labels(const engine::Encoder& encoder);

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
  std::vector<std::string> scored_texts;               // labels, or the options' words
  std::vector<std::vector<AnswerPath>> answers;        // by option, by lead; letters: one of one token, without a lead
  std::vector<engine::EncodedPrompt> neutral_prompts;  // text only
  Layout layout = Layout::kStateFirst;
  bool vocabulary = true;    // the whole vocabulary's numbers are wanted; false only with letters
  bool allowed_mass = true;  // and told
  bool scored = true;        // false: no prompt, no answers; the cues alone
  std::vector<engine::EncodedPrompt> cues;
  // filled when the job is built
  std::vector<std::size_t> cue_reads;
  RowRef prompt_row;
  std::vector<std::vector<TokenRead>> reads;  // by option: the tokens of its answers, one after another
};

// Renders and tokenises. `readout` is kLetters or kText; letters with more options than labels becomes text. `layout`
// is not kAuto. The images stand in the question's own prompt and in no neutral one.
Result<QuestionPlan> plan_question(const Value& state, const Question& question, Readout readout, Layout layout,
                                   const Labels& labels, const engine::Encoder& encoder,
                                   std::span<const Image> images = {});

// Adds the prompts of the question: its own and its cues'.
void add_prompts(QuestionPlan& plan, JobBuilder& builder);
// Adds the answers' rows and reads behind the prompt; the prompt itself is already in (plan.prompt_row).
void add_reads(QuestionPlan& plan, bool hidden_state, JobBuilder& builder);

// The key of a text question's priors; a job for each neutral prompt, with where it reads; the priors out of their
// results.
PriorKey prior_key(const QuestionPlan& plan);
struct PriorJob {
  engine::Job job;
  std::vector<std::vector<TokenRead>> reads;  // by option, by token
};
std::vector<PriorJob> prior_jobs(const QuestionPlan& plan);
Priors priors_of(const std::vector<PriorJob>& jobs, const std::vector<engine::JobResult>& results);

// The answer. `priors` only for text. Errors: kNonfiniteLogits.
Result<Answer> answer_question(const Question& question, const QuestionPlan& plan, const engine::JobResult& result,
                               const Priors* priors, bool explain, const engine::Encoder& encoder);

// A request that cannot fit however few tokens its texts have, before any of them is tokenised: tokenising takes a
// hundred times a text's bytes. Nothing where it may fit.
std::optional<Error> surely_too_long(const DecisionRequest& request, Readout readout, std::int32_t context_tokens,
                                     const engine::Encoder& encoder);
// `error` of a request that is too long, with the field of its longest part in place of "state": the state, or of the
// question with the longest prompt its text, an option, or with letters all of its options. Any other error as it is.
Error at_longest_part(const DecisionRequest& request, const std::vector<QuestionPlan>& plans, Error error);

}  // namespace assay::service
