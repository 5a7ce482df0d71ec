#pragma once
// Writing to the store's tables. Every function is part of the caller's transaction.

#include <cstddef>
#include <cstdint>
#include <string>

#include "assay/error.h"
#include "assay/lesson_desk.h"
#include "store/database.h"
#include "store/decision_record.h"

namespace assay::store {

// False: a decision of that id is there already, and nothing was changed.
Result<bool> insert_decision(Database& database, const DecisionRecord& record, Keep keep);

// Errors: kNotFound, field "decision_id"; kInvalidArgument, field "question_id" or "option".
Result<FeedbackResult> put_feedback(Database& database, const Feedback& feedback, std::int64_t now_ms);

// The decision, its answers, their feedback, and the questions and bytes that nothing else refers to. False: there was
// none.
Result<bool> erase_decision(Database& database, const std::string& id);

// The oldest `count` decisions without feedback, and what goes with them. Returns how many there were.
Result<std::size_t> erase_unlabelled(Database& database, std::size_t count);
// At most `count` decisions of before `time_ms`, with or without feedback.
Result<std::size_t> erase_older(Database& database, std::int64_t time_ms, std::size_t count);

}  // namespace assay::store
