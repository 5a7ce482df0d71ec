#include "cli/learn_report.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cli/json_fields.h"
#include "cli/report_html.h"
#include "cli/report_svg.h"
#include "cli/text_table.h"

namespace assay::cli {
namespace {

constexpr std::size_t kTriedMax = 5;

Value count_value(std::size_t count) { return int_value(static_cast<std::int64_t>(count)); }

Value optional_number(const std::optional<double>& number) {
  if (!number) return Value();
  return Value(*number);
}

Value text_or_null(const std::string& text) {
  if (text.empty()) return Value();
  return Value(text);
}

std::string thresholds_text(const Lesson& lesson) {
  std::string out;
  for (const Threshold& threshold : lesson.thresholds) {
    const std::string which = threshold.option.empty() ? "any answer" : "answer \"" + threshold.option + "\"";
    const std::string of =
        threshold.horizon == 0 ? "" : " of the next " + std::to_string(threshold.horizon) + " acted on";
    out += "risk " + percent(threshold.risk) + of + " at confidence " + percent(threshold.level) + ", " + which + ": ";
    if (threshold.value) {
      out += "act from " + fixed(*threshold.value, 4) + " on: " + percent(threshold.coverage) + " of " +
             std::to_string(threshold.rows) + " labelled answers, " + percent(threshold.error) + " of those wrong\n";
    } else if (threshold.rows_missing > 0) {
      out += "not yet: about " + std::to_string(threshold.rows_missing) + " more labelled rows are needed (" +
             std::to_string(threshold.rows) + " are there)\n";
    } else {
      out += "no threshold keeps it: too many of the surest answers are wrong, and more rows alone would not help";
      if (threshold.horizon > 0) out += "; among more answers to come chance has a smaller part (--risk-horizon)";
      out += '\n';
    }
  }
  return out;
}

std::string notes_text(const LearnReport& report) {
  std::string out;
  for (const std::string& note : report.notes) out += note + "\n";
  return out;
}

std::string numbers_text(const LearnReport& report) {
  if (report.before.empty()) return "";
  const auto line = [](const std::string& name, double before, double after) {
    return std::vector<std::string>{name, fixed(before, 3), fixed(after, 3)};
  };
  return text_table(
      {Align::kLeft, Align::kRight, Align::kRight},
      {{std::to_string(report.before.size()) + " rows", "before", "after"},
       line("accuracy", accuracy(report.before), accuracy(report.after)),
       line("ECE", expected_calibration_error(report.before), expected_calibration_error(report.after)),
       line("without chance", debiased_calibration_error(report.before), debiased_calibration_error(report.after)),
       line("Brier score", brier_score(report.before), brier_score(report.after)),
       line("log-loss", report.log_loss_before, report.log_loss_after)});
}

std::string calibrations_text(const Lesson& lesson) {
  std::vector<std::vector<std::string>> rows = {
      {"readout", "type", "options", "rows", "temperature", "slope", "shift", "isotonic", "ECE before", "after"}};
  for (const Calibration& c : lesson.calibrations) {
    rows.push_back({c.readout, c.type, std::to_string(c.options_min) + " to " + std::to_string(c.options_max),
                    std::to_string(c.rows), fixed(c.temperature, 3), fixed(c.slope, 3), fixed(c.shift, 3),
                    c.isotonic.empty() ? "no" : std::to_string(c.isotonic.size()) + " knots", fixed(c.ece_before, 3),
                    fixed(c.ece_after, 3)});
  }
  return text_table({Align::kLeft, Align::kLeft, Align::kLeft, Align::kRight, Align::kRight, Align::kRight,
                     Align::kRight, Align::kRight, Align::kRight, Align::kRight},
                    rows);
}

// What the calibration error is to be held against.
std::string floor_text(const LearnReport& report) {
  if (report.after.empty()) return "";
  const double after = expected_calibration_error(report.after);
  return "with the lesson the ECE is " + fixed(after, 3) + "; a perfectly calibrated answerer of these " +
         std::to_string(report.after.size()) + " rows would show " + fixed(report.floor.mean, 3) + " by chance (" +
         fixed(report.floor.low, 3) + " to " + fixed(report.floor.high, 3) + " in 90 of 100 cases): " +
         (after > report.floor.high ? "it is more than chance explains\n" : "chance explains it\n");
}

Value::Object outcome_numbers(const std::vector<Outcome>& outcomes, double log_loss) {
  return {{"accuracy", Value(accuracy(outcomes))},
          {"ece", Value(expected_calibration_error(outcomes))},
          {"ece_debiased", Value(debiased_calibration_error(outcomes))},
          {"brier", Value(brier_score(outcomes))},
          {"log_loss", Value(log_loss)}};
}

Value threshold_value(const Threshold& threshold) {
  return Value(Value::Object{{"option", text_or_null(threshold.option)},
                             {"risk", Value(threshold.risk)},
                             {"level", Value(threshold.level)},
                             {"horizon", count_value(threshold.horizon)},
                             {"value", optional_number(threshold.value)},
                             {"coverage", Value(threshold.coverage)},
                             {"error", Value(threshold.error)},
                             {"rows", count_value(threshold.rows)},
                             {"rows_missing", count_value(threshold.rows_missing)}});
}

Value calibration_value(const Calibration& c) {
  return Value(Value::Object{{"readout", Value(c.readout)},
                             {"type", Value(c.type)},
                             {"options_min", count_value(c.options_min)},
                             {"options_max", count_value(c.options_max)},
                             {"rows", count_value(c.rows)},
                             {"temperature", Value(c.temperature)},
                             {"slope", Value(c.slope)},
                             {"shift", Value(c.shift)},
                             {"isotonic_knots", count_value(c.isotonic.size())},
                             {"ece_before", Value(c.ece_before)},
                             {"ece_after", Value(c.ece_after)}});
}

Value::Object learn_members(const LearnReport& report) {
  Value::Array calibrations;
  for (const Calibration& c : report.lesson.calibrations) calibrations.push_back(calibration_value(c));
  Value::Array thresholds;
  for (const Threshold& t : report.lesson.thresholds) thresholds.push_back(threshold_value(t));
  Value::Array notes;
  for (const std::string& note : report.notes) notes.push_back(Value(note));
  return {{"lesson", Value(report.lesson.name)},
          {"labels", count_value(report.lesson.labels)},
          {"rows", count_value(report.before.size())},
          {"before", Value(outcome_numbers(report.before, report.log_loss_before))},
          {"after", Value(outcome_numbers(report.after, report.log_loss_after))},
          {"ece_by_chance", Value(Value::Object{{"mean", Value(report.floor.mean)},
                                                {"low", Value(report.floor.low)},
                                                {"high", Value(report.floor.high)}})},
          {"calibrations", Value(std::move(calibrations))},
          {"thresholds", Value(std::move(thresholds))},
          {"notes", Value(std::move(notes))},
          {"asking_seconds", Value(report.asking_seconds)},
          {"fitting_seconds", Value(report.fitting_seconds)}};
}

std::string figure(const std::string& drawing, const std::string& caption) {
  return "<figure>" + drawing + "<figcaption>" + caption + "</figcaption></figure>\n";
}

std::string learn_body(const LearnReport& report) {
  std::string out = "<p class=\"about\">lesson " + html_text(report.lesson.name) + ", model " +
                    html_text(report.lesson.model_id) + ", " + std::to_string(report.lesson.labels) + " labels</p>\n";
  if (!report.before.empty()) {
    const auto pair = [](double before, double after) { return fixed(before, 3) + " → " + fixed(after, 3); };
    out += "<div class=\"numbers\">\n";
    out += report_card(pair(accuracy(report.before), accuracy(report.after)), "accuracy");
    out += report_card(pair(expected_calibration_error(report.before), expected_calibration_error(report.after)),
                       "expected calibration error");
    out += report_card(pair(brier_score(report.before), brier_score(report.after)), "Brier score");
    out += report_card(pair(report.log_loss_before, report.log_loss_after), "log-loss");
    out += "</div>\n<p>" + html_text(floor_text(report)) + "</p>\n<div class=\"drawings\">\n";
    out += figure(reliability_svg(reliability_bins(report.before)), "Before: as the model has it.");
    out += figure(reliability_svg(reliability_bins(report.after)),
                  "With the lesson, each row by a fit that did not see it. The dashed line is perfect calibration.");
    out += "</div>\n";
  }
  return out;
}

std::string lines_html(const std::string& title, const std::string& text) {
  if (text.empty()) return "";
  return "<h2>" + title + "</h2>\n<pre>" + html_text(text) + "</pre>\n";
}

std::string head_text(const TriedHead& head) {
  std::string cues;
  for (const std::string& cue : head.cues) cues += (cues.empty() ? "" : " + ") + to_json_text(Value(cue));
  return head.method + " " + fixed(head.regularisation, 3) + ", " + cues;
}

std::string tried_text(const TeachReport& report) {
  std::vector<std::vector<std::string>> rows = {{"log-loss", "accuracy", "head, on rows left out"}};
  for (std::size_t i = 0; i < std::min(kTriedMax, report.tried.size()); i++)
    rows.push_back(
        {fixed(report.tried[i].log_loss, 3), fixed(report.tried[i].accuracy, 3), head_text(report.tried[i])});
  return text_table({Align::kLeft, Align::kLeft, Align::kLeft}, rows);
}

// Whether the zero-shot readout has a part in the answers, and what else was tried.
std::string prior_text(const TeachReport& report) {
  if (report.priors.empty()) return "";
  const double taken = report.learn.lesson.head ? report.learn.lesson.head->prior_weight : 0;
  std::vector<std::vector<std::string>> rows = {{"prior", "log-loss", "change", "standard error", "accuracy"}};
  for (const TriedPrior& tried : report.priors)
    rows.push_back({fixed(tried.weight, 2) + (tried.weight == taken ? " taken" : ""), fixed(tried.log_loss, 3),
                    fixed(tried.change, 3), fixed(tried.change_error, 3), fixed(tried.accuracy, 3)});
  return "weight of the zero-shot readout beside the head, on " + std::to_string(report.prior_rows) +
         " rows left out of it:\n" +
         text_table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight}, rows);
}

