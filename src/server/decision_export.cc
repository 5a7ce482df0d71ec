#include "server/decision_export.h"

#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "server/lesson_routes.h"
#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

constexpr const char* kLinesType = "application/jsonlines";
constexpr std::size_t kPieceBytes = std::size_t{64} * 1024;

Result<std::int64_t> whole_number(const std::string& name, const std::string& text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, number);
  if (code == std::errc() && rest == end && number >= 0) return number;
  return invalid_argument(name, name + " must be an integer of at least 0");
}

// For whoever reads the lines: texts of our own faults go to the log.
std::string error_line(const Error& error) {
  log_line(LogLevel::kError, "an export ended early: " + error.message);
  const bool is_ours = error.code == ErrorCode::kInternal || error.code == ErrorCode::kIo;
  return to_json_text(Value(Value::Object{
             {"error", Value(is_ours ? std::string("the export ended early by a fault of the server; its log has more")
                                     : error.message)},
             {"code", Value(error_name(error.code))}})) +
         "\n";
}

// Lines together, so that small ones need not be sent alone.
void write_lines(const LessonDesk& desk, const ExportQuery& query, const BodyWriter& write) {
  std::string piece;
  const auto add = [&](std::string_view line) {
    piece.append(line).append("\n");
    if (piece.size() < kPieceBytes) return true;
    const bool is_there = write(piece);
    piece.clear();
    return is_there;
  };
  const Status done = desk.export_decisions(query, add);
  if (!done.ok()) piece += error_line(done.error());
  if (!piece.empty()) write(piece);
}

}  // namespace

Result<ExportQuery> read_export_query(const HttpRequest& request) {
  ExportQuery out;
  for (const auto& [name, value] : request.query) {
    if (name == "after" || name == "limit") {
      const Result<std::int64_t> number = whole_number(name, value);
      if (!number.ok()) return number.error();
      if (name == "after") out.after = *number;
      if (name == "limit") out.limit = static_cast<std::size_t>(*number);
    } else if (name == "labelled") {
      if (value != "true" && value != "false") return invalid_argument(name, "labelled must be true or false");
      out.labelled_only = value == "true";
    } else {
      return invalid_argument("query", "there are after, limit and labelled here, and nothing else");
    }
  }
  return out;
}

Result<HttpReply> export_reply(const LessonDesk* desk, const ExportQuery& query) {
  if (desk == nullptr) return no_lessons();
  ExportQuery first = query;
  first.limit = 1;
  const Status there = desk->export_decisions(first, [](std::string_view) { return false; });
  if (!there.ok()) return there.error();
  HttpReply reply;
  reply.content_type = kLinesType;
  reply.headers = {{"Cache-Control", "no-store"}};
  reply.stream = [desk, query](const BodyWriter& write) {
    try {
      write_lines(*desk, query, write);
      return true;
    } catch (...) {  // no memory even for a line: the body ends without its last one
      log_line(LogLevel::kError, "an export ended early: memory ran out");
      return false;
    }
  };
  return reply;
}

}  // namespace assay::server
