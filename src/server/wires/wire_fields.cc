// Each reader looks at one member and gives errors whose field is the member's key.
#include "server/wires/wire_fields.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <system_error>

namespace assay::server {
namespace {

constexpr std::int32_t kPermuteMax = 1024;  // no question has more options by default; any more is a slip

std::string text_of(const Value& value) { return value.string() == nullptr ? "" : *value.string(); }

std::optional<double> number_of(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, number);
  if (code != std::errc() || rest != end) return std::nullopt;
  return number;
}

std::optional<double> number_of(const Value& value) {
  if (value.number() != nullptr) return *value.number();
  return value.integer() == nullptr ? std::nullopt : number_of(value.integer()->digits);
}

Status read_flag(const Value::Member& member, bool& flag) {
  if (member.second.boolean() == nullptr) return invalid_argument(member.first, "must be true or false");
  flag = *member.second.boolean();
  return {};
}

Status read_readout(const Value& value, DecisionRequest& request) {
  const std::optional<Readout> readout = readout_from_name(text_of(value));
  if (!readout.has_value() || *readout == Readout::kHead || *readout == Readout::kTaught) {
    return invalid_argument("x_readout", "must be \"auto\", \"letters\" or \"text\"");
  }
  request.readout = *readout;
  return {};
}

Status read_layout(const Value& value, DecisionRequest& request) {
  const std::optional<Layout> layout = layout_from_name(text_of(value));
  if (!layout.has_value()) {
    return invalid_argument("x_layout", "must be \"auto\", \"state_first\" or \"question_first\"");
  }
  request.layout = *layout;
  return {};
}

Status read_priority(const std::string& field, const std::string& name, DecisionRequest& request) {
  const std::optional<Priority> priority = priority_from_name(name);
  if (!priority.has_value()) return invalid_argument(field, "must be \"interactive\" or \"bulk\"");
  request.priority = *priority;
  return {};
}

Status read_timeout(const std::string& field, std::optional<double> timeout_ms, DecisionRequest& request) {
  // Written so that NaN, which a header can spell, is refused.
  const bool good = timeout_ms.has_value() && *timeout_ms > 0 && *timeout_ms <= kTimeoutMsMax;
  if (!good) {
    return invalid_argument(field, "must be a number above 0 and at most " +
                                       std::to_string(static_cast<int>(kTimeoutMsMax)) +
                                       " (milliseconds); leave it out for the server's own");
  }
  request.timeout_ms = *timeout_ms;
  return {};
}

Status read_lesson(const Value& value, DecisionRequest& request) {
  if (!lesson_reference(text_of(value))) {
    return invalid_argument("x_lesson",
                            "must be \"auto\", \"none\" or a lesson's name: 1 to 64 of a-z, 0-9, - and _; behind it "
                            "there may be @ and the number of a version");
  }
  request.lesson = *value.string();
  return {};
}

Status read_min_confidence(const Value::Member& member, QuestionFields& fields) {
  const std::optional<double> number = number_of(member.second);
  const bool good = number.has_value() && *number >= 0 && *number <= 1;
  if (!good) return invalid_argument(member.first, "must be a number from 0 to 1");
  fields.min_confidence = number;
  return {};
}

Status read_permute(const Value::Member& member, QuestionFields& fields) {
  const std::optional<double> number = number_of(member.second);
  const bool good = number.has_value() && member.second.integer() != nullptr && *number >= 1 && *number <= kPermuteMax;
  if (!good) return invalid_argument(member.first, "must be an integer from 1 to " + std::to_string(kPermuteMax));
  fields.permute = static_cast<std::int32_t>(*number);
  return {};
}

Status read_none_of_these(const Value::Member& member, QuestionFields& fields) {
  if (member.second.boolean() != nullptr) {
    fields.none_of_these = *member.second.boolean();
    return {};
  }
  if (text_of(member.second).empty()) {
    return invalid_argument(member.first, "must be true, false or a non-empty string: the option's words");
  }
  fields.none_of_these = true;
  fields.none_of_these_text = *member.second.string();
  return {};
}

Status add_none_of_these(const std::string& text, std::size_t options_max, Question& question) {
  const bool taken = std::any_of(question.options.begin(), question.options.end(),
                                 [](const Option& option) { return option.id == kNoneOfTheseId; });
  if (taken) {
    return invalid_argument("x_none_of_these", std::string("adds an option \"") + kNoneOfTheseId +
                                                   "\", and the question has one of that name already");
  }
  if (question.options.size() >= options_max) {
    return invalid_argument("x_none_of_these", "adds an option to the question's " +
                                                   std::to_string(question.options.size()) + "; the limit is " +
                                                   std::to_string(options_max));
  }
  question.options.push_back({.id = kNoneOfTheseId, .description = text});
  return {};
}

}  // namespace

