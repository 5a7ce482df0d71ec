#pragma once
// Rows out of a JSONL or CSV stream, one by one, faulty ones included.

#include <cstddef>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/csv.h"
#include "cli/rows.h"

namespace assay::cli {

enum class RowFormat { kJsonLines, kCsv };

// By the name's end: ".csv" is CSV, ".jsonl", ".ndjson" and ".json" are JSONL; nothing otherwise.
std::optional<RowFormat> row_format_of_path(const std::string& path);

struct SourceRow {
  std::size_t number = 0;            // 1 is the first
  Result<Row> row;                   // a row without an id gets "row-<number>"; a faulty row has an error
  Value id;                          // the row's id, as far as it could be read
  std::vector<std::string> columns;  // CSV: the record's fields
};

struct CsvColumns {
  std::string state = "state";
  std::string id = "id";              // used when there is such a column
  std::string expected = "expected";  // used when there is such a column
  std::string question;               // a column that holds each row's question; empty: none
};

// Not thread-safe.
class RowReader {
 public:
  virtual ~RowReader() = default;
  // Nothing at the end.
  virtual std::optional<SourceRow> next() = 0;
  // CSV: the header's fields and whether its line ended in CRLF.
  virtual const CsvRecord* header() const { return nullptr; }
};

// The stream and what `rules` points to must outlive the reader. Empty lines are no rows.
std::unique_ptr<RowReader> open_json_lines(std::istream& in, RowRules rules);

// Errors: no header, or no such column. REQUIRES: rules.defaults.
Result<std::unique_ptr<RowReader>> open_csv(std::istream& in, const CsvColumns& columns, RowRules rules);

}  // namespace assay::cli
