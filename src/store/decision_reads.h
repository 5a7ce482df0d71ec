#pragma once
// Reading the store's tables. What stands there and cannot have been written by insert_decision() is kIo: a damaged
// file.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "assay/error.h"
#include "store/database.h"
#include "store/decision_record.h"

namespace assay::store {

// Which answers, and in what order.
struct AnswerFilter {
  std::string fingerprint;     // of one question; empty: any
  bool labelled_only = false;  // somebody has said what was right
  bool newest_first = false;   // else the oldest come first
};

Result<std::optional<DecisionRecord>> find_decision(Database& database, const std::string& id);

// At most rows_max answers behind `after` in the filter's order: with the place of the last one the next page begins.
// Nothing: from the beginning.
Result<std::vector<AnswerRow>> answer_rows(Database& database, const AnswerFilter& filter,
                                           std::optional<std::int64_t> after, std::size_t rows_max);

// That somebody has said what was right of an answer, and nothing else of it.
struct LabelMark {
  std::int64_t answer = 0;  // AnswerRow::place
  std::size_t option = 0;   // its place in the answer's question
  std::string fingerprint;  // of that question
};
// At most marks_max of all questions' labels, behind the answer `after`, in the order of the answers: what is cheap to
// hold against what was read before.
Result<std::vector<LabelMark>> label_marks(Database& database, std::int64_t after, std::size_t marks_max);

// A page of decisions in the order of arrival.
struct DecisionPage {
  std::int64_t after = 0;      // of the last one of the page before; 0: from the beginning
  bool labelled_only = false;  // somebody has said what was right
  std::size_t rows_max = 1;
  std::size_t bytes_max = 1;  // of states: no more follow the one that reaches it
};
// Empty: there are no more.
Result<std::vector<DecisionRecord>> decisions_after(Database& database, const DecisionPage& page);

// In the order in which they were first asked.
Result<std::vector<QuestionCount>> question_counts(Database& database);

}  // namespace assay::store