WireHeaders wire_headers(const HttpRequest& request) {
  WireHeaders headers;
  if (const std::string* timeout = find_header(request, "x-timeout-ms")) headers.timeout_ms = *timeout;
  if (const std::string* priority = find_header(request, "x-priority")) headers.priority = *priority;
  return headers;
}

Status read_wire_headers(const WireHeaders& headers, DecisionRequest& request) {
  if (headers.timeout_ms.has_value()) {
    const Status read = read_timeout("x-timeout-ms", number_of(*headers.timeout_ms), request);
    if (!read.ok()) return read;
  }
  return headers.priority.has_value() ? read_priority("x-priority", *headers.priority, request) : Status();
}

std::optional<Status> read_request_field(const Value::Member& member, DecisionRequest& request) {
  const auto& [key, value] = member;
  if (key == "timeout_ms" || key == "x_timeout_ms") return read_timeout(key, number_of(value), request);
  if (key == "x_priority") return read_priority(key, text_of(value), request);
  if (key == "x_readout") return read_readout(value, request);
  if (key == "x_layout") return read_layout(value, request);
  if (key == "x_explain") return read_flag(member, request.explain);
  if (key == "x_hidden_state") return read_flag(member, request.hidden_state);
  if (key == "x_receipt") return read_flag(member, request.receipt);
  if (key == "x_allowed_mass") return read_flag(member, request.allowed_mass);
  if (key == "x_calibrated") return read_flag(member, request.calibrated);
  if (key == "x_lesson") return read_lesson(value, request);
  return std::nullopt;
}

Status check_one_timeout(const Value& top) {
  if (top.find("timeout_ms") == nullptr || top.find("x_timeout_ms") == nullptr) return {};
  return invalid_argument("x_timeout_ms", "is another name of timeout_ms; give one of them");
}

std::optional<Status> read_question_field(const Value::Member& member, QuestionFields& fields) {
  if (member.first == "x_min_confidence") return read_min_confidence(member, fields);
  if (member.first == "x_permute") return read_permute(member, fields);
  if (member.first == "x_none_of_these") return read_none_of_these(member, fields);
  // One that is known and has no effect here is a slip: whoever says x_calibrated in a question means it.
  constexpr std::array kOfRequests = {"x_timeout_ms",   "x_priority", "x_readout",      "x_layout",     "x_explain",
                                      "x_hidden_state", "x_receipt",  "x_allowed_mass", "x_calibrated", "x_lesson"};
  if (std::find(kOfRequests.begin(), kOfRequests.end(), member.first) == kOfRequests.end()) return std::nullopt;
  return invalid_argument(member.first, "is for all questions of a request; say it at the top of the body");
}

Status apply_question_fields(const QuestionFields& all, const QuestionFields& own, std::size_t options_max,
                             Question& question) {
  question.min_confidence = own.min_confidence.value_or(all.min_confidence.value_or(0));
  const bool is_choice = question.type == QuestionType::kChoice;
  if (own.none_of_these.value_or(false) && !is_choice) {
    return invalid_argument("x_none_of_these", "is for choices; this question is none");
  }
  if (is_choice && own.none_of_these.value_or(all.none_of_these.value_or(false))) {
    const QuestionFields& asked = own.none_of_these.has_value() ? own : all;
    const Status added = add_none_of_these(asked.none_of_these_text, options_max, question);
    if (!added.ok()) return added;
  }
  const auto count = static_cast<std::int32_t>(question.options.size());
  if (own.permute.value_or(1) > count) {
    return invalid_argument("x_permute", "is " + std::to_string(*own.permute) + "; the question has " +
                                             std::to_string(count) + " options, and no more orders are averaged");
  }
  question.permute = std::min(own.permute.value_or(all.permute.value_or(1)), count);
  return {};
}

}  // namespace assay::server
