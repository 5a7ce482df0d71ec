#pragma once
// Answers for people: a small table with bars, and on request everything that led to the numbers.

#include <string>

#include "assay/decision.h"
#include "cli/rows.h"

namespace assay::cli {

// What is said beside a number that should not be believed.
std::string reliability_warning(QuestionType type);

// The question, one line with id, probability and bar for each option, and one about the readout. `colours` adds ANSI
// colours.
std::string answer_table(const Row& row, const Answer& answer, bool colours);

// The prompt between two rules, its sha256, its token ids, and each option's tokens. Control characters other than
// newline and tab in the prompt are shown as \xNN, so that a state cannot drive the terminal.
std::string explain_text(const Answer& answer);

// The five hashes of a receipt, one a line.
std::string receipt_text(const Receipt& receipt);

}  // namespace assay::cli
