#include "service/readout_choice.h"

#include <cmath>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/log.h"
#include "decision/self_check.h"

namespace assay::service {
namespace {

// Both readouts on the built-in rows. Nothing when they cannot be answered: then there is nothing to choose by.
Result<std::optional<decision::ReadoutChoice>> check_readouts(LocalDecider& decider) {
  std::vector<CheckScore> letters;
  // The rows have up to five options.
  const bool can_letters = decider.labels().codes.size() >= 5;
  for (const Readout readout : {Readout::kLetters, Readout::kText}) {
    if (readout == Readout::kLetters && !can_letters) continue;
    const Result<std::vector<std::size_t>> picked = decider.answer_check(readout);
    // Neither broken weights nor a context too small for the rows keeps the model from being served.
    const bool cannot_check = !picked.ok() && (picked.error().code == ErrorCode::kNonfiniteLogits ||
                                               picked.error().code == ErrorCode::kTooLong);
    if (cannot_check) {
      decider.mutable_report().warnings.push_back("The readout check could not be made: " + picked.error().message);
      return std::optional<decision::ReadoutChoice>();
    }
    if (!picked.ok()) return picked.error();
    std::vector<CheckScore> scores = decision::score_check(readout, *picked);
    if (readout == Readout::kText) {
      decision::ReadoutChoice choice = decision::choose_readout(letters, scores);
      if (!can_letters) choice.readout = Readout::kText;
      return std::optional(std::move(choice));
    }
    letters = std::move(scores);
  }
  return std::optional<decision::ReadoutChoice>();
}

}  // namespace

Status choose_readout(const DeciderOptions& options, LocalDecider& decider, CheckRecord& record) {
  ModelReport& report = decider.mutable_report();
  report.readout = Readout::kText;
  report.readout_source = "default (no check)";
  if (!record.has_readout && options.readout_check) {
    log_line(LogLevel::kInfo, "checking which readout suits this model (once for each model file)");
    const SteadyClock clock;
    const std::int64_t start_ns = clock.now_ns();
    Result<std::optional<decision::ReadoutChoice>> choice = check_readouts(decider);
    if (!choice.ok()) return choice.error();
    if (choice->has_value()) {
      record.has_readout = true;
      record.readout = (*choice)->readout;
      record.scores = (*choice)->scores;
      report.readout_source = "check";
      const long seconds = std::lround(clock.ms_since(start_ns) / 1000.0);
      log_line(LogLevel::kInfo,
               std::string("readout ") + readout_name(record.readout) + " chosen in " + std::to_string(seconds) + " s");
    }
  } else if (record.has_readout) {
    report.readout_source = "check";
    report.check_was_stored = true;
  }
  if (record.has_readout) {
    report.readout = record.readout;
    report.check = record.scores;
  }
  if (options.readout != Readout::kAuto) {
    report.readout = options.readout;
    report.readout_source = "setting";
  }
  return {};
}

void warn_of_unreliable_types(ModelReport& report) {
  for (const QuestionType type : {QuestionType::kChoice, QuestionType::kYesNo, QuestionType::kScale}) {
    if (decision::reliability_of(report.check, report.readout, type) != Reliability::kUnreliable) continue;
    report.warnings.push_back(
        std::string("On the built-in check this model does not beat guessing clearly at questions of type ") +
        question_type_name(type) + "; such answers say reliability: unreliable.");
  }
}

}  // namespace assay::service
