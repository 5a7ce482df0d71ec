#include "cli/jevbench_rows.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/json_fields.h"

namespace assay::cli {
namespace {

Result<std::vector<std::string>> read_labels(const Value& record) {
  std::vector<std::string> out;
  const Value* const labels = record.find("labels");
  if (labels == nullptr) return out;
  if (!labels->is_array()) return invalid_argument("labels", "'labels' must be an array");
  for (const Value& label : *labels->array()) {
    if (!label.is_string()) return invalid_argument("labels", "'labels' holds strings");
    out.push_back(*label.string());
  }
  return out;
}

// A criterion's text; null and missing ones describe nothing.
Result<std::optional<std::string>> description_of(const Value* criterion, const std::string& key) {
  if (criterion == nullptr || criterion->is_null()) return std::optional<std::string>();
  if (!criterion->is_string()) {
    return invalid_argument("question.criteria." + key, "a criterion is a string or null");
  }
  return std::optional<std::string>(*criterion->string());
}

Status read_noul(const Value* criteria, Question& question) {
  question.type = QuestionType::kYesNo;
  if (criteria != nullptr && !criteria->is_null() && !criteria->is_object()) {
    return invalid_argument("question.criteria", "criteria of a noul question are an object or null");
  }
  using Pair = std::pair<const char*, const char*>;
  for (const auto& [id, key] : {Pair{"no", "false"}, Pair{"yes", "true"}}) {
    Result<std::optional<std::string>> text = description_of(criteria == nullptr ? nullptr : criteria->find(key), key);
    if (!text.ok()) return text.error();
    question.options.push_back({id, std::move(*text)});
  }
  return Status();
}

Status read_choice(const Value* criteria, const std::vector<std::string>& labels, OptionOrder order,
                   Question& question) {
  question.type = QuestionType::kChoice;
  std::vector<std::string> keys;
  if (criteria != nullptr && criteria->is_object()) {
    for (const Value::Member& member : *criteria->object()) keys.push_back(member.first);
  } else if (criteria != nullptr && !criteria->is_null()) {
    return invalid_argument("question.criteria", "criteria of a choice question are an object or null");
  }
  if (keys.empty() || (order == OptionOrder::kLabels && !labels.empty())) keys = labels;
  if (order == OptionOrder::kReversed) std::reverse(keys.begin(), keys.end());
  for (const std::string& key : keys) {
    Result<std::optional<std::string>> text = description_of(criteria == nullptr ? nullptr : criteria->find(key), key);
    if (!text.ok()) return text.error();
    question.options.push_back({key, std::move(*text)});
  }
  return Status();
}

Status read_score(const Value* criteria, const std::vector<std::string>& labels, Question& question) {
  question.type = QuestionType::kScale;
  if (criteria == nullptr || criteria->is_null()) {
    for (const std::string& label : labels) question.options.push_back({label, std::nullopt});
    return Status();
  }
  if (!criteria->is_array()) return invalid_argument("question.criteria", "criteria of a score question are an array");
  for (const Value& level : *criteria->array()) {
    const std::string id = std::to_string(question.options.size());
    Result<std::optional<std::string>> text = description_of(&level, id);
    if (!text.ok()) return text.error();
    question.options.push_back({id, std::move(*text)});
  }
  return Status();
}

}  // namespace

Status read_jevbench_question(const Value& record, OptionOrder order, Question& question) {
  const Value& object = *record.find("question");
  const Result<std::string> type = text_member(object, "type");
  if (!type.ok()) return invalid_argument("question.type", type.error().message);
  const Value* const instructions = object.find("instructions");
  if (instructions == nullptr || instructions->is_null()) {
    return invalid_argument("question.instructions", "'instructions' is missing");
  }
  question.text = to_display_text(*instructions);
  const Result<std::vector<std::string>> labels = read_labels(record);
  if (!labels.ok()) return labels.error();
  const Value* const criteria = object.find("criteria");
  if (*type == "noul") return read_noul(criteria, question);
  if (*type == "choice") return read_choice(criteria, *labels, order, question);
  if (*type == "score") return read_score(criteria, *labels, question);
  return invalid_argument("question.type", "'question.type' is one of noul, choice, score");
}

}  // namespace assay::cli
