#include "cli/score_command.h"

#include <filesystem>
#include <fstream>
#include <ostream>
#include <utility>

#include "cli/labelled.h"
#include "cli/progress.h"
#include "cli/receipt_json.h"
#include "cli/score_resume.h"
#include "cli/score_writer.h"

// Invariant: after every row the output holds whole lines for a prefix of the input's rows, so that any end, also a
// power cut, leaves a file that the same command continues.
namespace assay::cli {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  assay score rows.jsonl -o scored.jsonl -m model.gguf\n"
    "  assay score mails.csv -o scored.csv -m model.gguf --state-column body --question \"Is this spam?\" --yes-no\n"
    "A row: {\"id\": \"r1\", \"state\": \"...\", \"question\": \"...\", \"options\": [{\"id\": \"a\", \"description\": "
    "\"...\"}, \"b\"],\n"
    "        \"type\": \"choice|yes_no|scale\", \"expected\": \"a\"}   (id, description, type and expected may be left "
    "out)";

// What a run reads from and writes to, once all of it is known to fit together.
struct ScorePlan {
  RowFormat input_format = RowFormat::kJsonLines;
  RowFormat output_format = RowFormat::kJsonLines;
  std::optional<Question> question;
  std::ifstream file;
  std::optional<std::size_t> rows;
  std::unique_ptr<RowReader> reader;
  std::unique_ptr<ScoreWriter> writer;
  Resumed resumed;
  std::ofstream output;
  std::ofstream receipts;  // open only when receipts were asked for
  Layout layout = Layout::kAuto;
};

struct RowCount {
  std::size_t failed = 0;
  std::vector<Labelled> labelled;
};

Status choose_formats(const ScoreFlags& flags, ScorePlan& plan) {
  const auto by_name = row_format_of_path(flags.input);
  plan.input_format = by_name.value_or(RowFormat::kJsonLines);
  if (flags.format != "auto") {
    plan.input_format = flags.format == "csv" ? RowFormat::kCsv : RowFormat::kJsonLines;
  }
  plan.output_format = row_format_of_path(flags.output).value_or(plan.input_format);
  if (plan.input_format == RowFormat::kJsonLines && plan.output_format == RowFormat::kCsv) {
    return invalid_argument("-o", "rows of JSONL may differ in their options, so they are written as JSONL, not CSV");
  }
  if (flags.output != "-" && flags.input != "-") {
    std::error_code ignored;
    if (std::filesystem::equivalent(flags.input, flags.output, ignored)) {
      return invalid_argument("-o", "the output is the input's file");
    }
  }
  return Status();
}

Status choose_question(const ScoreFlags& flags, ScorePlan& plan) {
  const bool csv = plan.input_format == RowFormat::kCsv;
  if (!csv && !flags.question.any()) return Status();
  QuestionFlags asked = flags.question;
  if (csv && asked.question.empty() && !flags.columns.question.empty()) asked.question = "(from the column)";
  Result<Question> question = question_from_flags(asked);
  if (!question.ok()) {
    if (!csv || flags.question.any()) return question.error();
    return invalid_argument("--question", "a CSV needs --question and --option, --yes-no or --scale");
  }
  plan.question = std::move(*question);
  return Status();
}

Result<std::unique_ptr<RowReader>> open_reader(const ScoreFlags& flags, const ScorePlan& plan, std::istream& in) {
  const RowRules rules{.order = OptionOrder::kCriteria, .defaults = plan.question ? &*plan.question : nullptr};
  if (plan.input_format == RowFormat::kCsv) return open_csv(in, flags.columns, rules);
  return open_json_lines(in, rules);
}

// Opens the input and, where it is a file, counts its rows in a first pass.
Status open_input(const ScoreFlags& flags, std::istream& standard_input, ScorePlan& plan) {
  const bool is_file = flags.input != "-";
  if (is_file) {
    plan.file.open(flags.input, std::ios::binary);
    if (!plan.file) return Error{ErrorCode::kNotFound, "'" + flags.input + "' cannot be read", "IN"};
    Result<std::unique_ptr<RowReader>> counter = open_reader(flags, plan, plan.file);
    if (!counter.ok()) return counter.error();
    std::size_t rows = 0;
    while ((*counter)->next()) ++rows;
    plan.rows = rows;
    plan.file.clear();
    plan.file.seekg(0);
  }
  Result<std::unique_ptr<RowReader>> reader = open_reader(flags, plan, is_file ? plan.file : standard_input);
  if (!reader.ok()) return reader.error();
  plan.reader = std::move(*reader);
  return Status();
}

Status open_output(const ScoreFlags& flags, ScorePlan& plan) {
  if (plan.output_format == RowFormat::kCsv) {
    Result<std::unique_ptr<ScoreWriter>> writer = csv_writer(*plan.reader->header(), *plan.question);
    if (!writer.ok()) return writer.error();
    plan.writer = std::move(*writer);
  } else {
    plan.writer = json_lines_writer();
  }
  if (flags.output == "-") return Status();
  if (!flags.overwrite) {
    Result<Resumed> resumed = resume_output(flags.output, plan.output_format, *plan.writer, *plan.reader);
    if (!resumed.ok()) return resumed.error();
    plan.resumed = std::move(*resumed);
  }
  plan.output.open(flags.output, std::ios::binary | (flags.overwrite ? std::ios::trunc : std::ios::app));
  if (!plan.output) return Error{ErrorCode::kIo, "'" + flags.output + "' cannot be written", "-o"};
  return Status();
}

// REQUIRES: the output is open, so that it is known how much of it was there.
Status open_receipts(const ScoreFlags& flags, ScorePlan& plan) {
  if (flags.receipts.empty()) return Status();
  for (const std::string& other : {flags.input, flags.output}) {
    std::error_code ignored;
    if (other == flags.receipts || std::filesystem::equivalent(other, flags.receipts, ignored)) {
      return invalid_argument("--receipts", "--receipts names the input or the output");
    }
  }
  const bool goes_on = plan.resumed.rows > 0;
  if (goes_on) {
    if (const Status cut = cut_half_line(flags.receipts); !cut.ok()) return cut;
  }
  plan.receipts.open(flags.receipts, std::ios::binary | (goes_on ? std::ios::app : std::ios::trunc));
  if (!plan.receipts) return Error{ErrorCode::kIo, "'" + flags.receipts + "' cannot be written", "--receipts"};
  return Status();
}

Status make_plan(const ScoreFlags& flags, std::istream& standard_input, ScorePlan& plan) {
  if (Status chosen = choose_formats(flags, plan); !chosen.ok()) return chosen;
  if (Status chosen = choose_question(flags, plan); !chosen.ok()) return chosen;
  if (Status opened = open_input(flags, standard_input, plan); !opened.ok()) return opened;
  plan.layout = layout_from_name(flags.layout).value_or(Layout::kAuto);
  if (Status opened = open_output(flags, plan); !opened.ok()) return opened;
  return open_receipts(flags, plan);
}

Result<DecisionReply> ask(const SourceRow& source, const ScorePlan& plan, Decider& decider) {
  if (!source.row.ok()) return source.row.error();
  DecisionRequest request = request_for(*source.row, plan.layout);
  request.receipt = plan.receipts.is_open();
  return decider.decide(request);
}

// Errors: the answer has no receipt, or it cannot be written. Does nothing when none was asked for.
Status write_receipt(const SourceRow& source, const DecisionReply& reply, ScorePlan& plan) {
  if (!plan.receipts.is_open()) return Status();
  if (!reply.receipt) return no_receipt_error();
  plan.receipts << receipt_line(*source.row, reply.answers.front(), *reply.receipt) << std::flush;
  if (plan.receipts) return Status();
  return Error{ErrorCode::kIo, "writing the receipts failed; the disk may be full", ""};
}

// Asks the rows that are left. Errors are the ones that end the run: the model is gone, gives no receipts, or the
// output cannot be written.
Status score_rows(ScorePlan& plan, Decider& decider, std::ostream& out, Progress& progress, const RunContext& context,
                  RowCount& count) {
  while (!context.stop) {
    const std::optional<SourceRow> source = plan.reader->next();
    if (!source) break;
    const Result<DecisionReply> reply = ask(*source, plan, decider);
    if (reply.ok()) {
      if (Status written = write_receipt(*source, *reply, plan); !written.ok()) return written;
      const Answer& answer = reply->answers.front();
      out << plan.writer->line(*source, answer);
      if (std::optional<Labelled> known = labelled(*source->row, answer)) count.labelled.push_back(std::move(*known));
    } else {
      if (reply.error().code == ErrorCode::kUnavailable || !decider.healthy()) return reply.error();
      out << plan.writer->error_line(*source, row_error(reply.error()));
      ++count.failed;
    }
    out.flush();
    if (!out) return Error{ErrorCode::kIo, "writing the output failed; the disk may be full", ""};
    progress.step(!reply.ok());
  }
  return Status();
}

int finish(const ScorePlan& plan, const RowCount& count, const RunContext& context, std::ostream& err) {
  const std::size_t failed = plan.resumed.failed + count.failed;
  if (context.stop) {
    err << "assay: stopped; the same command goes on from here\n";
    return kExitInterrupted;
  }
  std::vector<Labelled> all = plan.resumed.labelled;
  all.insert(all.end(), count.labelled.begin(), count.labelled.end());
  err << labelled_summary(all);
  if (failed == 0) return kExitOk;
  err << "assay: " << failed << " rows have an error instead of an answer\n";
  return kExitSomeRowsFailed;
}

}  // namespace

