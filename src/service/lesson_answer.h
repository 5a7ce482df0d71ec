#pragma once
// An answer as a lesson has it: the head's scores, calibrated probabilities, what the threshold says. Pure.

#include <cstddef>

#include "assay/decision.h"
#include "service/lesson_choice.h"

namespace assay::service {

// What a question must be computed with so that the lesson can answer it: the head's cues behind the question's own;
// nothing scored where the head needs no zero-shot answer and `wants_scores` does not ask for one.
void prepare_question(const LessonPick& pick, bool wants_scores, Question& question);

// Rewrites the answer. `question` is as the caller asked it, the answer as it came for the prepared one; the head's
// cue_states are taken off it. Without a lesson only the note is set. Errors: kNonfiniteLogits, kInvalidArgument (a
// head of another width: the lesson's file lies).
Status apply_lesson(const LessonPick& pick, const Question& question, Answer& answer);

// Log of the softmax of an answer's scores, in the order of its options.
std::vector<double> log_probabilities(const Answer& answer);

}  // namespace assay::service
