#include "cli/eval_command.h"

#include <filesystem>
#include <fstream>
#include <istream>
#include <ostream>
#include <utility>

#include "cli/eval_layouts.h"
#include "cli/eval_result.h"
#include "cli/progress.h"
#include "cli/question_flags.h"
#include "cli/report_html.h"
#include "cli/row_reader.h"

namespace assay::cli {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  assay eval easy.jsonl hard.jsonl -m model.gguf --report report.html\n"
    "  assay eval easy.jsonl -m model.gguf --compare-layouts\n"
    "Rows are JevBench records or rows of `assay score` with 'expected'. Brier score and calibration error are over\n"
    "the answered rows; a refused row counts as wrong.";

struct FileRow {
  std::string file;
  Row row;
};

Result<std::vector<FileRow>> read_file(const std::string& path, const EvalFlags& flags, std::istream& standard_input) {
  std::ifstream file;
  if (path != "-") {
    file.open(path, std::ios::binary);
    if (!file) return Error{ErrorCode::kNotFound, "'" + path + "' cannot be read", "FILE"};
  }
  const RowRules rules{.order = option_order_from_name(flags.option_order).value_or(OptionOrder::kCriteria),
                       .defaults = nullptr};
  const std::unique_ptr<RowReader> reader = open_json_lines(path == "-" ? standard_input : file, rules);
  const std::string name = path == "-" ? "stdin" : std::filesystem::path(path).filename().string();
  std::vector<FileRow> out;
  while (std::optional<SourceRow> source = reader->next()) {
    const std::string where = "'" + path + "', row " + std::to_string(source->number) + ": ";
    if (!source->row.ok()) return invalid_argument(source->row.error().field, where + source->row.error().message);
    if (!source->row->expected) return invalid_argument("expected", where + "'expected' is missing");
    out.push_back({name, std::move(*source->row)});
    if (flags.limit > 0 && out.size() == flags.limit) break;
  }
  if (out.empty()) return invalid_argument("FILE", "'" + path + "' holds no rows");
  return out;
}

EvalRow ask(const FileRow& source, Layout layout, Decider& decider, const Clock& clock) {
  const Row& row = source.row;
  EvalRow out;
  out.id = row.id_text();
  out.file = source.file;
  out.family = row.family;
  out.type = row.question.type;
  out.question = row.question.text;
  out.state = to_display_text(row.state);
  out.expected = row.question.options[*row.expected].id;
  const DecisionRequest request = request_for(row, layout);
  const std::int64_t begin_ns = clock.now_ns();
  const Result<DecisionReply> reply = decider.decide(request);
  out.ms = clock.ms_since(begin_ns);
  if (!reply.ok()) {
    out.error = row_error(reply.error());
    return out;
  }
  const Answer& answer = reply->answers.front();
  Outcome outcome{.probabilities = {}, .expected = *row.expected, .predicted = answer.best};
  for (const OptionAnswer& option : answer.options) outcome.probabilities.push_back(option.probability);
  out.outcome = std::move(outcome);
  out.answered = row.question.options[answer.best].id;
  out.readout = answer.readout;
  out.layout = answer.layout;
  out.reliability = answer.reliability;
  return out;
}

Status write_report(const std::string& path, const EvalResult& result) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << report_html(result) << std::flush;
  if (!file) return Error{ErrorCode::kIo, "'" + path + "' cannot be written", "--report"};
  return Status();
}

int print_result(const EvalFlags& flags, Streams& streams, const EvalResult& result) {
  if (!flags.report.empty()) {
    if (const Status written = write_report(flags.report, result); !written.ok()) {
      return report_error(streams.err, written.error());
    }
  }
  streams.out << (flags.json ? to_json_text(eval_value(result)) + "\n" : eval_text(result)) << std::flush;
  return kExitOk;
}

// Everything but the model: what can be refused before it is loaded.
Status check_flags(const EvalFlags& flags) {
  if (flags.files.empty()) return invalid_argument("FILE", "name at least one file");
  if (!flags.compare_layouts) return Status();
  if (flags.layout != "auto") {
    return invalid_argument("--layout", "--compare-layouts asks both layouts; leave --layout out");
  }
  if (flags.report.empty()) return Status();
  return invalid_argument("--report", "a report shows one layout; give --layout in place of --compare-layouts");
}

