// Reading goes top down: each reader checks one level and gives errors whose field is relative to that level; the
// caller puts its own part of the path before it. So no path is built while all is well.
#include "server/wires/wire.h"

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

Error below(const std::string& parent, Error error) {
  error.field.insert(0, parent);
  return error;
}

std::string element(const char* list, std::size_t index) {
  return std::string(list) + "[" + std::to_string(index) + "]";
}

Result<std::string> read_text(const Value& object, const char* key) {
  const Value* value = object.find(key);
  const std::string field = std::string(".") + key;
  if (value == nullptr) return invalid_argument(field, "is missing");
  if (value->string() == nullptr) return invalid_argument(field, "must be a string");
  if (value->string()->empty()) return invalid_argument(field, "must not be empty");
  return *value->string();
}

Result<Option> read_option(const Value& value) {
  if (!value.is_object()) return invalid_argument("", "must be an object with an id");
  Result<std::string> id = read_text(value, "id");
  if (!id.ok()) return id.error();
  Option option{.id = std::move(id).value(), .description = std::nullopt};
  const Value* description = value.find("description");
  if (description == nullptr || description->is_null()) return option;
  if (description->string() == nullptr) return invalid_argument(".description", "must be a string or null");
  option.description = *description->string();
  return option;
}

Result<std::vector<Option>> read_options(const Value& decision, const WireOptions& limits) {
  const Value* list = decision.find("options");
  if (list == nullptr) return invalid_argument(".options", "is missing");
  if (list->array() == nullptr) return invalid_argument(".options", "must be an array");
  const std::size_t count = list->array()->size();
  const std::string given = std::to_string(count) + " options given; ";
  if (count < limits.options_min) {
    return invalid_argument(".options", given + "the least is " + std::to_string(limits.options_min));
  }
  if (count > limits.options_max) {
    return Error{ErrorCode::kTooLong, given + "the limit is " + std::to_string(limits.options_max), ".options"};
  }
  std::vector<Option> options;
  std::set<std::string> ids;
  for (std::size_t i = 0; i < count; ++i) {
    Result<Option> option = read_option((*list->array())[i]);
    if (!option.ok()) return below(element(".options", i), option.error());
    if (!ids.insert(option->id).second) {
      return invalid_argument(element(".options", i) + ".id", "is the id of an earlier option too");
    }
    options.push_back(std::move(option).value());
  }
  return options;
}

std::string ascii_lower(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

// The ids are unique, so two of one pair are both of it, unless they differ only in case ("yes", "YES").
bool say_yes_and_no(const std::vector<Option>& options) {
  if (options.size() != 2) return false;
  const std::set<std::string> ids = {ascii_lower(options[0].id), ascii_lower(options[1].id)};
  return ids == std::set<std::string>{"no", "yes"} || ids == std::set<std::string>{"false", "true"};
}

bool count_from_zero(const std::vector<Option>& options) {
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (options[i].id != std::to_string(i)) return false;
  }
  return options.size() >= 3;
}

Result<QuestionType> read_type(const Value& decision, const std::vector<Option>& options) {
  const Value* type = decision.find("type");
  if (type == nullptr || type->is_null()) return implied_question_type(options);
  const std::string name = type->string() == nullptr ? "" : *type->string();
  if (name == "choice") return QuestionType::kChoice;
  if (name == "scale") return QuestionType::kScale;
  if (name != "yes_no") return invalid_argument(".type", "must be \"choice\", \"yes_no\" or \"scale\"");
  if (options.size() != 2) return invalid_argument(".type", "yes_no needs exactly two options");
  return QuestionType::kYesNo;
}

// The x_ fields of a decision, and those at the top that hold for every one.
Status read_own_fields(const Value& decision, const WireOptions& limits, const QuestionFields& all,
                       Question& question) {
  QuestionFields own;
  for (const Value::Member& member : *decision.object()) {
    const std::optional<Status> read = read_question_field(member, own);
    if (read.has_value() && !read->ok()) return below(".", read->error());
  }
  const Status applied = apply_question_fields(all, own, limits.options_max, question);
  return applied.ok() ? applied : below(".", applied.error());
}

Result<Question> read_question(const Value& decision, const WireOptions& limits, const QuestionFields& fields) {
  Result<std::string> id = read_text(decision, "id");
  if (!id.ok()) return id.error();
  Result<std::string> text = read_text(decision, "question");
  if (!text.ok()) return text.error();
  Result<std::vector<Option>> options = read_options(decision, limits);
  if (!options.ok()) return options.error();
  const Result<QuestionType> type = read_type(decision, *options);
  if (!type.ok()) return type.error();
  Question question{.id = std::move(id).value(),
                    .text = std::move(text).value(),
                    .type = type.value(),
                    .options = std::move(options).value()};
  const Status applied = read_own_fields(decision, limits, fields, question);
  if (!applied.ok()) return applied.error();
  return question;
}

// Checks the state where it lies and gives a pointer to it, because it can be most of the body.
Result<const Value*> read_state(const Value& decision) {
  const Value* state = decision.find("state");
  if (state == nullptr) return invalid_argument(".state", "is missing");
  const bool empty = (state->is_string() && state->string()->empty()) ||
                     (state->is_array() && state->array()->empty()) || (state->is_object() && state->object()->empty());
  if (empty) return invalid_argument(".state", "must not be empty");
  if (!state->is_string() && !state->is_array() && !state->is_object()) {
    return invalid_argument(".state", "must be a string, an object or an array");
  }
  return state;
}

