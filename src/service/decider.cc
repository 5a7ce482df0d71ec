#include <string>
#include <utility>

#include "decision/readout.h"
#include "decision/self_check.h"
#include "decision/self_check_rows.h"
#include "service/local_decider.h"

namespace assay::service {
namespace {

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

}  // namespace

LocalDecider::LocalDecider(std::unique_ptr<engine::Encoder> encoder, std::unique_ptr<engine::Scheduler> scheduler,
                           LocalDeciderOptions options, ModelReport report)
    : encoder_(std::move(encoder)),
      scheduler_(std::move(scheduler)),
      options_(options),
      labels_(find_labels(*encoder_)),
      report_(std::move(report)),
      priors_(options.prior_cache_tokens) {}

Result<DecisionReply> LocalDecider::decide(const DecisionRequest& request) {
  const RequestGate::Pass pass(gate_);
  if (!pass) return Error{ErrorCode::kUnavailable, "The server is shutting down.", ""};
  // 1. What needs no model.
  if (Status status = validate_request(request, options_.limits); !status.ok()) return status.error();
  if (Status status = check_special(request); !status.ok()) return status.error();
  // 2. Words to tokens.
  const Readout readout = request.readout == Readout::kAuto ? report_.readout : request.readout;
  if (readout == Readout::kHead)
    return invalid_argument("readout", "This model has no decision head; readouts are letters and text.");
  std::vector<QuestionPlan> plans;
  for (std::size_t i = 0; i < request.questions.size(); i++) {
    Result<QuestionPlan> plan = plan_question(request.state, request.questions[i], readout, labels_, *encoder_);
    if (!plan.ok()) return in_question(plan.error(), i);
    plans.push_back(std::move(plan).value());
  }
  // 3. One job: prompts first, so that what they share is counted once, then the answers behind them.
  JobBuilder builder;
  DecisionReply reply;
  for (QuestionPlan& plan : plans) plan.prompt_row = builder.add_prompt(plan.prompt.tokens);
  reply.input_tokens = static_cast<std::int32_t>(builder.job().tree.size());
  for (QuestionPlan& plan : plans) add_reads(plan, request.hidden_state, builder);
  // 4. Numbers.
  const Result<std::vector<std::shared_ptr<const Priors>>> priors = priors_for(plans, reply);
  if (!priors.ok()) return priors.error();
  const Result<engine::JobResult> result = scheduler_->run(builder.take());
  if (!result.ok()) return result.error();
  reply.computed_rows += result->computed_rows;
  reply.queue_ms += result->queue_ms;
  reply.compute_ms += result->compute_ms;
  // 5. Numbers to probabilities.
  for (std::size_t i = 0; i < plans.size(); i++) {
    Result<Answer> answer =
        answer_question(request.questions[i], plans[i], *result, (*priors)[i].get(), request.explain, *encoder_);
    if (!answer.ok()) return in_question(answer.error(), i);
    answer->reliability = reliability(answer->readout, request.questions[i].type);
    if (!request.hidden_state) answer->hidden_state.clear();
    reply.answers.push_back(std::move(answer).value());
  }
  return reply;
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

Result<std::vector<std::shared_ptr<const Priors>>> LocalDecider::priors_for(const std::vector<QuestionPlan>& plans,
                                                                            DecisionReply& reply) {
  std::vector<std::shared_ptr<const Priors>> priors;
  for (const QuestionPlan& plan : plans) {
    if (plan.readout != Readout::kText) {
      priors.push_back(nullptr);
      continue;
    }
    PriorKey key = prior_key(plan);
    std::shared_ptr<const Priors> found = priors_.find(key);
    if (!found) {
      // A job of its own: its numbers then never depend on the request that happened to need them first.
      JobBuilder builder;
      const PriorReads reads = add_prior_reads(plan, builder);
      const Result<engine::JobResult> result = scheduler_->run(builder.take());
      if (!result.ok()) return result.error();
      reply.computed_rows += result->computed_rows;
      reply.queue_ms += result->queue_ms;
      reply.compute_ms += result->compute_ms;
      found = std::make_shared<const Priors>(priors_of(reads, *result));
      priors_.insert(std::move(key), found);
    }
    priors.push_back(std::move(found));
  }
  return priors;
}

Reliability LocalDecider::reliability(Readout readout, QuestionType type) const {
  return decision::reliability_of(report_.check, readout, type);
}

Result<std::vector<std::size_t>> LocalDecider::answer_check(Readout readout) {
  std::vector<Question> questions;
  std::vector<QuestionPlan> plans;
  for (const decision::SelfCheckRow& row : decision::self_check_rows()) {
    questions.push_back({.id = "check", .text = row.question, .type = row.type, .options = row.options});
    Result<QuestionPlan> plan = plan_question(Value(row.state), questions.back(), readout, labels_, *encoder_);
    if (!plan.ok()) return plan.error();
    plans.push_back(std::move(plan).value());
  }
  JobBuilder builder;
  for (QuestionPlan& plan : plans) plan.prompt_row = builder.add_prompt(plan.prompt.tokens);
  // The neutral prompts stand in the same job: what rows share with each other is computed once.
  std::vector<PriorReads> prior_reads;
  if (readout == Readout::kText) {
    for (const QuestionPlan& plan : plans) prior_reads.push_back(add_prior_reads(plan, builder));
  }
  for (QuestionPlan& plan : plans) add_reads(plan, false, builder);
  const Result<engine::JobResult> result = scheduler_->run(builder.take());
  if (!result.ok()) return result.error();
  std::vector<std::size_t> picked;
  for (std::size_t i = 0; i < plans.size(); i++) {
    Priors priors;
    if (readout == Readout::kText) priors = priors_of(prior_reads[i], *result);
    const Result<Answer> answer = answer_question(questions[i], plans[i], *result,
                                                  readout == Readout::kText ? &priors : nullptr, false, *encoder_);
    if (!answer.ok()) return answer.error();
    picked.push_back(answer->best);
  }
  return picked;
}

void LocalDecider::drain(double /*grace_ms*/) {
  gate_.close_and_wait();
  scheduler_->drain();
}

}  // namespace assay::service
