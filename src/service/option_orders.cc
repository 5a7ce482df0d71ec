#include "service/option_orders.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/assert.h"
#include "decision/readout.h"

namespace assay::service {
namespace {

// Inner questions need ids of their own; nobody sees them.
std::string inner_id(std::size_t question, std::size_t shift) {
  return std::to_string(question) + "/" + std::to_string(shift);
}

void add_share(OptionAnswer& to, const OptionAnswer& from, double share) {
  to.probability += from.probability * share;
  to.score += from.score * share;
  to.log_prob += from.log_prob * share;
  to.prior_log_prob += from.prior_log_prob * share;
}

}  // namespace

OptionOrders::OptionOrders(const DecisionRequest& request, const std::function<bool(const Question&)>& applies)
    : request_(request), early_(request.questions.size()) {
  for (std::size_t q = 0; q < request.questions.size(); q++) {
    const Question& question = request.questions[q];
    const std::size_t orders = applies(question) ? static_cast<std::size_t>(question.permute) : 1;
    for (std::size_t k = 0; k < orders; k++)
      asked_.push_back({.question = q, .shift = k * question.options.size() / orders});
  }
}

Status OptionOrders::check_count(std::size_t questions_max) const {
  if (asked_.size() <= questions_max) return {};
  std::vector<std::size_t> orders(request_.questions.size(), 0);
  for (const Asked& asked : asked_) orders[asked.question]++;
  const auto most = std::max_element(orders.begin(), orders.end()) - orders.begin();
  const std::string field = "questions[" + std::to_string(most) + "].permute";
  return invalid_argument(field, field + ": the request has " + std::to_string(asked_.size()) +
                                     " orders of options in all, each of which costs what a question costs; at most " +
                                     std::to_string(questions_max) + " are allowed");
}

DecisionRequest OptionOrders::expanded() {
  DecisionRequest out = request_;
  out.questions.clear();
  for (const Asked& asked : asked_) {
    Question question = request_.questions[asked.question];
    question.id = inner_id(asked.question, asked.shift);
    question.permute = 1;
    std::rotate(question.options.begin(), question.options.begin() + static_cast<std::ptrdiff_t>(asked.shift),
                question.options.end());
    out.questions.push_back(std::move(question));
  }
  if (!request_.on_answer) return out;
  out.on_answer = [this](std::size_t index, const Answer& answer) {
    const std::size_t question = asked_[index].question;
    auto& came = early_[question];
    came.emplace_back(index, answer);
    if (came.size() < orders_of(question).size()) return;
    // In the orders' own order, so that the mean is the same however they came.
    std::sort(came.begin(), came.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<const Answer*> answers;
    for (const auto& [unused, part] : came) answers.push_back(&part);
    request_.on_answer(question, mean(question, answers));
  };
  return out;
}

std::vector<std::size_t> OptionOrders::orders_of(std::size_t question) const {
  std::vector<std::size_t> orders;
  for (std::size_t i = 0; i < asked_.size(); i++) {
    if (asked_[i].question == question) orders.push_back(i);
  }
  return orders;
}

Answer OptionOrders::mean(std::size_t question, const std::vector<const Answer*>& orders) const {
  const std::vector<std::size_t> asked = orders_of(question);
  ASSAY_ASSERT(asked.size() == orders.size());
  Answer out = *orders.front();
  out.question_id = request_.questions[question].id;
  out.orders = static_cast<std::int32_t>(orders.size());
  if (orders.size() == 1) return out;
  const double share = 1 / static_cast<double>(orders.size());
  for (OptionAnswer& option : out.options)
    option.probability = option.score = option.log_prob = option.prior_log_prob = 0;
  if (out.allowed_mass) out.allowed_mass = 0;
  for (std::size_t k = 0; k < orders.size(); k++) {
    const std::vector<OptionAnswer>& options = orders[k]->options;
    for (std::size_t i = 0; i < options.size(); i++)
      add_share(out.options[(i + asked_[asked[k]].shift) % options.size()], options[i], share);
    if (out.allowed_mass) *out.allowed_mass += orders[k]->allowed_mass.value_or(0) * share;
  }
  std::vector<double> probabilities;
  for (const OptionAnswer& option : out.options) probabilities.push_back(option.probability);
  out.best = decision::best_option(probabilities);
  decision::finish_answer(request_.questions[question], out);
  return out;
}

DecisionReply OptionOrders::merged(DecisionReply reply) const {
  std::vector<Answer> answers;
  for (std::size_t q = 0; q < request_.questions.size(); q++) {
    std::vector<const Answer*> orders;
    for (const std::size_t i : orders_of(q)) orders.push_back(&reply.answers[i]);
    answers.push_back(mean(q, orders));
  }
  reply.answers = std::move(answers);
  return reply;
}

Error OptionOrders::in_original(Error error) const {
  constexpr std::string_view kList = "questions[";
  if (!error.field.starts_with(kList)) return error;
  const std::size_t close = error.field.find(']');
  if (close == std::string::npos) return error;
  const std::size_t index = std::stoul(error.field.substr(kList.size(), close - kList.size()));
  ASSAY_ASSERT(index < asked_.size());
  const std::string old_field = error.field;
  error.field = std::string(kList) + std::to_string(asked_[index].question) + old_field.substr(close);
  if (error.message.starts_with(old_field)) error.message.replace(0, old_field.size(), error.field);
  return error;
}

}  // namespace assay::service
