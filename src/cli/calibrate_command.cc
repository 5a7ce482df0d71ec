#include "cli/calibrate_command.h"

#include <ostream>
#include <utility>

#include "cli/learn_report.h"

namespace assay::cli {
namespace {

constexpr const char* kExamples =
    "Examples:\n"
    "  assay calibrate labelled.jsonl -m model.gguf --risk 0.05 -o house.lesson.json\n"
    "  assay calibrate labelled.jsonl -m model.gguf --lessons lessons --report calibration.html\n"
    "  assay serve -m model.gguf --lessons lessons\n"
    "Rows are those of `assay score` with 'expected', or JevBench records. Where all rows have one question, the "
    "lesson\n"
    "is for that question; else for any question of the same kind.";

}  // namespace

CommandSpec calibrate_command(CalibrateFlags& flags) {
  CommandSpec spec{.name = "calibrate",
                   .summary = "Fit probabilities to labelled rows, so that 0.9 means 0.9",
                   .examples = kExamples,
                   .options = {}};
  for (OptionSpec& option : labelled_options(flags.rows)) spec.options.push_back(std::move(option));
  for (OptionSpec& option : learn_options(flags.learn)) spec.options.push_back(std::move(option));
  for (OptionSpec& option : model_options(flags.model)) spec.options.push_back(std::move(option));
  return spec;
}

int run_calibrate(const CalibrateFlags& flags, Streams& streams, const RunContext& context, const OpenDecider& open) {
  Result<DeciderOptions> model = decider_options(flags.model);
  if (!model.ok()) return report_error(streams.err, model.error());
  Result<LearnOptions> options = learn_settings(flags.learn, flags.model);
  if (!options.ok()) return report_error(streams.err, options.error());
  const Result<std::vector<LabelledQuestion>> rows = read_labelled(flags.rows, streams.in);
  if (!rows.ok()) return report_error(streams.err, rows.error());
  const Result<std::unique_ptr<Decider>> decider = open(std::move(*model));
  if (!decider.ok()) return report_error(streams.err, decider.error());
  options->progress = learn_progress(streams, context);
  const Result<LearnReport> report = learn_calibration(**decider, *rows, *options);
  if (!report.ok()) {
    report_error(streams.err, report.error());
    return context.stop ? kExitInterrupted : exit_code(report.error().code);
  }
  return write_learnt(flags.learn, streams,
                      {.lesson = report->lesson,
                       .text = learn_text(*report),
                       .json = to_json_text(learn_value(*report)),
                       .page = learn_html(*report)});
}

}  // namespace assay::cli