// Adds one decision to the request. The first one gives the state, the others must have the same.
Status read_decision(const Value& decision, const WireOptions& limits, const QuestionFields& fields,
                     DecisionRequest& request) {
  if (!decision.is_object()) return invalid_argument("", "must be an object");
  Result<Question> question = read_question(decision, limits, fields);
  if (!question.ok()) return question.error();
  for (const Question& earlier : request.questions) {
    if (earlier.id == question->id) return invalid_argument(".id", "is the id of an earlier decision too");
  }
  const Result<const Value*> state = read_state(decision);
  if (!state.ok()) return state.error();
  if (request.questions.empty()) {
    request.state = *state.value();
  } else if (*state.value() != request.state) {
    return invalid_argument(".state", "differs from the state of decisions[0]; all decisions share one state");
  }
  request.questions.push_back(std::move(question).value());
  return {};
}

Status read_decisions(const Value& list, const WireOptions& limits, const QuestionFields& fields,
                      DecisionRequest& request) {
  if (list.array() == nullptr || list.array()->empty()) {
    return invalid_argument("decisions", "must be a non-empty array");
  }
  const std::size_t count = list.array()->size();
  if (count > limits.questions_max) {
    return Error{ErrorCode::kTooLong,
                 std::to_string(count) + " decisions given; the limit is " + std::to_string(limits.questions_max),
                 "decisions"};
  }
  for (std::size_t i = 0; i < count; ++i) {
    const Status read = read_decision((*list.array())[i], limits, fields, request);
    if (!read.ok()) return below(element("decisions", i), read.error());
  }
  return {};
}

// Everything at the top but the decisions themselves.
Status read_settings(const Value& top, DecisionRequest& request, QuestionFields& fields) {
  if (const Status one = check_one_timeout(top); !one.ok()) return one;
  for (const Value::Member& member : *top.object()) {
    const std::string& key = member.first;
    std::optional<Status> read = read_request_field(member, request);
    if (!read.has_value()) read = read_question_field(member, fields);
    if (read.has_value()) {
      if (!read->ok()) return *read;
    } else if (key != "decision" && key != "decisions" && !key.starts_with("x_")) {
      return invalid_argument(key.substr(0, 100),
                              "is not known here; a body holds decision or decisions, timeout_ms, "
                              "and keys that begin with x_");
    }
  }
  return {};
}

Result<WireRequest> read_request(const Value& top, const WireOptions& limits, const WireHeaders& headers) {
  if (!top.is_object()) return invalid_argument("", "the body must be a JSON object with decision or decisions");
  WireRequest wire;
  // First the headers, then the body's fields over them.
  QuestionFields fields;
  Status settings = read_wire_headers(headers, wire.request);
  if (settings.ok()) settings = read_settings(top, wire.request, fields);
  if (!settings.ok()) return settings.error();
  const Value* one = top.find("decision");
  const Value* many = top.find("decisions");
  if ((one == nullptr) == (many == nullptr)) {
    return invalid_argument("", "the body must hold exactly one of decision and decisions");
  }
  wire.single = one != nullptr;
  const Status read = wire.single ? read_decision(*one, limits, fields, wire.request)
                                  : read_decisions(*many, limits, fields, wire.request);
  if (!read.ok()) return wire.single ? below("decision", read.error()) : read.error();
  return wire;
}

}  // namespace

QuestionType implied_question_type(const std::vector<Option>& options) {
  if (say_yes_and_no(options)) return QuestionType::kYesNo;
  return count_from_zero(options) ? QuestionType::kScale : QuestionType::kChoice;
}

Result<WireRequest> parse_semif_request(std::string_view body, const WireOptions& options, const WireHeaders& headers) {
  if (body.size() > options.body_bytes_max) {
    return Error{ErrorCode::kTooLong,
                 "the body has " + std::to_string(body.size()) + " bytes; the limit is " +
                     std::to_string(options.body_bytes_max),
                 ""};
  }
  const Result<Value> top = parse_json(body);
  if (!top.ok()) return top.error();
  Result<WireRequest> wire = read_request(top.value(), options, headers);
  if (wire.ok() || wire.error().field.empty()) return wire;
  Error error = wire.error();
  error.message.insert(0, error.field + " ");
  return error;
}

Error semif_error(bool single, Error error) {
  const std::string from = error.field;
  std::string root = single ? "decision" : "decisions[0]";
  std::string rest;
  if (from == "state" || from.starts_with("state.") || from.starts_with("state[")) {
    rest = "." + from;
  } else if (const std::size_t close = from.find(']'); from.starts_with("questions[") && close != std::string::npos) {
    if (!single) root = "decisions" + from.substr(9, close - 8);
    rest = from.substr(close + 1);
    if (rest == ".text") rest = ".question";
    if (rest == ".permute") rest = ".x_permute";
  } else if (from == "readout" || from == "layout" || from == "hidden_state" || from == "receipt" ||
             from == "allowed_mass" || from == "priority" || from == "lesson" || from == "explain") {
    root = "x_" + from;
  } else if (from == "questions") {
    root = single ? "decision" : "decisions";
  } else {
    return error;
  }
  error.field = root + rest;
  if (error.message.starts_with(from)) error.message.replace(0, from.size(), error.field);
  return error;
}

int semif_status(ErrorCode code) { return code == ErrorCode::kTooLong ? 400 : http_status(code); }

}  // namespace assay::server
