#pragma once
// From a row of the tables to an AnswerRecord.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "assay/error.h"
#include "store/database.h"
#include "store/decision_record.h"

namespace assay::store {

// The columns that answer_of() reads, of answer a, question q and feedback f; and where the next free column is.
extern const char* const kAnswerColumns;
inline constexpr int kAnswerColumnCount = 37;

// What a damaged file is called.
Error damaged(const Database& database, const std::string& what);

// Options of questions, each read once. Used by one thread.
class ChoiceReader {
 public:
  explicit ChoiceReader(Database& database) : database_(database) {}
  Result<std::vector<Option>> options(std::int64_t question);

 private:
  Database& database_;
  std::map<std::int64_t, std::vector<Option>> known_;
};

// The answer of the row that `query` stands on. REQUIRES: its first columns are kAnswerColumns.
Result<AnswerRecord> answer_of(Database& database, const Query& query, ChoiceReader& choices);

Result<QuestionType> stored_type(const Database& database, const std::string& name);

}  // namespace assay::store
