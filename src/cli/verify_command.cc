#include "cli/verify_command.h"

#include <fstream>
#include <istream>
#include <ostream>
#include <utility>

#include "cli/answer_json.h"
#include "cli/json_fields.h"
#include "cli/progress.h"
#include "cli/question_flags.h"
#include "cli/receipt_json.h"
#include "cli/text_table.h"

namespace assay::cli {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  assay score rows.jsonl -o scored.jsonl --receipts receipts.jsonl -m model.gguf\n"
    "  assay verify receipts.jsonl -m model.gguf\n"
    "A line: {\"request\": <a body of POST /v1/decide>, \"receipt\": <the reply's x_receipt>}";

struct NumberedLine {
  std::size_t number = 0;  // in the file, 1 is the first
  ReceiptLine content;
};

// A line whose receipt did not come out again.
struct Mismatch {
  std::size_t line = 0;
  std::string id;                        // of its first question
  std::vector<std::string> differences;  // empty: the request was refused
  Receipt expected;
  Receipt computed;
  Error error;  // only meaningful without differences

  bool refused() const { return differences.empty(); }
  // The same inputs gave other numbers.
  bool is_fault() const { return differences.size() == 1 && differences.front() == "scores"; }
};

struct Verified {
  std::size_t lines = 0;
  std::vector<Mismatch> mismatches;

  std::size_t faults() const {
    std::size_t count = 0;
    for (const Mismatch& mismatch : mismatches) count += mismatch.is_fault() ? 1 : 0;
    return count;
  }
  std::size_t refused() const {
    std::size_t count = 0;
    for (const Mismatch& mismatch : mismatches) count += mismatch.refused() ? 1 : 0;
    return count;
  }
  std::size_t others() const { return mismatches.size() - faults() - refused(); }
};

Result<std::vector<NumberedLine>> read_lines(const std::string& path, std::istream& standard_input) {
  std::ifstream file;
  if (path != "-") {
    file.open(path, std::ios::binary);
    if (!file) return Error{ErrorCode::kNotFound, "'" + path + "' cannot be read", "RECEIPTS"};
  }
  std::istream& in = path == "-" ? standard_input : file;
  std::vector<NumberedLine> out;
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    Result<ReceiptLine> read = receipt_line_from_json(line);
    if (!read.ok()) {
      return invalid_argument(read.error().field,
                              "'" + path + "', line " + std::to_string(number) + ": " + read.error().message);
    }
    out.push_back({number, std::move(*read)});
  }
  if (out.empty()) return invalid_argument("RECEIPTS", "'" + path + "' holds no receipts");
  return out;
}

std::string meaning_of(const std::string& part, bool is_fault) {
  if (part == "model") return "another model file";
  if (part == "build") return "another build or other CPU code";
  if (part == "settings") return "another setting that moves bits, such as threads, readout or layout";
  if (part == "tokens") return "another prompt";
  return is_fault ? "the same inputs gave other bits: a determinism fault" : "as the rest does";
}

std::string mismatch_text(const Mismatch& mismatch) {
  const std::string where = "line " + std::to_string(mismatch.line) + " (" + one_line(mismatch.id, 40) + "): ";
  if (mismatch.refused()) return where + "refused: " + one_line(mismatch.error.message, 200) + "\n";
  std::string out;
  for (const std::string& part : mismatch.differences) {
    out += (out.empty() ? "" : "; ") + part + " differs (" + meaning_of(part, mismatch.is_fault()) + ")";
  }
  return where + out + "\n";
}

std::string summary_text(const Verified& verified) {
  const auto part = [](std::size_t count, const char* what) {
    return count == 0 ? "" : ", " + std::to_string(count) + " " + what;
  };
  return "verify: " + std::to_string(verified.lines) + " receipts, " +
         std::to_string(verified.lines - verified.mismatches.size()) + " equal" +
         part(verified.faults(), "with other bits from the same inputs") + part(verified.others(), "not comparable") +
         part(verified.refused(), "refused") + "\n";
}

Value size_value(std::size_t size) { return int_value(static_cast<std::int64_t>(size)); }

Value verified_value(const Verified& verified, const ModelReport& model) {
  Value::Array mismatches;
  for (const Mismatch& mismatch : verified.mismatches) {
    Value::Object out = {{"line", size_value(mismatch.line)}, {"id", Value(mismatch.id)}};
    if (mismatch.refused()) {
      out.push_back({"error", error_value(mismatch.error)});
    } else {
      Value::Array differences;
      for (const std::string& part : mismatch.differences) differences.push_back(Value(part));
      out.push_back({"differs", Value(std::move(differences))});
      out.push_back({"expected", receipt_value(mismatch.expected)});
      out.push_back({"computed", receipt_value(mismatch.computed)});
    }
    mismatches.push_back(Value(std::move(out)));
  }
  return Value(Value::Object{{"receipts", size_value(verified.lines)},
                             {"equal", size_value(verified.lines - verified.mismatches.size())},
                             {"faults", size_value(verified.faults())},
                             {"not_comparable", size_value(verified.others())},
                             {"refused", size_value(verified.refused())},
                             {"deterministic", Value(model.deterministic)},
                             {"mismatches", Value(std::move(mismatches))}});
}

