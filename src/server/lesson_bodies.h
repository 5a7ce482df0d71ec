#pragma once
// The bodies of the lesson routes. They are strict: a key that is not known, a wrong type or a number out of range is
// kInvalidArgument, a text above its limit kTooLong; the error's field is the path, and its message begins with it.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "assay/error.h"
#include "assay/lesson_desk.h"

namespace assay::server {

inline constexpr std::size_t kFeedbackMax = 1000;  // labels in one body
inline constexpr std::size_t kFeedbackIdBytesMax = 4096;
inline constexpr std::size_t kLessonNameBytesMax = 64;

// 1..64 of a-z, 0-9, '-', '_', beginning with a letter or digit.
bool is_lesson_name(std::string_view name);

struct FeedbackBody {
  std::vector<Feedback> list;
  bool single = true;  // the body was one object; false: an array
};
// {"decision_id", "option", "question_id"?, "note"?}, or an array of 1..kFeedbackMax of them.
Result<FeedbackBody> read_feedback_body(std::string_view body);

// {"risk"?, "level"?, "method"?, "shadow"?, "without_thresholds"?}; an empty body is the defaults. The last one is for
// the method "add" alone.
Result<FitOptions> read_fit_body(std::string_view body);

// {"version"}: at least 1.
Result<std::int32_t> read_activate_body(std::string_view body);

// {"force"?}; an empty body is false.
Result<bool> read_promote_body(std::string_view body);

}  // namespace assay::server
