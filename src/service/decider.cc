#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "decision/readout.h"
#include "decision/self_check.h"
#include "service/local_decider.h"
#include "service/receipt.h"

namespace assay::service {
namespace {

constexpr std::chrono::milliseconds kAskEvery(50);  // whether a request is still wanted

// An error of a part, told in the request's own terms.
Error in_question(Error error, std::size_t question) {
  if (error.field == "options") error.field = "questions[" + std::to_string(question) + "].options";
  return error;
}

// Every text of a value: its strings and its keys.
void collect_texts(const Value& value, std::vector<const std::string*>& texts) {
  if (const std::string* text = value.string()) texts.push_back(text);
  if (const Value::Array* array = value.array()) {
    for (const Value& item : *array) collect_texts(item, texts);
  }
  if (const Value::Object* object = value.object()) {
    for (const Value::Member& member : *object) {
      texts.push_back(&member.first);
      collect_texts(member.second, texts);
    }
  }
}

// Whoever is to compute priors says once that they are there or do not come, also when an exception ends the request:
// others wait for it.
class PriorDuty {
 public:
  PriorDuty(PriorCache& cache, const PriorKey& key) : cache_(cache), key_(key) {}
  ~PriorDuty() {
    if (!done_) cache_.finish(key_, nullptr);
  }
  PriorDuty(const PriorDuty&) = delete;
  PriorDuty& operator=(const PriorDuty&) = delete;
  void finish(std::shared_ptr<const Priors> priors) {
    done_ = true;
    cache_.finish(key_, std::move(priors));
  }