CommandSpec score_command(ScoreFlags& flags) {
  CommandSpec spec{
      .name = "score", .summary = "Answer every row of a JSONL or CSV file", .examples = kExamples, .options = {}};
  std::vector<OptionSpec>& out = spec.options;
  out.push_back(as_file(as_positional(text_option("IN", "", "JSONL or CSV, or - for stdin", &flags.input))));
  out.push_back(as_request_only(as_file(
      with_short_name(text_option("output", "FILE",
                                  "Where the rows go; rows that are there already are kept and skipped", &flags.output),
                      "o"))));
  out.push_back(as_request_only(
      choice_option("format", "The input's format; auto: by its name", {"auto", "jsonl", "csv"}, &flags.format)));
  for (OptionSpec& option : question_options(flags.question)) out.push_back(std::move(option));
  out.push_back(as_request_only(
      text_option("state-column", "NAME", "CSV: the column that holds the state", &flags.columns.state)));
  out.push_back(as_request_only(
      text_option("question-column", "NAME", "CSV: a column that holds each row's question", &flags.columns.question)));
  out.push_back(
      as_request_only(text_option("id-column", "NAME", "CSV: the column that holds the id", &flags.columns.id)));
  out.push_back(as_request_only(
      text_option("expected-column", "NAME", "CSV: the column that holds the right answer", &flags.columns.expected)));
  out.push_back(as_request_only(switch_option("overwrite", "Start anew instead of going on", &flags.overwrite)));
  out.push_back(layout_option(&flags.layout));
  out.push_back(snapshots_option(flags.model));
  out.push_back(lessons_option(flags.model));
  out.push_back(as_request_only(as_file(text_option(
      "receipts", "FILE", "Write a line for each answered row that 'assay verify' can check", &flags.receipts))));
  out.push_back(number_option("progress-seconds", "N", "Seconds between two progress lines without a terminal",
                              &flags.progress_seconds, 1, 86400));
  for (OptionSpec& option : model_options(flags.model)) out.push_back(std::move(option));
  return spec;
}

