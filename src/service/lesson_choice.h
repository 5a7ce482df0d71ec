#pragma once
// Which lesson is for a question. Pure functions over a shelf.

#include <cstddef>
#include <string>
#include <vector>

#include "assay/decision.h"
#include "service/lesson_book.h"

namespace assay::service {

// What was found for one question.
struct LessonPick {
  SharedLesson lesson;  // null: none
  // Of a lesson with a question: where each of its options stands in the request's. Else empty.
  std::vector<std::size_t> places;
  std::string note;  // why there is none although one may have been meant; may be empty

  bool taught() const { return lesson != nullptr && lesson->lesson.head.has_value(); }
};

// `asked`: DecisionRequest::lesson. By "auto" it is the active lesson with this question's type, text and options; else
// the first, by name, of those for any question that has calibrations for its type. A named lesson (or version, as
// lesson_reference() has it) is for every question with its options, whatever the question's words. Errors:
// kInvalidArgument with field "lesson": no such lesson, or one that cannot be used here.
Result<LessonPick> pick_lesson(const LessonShelf& shelf, const std::string& asked, const Question& question);

// The same for one lesson, also one that is not active. REQUIRES: not null.
LessonPick pick_version(const SharedLesson& lesson, const Question& question);

// SHA-256 in lower-case hex of a question's type, text and options with their descriptions, whatever their order: equal
// for questions that one lesson can be for.
std::string question_fingerprint(const Question& question);
std::string question_fingerprint(const LessonQuestion& question);

// A question as a lesson keeps it, and back (its id is "q").
LessonQuestion lesson_question(const Question& question);
Question question_of(const LessonQuestion& question);

}  // namespace assay::service
