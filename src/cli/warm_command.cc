#include "cli/warm_command.h"

#include <filesystem>
#include <fstream>
#include <istream>
#include <limits>
#include <ostream>
#include <utility>
#include <vector>

#include "cli/progress.h"
#include "cli/question_flags.h"
#include "cli/rows.h"
#include "cli/text_table.h"
#include "server/wires/wire.h"
#include "server/wires/wire_json.h"

namespace assay::cli {
namespace {

constexpr const char* kExamples =
    "Example:\n"
    "  assay warm rubrics.jsonl --snapshots snapshots/ -m model.gguf\n"
    "A line: {\"state\": \"...\"}  or  {\"question\": \"...\", \"options\": [{\"id\": \"a\", \"description\": "
    "\"...\"}, "
    "\"b\"]}\n"
    "        or a body of POST /v1/decide";

struct NumberedRequest {
  std::size_t line = 0;  // in the file, 1 is the first
  DecisionRequest request;
};

struct Warmed {
  std::size_t lines = 0;
  std::size_t refused = 0;
  std::int64_t rows = 0;  // computed
};

// Asks as little as can be asked about a state.
Question neutral_question() {
  return Question{.id = "q", .text = "What is it?", .type = QuestionType::kChoice, .options = {{"It", std::nullopt}}};
}

Result<DecisionRequest> request_from_body(const std::string& line) {
  const server::WireOptions limits{.body_bytes_max = std::numeric_limits<std::size_t>::max(),
                                   .options_min = 1,
                                   .options_max = std::numeric_limits<std::size_t>::max(),
                                   .questions_max = std::numeric_limits<std::size_t>::max()};
  Result<server::WireRequest> wire = server::parse_semif_request(line, limits);
  if (!wire.ok()) return wire.error();
  return std::move(wire->request);
}

Result<std::vector<NumberedRequest>> read_requests(const std::string& path, std::istream& standard_input) {
  std::ifstream file;
  if (path != "-") {
    file.open(path, std::ios::binary);
    if (!file) return Error{ErrorCode::kNotFound, "'" + path + "' cannot be read", "FILE"};
  }
  std::istream& in = path == "-" ? standard_input : file;
  std::vector<NumberedRequest> out;
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    Result<DecisionRequest> request = warm_request(line);
    if (!request.ok()) {
      return invalid_argument(request.error().field,
                              "'" + path + "', line " + std::to_string(number) + ": " + request.error().message);
    }
    out.push_back({number, std::move(*request)});
  }
  if (out.empty()) return invalid_argument("FILE", "'" + path + "' holds no lines");
  return out;
}

Status make_folder(const std::string& path) {
  std::error_code code;
  std::filesystem::create_directories(path, code);
  if (!code && std::filesystem::is_directory(path, code)) return Status();
  return Error{ErrorCode::kIo, "--snapshots: the folder '" + path + "' cannot be made", "--snapshots"};
}

// Errors are the ones that end the run.
Status warm_line(const NumberedRequest& line, Decider& decider, std::ostream& err, Warmed& warmed) {
  const Result<DecisionReply> reply = decider.decide(line.request);
  if (reply.ok()) {
    ++warmed.lines;
    warmed.rows += reply->computed_rows;
    return Status();
  }
  if (reply.error().code == ErrorCode::kUnavailable || !decider.healthy()) return reply.error();
  ++warmed.lines;
  ++warmed.refused;
  err << "assay: line " << line.line << " refused: " << one_line(reply.error().message, 200) << "\n";
  return Status();
}

}  // namespace

CommandSpec warm_command(WarmFlags& flags) {
  CommandSpec spec{.name = "warm",
                   .summary = "Compute beginnings that requests share, and keep them in a folder",
                   .examples = kExamples,
                   .options = {}};
  spec.options.push_back(as_file(
      as_positional(text_option("FILE", "", "JSONL with states, questions or bodies, or - for stdin", &flags.file))));
  spec.options.push_back(snapshots_option(flags.model));
  spec.options.push_back(layout_option(&flags.layout));
  for (OptionSpec& option : model_options(flags.model)) spec.options.push_back(std::move(option));
  return spec;
}

Result<DecisionRequest> warm_request(const std::string& line) {
  const Result<Value> value = server::parse_json(line);
  if (!value.ok()) return value.error();
  if (value->find("decision") != nullptr || value->find("decisions") != nullptr) return request_from_body(line);
  const bool has_state = value->find("state") != nullptr;
  const bool has_question = value->find("question") != nullptr;
  if (has_state == has_question) {
    return invalid_argument("", has_state ? "a line with a state and a question is a body: put it under 'decision'"
                                          : "a line has a 'state', a 'question' with 'options', or a 'decision'");
  }
  // What the line leaves out is filled in; then it is read as a row, with a row's rules.
  Value::Object members = *value->object();
  const Question neutral = neutral_question();
  if (has_question) members.push_back({"state", Value("N/A")});
  const RowRules rules{.order = OptionOrder::kCriteria, .defaults = has_state ? &neutral : nullptr};
  const Result<Row> row = row_from_json(Value(std::move(members)), rules);
  if (!row.ok()) return row.error();
  return request_for(*row, has_state ? Layout::kStateFirst : Layout::kQuestionFirst);
}

int run_warm(const WarmFlags& flags, Streams& streams, const RunContext& context, const OpenDecider& open) {
  if (flags.file.empty()) {
    return report_error(streams.err, invalid_argument("FILE", "name the file with the lines, or - for stdin"));
  }
  if (flags.model.snapshots.empty()) {
    return report_error(streams.err, invalid_argument("--snapshots", "name a folder with --snapshots"));
  }
  Result<DeciderOptions> options = decider_options(flags.model);
  if (!options.ok()) return report_error(streams.err, options.error());
  const Result<std::vector<NumberedRequest>> requests = read_requests(flags.file, streams.in);
  if (!requests.ok()) return report_error(streams.err, requests.error());
  if (const Status made = make_folder(flags.model.snapshots); !made.ok())
    return report_error(streams.err, made.error());
  options->write_snapshots = true;
  options->layout = layout_setting(flags.layout);
  Result<std::unique_ptr<Decider>> decider = open(std::move(*options));
  if (!decider.ok()) return report_error(streams.err, decider.error());
  Progress progress(streams.err, context.clock,
                    {.what = "warm",
                     .rows = requests->size(),
                     .already = 0,
                     .log_interval_ms = 10'000,
                     .terminal = streams.err_is_terminal});
  Warmed warmed;
  for (const NumberedRequest& request : *requests) {
    if (context.stop) break;
    const std::size_t refused = warmed.refused;
    if (const Status status = warm_line(request, **decider, streams.err, warmed); !status.ok()) {
      return report_error(streams.err, status.error());
    }
    progress.step(warmed.refused > refused);
  }
  if (streams.err_is_terminal) progress.finish();
  (*decider)->drain(Decider::kNoLimit);
  streams.out << "warm: " << warmed.lines << " lines read, " << warmed.rows << " rows computed, kept in "
              << flags.model.snapshots << "\n"
              << std::flush;
  if (context.stop) return kExitInterrupted;
  return warmed.refused > 0 ? kExitSomeRowsFailed : kExitOk;
}

}  // namespace assay::cli
