#pragma once
// The rows that `assay score` writes, and reading them back to go on where an earlier run stopped.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/decision.h"
#include "cli/labelled.h"
#include "cli/row_reader.h"

namespace assay::cli {

// One row that an earlier run wrote.
struct DoneRow {
  bool failed = false;
  std::optional<Labelled> labelled;
};

// Immutable after it is made.
class ScoreWriter {
 public:
  virtual ~ScoreWriter() = default;
  // The first line, or an empty text when the format has none.
  virtual std::string header() const = 0;
  virtual std::string line(const SourceRow& source, const Answer& answer) const = 0;
  // REQUIRES: `error` says why the row has no answer.
  virtual std::string error_line(const SourceRow& source, const Error& error) const = 0;
  // Reads what one of the two above wrote. Errors: it is no such row, or it is another source row's.
  virtual Result<DoneRow> read_line(const SourceRow& source, const std::string& line) const = 0;
};

std::unique_ptr<ScoreWriter> json_lines_writer();

// The input's columns, then choice, probability, one p_<option> for each option, and error.
// Errors: the input has a column of one of these names.
Result<std::unique_ptr<ScoreWriter>> csv_writer(const CsvRecord& header, const Question& question);

}  // namespace assay::cli