int run_score(const ScoreFlags& flags, Streams& streams, const RunContext& context, const OpenDecider& open) {
  if (flags.input.empty()) {
    return report_error(streams.err, invalid_argument("IN", "name the file with the rows, or - for standard input"));
  }
  Result<DeciderOptions> options = decider_options(flags.model);
  if (!options.ok()) return report_error(streams.err, options.error());
  // Everything about files comes before the model, which takes long to load.
  ScorePlan plan;
  if (const Status made = make_plan(flags, streams.in, plan); !made.ok())
    return report_error(streams.err, made.error());
  std::ostream& out = flags.output == "-" ? streams.out : plan.output;
  RowCount count;
  if (plan.resumed.rows > 0)
    streams.err << "score: " << plan.resumed.rows
                << " rows are there already (of another question, model or setting? then --overwrite)\n";
  if (plan.rows && *plan.rows == plan.resumed.rows && plan.resumed.rows > 0) {
    return finish(plan, count, context, streams.err);
  }
  Result<std::unique_ptr<Decider>> decider = open(std::move(*options));
  if (!decider.ok()) return report_error(streams.err, decider.error());
  if (!plan.resumed.has_header) out << plan.writer->header() << std::flush;
  Progress progress(streams.err, context.clock,
                    {.what = "score",
                     .rows = plan.rows,
                     .already = plan.resumed.rows,
                     .log_interval_ms = flags.progress_seconds * 1000.0,
                     .terminal = streams.err_is_terminal});
  const Status scored = score_rows(plan, **decider, out, progress, context, count);
  progress.finish();
  if (!scored.ok()) {
    report_error(streams.err, scored.error());
    return kExitFailed;
  }
  return finish(plan, count, context, streams.err);
}

}  // namespace assay::cli