std::string curve_text(const TeachReport& report) {
  std::string out;
  if (!report.curve.empty()) {
    std::vector<std::vector<std::string>> rows = {{"labels an option", "accuracy", "spread"}};
    for (const CurvePoint& point : report.curve)
      rows.push_back({fixed(point.labels_by_option, 1), fixed(point.accuracy, 3), fixed(point.spread, 3)});
    out += text_table({Align::kRight, Align::kRight, Align::kRight}, rows);
  }
  if (report.accuracy_with_50_more) {
    out += "another 50 labels would probably give " + fixed(*report.accuracy_with_50_more, 3) + " (" +
           fixed(report.accuracy_with_50_more_low.value_or(0), 3) + " to " +
           fixed(report.accuracy_with_50_more_high.value_or(1), 3) + ")\n";
  } else if (!report.curve.empty()) {
    out += "what another 50 labels would bring is not known from so few\n";
  }
  return out;
}

std::string zero_shot_text(const TeachReport& report) {
  const Lesson& lesson = report.learn.lesson;
  std::string out =
      "accuracy " + fixed(lesson.accuracy, 3) + " cross-validated on " + std::to_string(lesson.labels) + " labels";
  if (report.words_accuracy >= 0) out += ", " + fixed(report.words_accuracy, 3) + " with the options' words alone";
  if (lesson.accuracy_zero_shot >= 0)
    out += ", " + fixed(lesson.accuracy_zero_shot, 3) + " zero-shot (" + std::to_string(report.learn.before.size()) +
           " rows)";
  return out + "\n";
}

}  // namespace

