#pragma once
// CSV as RFC 4180 has it: quoted fields with doubled quotes and newlines in them, LF or CRLF, a byte order mark.

#include <cstdint>
#include <istream>
#include <optional>
#include <string>
#include <vector>

namespace assay::cli {

struct CsvRecord {
  std::vector<std::string> fields;
  std::uint64_t end_offset = 0;  // of the first byte behind the record and its line end
  bool terminated = false;       // a line end was there; a last record may lack it
  bool crlf = false;
  std::string fault;  // empty, or why the record is no CSV; reading goes on behind it
};

// Reads records one by one. Empty lines are skipped. Not thread-safe. The stream must outlive the reader.
class CsvReader {
 public:
  explicit CsvReader(std::istream& in) : in_(in) {}
  // Nothing at the end of the stream.
  std::optional<CsvRecord> next();

 private:
  int peek();
  int take();
  void skip_byte_order_mark();
  void read_fields(CsvRecord& record);
  bool read_quoted(std::string& field, CsvRecord& record);
  bool end_line(int byte, CsvRecord& record);

  std::istream& in_;
  std::string returned_;  // bytes that were read to look for the mark and are none, in reverse
  std::uint64_t offset_ = 0;
};

// One line with its line end. Fields are quoted only where they must be.
std::string csv_line(const std::vector<std::string>& fields, bool crlf);

}  // namespace assay::cli
