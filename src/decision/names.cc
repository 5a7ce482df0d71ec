// The names of the enumerators on wires, in reports and in settings. They never change.

#include <array>

#include "assay/decision.h"

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
  }
  return "auto";
}

std::optional<Readout> readout_from_name(std::string_view name) {
  constexpr std::array kReadouts = {Readout::kAuto, Readout::kLetters, Readout::kText, Readout::kHead};
  for (const Readout readout : kReadouts) {
    if (name == readout_name(readout)) return readout;
  }
  return std::nullopt;
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
