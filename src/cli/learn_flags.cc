#include "cli/learn_flags.h"

#include <ctime>
#include <fstream>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>

#include "cli/progress.h"
#include "cli/question_flags.h"

namespace assay::cli {
namespace {

std::string time_text() {
  const std::time_t now = std::time(nullptr);
  std::tm utc = {};
  gmtime_r(&now, &utc);
  char text[32];
  const std::size_t size = std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return std::string(text, size);
}

// Steps one after another, each with a bar of its own.
class StepProgress {
 public:
  StepProgress(Streams& streams, const RunContext& context) : streams_(streams), context_(context) {}

  bool at(const std::string& step, std::size_t done, std::size_t all) {
    if (step != step_) {
      finish();
      step_ = step;
      drawn_ = 0;
      bar_.emplace(streams_.err, context_.clock,
                   Progress::Settings{.what = step, .rows = all, .terminal = streams_.err_is_terminal});
    }
    for (; drawn_ < done; drawn_++) bar_->step(false);
    if (done == all) finish();
    return context_.stop;
  }

 private:
  void finish() {
    if (bar_) bar_->finish();
    bar_.reset();
    step_.clear();
  }

  Streams& streams_;
  const RunContext& context_;
  std::string step_;
  std::size_t drawn_ = 0;
  std::optional<Progress> bar_;
};

Status write_text(const std::string& path, const std::string& text, const char* flag) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text << std::flush;
  if (!file) return Error{ErrorCode::kIo, "'" + path + "' cannot be written", flag};
  return {};
}

// Where the lesson went, for people.
Result<std::string> write_lesson(const LearnFlags& flags, const Lesson& lesson) {
  if (!flags.lessons.empty()) {
    const Result<SavedLesson> saved = save_lesson(flags.lessons, lesson);
    if (!saved.ok()) return saved.error();
    return "lesson " + lesson.name + " version " + std::to_string(saved->version) + ": " + saved->path;
  }
  const std::string path = flags.output.empty() ? lesson.name + ".lesson.json" : flags.output;
  if (const Status written = write_text(path, lesson_text(lesson), "--output"); !written.ok()) return written.error();
  return "lesson " + lesson.name + ": " + path;
}

}  // namespace

std::vector<OptionSpec> learn_options(LearnFlags& flags) {
  std::vector<OptionSpec> out;
  out.push_back(text_option("name", "NAME", "The lesson's name: a-z, 0-9, '-' and '_'", &flags.name));
  out.push_back(with_short_name(
      as_file(text_option("output", "FILE", "Where the lesson goes; default: NAME.lesson.json", &flags.output)), "o"));
  out.push_back(as_folder(text_option("lessons", "DIR",
                                      "Put it into this folder of lessons instead, as the next version of its name",
                                      &flags.lessons)));
  out.push_back(text_option("risk", "SHARE",
                            "Find the threshold above which at most this share of the answers is wrong, such as 0.05",
                            &flags.risk));
  out.push_back(switch_option("risk-by-option", "One threshold for each option", &flags.risk_by_option));
  out.push_back(text_option("level", "SHARE", "With this confidence the risk is kept", &flags.level));
  out.push_back(number_option("risk-horizon", "N",
                              "Keep the risk among the next N answers acted on, by chance as well; 0: in the long run",
                              &flags.risk_horizon, 0, 1'000'000));
  out.push_back(
      text_option("fallback", "ID", "The option to fall back to where a decision escalates", &flags.fallback));
  out.push_back(number_option("seed", "N", "Of the folds", &flags.seed, 0, 1'000'000'000));
  out.push_back(as_file(text_option("report", "FILE", "Write an HTML page with diagrams", &flags.report)));
  out.push_back(switch_option("json", "Print one JSON object", &flags.json));
  for (OptionSpec& spec : out) spec.configurable = false;
  out.push_back(layout_option(&flags.layout));
  return out;
}

Result<LearnOptions> learn_settings(const LearnFlags& flags, const ModelFlags& model) {
  if (flags.name.empty()) return invalid_argument("--name", "--name is missing: how the lesson is called");
  if (!is_lesson_name(flags.name))
    return invalid_argument("--name", "--name must be 1 to 64 of a-z, 0-9, '-' and '_', and begin with a-z or 0-9");
  if (!flags.output.empty() && !flags.lessons.empty())
    return invalid_argument("--output", "give --output or --lessons, not both");
  LearnOptions out{.name = flags.name, .created = time_text(), .seed = flags.seed};
  if (!flags.risk.empty()) {
    const Result<double> risk = parse_share("--risk", flags.risk);
    if (!risk.ok()) return risk.error();
    out.risk = *risk;
  } else if (flags.risk_by_option) {
    return invalid_argument("--risk-by-option", "--risk-by-option needs --risk");
  } else if (flags.risk_horizon > 0) {
    return invalid_argument("--risk-horizon", "--risk-horizon needs --risk");
  }
  const Result<double> level = parse_share("--level", flags.level);
  if (!level.ok()) return level.error();
  out.level = *level;
  out.risk_by_option = flags.risk_by_option;
  out.risk_horizon = flags.risk_horizon;
  if (!flags.fallback.empty()) out.fallback = flags.fallback;
  out.readout = readout_from_name(model.readout).value_or(Readout::kAuto);
  out.layout = layout_setting(flags.layout);
  return out;
}

TeachProgress learn_progress(Streams& streams, const RunContext& context) {
  const auto progress = std::make_shared<StepProgress>(streams, context);  // owned by all copies of the function
  return [progress](const char* step, std::size_t done, std::size_t all) { return progress->at(step, done, all); };
}

int write_learnt(const LearnFlags& flags, Streams& streams, const LearnOutput& output) {
  if (!flags.report.empty()) {
    if (const Status written = write_text(flags.report, output.page, "--report"); !written.ok())
      return report_error(streams.err, written.error());
  }
  const Result<std::string> where = write_lesson(flags, output.lesson);
  if (!where.ok()) return report_error(streams.err, where.error());
  streams.out << (flags.json ? output.json : output.text + *where) << "\n" << std::flush;
  return kExitOk;
}

}  // namespace assay::cli
