#include "cli/score_resume.h"

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <sstream>
#include <utility>

namespace assay::cli {
namespace {

struct StoredLine {
  std::string text;
  std::uint64_t end_offset = 0;
};

// Whole lines of the file, one by one; nothing at the end or at a line without its end.
using NextLine = std::function<std::optional<StoredLine>()>;

NextLine json_lines_of(std::istream& in) {
  return [&in, offset = std::uint64_t{0}]() mutable -> std::optional<StoredLine> {
    std::string text;
    if (!std::getline(in, text) || in.eof()) return std::nullopt;
    offset += text.size() + 1;
    return StoredLine{std::move(text), offset};
  };
}

NextLine csv_records_of(CsvReader& reader) {
  return [&reader]() -> std::optional<StoredLine> {
    const std::optional<CsvRecord> record = reader.next();
    if (!record || !record->terminated) return std::nullopt;
    return StoredLine{csv_line(record->fields, false), record->end_offset};
  };
}

Error not_ours(const std::string& path, const std::string& what) {
  return invalid_argument("-o", "'" + path + "' belongs to another run: " + what +
                                    "; name another file with -o, or start anew with --overwrite");
}

std::string without_line_end(std::string line) {
  line.erase(line.find_last_not_of("\r\n") + 1);
  return line;
}

Result<Resumed> read_rows(const std::string& path, const NextLine& next_line, const ScoreWriter& writer,
                          RowReader& reader, std::uint64_t& end_offset) {
  Resumed out;
  if (const std::string header = writer.header(); !header.empty()) {
    const std::optional<StoredLine> stored = next_line();
    if (!stored) return out;
    if (without_line_end(stored->text) != without_line_end(header)) {
      return not_ours(path, "its header line is not the one that this run writes");
    }
    out.has_header = true;
    end_offset = stored->end_offset;
  }
  while (const std::optional<StoredLine> stored = next_line()) {
    const std::optional<SourceRow> source = reader.next();
    if (!source) return not_ours(path, "it has more rows than the input");
    Result<DoneRow> done = writer.read_line(*source, stored->text);
    if (!done.ok()) return not_ours(path, done.error().message);
    ++out.rows;
    if (done->failed) ++out.failed;
    if (done->labelled) out.labelled.push_back(std::move(*done->labelled));
    end_offset = stored->end_offset;
  }
  return out;
}

}  // namespace

Result<Resumed> resume_output(const std::string& path, RowFormat format, const ScoreWriter& writer, RowReader& reader) {
  std::error_code code;
  const std::uintmax_t size = std::filesystem::file_size(path, code);
  if (code || size == 0) return Resumed();
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::kIo, "'" + path + "' cannot be read", "-o"};
  CsvReader csv(file);
  std::uint64_t end_offset = 0;
  const NextLine next_line = format == RowFormat::kCsv ? csv_records_of(csv) : json_lines_of(file);
  Result<Resumed> out = read_rows(path, next_line, writer, reader, end_offset);
  if (!out.ok() || end_offset == size) return out;
  std::filesystem::resize_file(path, end_offset, code);
  if (code) return Error{ErrorCode::kIo, "'" + path + "' cannot be repaired: " + code.message(), "-o"};
  return out;
}

Status cut_half_line(const std::string& path) {
  constexpr std::uint64_t kChunkBytes = 64u * 1024;
  std::error_code code;
  const std::uintmax_t size = std::filesystem::file_size(path, code);
  if (code || size == 0) return Status();
  std::ifstream file(path, std::ios::binary);
  std::uint64_t end = size;  // no line ends behind it
  while (end > 0 && file) {
    const std::uint64_t begin = end > kChunkBytes ? end - kChunkBytes : 0;
    std::string chunk(end - begin, '\0');
    file.seekg(static_cast<std::streamoff>(begin));
    file.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    if (const std::size_t line_end = chunk.rfind('\n'); line_end != std::string::npos) {
      end = begin + line_end + 1;
      break;
    }
    end = begin;
  }
  if (!file) return Error{ErrorCode::kIo, "'" + path + "' cannot be read", ""};
  if (end == size) return Status();
  std::filesystem::resize_file(path, end, code);
  if (code) return Error{ErrorCode::kIo, "'" + path + "' cannot be repaired: " + code.message(), ""};
  return Status();
}

}  // namespace assay::cli
