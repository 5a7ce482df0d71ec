#pragma once
// A lesson on its way into a file.

#include <string>

#include "assay/lesson.h"

namespace assay {

struct LessonFile {
  std::string text;  // lesson_text()
  Lesson lesson;     // what lesson_from_text() makes of it
};
// Errors: as lesson_from_text(), so that no file is written that could not be read again; also a text that is no UTF-8.
// Cheaper than both together: the head's numbers are checked, and not unpacked from what they were just packed into.
Result<LessonFile> lesson_file(const Lesson& lesson);

}  // namespace assay