std::string learn_text(const LearnReport& report) {
  return numbers_text(report) + floor_text(report) + "\n" + calibrations_text(report.lesson) + "\n" +
         thresholds_text(report.lesson) + notes_text(report);
}

Value learn_value(const LearnReport& report) { return Value(learn_members(report)); }

std::string learn_html(const LearnReport& report) {
  return report_page("Assay calibration", learn_body(report) +
                                              lines_html("Calibrations", calibrations_text(report.lesson)) +
                                              lines_html("Thresholds", thresholds_text(report.lesson)) +
                                              lines_html("Notes", notes_text(report)));
}

std::string teach_text(const TeachReport& report) {
  return zero_shot_text(report) + floor_text(report.learn) + "\n" + tried_text(report) + "\n" + prior_text(report) +
         "\n" + curve_text(report) + "\n" + calibrations_text(report.learn.lesson) + "\n" +
         thresholds_text(report.learn.lesson) + notes_text(report.learn);
}

Value teach_value(const TeachReport& report) {
  Value::Object out = learn_members(report.learn);
  out.emplace_back("accuracy", Value(report.learn.lesson.accuracy));
  out.emplace_back("accuracy_zero_shot", Value(report.learn.lesson.accuracy_zero_shot));
  out.emplace_back("words_accuracy", Value(report.words_accuracy));
  Value::Array tried;
  for (const TriedHead& head : report.tried) {
    Value::Array cues;
    for (const std::string& cue : head.cues) cues.push_back(Value(cue));
    tried.push_back(Value(Value::Object{{"method", Value(head.method)},
                                        {"regularisation", Value(head.regularisation)},
                                        {"cues", Value(std::move(cues))},
                                        {"log_loss", Value(head.log_loss)},
                                        {"accuracy", Value(head.accuracy)}}));
  }
  out.emplace_back("tried", Value(std::move(tried)));
  Value::Array priors;
  for (const TriedPrior& prior : report.priors)
    priors.push_back(Value(Value::Object{{"weight", Value(prior.weight)},
                                         {"log_loss", Value(prior.log_loss)},
                                         {"accuracy", Value(prior.accuracy)},
                                         {"change", Value(prior.change)},
                                         {"change_error", Value(prior.change_error)}}));
  out.emplace_back("prior_weight", Value(report.learn.lesson.head ? report.learn.lesson.head->prior_weight : 0.0));
  out.emplace_back("priors", Value(std::move(priors)));
  out.emplace_back("prior_rows", count_value(report.prior_rows));
  Value::Array curve;
  for (const CurvePoint& point : report.curve)
    curve.push_back(Value(Value::Object{{"labels_by_option", Value(point.labels_by_option)},
                                        {"accuracy", Value(point.accuracy)},
                                        {"spread", Value(point.spread)}}));
  out.emplace_back("curve", Value(std::move(curve)));
  out.emplace_back("accuracy_with_50_more", optional_number(report.accuracy_with_50_more));
  out.emplace_back("accuracy_with_50_more_low", optional_number(report.accuracy_with_50_more_low));
  out.emplace_back("accuracy_with_50_more_high", optional_number(report.accuracy_with_50_more_high));
  return Value(std::move(out));
}

std::string teach_html(const TeachReport& report) {
  std::vector<CurveDot> dots;
  for (const CurvePoint& point : report.curve)
    dots.push_back({.x = point.labels_by_option, .y = point.accuracy, .spread = point.spread});
  std::string curve =
      dots.empty() ? "" : "<div class=\"drawings\">\n" + figure(learning_svg(dots), "Learning curve.") + "</div>\n";
  return report_page("Assay lesson", learn_body(report.learn) + "<p>" + html_text(zero_shot_text(report)) + "</p>\n" +
                                         curve + lines_html("Heads that were tried", tried_text(report)) +
                                         lines_html("The zero-shot readout as prior", prior_text(report)) +
                                         lines_html("What more labels would bring", curve_text(report)) +
                                         lines_html("Calibrations", calibrations_text(report.learn.lesson)) +
                                         lines_html("Thresholds", thresholds_text(report.learn.lesson)) +
                                         lines_html("Notes", notes_text(report.learn)));
}

}  // namespace assay::cli
