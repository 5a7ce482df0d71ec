#pragma once
// Going on where an earlier `assay score` stopped.

#include <cstddef>
#include <string>
#include <vector>

#include "cli/labelled.h"
#include "cli/row_reader.h"
#include "cli/score_writer.h"

namespace assay::cli {

struct Resumed {
  std::size_t rows = 0;    // rows that need not be asked again
  std::size_t failed = 0;  // of these, rows with an error
  std::vector<Labelled> labelled;
  bool has_header = false;  // CSV: the header line is there
};

// Reads the rows that the file at `path` holds and takes as many from `reader`. A last line without its end is cut
// off the file. No file is an empty one. Errors: kInvalidArgument when the rows are not those of this input, kIo.
Result<Resumed> resume_output(const std::string& path, RowFormat format, const ScoreWriter& writer, RowReader& reader);

// Cuts a last line without its end off the file at `path`, so that whole lines can follow. No file is an empty one.
Status cut_half_line(const std::string& path);

}  // namespace assay::cli
