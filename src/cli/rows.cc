#include "cli/rows.h"

#include <utility>

#include "cli/jevbench_rows.h"
#include "cli/json_fields.h"
#include "server/wires/wire.h"

namespace assay::cli {
namespace {

Result<Option> option_from_json(const Value& value, const std::string& field) {
  if (value.is_string()) return Option{*value.string(), std::nullopt};
  if (!value.is_object()) return invalid_argument(field, "an option is an id or an object with an 'id'");
  const Result<std::string> id = text_member(value, "id");
  if (!id.ok()) return invalid_argument(field + ".id", id.error().message);
  Option option{*id, std::nullopt};
  const Value* const description = value.find("description");
  if (description == nullptr || description->is_null()) return option;
  if (!description->is_string()) return invalid_argument(field + ".description", "'description' must be a string");
  option.description = *description->string();
  return option;
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

Status read_question(const Value& value, const RowRules& rules, Question& question) {
  if (rules.defaults != nullptr) question = *rules.defaults;
  const Value* const type = value.find("type");
  const bool names_type = type != nullptr && !type->is_null();
  if (names_type) {
    const auto known = type->is_string() ? question_type_from_name(*type->string()) : std::nullopt;
    if (!known) return invalid_argument("type", "'type' is one of choice, yes_no, scale");
    question.type = *known;
  }
  if (value.find("question") != nullptr || rules.defaults == nullptr) {
    const Result<std::string> text = text_member(value, "question");
    if (!text.ok()) return text.error();
    question.text = *text;
  }
  if (const Value* const options = value.find("options")) {
    Result<std::vector<Option>> read = options_from_json(*options, "options");
    if (!read.ok()) return read.error();
    question.options = std::move(*read);
    if (!names_type) question.type = server::implied_question_type(question.options);
  } else if (question.options.empty() && question.type == QuestionType::kYesNo) {
    question.options = {{"yes", std::nullopt}, {"no", std::nullopt}};
  } else if (question.options.empty()) {
    return invalid_argument("options", "'options' is missing");
  }
  return Status();
}

Status read_common(const Value& value, Row& row) {
  if (const Value* const id = value.find("id"); id != nullptr && !id->is_null()) {
    if (!id->is_string() && id->integer() == nullptr) return invalid_argument("id", "'id' is a string or an integer");
    row.id = *id;
  }
  const Value* const state = value.find("state");
  if (state == nullptr) return invalid_argument("state", "'state' is missing");
  if (!state->is_string() && !state->is_array() && !state->is_object()) {
    return invalid_argument("state", "'state' is a string, an object or an array");
  }
  row.state = *state;
  const Result<std::string> family = text_member_or(value, "family", "");
  if (!family.ok()) return family.error();
  row.family = *family;
  return Status();
}

}  // namespace

std::optional<OptionOrder> option_order_from_name(std::string_view name) {
  if (name == "criteria") return OptionOrder::kCriteria;
  if (name == "labels") return OptionOrder::kLabels;
  if (name == "reversed") return OptionOrder::kReversed;
  return std::nullopt;
}

std::optional<QuestionType> question_type_from_name(std::string_view name) {
  for (const QuestionType type : {QuestionType::kChoice, QuestionType::kYesNo, QuestionType::kScale}) {
    if (name == question_type_name(type)) return type;
  }
  return std::nullopt;
}

Result<std::vector<Option>> options_from_json(const Value& value, const std::string& field) {
  const Value::Array* const items = value.array();
  if (items == nullptr) return invalid_argument(field, "'" + field + "' must be an array");
  std::vector<Option> out;
  for (const Value& item : *items) {
    Result<Option> option = option_from_json(item, field + "[" + std::to_string(out.size()) + "]");
    if (!option.ok()) return option.error();
    out.push_back(std::move(*option));
  }
  return out;
}

Result<std::size_t> expected_option(const Value& expected, const std::vector<Option>& options) {
  if (!expected.is_string() && expected.integer() == nullptr && expected.boolean() == nullptr) {
    return invalid_argument("expected", "'expected' is an option's id");
  }
  const std::string wanted = to_display_text(expected);
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (options[i].id == wanted) return i;
  }
  return invalid_argument("expected", "'expected' is '" + readable_text(wanted, 80) + "', which is no option's id");
}

Result<Row> row_from_json(const Value& value, const RowRules& rules) {
  if (!value.is_object()) return invalid_argument("", "a row is a JSON object");
  Row row;
  if (const Status common = read_common(value, row); !common.ok()) return common.error();
  const Value* const question = value.find("question");
  const bool jevbench = question != nullptr && question->is_object();
  const Status read =
      jevbench ? read_jevbench_question(value, rules.order, row.question) : read_question(value, rules, row.question);
  if (!read.ok()) return read.error();
  if (const Value* const expected = value.find("expected"); expected != nullptr && !expected->is_null()) {
    const Result<std::size_t> index = expected_option(*expected, row.question.options);
    if (!index.ok()) return index.error();
    row.expected = *index;
  }
  return row;
}

Error row_error(Error error) {
  for (std::string* const text : {&error.field, &error.message}) {
    replace_all(*text, "questions[0].text", "question");
    replace_all(*text, "questions[0].", "");
  }
  return error;
}

DecisionRequest request_for(const Row& row, Layout layout) {
  DecisionRequest request;
  request.state = row.state;
  request.questions = {row.question};
  request.questions[0].id = "q";
  request.layout = layout;
  return request;
}

}  // namespace assay::cli
