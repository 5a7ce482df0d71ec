#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "base/sha256.h"
#include "decision/readout.h"
#include "decision/self_check.h"
#include "service/early_reads.h"
#include "service/local_decider.h"
#include "service/no_lessons.h"
#include "service/option_orders.h"
#include "service/prior_work.h"
#include "service/receipt.h"
#include "service/special_check.h"

namespace assay::service {
namespace {

// An error of a part, told in the request's own terms.
Error in_question(Error error, std::size_t question) {
  if (error.field == "options") error.field = "questions[" + std::to_string(question) + "].options";
  return error;
}

}  // namespace

LocalDecider::LocalDecider(std::unique_ptr<engine::Encoder> encoder, std::unique_ptr<engine::Scheduler> scheduler,
                           const Clock& clock, LocalDeciderOptions options, ModelReport report)
    : encoder_(std::move(encoder)),
      scheduler_(std::move(scheduler)),
      clock_(clock),
      options_(std::move(options)),
      labels_(find_labels(*encoder_)),
      report_(std::move(report)),
      priors_(options_.prior_cache_tokens),
      answers_(options_.answer_cache_entries) {
  report_.bits_sha256 = sha256_hex(options_.build + "\n" + settings_sha256(options_.settings));
}

Result<DecisionReply> LocalDecider::decide(const DecisionRequest& request) {
  const RequestGate::Pass pass(gate_);
  if (!pass) return Error{ErrorCode::kUnavailable, "The server is shutting down.", ""};
  if (Status status = validate_request(request, options_.limits); !status.ok()) return status.error();
  if (Status status = refuse_lessons(request); !status.ok()) return status.error();
  if (options_.special_tokens == SpecialTokens::kReject) {
    if (Status status = refuse_special_tokens(request, *encoder_); !status.ok()) return status.error();
  }
  if (Status status = check_images(request); !status.ok()) return status.error();
  // Whole replies are kept by all of what a request says, and images would be most of it.
  if (!report_.deterministic || !request.images.empty()) return answer(request);
  if (std::optional<DecisionReply> known = answers_.find(request)) {
    for (std::size_t i = 0; request.on_answer && i < known->answers.size(); i++)
      request.on_answer(i, known->answers[i]);
    return std::move(*known);
  }
  Result<DecisionReply> reply = answer(request);
  if (reply.ok()) answers_.insert(request, *reply);
  return reply;
}

// With each question in as many orders of its options as it asks for.
Result<DecisionReply> LocalDecider::answer(const DecisionRequest& request) {
  const Readout readout = request.readout == Readout::kAuto ? report_.readout : request.readout;
  OptionOrders orders(request, [&](const Question& question) {
    return question.scored && readout == Readout::kLetters && question.options.size() <= labels_.codes.size();
  });
  if (orders.trivial()) return compute(request);
  if (const Status few = orders.check_count(options_.limits.questions_max); !few.ok()) return few.error();
  const Result<DecisionReply> asked = compute(orders.expanded());
  if (!asked.ok()) return orders.in_original(asked.error());
  return orders.merged(asked.value());
}

Result<std::vector<QuestionPlan>> LocalDecider::plan_questions(const DecisionRequest& request) const {
  const Readout readout = request.readout == Readout::kAuto ? report_.readout : request.readout;
  const Layout layout = request.layout == Layout::kAuto ? options_.layout : request.layout;
  if (readout == Readout::kTaught)
    return invalid_argument("readout", "Lessons answer by themselves; readouts are letters and text.");
  if (readout == Readout::kHead)
    return invalid_argument("readout", "This model has no decision head; readouts are letters and text.");
  if (std::optional<Error> error = surely_too_long(request, readout, report_.context_tokens, *encoder_))
    return std::move(*error);
  std::vector<QuestionPlan> plans;
  for (std::size_t i = 0; i < request.questions.size(); i++) {
    Result<QuestionPlan> plan =
        plan_question(request.state, request.questions[i], readout, layout, labels_, *encoder_, request.images);
    if (!plan.ok()) return in_question(plan.error(), i);
    plan->allowed_mass = request.allowed_mass;
    plan->vocabulary = plan->readout != Readout::kLetters || request.allowed_mass || request.explain;
    plans.push_back(std::move(plan).value());
  }
  return plans;
}

Result<DecisionReply> LocalDecider::compute(const DecisionRequest& request) {
  if (!request.images.empty()) return compute_with_images(request);
  RequestPass pass(request, *scheduler_, clock_, options_.timeout_ms);
  // 1. Words to tokens.
  Result<std::vector<QuestionPlan>> plans = plan_questions(request);
  if (!plans.ok()) return plans.error();
  // 2. One job for all questions: prompts first, so that what they share is one, then the answers behind them.
  JobBuilder builder(plans->size() == 1 ? kSharedTokensMin : 1);
  for (QuestionPlan& plan : *plans) add_prompts(plan, builder);
  pass.reply().input_tokens = builder.prompt_tokens();
  for (QuestionPlan& plan : *plans) add_reads(plan, request.hidden_state, builder);
  engine::Job job = builder.take();
  std::shared_ptr<EarlyReads> early;
  if (request.on_answer) {
    early = std::make_shared<EarlyReads>(job.reads.size());
    job.terms.on_read = [early](std::size_t read, const engine::ReadResult& numbers) { early->put(read, numbers); };
  }
  // 3. Numbers. Priors are jobs of their own and run beside it.
  Result<JobFuture> future = pass.submit(std::move(job), false);
  if (!future.ok()) return at_longest_part(request, *plans, future.error());
  std::vector<PriorWork> priors;
  priors.reserve(plans->size());
  for (const QuestionPlan& plan : *plans) priors.emplace_back(plan, priors_, pass);
  Answers answers(plans->size());
  if (early) answer_early(request, *plans, *future, *early, priors, pass, answers);
  const Result<engine::JobResult> result = pass.wait(*future);
  // Own work first: others may wait for it, as this request may for theirs.
  const std::optional<Error> failed = end_all(priors);
  if (!result.ok()) return result.error();
  if (failed) return *failed;
  pass.reply().cached_tokens = result->cached_tokens;
  // 4. Numbers to probabilities.
  for (std::size_t i = 0; i < plans->size(); i++) {
    if (!answers[i]) {
      Result<Answer> answer = answer_one(request, i, (*plans)[i], *result, priors[i]);
      if (!answer.ok()) return answer.error();
      answers[i] = std::move(answer).value();
      if (request.on_answer) request.on_answer(i, *answers[i]);
    }
    pass.reply().answers.push_back(std::move(*answers[i]));
  }
  if (request.receipt) pass.reply().receipt = receipt(request, *plans, pass.reply().answers);
  return std::move(pass.reply());
}

// Ends every prior; the first error.
std::optional<Error> LocalDecider::end_all(std::vector<PriorWork>& priors) {
  std::optional<Error> failed;
  for (const bool mine : {true, false}) {
    for (PriorWork& work : priors) {
      if (work.mine() != mine) continue;
      const Result<SharedPriors> ended = work.end();
      if (!ended.ok() && !failed) failed = ended.error();
    }
  }
  return failed;
}

// Answers questions as their numbers come, until the job is done or something goes wrong; whoever waits for the job
// meets the same error again.
void LocalDecider::answer_early(const DecisionRequest& request, const std::vector<QuestionPlan>& plans,
                                JobFuture& future, EarlyReads& early, std::vector<PriorWork>& priors, RequestPass& pass,
                                Answers& answers) {
  const auto done = [&] {
    early.wait_for(RequestPass::kAskEvery);
    return future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  };
  bool ended = false;
  const auto answer_what_is_there = [&]() -> bool {
    for (std::size_t i = 0; i < plans.size(); i++) {
      if (answers[i] || !early.has_all(plans[i].reads, plans[i].cue_reads)) continue;
      // Priors of others are waited for only when nobody can be waiting for ours.
      if (!priors[i].mine() && !ended) {
        ended = true;
        if (end_all(priors)) return true;
      }
      Result<Answer> answer = answer_one(request, i, plans[i], early.result(), priors[i]);
      if (!answer.ok()) return true;
      answers[i] = std::move(answer).value();
      request.on_answer(i, *answers[i]);
    }
    return false;
  };
  (void)pass.wait_until([&] { return done() || answer_what_is_there(); });
}

Result<Answer> LocalDecider::answer_one(const DecisionRequest& request, std::size_t index, const QuestionPlan& plan,
                                        const engine::JobResult& numbers, PriorWork& priors) const {
  const Result<SharedPriors> known = priors.end();
  if (!known.ok()) return known.error();
  const Question& question = request.questions[index];
  Result<Answer> answer = answer_question(question, plan, numbers, known->get(), request.explain, *encoder_);
  if (!answer.ok()) return in_question(answer.error(), index);
  answer->reliability = decision::reliability_of(report_.check, answer->readout, question.type);
  if (!request.hidden_state) answer->hidden_state.clear();
  decision::finish_answer(question, *answer);
  return answer;
}

Receipt LocalDecider::receipt(const DecisionRequest& request, const std::vector<QuestionPlan>& plans,
                              const std::vector<Answer>& answers) const {
  std::vector<TokenList> tokens;
  std::map<std::string, std::string> settings = options_.settings;
  settings["readout"] = readout_name(request.readout == Readout::kAuto ? report_.readout : request.readout);
  settings["layout"] = layout_name(plans.front().layout);
  const auto alone = [](const QuestionPlan& plan) { return !plan.vocabulary; };
  if (report_.option_head && std::any_of(plans.begin(), plans.end(), alone)) settings["option_head"] = "yes";
  // Recurrent models: such rows are computed one chain at a time.
  if (report_.recurrent && request.hidden_state) settings["hidden_state"] = "yes";
  if (!request.images.empty()) {
    settings["images"] = images_sha256(request.images);
    settings["projector"] = images_.projector_sha256();
    settings["batch_tokens"] = std::to_string(images_.batch_tokens);
  }
  const auto add = [&tokens](const engine::EncodedPrompt& prompt) {
    tokens.push_back(prompt.tokens);
    // Where it is cut into segments moves bits, too.
    tokens.push_back({prompt.head_tokens, prompt.shared_tokens});
  };
  for (const QuestionPlan& plan : plans) {
    if (plan.scored) add(plan.prompt);
    for (const engine::EncodedPrompt& cue : plan.cues) add(cue);
    for (const engine::EncodedPrompt& neutral : plan.neutral_prompts) add(neutral);
    for (const std::vector<AnswerPath>& paths : plan.answers) {
      for (const AnswerPath& path : paths) {
        tokens.push_back(path.lead);
        tokens.push_back(path.tokens);
      }
    }
  }
  return make_receipt({.model_sha256 = report_.sha256,
                       .build = options_.build,
                       .settings = std::move(settings),
                       .tokens = tokens,
                       .answers = answers});
}

EngineStats LocalDecider::stats() const {
  EngineStats stats = scheduler_->stats();
  stats.answer_cache_hits = answers_.hits();
  stats.answer_cache_misses = answers_.misses();
  if (images_.scheduler) {
    stats.queued += images_.scheduler->waiting();
    stats.running += images_.scheduler->running() ? 1 : 0;
  }
  return stats;
}

void LocalDecider::drain(double grace_ms) {
  // Requests that were let in may still hand in jobs, so the scheduler closes behind the last of them.
  if (grace_ms >= 0 && !gate_.close_and_wait_ms(grace_ms)) {
    if (images_.scheduler) images_.scheduler->drain(0);
    scheduler_->drain(0);
  }
  gate_.close_and_wait();
  if (images_.scheduler) images_.scheduler->drain(engine::MediaScheduler::kNoLimit);
  scheduler_->drain(engine::Scheduler::kNoLimit);
}

}  // namespace assay::service
