#pragma once
// `assay score`: a file of rows in, the same rows with probabilities out, in the same order.

#include <string>

#include "cli/model_flags.h"
#include "cli/question_flags.h"
#include "cli/row_reader.h"
#include "cli/streams.h"

namespace assay::cli {

struct ScoreFlags {
  ModelFlags model;
  QuestionFlags question;  // CSV: every row's question; JSONL: for rows that leave it out
  std::string input;       // "-" is standard input
  std::string output = "-";
  std::string format = "auto";
  CsvColumns columns;
  bool overwrite = false;
  std::int32_t progress_seconds = 10;
  std::string layout = "auto";
  std::string receipts;  // a file for the receipts; empty: none
};

// The specs of all of the above. `flags` must outlive them.
CommandSpec score_command(ScoreFlags& flags);

// Answers each row or writes why not, and flushes after each. Rows that the output file already holds are not asked
// again. Each answered row's receipt is written before the row itself, so that no row is there without its receipt; a
// run that goes on after a power cut may write one receipt twice. Exit codes: 0; 2 for the caller's fault; 3 when all
// rows were read and some failed; 130 when the context said stop (the row in work is finished; the same command goes on
// there); 1 otherwise.
int run_score(const ScoreFlags& flags, Streams& streams, const RunContext& context, const OpenDecider& open);

}  // namespace assay::cli
