#include "cli/teach_command.h"

#include <algorithm>
#include <ostream>
#include <utility>

#include "cli/learn_report.h"

namespace assay::cli {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  assay teach labelled.jsonl --name refunds -m model.gguf --lessons lessons\n"
    "  assay teach labelled.jsonl --name intents -m model.gguf -q \"What does the customer want?\" --risk 0.05\n"
    "A row: {\"state\": \"...\", \"expected\": \"refund\"}; with --question, options that nobody names are the "
    "labels.\n"
    "A cue is what the model reads before its hidden state is taken; it should be about to name the answer:\n"
    "  --cue $'Ticket: {state}\\nThe team for this ticket is the'";

// The question that all rows have.
Result<Question> one_question(const std::vector<LabelledQuestion>& rows) {
  const Question& first = rows.front().question;
  const auto same_option = [](const Option& a, const Option& b) {
    return a.id == b.id && a.description == b.description;
  };
  for (const LabelledQuestion& row : rows) {
    const Question& other = row.question;
    const bool same =
        other.text == first.text && other.type == first.type &&
        std::equal(other.options.begin(), other.options.end(), first.options.begin(), first.options.end(), same_option);
    if (!same)
      return invalid_argument("question", row.where + ": another question or other options than " + rows.front().where +
                                              "; a lesson with a head is for one question");
  }
  return first;
}

// Writes the rows where a server finds them; those of an earlier version are replaced.
Status keep_rows(const LearnFlags& flags, const std::vector<LabelledQuestion>& rows) {
  std::string lines;
  for (const LabelledQuestion& row : rows) {
    lines += to_json_text(Value(
                 Value::Object{{"state", row.state}, {"expected", Value(row.question.options[row.expected].id)}})) +
             "\n";
  }
  return save_lesson_rows(flags.lessons, flags.name, lines);
}

}  // namespace

CommandSpec teach_command(TeachFlags& flags) {
  CommandSpec spec{
      .name = "teach", .summary = "Teach one question from labelled rows", .examples = kExamples, .options = {}};
  for (OptionSpec& option : labelled_options(flags.rows)) spec.options.push_back(std::move(option));
  std::vector<OptionSpec> own;
  own.push_back(choice_option("method", "The kind of head; auto: what cross-validation prefers",
                              {"auto", "lda", "ridge"}, &flags.method));
  own.push_back(
      list_option("cue", "TEXT", "A cue of your own, with {state} in it; the built-in ones are left out", &flags.cues));
  own.push_back(number_option("zero-shot-rows", "N", "Ask so many rows without the lesson, for comparison; 0: none",
                              &flags.zero_shot_rows, 0, 1'000'000));
  own.push_back(switch_option("no-curve", "Leave the learning curve out", &flags.no_curve));
  own.push_back(switch_option("keep-rows",
                              "Keep the rows beside the lesson (--lessons), so that a server can learn on from them",
                              &flags.keep_rows));
  for (OptionSpec& option : own) spec.options.push_back(as_request_only(std::move(option)));
  for (OptionSpec& option : learn_options(flags.learn)) spec.options.push_back(std::move(option));
  for (OptionSpec& option : model_options(flags.model)) spec.options.push_back(std::move(option));
  return spec;
}

int run_teach(const TeachFlags& flags, Streams& streams, const RunContext& context, const OpenDecider& open) {
  Result<DeciderOptions> model = decider_options(flags.model);
  if (!model.ok()) return report_error(streams.err, model.error());
  Result<LearnOptions> learn = learn_settings(flags.learn, flags.model);
  if (!learn.ok()) return report_error(streams.err, learn.error());
  if (flags.keep_rows && flags.learn.lessons.empty())
    return report_error(streams.err, invalid_argument("--keep-rows", "--keep-rows needs --lessons"));
  const Result<std::vector<LabelledQuestion>> rows = read_labelled(flags.rows, streams.in);
  if (!rows.ok()) return report_error(streams.err, rows.error());
  const Result<Question> question = one_question(*rows);
  if (!question.ok()) return report_error(streams.err, question.error());
  const Result<std::unique_ptr<Decider>> decider = open(std::move(*model));
  if (!decider.ok()) return report_error(streams.err, decider.error());
  learn->progress = learn_progress(streams, context);
  const Result<TeachReport> report = learn_lesson(**decider, *question, *rows,
                                                  {.learn = std::move(*learn),
                                                   .method = flags.method,
                                                   .cues = flags.cues,
                                                   .zero_shot_rows = flags.zero_shot_rows,
                                                   .learning_curve = !flags.no_curve});
  if (!report.ok()) {
    report_error(streams.err, report.error());
    return context.stop ? kExitInterrupted : exit_code(report.error().code);
  }
  const int code = write_learnt(flags.learn, streams,
                                {.lesson = report->learn.lesson,
                                 .text = teach_text(*report),
                                 .json = to_json_text(teach_value(*report)),
                                 .page = teach_html(*report)});
  if (code != kExitOk || !flags.keep_rows) return code;
  if (const Status kept = keep_rows(flags.learn, *rows); !kept.ok()) return report_error(streams.err, kept.error());
  return kExitOk;
}

}  // namespace assay::cli