 private:
  PriorCache& cache_;
  const PriorKey key_;
  bool done_ = false;
};

}  // namespace

struct LocalDecider::Pass {
  const DecisionRequest& request;
  std::shared_ptr<std::atomic<bool>> cancelled = std::make_shared<std::atomic<bool>>(false);
  std::int64_t deadline_ns = 0;
  DecisionReply reply;
};

struct LocalDecider::PriorWork {
  PriorCache::Lookup lookup;
  std::unique_ptr<PriorDuty> duty;  // lookup.mine only
  std::vector<PriorJob> jobs;       // lookup.mine only
  std::vector<JobFuture> futures;   // of those that were accepted
  std::optional<Error> refused;
};

LocalDecider::LocalDecider(std::unique_ptr<engine::Encoder> encoder, std::unique_ptr<engine::Scheduler> scheduler,
                           const Clock& clock, LocalDeciderOptions options, ModelReport report)
    : encoder_(std::move(encoder)),
      scheduler_(std::move(scheduler)),
      clock_(clock),
      options_(std::move(options)),
      labels_(find_labels(*encoder_)),
      report_(std::move(report)),
      priors_(options_.prior_cache_tokens),
      answers_(options_.answer_cache_entries) {}

Result<DecisionReply> LocalDecider::decide(const DecisionRequest& request) {
  const RequestGate::Pass pass(gate_);
  if (!pass) return Error{ErrorCode::kUnavailable, "The server is shutting down.", ""};
  if (Status status = validate_request(request, options_.limits); !status.ok()) return status.error();
  if (Status status = check_special(request); !status.ok()) return status.error();
  if (!report_.deterministic) return compute(request);
  if (std::optional<DecisionReply> known = answers_.find(request)) return std::move(*known);
  Result<DecisionReply> reply = compute(request);
  if (reply.ok()) answers_.insert(request, *reply);
  return reply;
}

Result<std::vector<QuestionPlan>> LocalDecider::plan_questions(const DecisionRequest& request) const {
  const Readout readout = request.readout == Readout::kAuto ? report_.readout : request.readout;
  const Layout layout = request.layout == Layout::kAuto ? options_.layout : request.layout;
  if (readout == Readout::kHead)
    return invalid_argument("readout", "This model has no decision head; readouts are letters and text.");
  std::vector<QuestionPlan> plans;
  for (std::size_t i = 0; i < request.questions.size(); i++) {
    Result<QuestionPlan> plan = plan_question(request.state, request.questions[i], readout, layout, labels_, *encoder_);
    if (!plan.ok()) return in_question(plan.error(), i);
    plans.push_back(std::move(plan).value());
  }
  return plans;
}

Result<DecisionReply> LocalDecider::compute(const DecisionRequest& request) {
  Pass pass{.request = request, .reply = {}};
  const double timeout_ms = request.timeout_ms > 0 ? request.timeout_ms : options_.timeout_ms;
  if (timeout_ms > 0) pass.deadline_ns = clock_.now_ns() + static_cast<std::int64_t>(timeout_ms * 1e6);
  // 1. Words to tokens.
  Result<std::vector<QuestionPlan>> plans = plan_questions(request);
  if (!plans.ok()) return plans.error();
  // 2. One job for all questions: prompts first, so that what they share is one, then the answers behind them.
  JobBuilder builder;
  for (QuestionPlan& plan : *plans) plan.prompt_row = builder.add_prompt(plan.prompt);
  pass.reply.input_tokens = builder.prompt_tokens();
  for (QuestionPlan& plan : *plans) add_reads(plan, request.hidden_state, builder);
  // 3. Numbers. Priors are jobs of their own and run beside it.
  Result<JobFuture> future = submit(builder.take(), pass, false);
  if (!future.ok()) return future.error();
  std::vector<PriorWork> prior_work;
  for (const QuestionPlan& plan : *plans) prior_work.push_back(begin_priors(plan, pass));
  const Result<engine::JobResult> result = wait(*future, pass);
  std::optional<Error> failed;
  // Own work first: others may wait for it, as this request may for theirs.
  for (const bool mine : {true, false}) {
    for (std::size_t i = 0; i < plans->size(); i++) {
      if (prior_work[i].lookup.mine != mine) continue;
      Result<SharedPriors> found = end_priors((*plans)[i], prior_work[i], pass);
      if (!found.ok()) failed = found.error();
      prior_work[i].lookup.priors = found.ok() ? *found : nullptr;
    }
  }
  if (!result.ok()) return result.error();
  if (failed) return *failed;
  pass.reply.cached_tokens = result->cached_tokens;
  // 4. Numbers to probabilities.
  for (std::size_t i = 0; i < plans->size(); i++) {
    Result<Answer> answer = answer_question(request.questions[i], (*plans)[i], *result,
                                            prior_work[i].lookup.priors.get(), request.explain, *encoder_);
    if (!answer.ok()) return in_question(answer.error(), i);
    answer->reliability = decision::reliability_of(report_.check, answer->readout, request.questions[i].type);
    if (!request.hidden_state) answer->hidden_state.clear();
    pass.reply.answers.push_back(std::move(answer).value());
  }
  if (request.receipt) pass.reply.receipt = receipt(request, *plans, pass.reply.answers);
  return std::move(pass.reply);
}

Result<LocalDecider::JobFuture> LocalDecider::submit(engine::Job job, Pass& pass, bool follows) {
  // Priors (what follows) may be waited for by others, also by those in a hurry.
  job.terms = {.bulk = pass.request.priority == Priority::kBulk && !follows,
               .deadline_ns = pass.deadline_ns,
               .client = pass.request.client,
               .cancelled = pass.cancelled,
               .follows = follows};
  return scheduler_->submit(std::move(job));
}

// Asks now and then whether the answer is still wanted; the engine then drops the request's jobs.
Result<engine::JobResult> LocalDecider::wait(JobFuture& future, Pass& pass) {
  while (pass.request.cancelled && future.wait_for(kAskEvery) != std::future_status::ready) {
    if (pass.request.cancelled()) {
      pass.cancelled->store(true);
      break;
    }
  }
  Result<engine::JobResult> result = future.get();
  if (!result.ok()) return result;
  pass.reply.computed_rows += result->computed_rows;
  pass.reply.queue_ms = std::max(pass.reply.queue_ms, result->queue_ms);
  pass.reply.compute_ms = std::max(pass.reply.compute_ms, result->compute_ms);
  return result;
}

// Until another request has computed them, or this one is not wanted any more or late.
std::optional<Error> LocalDecider::wait_for_priors(const PriorCache::Pending& pending, const Pass& pass) const {
  while (pending.wait_for(kAskEvery) != std::future_status::ready) {
    if (pass.request.cancelled && pass.request.cancelled())
      return Error{ErrorCode::kCancelled, "The caller went away.", ""};
    if (pass.deadline_ns != 0 && clock_.now_ns() > pass.deadline_ns)
      return Error{ErrorCode::kDeadline, "The answer was not there within timeout_ms.", "timeout_ms"};
  }
  return std::nullopt;
}

LocalDecider::PriorWork LocalDecider::begin_priors(const QuestionPlan& plan, Pass& pass) {
  PriorWork work;
  if (plan.readout != Readout::kText) return work;
  const PriorKey key = prior_key(plan);
  work.lookup = priors_.begin(key);
  if (!work.lookup.mine) return work;
  work.duty = std::make_unique<PriorDuty>(priors_, key);
  work.jobs = prior_jobs(plan);
  for (PriorJob& prior : work.jobs) {
    Result<JobFuture> future = submit(std::move(prior.job), pass, true);
    if (!future.ok()) {
      work.refused = future.error();
      break;
    }
    work.futures.push_back(std::move(future).value());
  }
  return work;
}

// The priors, waited for. Whoever computes them for others lets them know, also when it fails; then those try again.
Result<LocalDecider::SharedPriors> LocalDecider::end_priors(const QuestionPlan& plan, PriorWork& work, Pass& pass) {
  if (plan.readout != Readout::kText) return SharedPriors();
  while (!work.lookup.mine) {
    if (work.lookup.priors) return work.lookup.priors;
    if (std::optional<Error> error = wait_for_priors(work.lookup.pending, pass)) return *error;
    SharedPriors priors = work.lookup.pending.get();
    if (priors) return priors;
    work = begin_priors(plan, pass);
  }
  std::vector<engine::JobResult> results;
  std::optional<Error> failed = work.refused;
  for (JobFuture& future : work.futures) {
    Result<engine::JobResult> result = wait(future, pass);
    if (!result.ok()) {
      failed = result.error();
    } else {
      results.push_back(std::move(result).value());
    }
  }
  SharedPriors priors;
  if (!failed) priors = std::make_shared<const Priors>(priors_of(work.jobs, results));
  work.duty->finish(priors);
  if (failed) return *failed;
  return priors;
}

Receipt LocalDecider::receipt(const DecisionRequest& request, const std::vector<QuestionPlan>& plans,
                              const std::vector<Answer>& answers) const {
  std::vector<TokenList> tokens;
  std::map<std::string, std::string> settings = options_.settings;
  settings["readout"] = readout_name(request.readout == Readout::kAuto ? report_.readout : request.readout);
  settings["layout"] = layout_name(plans.front().layout);
  // Recurrent models: such rows are computed one chain at a time.
  if (report_.recurrent && request.hidden_state) settings["hidden_state"] = "yes";
  const auto add = [&tokens](const engine::EncodedPrompt& prompt) {
    tokens.push_back(prompt.tokens);
    // Where it is cut into segments moves bits, too.
    tokens.push_back({prompt.head_tokens, prompt.shared_tokens});
  };
  for (const QuestionPlan& plan : plans) {
    add(plan.prompt);
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
  return stats;
}

Status LocalDecider::check_special(const DecisionRequest& request) const {
  if (options_.special_tokens == SpecialTokens::kLiteral) return {};
  const auto check = [this](const std::string& field, const std::string& text) -> Status {
    const std::optional<std::string> special = encoder_->find_special(text);
    if (!special) return {};
    return invalid_argument(field, field + " contains the control token " + *special +
                                       " (special tokens are refused by this server's setting).");
  };
  std::vector<const std::string*> texts;
  collect_texts(request.state, texts);
  for (const std::string* text : texts) {
    if (Status status = check("state", *text); !status.ok()) return status;
  }
  for (std::size_t q = 0; q < request.questions.size(); q++) {
    const Question& question = request.questions[q];
    const std::string path = "questions[" + std::to_string(q) + "]";
    if (Status status = check(path + ".text", question.text); !status.ok()) return status;
    for (std::size_t i = 0; i < question.options.size(); i++) {
      const std::string option_path = path + ".options[" + std::to_string(i) + "]";
      if (Status status = check(option_path + ".id", question.options[i].id); !status.ok()) return status;
      if (Status status = check(option_path + ".description", question.options[i].description.value_or(""));
          !status.ok())
        return status;
    }
  }
  return {};
}

void LocalDecider::drain(double grace_ms) {
  // Requests that were let in may still hand in jobs, so the scheduler closes behind the last of them.
  if (grace_ms >= 0 && !gate_.close_and_wait_ms(grace_ms)) scheduler_->drain(0);
  gate_.close_and_wait();
  scheduler_->drain(engine::Scheduler::kNoLimit);
}

}  // namespace assay::service
