#include "server/lesson_metrics.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <utility>

#include "server/metrics.h"

namespace assay::server {
namespace {

void add_header(std::string& out, const char* name, const char* type, const char* help) {
  out.append("# HELP ").append(name).append(" ").append(help).append("\n");
  out.append("# TYPE ").append(name).append(" ").append(type).append("\n");
}

void add_line(std::string& out, const char* name, const std::string& labels, std::uint64_t value) {
  out.append(name);
  if (!labels.empty()) out.append("{").append(labels).append("}");
  out.append(" ").append(std::to_string(value)).append("\n");
}

void add_line(std::string& out, const char* name, const std::string& labels, double value) {
  if (!std::isfinite(value)) return;
  std::array<char, 32> text{};
  const std::to_chars_result end = std::to_chars(text.data(), text.data() + text.size(), value);
  out.append(name).append("{").append(labels).append("} ").append(text.data(), end.ptr).append("\n");
}

std::string label(const char* name, const std::string& value) {
  return std::string(name) + "=\"" + escaped_label(value) + "\"";
}

std::string lesson_labels(const LessonCounts& lesson) {
  return label("lesson", lesson.name) + "," + label("version", std::to_string(lesson.version));
}

using Labelled = std::pair<const char*, std::uint64_t>;

template <std::size_t kCount>
void add_counter(std::string& out, const char* name, const char* help, const char* label_name,
                 const std::array<Labelled, kCount>& counts) {
  add_header(out, name, "counter", help);
  for (const auto& [value, count] : counts) add_line(out, name, label(label_name, value), count);
}

void add_decisions(std::string& out, const DeskStats& stats) {
  add_header(out, "assay_decisions_queued", "gauge", "Decisions that wait to be written to the log.");
  add_line(out, "assay_decisions_queued", "", std::uint64_t{stats.decisions_queued});
  add_header(out, "assay_decision_log_failing", "gauge", "1 while the decision log cannot be written.");
  add_line(out, "assay_decision_log_failing", "", std::uint64_t{stats.log_failing ? 1U : 0U});
  add_counter(out, "assay_decisions_logged_total", "Decisions for the log, by what became of them.", "result",
              std::array<Labelled, 5>{{{"written", stats.decisions_written},
                                       {"dropped", stats.decisions_dropped},
                                       {"lost", stats.decisions_lost},
                                       {"expired", stats.decisions_expired},
                                       {"forgotten", stats.decisions_forgotten}}});
  add_counter(out, "assay_feedback_total", "Labels of decisions, by what became of them.", "result",
              std::array<Labelled, 4>{{{"stored", stats.feedback_stored},
                                       {"known", stats.feedback_known},
                                       {"corrected", stats.feedback_corrected},
                                       {"refused", stats.feedback_refused}}});
}

void add_hidden_states(std::string& out, const DeskStats& stats) {
  add_header(out, "assay_hidden_states_bytes", "gauge", "Hidden states that are kept with decisions, about.");
  add_line(out, "assay_hidden_states_bytes", "", stats.hidden_states_bytes);
  add_counter(out, "assay_fit_rows_total", "Rows and options' words of fits, by where their hidden states came from.",
              "source",
              std::array<Labelled, 2>{{{"read", stats.hidden_states_read}, {"kept", stats.hidden_states_kept}}});
}

// One metric of all lessons.
template <typename Value>
void add_of_lessons(std::string& out, const DeskStats& stats, const char* name, const char* type, const char* help,
                    const Value& value) {
  add_header(out, name, type, help);
  for (const LessonCounts& lesson : stats.lessons) value(lesson, lesson_labels(lesson));
}

void add_lesson_answers(std::string& out, const DeskStats& stats) {
  constexpr const char* kName = "assay_lesson_answers_total";
  add_of_lessons(
      out, stats, kName, "counter", "Answers made with a lesson, by what its threshold said.",
      [&](const LessonCounts& lesson, const std::string& labels) {
        const std::uint64_t judged = lesson.acted + lesson.escalated;
        const std::array<Labelled, 3> counts = {{{"act", lesson.acted},
                                                 {"escalate", lesson.escalated},
                                                 {"none", lesson.answers - std::min(judged, lesson.answers)}}};
        for (const auto& [decision, count] : counts) {
          add_line(out, kName, labels + "," + label("decision", decision), count);
        }
      });
}

}  // namespace

std::string lesson_metrics_text(const DeskStats& stats) {
  std::string out;
  if (stats.keeps_decisions) add_decisions(out, stats);
  if (stats.keeps_states) add_hidden_states(out, stats);
  if (stats.lessons.empty()) return out;
  const auto count = [&](const char* name, const char* type, const char* help, auto of) {
    add_of_lessons(out, stats, name, type, help, [&](const LessonCounts& lesson, const std::string& labels) {
      add_line(out, name, labels, of(lesson));
    });
  };
  const auto share = [&](const char* name, const char* help, double LessonCounts::* member) {
    add_of_lessons(out, stats, name, "gauge", help, [&](const LessonCounts& lesson, const std::string& labels) {
      if (lesson.*member >= 0) add_line(out, name, labels, lesson.*member);
    });
  };
  count("assay_lesson_taught", "gauge", "1 where the lesson's head answers, 0 where it calibrates alone.",
        [](const LessonCounts& lesson) { return std::uint64_t{lesson.taught ? 1U : 0U}; });
  add_lesson_answers(out, stats);
  count("assay_lesson_abstained_total", "counter", "Of those: answers that abstained.",
        [](const LessonCounts& lesson) { return lesson.abstained; });
  share("assay_lesson_mean_confidence", "Of the answers in the window that drift is looked for in.",
        &LessonCounts::mean_confidence);
  share("assay_lesson_confidence_then", "The same of the labelled answers that the lesson was made from.",
        &LessonCounts::confidence_then);
  count("assay_lesson_drifting", "gauge", "1 while the two differ by more than chance.",
        [](const LessonCounts& lesson) { return std::uint64_t{lesson.drifting ? 1U : 0U}; });
  count("assay_lesson_shadowed_total", "counter", "Answers that a shadow answered, too.",
        [](const LessonCounts& lesson) { return lesson.shadowed; });
  count("assay_lesson_shadow_agreed_total", "counter", "Of those: with the same option.",
        [](const LessonCounts& lesson) { return lesson.shadow_agreed; });
  return out;
}

}  // namespace assay::server
