// Requests with images: the same prompts, jobs, priors and answers as without, but the job is computed alone, by the
// media scheduler (adr/0018).
#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/image_token.h"
#include "service/local_decider.h"

namespace assay::service {
namespace {

// What an image takes beside the one token that stands for it.
std::int32_t more_rows(const engine::Tokens& tokens, const std::vector<std::int32_t>& image_rows) {
  std::int32_t rows = 0;
  for (const engine::TokenId token : tokens) {
    if (engine::is_image_token(token)) rows += image_rows[engine::image_of_token(token)] - 1;
  }
  return rows;
}

// The image tokens of a job, those of a shared segment once.
engine::Tokens image_tokens_of(const engine::Job& job) {
  engine::Tokens images;
  for (const engine::Segment& segment : job.segments)
    std::copy_if(segment.tokens.begin(), segment.tokens.end(), std::back_inserter(images), engine::is_image_token);
  return images;
}

}  // namespace

Status LocalDecider::check_images(const DecisionRequest& request) const {
  if (request.images.empty()) return {};
  if (!images_.scheduler) return invalid_argument("images", "images: decisions of this model read no images");
  if (request.hidden_state)
    return invalid_argument("hidden_state", "hidden_state: requests with images give no hidden state");
  for (std::size_t i = 0; i < request.questions.size(); i++) {
    const std::string field = "questions[" + std::to_string(i) + "].cues";
    if (!request.questions[i].cues.empty()) return invalid_argument(field, field + ": cues cannot have images");
  }
  return {};
}

Result<DecisionReply> LocalDecider::compute_with_images(const DecisionRequest& request) {
  RequestPass pass(request, *scheduler_, clock_, options_.timeout_ms);
  // 1. Words to tokens, with a token for each image.
  Result<std::vector<QuestionPlan>> plans = plan_questions(request);
  if (!plans.ok()) return plans.error();
  // 2. One job. Its cuts are the same for one question and for many, so that an answer does not depend on the others.
  JobBuilder builder(1);
  for (QuestionPlan& plan : *plans) {
    plan.vocabulary = true;
    add_prompts(plan, builder);
  }
  pass.reply().input_tokens = builder.prompt_tokens();
  for (QuestionPlan& plan : *plans) add_reads(plan, false, builder);
  engine::MediaJob job{.job = builder.take(), .images = {}};
  for (const Image& image : request.images) job.images.push_back(image.file);
  const engine::Tokens image_tokens = image_tokens_of(job.job);
  // 3. Numbers. Priors have no images: they are jobs of the engine, beside this one.
  Result<MediaFuture> future = pass.submit(std::move(job), *images_.scheduler);
  if (!future.ok()) return at_longest_part(request, *plans, future.error());
  std::vector<PriorWork> priors;
  priors.reserve(plans->size());
  for (const QuestionPlan& plan : *plans) priors.emplace_back(plan, priors_, pass);
  const Result<engine::MediaResult> result = pass.wait(*future);
  const std::optional<Error> failed = end_all(priors);
  if (!result.ok()) return result.error();
  if (failed) return *failed;
  pass.reply().input_tokens += more_rows(image_tokens, result->image_rows);
  // 4. Numbers to probabilities.
  for (std::size_t i = 0; i < plans->size(); i++) {
    Result<Answer> answer = answer_one(request, i, (*plans)[i], result->job, priors[i]);
    if (!answer.ok()) return answer.error();
    answer->prompt_tokens += more_rows((*plans)[i].prompt.tokens, result->image_rows);
    answer->reliability = Reliability::kUnknown;  // the built-in check has no images
    if (request.on_answer) request.on_answer(i, *answer);
    pass.reply().answers.push_back(std::move(answer).value());
  }
  if (request.receipt) pass.reply().receipt = receipt(request, *plans, pass.reply().answers);
  return std::move(pass.reply());
}

}  // namespace assay::service
