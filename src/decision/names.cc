// The names of the enumerators on wires, in reports and in settings. They never change.

#include <array>

#include "assay/decision.h"
#include "assay/lesson_desk.h"

namespace assay {

const char* question_type_name(QuestionType type) {
  switch (type) {
    case QuestionType::kChoice:
      return "choice";
    case QuestionType::kYesNo:
      return "yes_no";
    case QuestionType::kScale:
      return "scale";
  }
  return "choice";
}

const char* readout_name(Readout readout) {
  switch (readout) {
    case Readout::kAuto:
      return "auto";
    case Readout::kLetters:
      return "letters";
    case Readout::kText:
      return "text";
    case Readout::kHead:
      return "head";
    case Readout::kTaught:
      return "taught";
  }
  return "auto";
}

std::optional<Readout> readout_from_name(std::string_view name) {
  constexpr std::array kReadouts = {Readout::kAuto, Readout::kLetters, Readout::kText, Readout::kHead,
                                    Readout::kTaught};
  for (const Readout readout : kReadouts) {
    if (name == readout_name(readout)) return readout;
  }
  return std::nullopt;
}

const char* layout_name(Layout layout) {
  switch (layout) {
    case Layout::kAuto:
      return "auto";
    case Layout::kStateFirst:
      return "state_first";
    case Layout::kQuestionFirst:
      return "question_first";
  }
  return "auto";
}

std::optional<Layout> layout_from_name(std::string_view name) {
  for (const Layout layout : {Layout::kAuto, Layout::kStateFirst, Layout::kQuestionFirst}) {
    if (name == layout_name(layout)) return layout;
  }
  return std::nullopt;
}

const char* priority_name(Priority priority) { return priority == Priority::kBulk ? "bulk" : "interactive"; }

std::optional<Priority> priority_from_name(std::string_view name) {
  for (const Priority priority : {Priority::kInteractive, Priority::kBulk}) {
    if (name == priority_name(priority)) return priority;
  }
  return std::nullopt;
}

bool operator==(const Receipt& a, const Receipt& b) {
  return a.model == b.model && a.build == b.build && a.settings == b.settings && a.tokens == b.tokens &&
         a.scores == b.scores;
}

const char* action_name(Action action) {
  switch (action) {
    case Action::kNone:
      return "none";
    case Action::kAct:
      return "act";
    case Action::kEscalate:
      return "escalate";
  }
  return "none";
}

const char* feedback_result_name(FeedbackResult result) {
  switch (result) {
    case FeedbackResult::kStored:
      return "stored";
    case FeedbackResult::kKnown:
      return "known";
    case FeedbackResult::kCorrected:
      return "corrected";
  }
  return "stored";
}

const char* reliability_name(Reliability reliability) {
  switch (reliability) {
    case Reliability::kUnknown:
      return "unknown";
    case Reliability::kReliable:
      return "reliable";
    case Reliability::kUnreliable:
      return "unreliable";
  }
  return "unknown";
}

}  // namespace assay
