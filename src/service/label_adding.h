#pragma once
// From the version that answers and the labels since to the next version, without a whole fit.

#include <cstddef>
#include <memory>
#include <string>

#include "assay/decider.h"
#include "assay/lesson.h"
#include "service/kept_states.h"
#include "service/kept_teachers.h"
#include "service/lesson_book.h"
#include "service/lesson_rows.h"

namespace assay::service {

// What a fit learns from. Refers to what it is given.
struct LearningFrom {
  RowSources rows;
  Decider& decider;  // without lessons
  KeptStates& kept;
  bool keeps_states;  // what was read is kept there
};

// Of how many rows and options' words the hidden states were computed, and of how many they were kept.
struct FitRows {
  std::size_t read = 0, kept = 0;
  std::size_t left_out = 0;  // LabelledRows::left_out
};

// Can labels be added to this version at all? kInvalidArgument whose message names what can be done instead: no head,
// one that is not lda's, one of which the file does not say how (field "method"); thresholds, unless the caller does
// without them (field "without_thresholds").
Status check_adding(const Lesson& lesson, bool without_thresholds);

// Have the labels grown by a quarter since the last whole fit?
bool whole_fit_is_due(const Lesson& lesson, std::size_t labels);

// A teacher with all rows of now, whose heads continue the lesson's. Null: a whole fit is due, or no option has two
// rows that differ any more. Errors: those of labelled_rows() and read_cue_states(). REQUIRES: check_adding() passes.
Result<std::unique_ptr<KeptTeacher>> open_teacher(const LearningFrom& from, const Lesson& lesson, FitRows& counts);

// The labels since go into a teacher that was kept. False: what it learnt is not what is labelled now (a label was
// corrected, a decision forgotten, the file of rows changed), so that another must be opened; also after an error.
// REQUIRES: teacher.continues(lesson).
Result<bool> take_new_labels(const LearningFrom& from, const Lesson& lesson, KeptTeacher& teacher, FitRows& counts);

// The next version: the active one with the teacher's head. Its calibrations are the active one's and it has no
// thresholds; Growth says so. REQUIRES: teacher.continues(active.lesson).
Lesson grown_lesson(const ShelvedLesson& active, const KeptTeacher& teacher, std::string created);

}  // namespace assay::service
