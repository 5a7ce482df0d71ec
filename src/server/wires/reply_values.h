#pragma once
// Pieces that the replies of several wires have in common.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "assay/decision.h"
#include "assay/value.h"

namespace assay::server {

// True when every double that an answer can show is finite.
bool all_finite(const Answer& answer);
// kNonfiniteLogits when an answer holds a number that is not finite; it names the question by its id. kInternal when a
// time does.
Status check_finite(const DecisionReply& reply);

Value token_list(const std::vector<std::int32_t>& tokens);
// x_explain: prompt, token ids and the options' tokens with their log-probabilities.
Value explanation_value(const Answer& answer);
// x_hidden_state.
Value hidden_state_value(const Answer& answer);
// x_receipt.
Value receipt_value(const Receipt& receipt);
// What a lesson did to an answer: x_calibrated, x_lesson, x_lesson_note, x_decision, x_threshold, x_risk and
// x_fallback; nothing where none had a part in it. `option_value` says an option as the wire does.
void add_lesson_values(Value::Object& out, const Answer& answer,
                       const std::function<Value(std::size_t option)>& option_value);
// What is said of a reply as a whole, behind all else: x_answer_cache, x_decision_id and x_receipt, where there is
// something to say.
void add_reply_extras(Value::Object& body, const DecisionReply& reply);

// -sum p ln p, in nats: 0 where one option has everything, ln n where all are equal.
double entropy_of(const Answer& answer);
// The mean of the options' places, 0 for the first: what a scale's answer is.
double expected_place(const Answer& answer);
// To this many digits behind the point; as it is for 0.
double rounded(double number, int digits);
// The options' probabilities to so many digits, as they are for 0. Rounded ones still sum to 1 and keep their order:
// each is cut, and what is missing goes, one last digit each, to those that lost most.
std::vector<double> rounded_probabilities(const Answer& answer, int digits);

// A JSON list of what `convert` makes of each item.
template <typename Items, typename Convert>
Value list_of(const Items& items, Convert convert) {
  Value::Array list;
  list.reserve(items.size());
  for (const auto& item : items) list.push_back(convert(item));
  return Value(std::move(list));
}

}  // namespace assay::server