// Adds what came of one line. Errors are the ones that end the run.
Status verify_line(const NumberedLine& line, Decider& decider, Verified& verified) {
  const Result<DecisionReply> reply = decider.decide(line.content.request);
  ++verified.lines;
  Mismatch mismatch{.line = line.number,
                    .id = line.content.request.questions.front().id,
                    .differences = {},
                    .expected = line.content.receipt,
                    .computed = {},
                    .error = {}};
  if (!reply.ok()) {
    if (reply.error().code == ErrorCode::kUnavailable || !decider.healthy()) return reply.error();
    mismatch.error = reply.error();
    verified.mismatches.push_back(std::move(mismatch));
    return Status();
  }
  if (!reply->receipt) return no_receipt_error();
  mismatch.computed = *reply->receipt;
  mismatch.differences = receipt_differences(mismatch.expected, mismatch.computed);
  if (!mismatch.differences.empty()) verified.mismatches.push_back(std::move(mismatch));
  return Status();
}

int exit_code_of(const Verified& verified) {
  if (verified.faults() > 0) return kExitFailed;
  return verified.mismatches.empty() ? kExitOk : kExitSomeRowsFailed;
}

int print_verified(const Verified& verified, const ModelReport& model, bool json, Streams& streams) {
  if (json) {
    streams.out << to_json_text(verified_value(verified, model)) << "\n";
  } else {
    for (const Mismatch& mismatch : verified.mismatches) streams.out << mismatch_text(mismatch);
    streams.out << summary_text(verified);
    if (verified.faults() > 0 && !model.deterministic) {
      streams.out << "note: equal bits are not promised here: " << one_line(model.determinism, 200) << "\n";
    }
  }
  streams.out.flush();
  if (streams.out) return exit_code_of(verified);
  return report_error(streams.err, Error{ErrorCode::kIo, "writing the result failed", ""});
}

}  // namespace

CommandSpec verify_command(VerifyFlags& flags) {
  CommandSpec spec{.name = "verify",
                   .summary = "Compute again what receipts speak of, and compare",
                   .examples = kExamples,
                   .options = {}};
  spec.options.push_back(
      as_file(as_positional(text_option("RECEIPTS", "", "JSONL with receipts, or - for stdin", &flags.file))));
  spec.options.push_back(as_request_only(switch_option("json", "Print one JSON object", &flags.json)));
  spec.options.push_back(layout_option(&flags.layout));
  spec.options.push_back(lessons_option(flags.model));
  for (OptionSpec& option : model_options(flags.model)) spec.options.push_back(std::move(option));
  return spec;
}

std::vector<std::string> receipt_differences(const Receipt& expected, const Receipt& computed) {
  std::vector<std::string> out;
  if (expected.model != computed.model) out.push_back("model");
  if (expected.build != computed.build) out.push_back("build");
  if (expected.settings != computed.settings) out.push_back("settings");
  if (expected.tokens != computed.tokens) out.push_back("tokens");
  if (expected.scores != computed.scores) out.push_back("scores");
  return out;
}

int run_verify(const VerifyFlags& flags, Streams& streams, const RunContext& context, const OpenDecider& open) {
  if (flags.file.empty()) {
    return report_error(streams.err,
                        invalid_argument("RECEIPTS", "name the file with the receipts, or - for standard input"));
  }
  Result<DeciderOptions> options = decider_options(flags.model);
  if (!options.ok()) return report_error(streams.err, options.error());
  const Result<std::vector<NumberedLine>> lines = read_lines(flags.file, streams.in);
  if (!lines.ok()) return report_error(streams.err, lines.error());
  options->answer_cache_entries = 0;  // every line is computed
  options->layout = layout_setting(flags.layout);
  Result<std::unique_ptr<Decider>> decider = open(std::move(*options));
  if (!decider.ok()) return report_error(streams.err, decider.error());
  Progress progress(streams.err, context.clock,
                    {.what = "verify",
                     .rows = lines->size(),
                     .already = 0,
                     .log_interval_ms = 10'000,
                     .terminal = streams.err_is_terminal});
  Verified verified;
  for (const NumberedLine& line : *lines) {
    if (context.stop) break;
    const std::size_t before = verified.mismatches.size();
    if (const Status status = verify_line(line, **decider, verified); !status.ok()) {
      return report_error(streams.err, status.error());
    }
    progress.step(verified.mismatches.size() > before);
  }
  if (streams.err_is_terminal) progress.finish();
  const int code = print_verified(verified, (*decider)->report(), flags.json, streams);
  if (!context.stop) return code;
  streams.err << "assay: stopped after " << verified.lines << " of " << lines->size() << " receipts\n";
  return kExitInterrupted;
}

}  // namespace assay::cli
