#pragma once
// A row: one decision, perhaps with its right answer, as rows of a JSONL file and `assay decide` bodies hold it.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/decision.h"
#include "assay/error.h"
#include "assay/value.h"

namespace assay::cli {

// In what order JevBench's choice criteria become options; small models are sensitive to it.
enum class OptionOrder {
  kCriteria,  // the order of the keys in the file, what a server sees
  kLabels,    // the order of the record's `labels`
  kReversed,  // criteria order, backwards
};
std::optional<OptionOrder> option_order_from_name(std::string_view name);  // "criteria", "labels", "reversed"

struct Row {
  Value id;            // a string or an integer; null when the row has none
  std::string family;  // empty when the row names none
  Value state;
  Question question;                    // its id is empty
  std::optional<std::size_t> expected;  // index into question.options

  std::string id_text() const { return id.is_null() ? "" : to_display_text(id); }
};

struct RowRules {
  OptionOrder order = OptionOrder::kCriteria;
  const Question* defaults = nullptr;  // question, type and options for rows that leave them out; may be null
};

// Reads {id?, state, question, options, type?, expected?, family?} or, when `question` is an object, a JevBench
// record. Unknown members are ignored. Errors are kInvalidArgument with the field's path. What needs no JSON to be
// checked (unique ids, limits) is left to the decider.
Result<Row> row_from_json(const Value& value, const RowRules& rules);

// ["a", {"id": "b", "description": "…"}] to options.
Result<std::vector<Option>> options_from_json(const Value& value, const std::string& field);

// Which option an `expected` member names: an id, or an integer or boolean that is written like one.
Result<std::size_t> expected_option(const Value& expected, const std::vector<Option>& options);

std::optional<QuestionType> question_type_from_name(std::string_view name);  // "choice", "yes_no", "scale"

// A decider's error in a row's terms: "questions[0].options[1].id" becomes "options[1].id", in field and message.
Error row_error(Error error);

// The request that asks exactly this row.
DecisionRequest request_for(const Row& row, Layout layout);

}  // namespace assay::cli