Result<std::vector<FileRow>> read_files(const EvalFlags& flags, std::istream& standard_input) {
  std::vector<FileRow> rows;
  for (const std::string& path : flags.files) {
    Result<std::vector<FileRow>> read = read_file(path, flags, standard_input);
    if (!read.ok()) return read.error();
    rows.insert(rows.end(), std::make_move_iterator(read->begin()), std::make_move_iterator(read->end()));
  }
  return rows;
}

// Asks all rows, or those before the context said stop. Errors: the model is gone.
Result<EvalResult> evaluate(const EvalFlags& flags, const std::vector<FileRow>& rows, Layout layout, Decider& decider,
                            const RunContext& context, Progress& progress) {
  EvalResult result{.model = decider.report().id,
                    .asked_readout = flags.model.readout,
                    .asked_layout = layout_name(layout),
                    .option_order = flags.option_order,
                    .files = flags.files,
                    .rows = {}};
  for (const FileRow& row : rows) {
    if (context.stop) break;
    result.rows.push_back(ask(row, layout, decider, context.clock));
    progress.step(!result.rows.back().outcome.has_value());
    if (!decider.healthy()) return result.rows.back().error;
  }
  return result;
}

}  // namespace

CommandSpec eval_command(EvalFlags& flags) {
  CommandSpec spec{.name = "eval", .summary = "Measure a model on labelled rows", .examples = kExamples, .options = {}};
  std::vector<OptionSpec>& out = spec.options;
  out.push_back(
      as_file(as_positional(list_option("FILE", "", "JSONL with labelled rows, or - for stdin", &flags.files))));
  out.push_back(as_request_only(switch_option("json", "Print one JSON object", &flags.json)));
  out.push_back(as_request_only(
      as_file(text_option("report", "FILE", "Write an HTML page with diagrams and the wrong rows", &flags.report))));
  out.push_back(as_request_only(choice_option("option-order", "JevBench choice rows: the options' order",
                                              {"criteria", "labels", "reversed"}, &flags.option_order)));
  out.push_back(as_request_only(
      number_option("limit", "N", "Only the first N rows of each file; 0: all", &flags.limit, 0, 1'000'000'000)));
  out.push_back(layout_option(&flags.layout));
  out.push_back(as_request_only(switch_option(
      "compare-layouts", "Ask all rows in both layouts, and show both side by side", &flags.compare_layouts)));
  out.push_back(lessons_option(flags.model));
  for (OptionSpec& option : model_options(flags.model)) out.push_back(std::move(option));
  return spec;
}

int run_eval(const EvalFlags& flags, Streams& streams, const RunContext& context, const OpenDecider& open) {
  Result<DeciderOptions> options = decider_options(flags.model);
  if (!options.ok()) return report_error(streams.err, options.error());
  if (const Status checked = check_flags(flags); !checked.ok()) return report_error(streams.err, checked.error());
  const Result<std::vector<FileRow>> rows = read_files(flags, streams.in);
  if (!rows.ok()) return report_error(streams.err, rows.error());
  Result<std::unique_ptr<Decider>> decider = open(std::move(*options));
  if (!decider.ok()) return report_error(streams.err, decider.error());
  std::vector<Layout> layouts = {layout_from_name(flags.layout).value_or(Layout::kAuto)};
  if (flags.compare_layouts) layouts = {Layout::kStateFirst, Layout::kQuestionFirst};
  Progress progress(streams.err, context.clock,
                    {.what = "eval",
                     .rows = rows->size() * layouts.size(),
                     .already = 0,
                     .log_interval_ms = 10'000,
                     .terminal = streams.err_is_terminal});
  std::vector<EvalResult> results;
  std::size_t asked = 0;
  for (const Layout layout : layouts) {
    Result<EvalResult> result = evaluate(flags, *rows, layout, **decider, context, progress);
    if (!result.ok()) return report_error(streams.err, result.error());
    asked += result->rows.size();
    results.push_back(std::move(*result));
  }
  if (streams.err_is_terminal) progress.finish();
  if (context.stop) {
    streams.err << "assay: stopped after " << asked << " of " << rows->size() * layouts.size() << " rows; no numbers\n";
    return kExitInterrupted;
  }
  if (!flags.compare_layouts) return print_result(flags, streams, results.front());
  const LayoutResults both{.state_first = std::move(results[0]), .question_first = std::move(results[1])};
  streams.out << (flags.json ? to_json_text(layouts_value(both)) + "\n" : layouts_text(both)) << std::flush;
  return kExitOk;
}

}  // namespace assay::cli
