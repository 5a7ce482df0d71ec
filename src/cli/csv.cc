#include "cli/csv.h"

#include <utility>

namespace assay::cli {
namespace {

constexpr int kEnd = std::char_traits<char>::eof();
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

}  // namespace

int CsvReader::peek() { return returned_.empty() ? in_.peek() : static_cast<unsigned char>(returned_.back()); }

int CsvReader::take() {
  const int byte = peek();
  if (byte == kEnd) return byte;
  if (returned_.empty()) {
    in_.get();
  } else {
    returned_.pop_back();
  }
  ++offset_;
  return byte;
}

void CsvReader::skip_byte_order_mark() {
  std::string read;
  while (read.size() < kByteOrderMark.size() && peek() == static_cast<unsigned char>(kByteOrderMark[read.size()])) {
    read += static_cast<char>(take());
  }
  if (read.size() == kByteOrderMark.size()) return;
  offset_ -= read.size();
  returned_.assign(read.rbegin(), read.rend());
}

// True when `byte` ends the record: LF, CR (with or without LF) or the end of the stream.
bool CsvReader::end_line(int byte, CsvRecord& record) {
  if (byte == kEnd) return true;
  if (byte == '\n') {
    record.terminated = true;
    return true;
  }
  if (byte != '\r') return false;
  record.terminated = true;
  if (peek() == '\n') {
    take();
    record.crlf = true;
  }
  return true;
}

// Reads up to the closing quote; false when the stream ends first.
bool CsvReader::read_quoted(std::string& field, CsvRecord& record) {
  while (true) {
    const int byte = take();
    if (byte == kEnd) {
      record.fault = "a quoted field is not closed";
      return false;
    }
    if (byte != '"') {
      field += static_cast<char>(byte);
    } else if (peek() == '"') {
      take();
      field += '"';
    } else {
      return true;
    }
  }
}

void CsvReader::read_fields(CsvRecord& record) {
  std::string field;
  bool begin = true;    // nothing of this field was read
  bool closed = false;  // the field was quoted and its quote is closed
  while (true) {
    const int byte = take();
    if (byte == '"' && begin) {
      if (!read_quoted(field, record)) break;
      begin = false;
      closed = true;
      continue;
    }
    const bool ends = end_line(byte, record);
    if (ends || byte == ',') {
      record.fields.push_back(std::exchange(field, std::string()));
      if (ends) return;
      begin = true;
      closed = false;
      continue;
    }
    if (closed) record.fault = "text follows a closing quote";
    field += static_cast<char>(byte);
    begin = false;
  }
  record.fields.push_back(std::move(field));
}

std::optional<CsvRecord> CsvReader::next() {
  if (offset_ == 0) skip_byte_order_mark();
  while (peek() != kEnd) {
    CsvRecord record;
    read_fields(record);
    record.end_offset = offset_;
    const bool empty_line = record.fields.size() == 1 && record.fields[0].empty() && record.fault.empty();
    if (!empty_line) return record;
  }
  return std::nullopt;
}

std::string csv_line(const std::vector<std::string>& fields, bool crlf) {
  std::string out;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) out += ',';
    const std::string& field = fields[i];
    const bool alone_and_empty = fields.size() == 1 && field.empty();
    if (field.find_first_of(",\"\r\n") == std::string::npos && !alone_and_empty) {
      out += field;
      continue;
    }
    out += '"';
    for (const char c : field) out += c == '"' ? std::string("\"\"") : std::string(1, c);
    out += '"';
  }
  return out + (crlf ? "\r\n" : "\n");
}

}  // namespace assay::cli
