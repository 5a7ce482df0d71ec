// Readers give errors whose field is relative to what they read; the caller puts its own part of the path before it.
#include "server/wires/openai_decisions_request.h"

#include <charconv>
#include <utility>

#include "server/wires/openai_error.h"
#include "server/wires/openai_input.h"

namespace assay::server {
namespace {

constexpr std::size_t kAnswersMin = 2;  // choices or levels of one question

Result<std::optional<std::string>> read_optional_text(const Value& object, const char* key) {
  const Value* value = object.find(key);
  if (value == nullptr || value->is_null()) return std::optional<std::string>();
  if (value->string() == nullptr) return invalid_argument(std::string(".") + key, "must be a string");
  return std::optional<std::string>(*value->string());
}

// The list under `key`, with as many elements as a question may have.
Result<const Value::Array*> read_list(const Value& question, const char* key, std::size_t count_max) {
  const Value* list = question.find(key);
  const std::string field = std::string(".") + key;
  if (list == nullptr) return invalid_argument(field, "is missing");
  if (list->array() == nullptr) return invalid_argument(field, "must be an array");
  const std::size_t count = list->array()->size();
  if (count >= kAnswersMin && count <= count_max) return list->array();
  return invalid_argument(field, "has " + std::to_string(count) + " elements; there must be " +
                                     std::to_string(kAnswersMin) + " to " + std::to_string(count_max));
}

Result<DeclaredValue> read_choice(const Value& choice) {
  if (!choice.is_object()) return invalid_argument("", "must be an object with a value");
  const Value* value = choice.find("value");
  if (value == nullptr) return invalid_argument(".value", "is missing");
  if (!value->is_string() && value->boolean() == nullptr) {
    return invalid_argument(".value", "must be a string or a boolean");
  }
  Result<std::optional<std::string>> description = read_optional_text(choice, "description");
  if (!description.ok()) return description.error();
  return DeclaredValue{.value = *value, .description = std::move(description).value()};
}

Status read_choices(const Value& given, std::size_t count_max, Question& question, OpenAiQuestion& wire) {
  const Result<const Value::Array*> list = read_list(given, "choices", count_max);
  if (!list.ok()) return list.error();
  std::vector<DeclaredValue> values;
  for (const Value& choice : *list.value()) {
    Result<DeclaredValue> value = read_choice(choice);
    if (!value.ok()) return in_parent(list_element(".choices", values.size()), value.error());
    wire.values.push_back(value->value);
    values.push_back(std::move(value).value());
  }
  Result<std::vector<Option>> options = options_of_values(values);
  if (!options.ok()) return in_parent(".choices", options.error());
  question.options = std::move(options).value();
  question.type = are_true_and_false(values) ? QuestionType::kYesNo : QuestionType::kChoice;
  return {};
}

// A level's id is its value; the model reads its label, and what it means behind that.
Status read_levels(const Value& given, std::size_t count_max, Question& question, OpenAiQuestion& wire) {
  const Result<const Value::Array*> list = read_list(given, "levels", count_max);
  if (!list.ok()) return list.error();
  question.type = QuestionType::kScale;
  for (const Value& level : *list.value()) {
    const std::string field = list_element(".levels", wire.labels.size());
    if (!level.is_object()) return invalid_argument(field, "must be an object with a label");
    const Value* label = level.find("label");
    if (label == nullptr) return invalid_argument(field + ".label", "is missing");
    if (label->string() == nullptr) return invalid_argument(field + ".label", "must be a string");
    const Result<std::optional<std::string>> description = read_optional_text(level, "description");
    if (!description.ok()) return in_parent(field, description.error());
    std::string text = *label->string();
    const std::string more = description.value().value_or("");
    if (!more.empty()) text += (text.empty() ? "" : ": ") + more;
    question.options.push_back(Option{.id = std::to_string(wire.labels.size()), .description = std::move(text)});
    wire.labels.push_back(*label->string());
  }
  return {};
}

Status read_answers(const Value& given, const WireSettings& settings, Question& question, OpenAiQuestion& wire) {
  const Value* value = given.find("type");
  if (value == nullptr) return invalid_argument(".type", "is missing");
  const std::string type = value->string() == nullptr ? "" : *value->string();
  if (type == "choice") {
    wire.type = OpenAiQuestionType::kChoice;
    return read_choices(given, settings.system_one_options_max, question, wire);
  }
  if (type == "score") {
    wire.type = OpenAiQuestionType::kScore;
    return read_levels(given, settings.system_one_levels_max, question, wire);
  }
  if (type != "predicate") return invalid_argument(".type", "must be \"predicate\", \"choice\" or \"score\"");
  question.type = QuestionType::kYesNo;
  question.options = {Option{.id = "true", .description = std::nullopt},
                      Option{.id = "false", .description = std::nullopt}};
  return {};
}

Result<QuestionFields> read_own_fields(const Value& given) {
  QuestionFields own;
  for (const Value::Member& member : *given.object()) {
    const std::optional<Status> read = read_question_field(member, own);
    if (read.has_value() && !read->ok()) return in_parent(".", read->error());
  }
  return own;
}

Status read_question(const Value& given, const QuestionFields& all, const WireSettings& settings, Question& question,
                     OpenAiQuestion& wire) {
  if (!given.is_object()) return invalid_argument("", "must be an object");
  const Status answers = read_answers(given, settings, question, wire);
  if (!answers.ok()) return answers.error();
  Result<std::optional<std::string>> name = read_optional_text(given, "name");
  if (!name.ok()) return name.error();
  wire.name = std::move(name).value();
  question.name = wire.name.value_or("");
  const Value* instructions = given.find("instructions");
  if (instructions == nullptr) return invalid_argument(".instructions", "is missing");
  Result<std::string> text = read_openai_instructions(*instructions, settings.reads_images);
  if (!text.ok()) return in_parent(".instructions", text.error());
  question.text = std::move(text).value();
  const Result<QuestionFields> own = read_own_fields(given);
  if (!own.ok()) return own.error();
  // With an option beside true and false it is no longer a question of yes or no.
  const bool more = own->none_of_these.value_or(all.none_of_these.value_or(false));
  if (more && wire.type == OpenAiQuestionType::kChoice) question.type = QuestionType::kChoice;
  const Status applied = apply_question_fields(all, own.value(), settings.options_max, question);
  return applied.ok() ? applied : in_parent(".", applied.error());
}

Status read_questions(const Value& top, const QuestionFields& all, const WireSettings& settings,
                      OpenAiDecisions& decisions) {
  const Value* list = top.find("questions");
  if (list == nullptr) return invalid_argument("questions", "is missing");
  if (list->array() == nullptr) return invalid_argument("questions", "must be an array");
  const std::size_t count = list->array()->size();
  if (count == 0 || count > settings.openai_questions_max) {
    return invalid_argument("questions", "has " + std::to_string(count) + " elements; there must be 1 to " +
                                             std::to_string(settings.openai_questions_max));
  }
  decisions.questions.reserve(count);
  decisions.request.questions.reserve(count);
  for (const Value& given : *list->array()) {
    const std::size_t index = decisions.questions.size();
    Question question;
    question.id = std::to_string(index);
    OpenAiQuestion wire;
    const Status read = read_question(given, all, settings, question, wire);
    if (!read.ok()) return in_parent(list_element("questions", index), read.error());
    decisions.request.questions.push_back(std::move(question));
    decisions.questions.push_back(std::move(wire));
  }
  return {};
}

// The fields that every wire has; what they ask of all questions goes into `all`.
Status read_settings(const Value& top, const WireHeaders& headers, OpenAiDecisions& decisions, QuestionFields& all) {
  decisions.request.allowed_mass = false;  // it costs the whole vocabulary's logits, so it is told when asked for
  Status read = read_wire_headers(headers, decisions.request);
  if (read.ok()) read = check_one_timeout(top);
  if (!read.ok()) return read;
  for (const Value::Member& member : *top.object()) {
    std::optional<Status> field = read_request_field(member, decisions.request);
    if (!field.has_value()) field = read_question_field(member, all);
    if (field.has_value() && !field->ok()) return *field;
  }
  return {};
}

}  // namespace

Result<OpenAiDecisions> read_openai_decisions(const Value& top, const WireHeaders& headers,
                                              const WireSettings& settings) {
  if (!top.is_object()) return invalid_argument("", "the body must be a JSON object with input and questions");
  OpenAiDecisions decisions;
  QuestionFields all;
  Status read = read_settings(top, headers, decisions, all);
  if (!read.ok()) return read.error();
  read = check_openai_model(top, settings, kOpenAiDecisionsModel);
  if (!read.ok()) return read.error();
  const Value* input = top.find("input");
  if (input == nullptr) return invalid_argument("input", "is missing");
  ImageList images;
  Result<Value> state = read_openai_input(*input, settings.reads_images ? &images : nullptr);
  if (!state.ok()) return in_parent("input", state.error());
  decisions.request.state = std::move(state).value();
  decisions.request.images = images.take();
  read = read_questions(top, all, settings, decisions);
  if (!read.ok()) return read.error();
  return decisions;
}

std::string openai_decisions_field(const std::string& field, const std::vector<OpenAiQuestion>& questions) {
  if (field.starts_with("state")) return "input";
  if (field == "readout" || field == "layout" || field == "receipt" || field == "priority" || field == "hidden_state" ||
      field == "lesson" || field == "explain") {
    return "x_" + field;
  }
  if (field == "images") return "input";
  const std::string list = "questions[";
  const std::size_t close = field.find(']');
  if (!field.starts_with(list) || close == std::string::npos) return field;
  std::size_t index = questions.size();
  std::from_chars(field.data() + list.size(), field.data() + close, index);
  if (index >= questions.size()) return field;
  std::string question = field.substr(0, close + 1);
  const std::string rest = field.substr(close + 1);
  if (rest == ".text") return question + ".instructions";
  if (rest == ".min_confidence" || rest == ".permute") return question + ".x_" + rest.substr(1);
  const std::string options = ".options";
  if (!rest.starts_with(options)) return field;
  const OpenAiQuestionType type = questions[index].type;
  if (type == OpenAiQuestionType::kPredicate) return question;
  const bool is_choice = type == OpenAiQuestionType::kChoice;
  std::string inner = rest.substr(options.size());
  if (inner.ends_with(".id")) inner.replace(inner.size() - 3, 3, is_choice ? ".value" : ".label");
  return question + (is_choice ? ".choices" : ".levels") + inner;
}

}  // namespace assay::server
