#include "service/lesson_choice.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

#include "base/sha256.h"

namespace assay::service {
namespace {

using OptionText = std::pair<std::string, std::optional<std::string>>;

std::string named(const Lesson& lesson) {
  return "lesson " + lesson.name + " version " + std::to_string(lesson.version);
}

// Where each of the lesson's options stands, or why they are not the same.
Result<std::vector<std::size_t>> places_of(const LessonQuestion& learnt, const std::vector<Option>& options) {
  std::vector<std::size_t> places;
  for (const OptionText& option : learnt.options) {
    const auto found =
        std::find_if(options.begin(), options.end(), [&](const Option& asked) { return asked.id == option.first; });
    if (found == options.end()) return invalid_argument("options", "option \"" + option.first + "\" is gone");
    if (found->description != option.second)
      return invalid_argument("options", "the description of option \"" + option.first + "\" is another");
    places.push_back(static_cast<std::size_t>(found - options.begin()));
  }
  for (const Option& option : options) {
    const auto is_it = [&](const OptionText& known) { return known.first == option.id; };
    if (std::none_of(learnt.options.begin(), learnt.options.end(), is_it))
      return invalid_argument("options", "option \"" + option.id + "\" is new");
  }
  return places;
}

bool can_calibrate(const Lesson& lesson, QuestionType type) {
  return std::any_of(lesson.calibrations.begin(), lesson.calibrations.end(), [&](const Calibration& calibration) {
    return calibration.type == question_type_name(type) && calibration.readout != "taught";
  });
}

LessonPick pick_automatically(const LessonShelf& shelf, const Question& question) {
  LessonPick general;
  std::string note;
  for (const auto& [name, versions] : shelf.lessons) {
    const SharedLesson& lesson = versions.active_lesson();
    const Lesson& content = lesson->lesson;
    const bool is_meant = !content.question ? can_calibrate(content, question.type)
                                            : content.question->type == question_type_name(question.type) &&
                                                  content.question->text == question.text;
    if (!is_meant) continue;
    if (!lesson->problem.empty()) {
      note = named(content) + " was not used: " + lesson->problem;
      continue;
    }
    if (!content.question) {
      if (!general.lesson) general.lesson = lesson;
      continue;
    }
    LessonPick pick = pick_version(lesson, question);
    if (pick.lesson) return pick;
    note = std::move(pick.note);
  }
  general.note = std::move(note);
  return general;
}

Error not_usable(std::string message) { return invalid_argument("lesson", std::move(message)); }

}  // namespace

LessonPick pick_version(const SharedLesson& lesson, const Question& question) {
  LessonPick pick;
  const Lesson& content = lesson->lesson;
  if (content.question && content.question->type != question_type_name(question.type)) {
    pick.note = named(content) + " was not used: it is for a question of type " + content.question->type;
    return pick;
  }
  if (content.question) {
    Result<std::vector<std::size_t>> places = places_of(*content.question, question.options);
    if (!places.ok()) {
      pick.note = named(content) + " was not used: the options changed since (" + places.error().message + ")";
      return pick;
    }
    pick.places = std::move(places).value();
  }
  pick.lesson = lesson;
  return pick;
}

Result<LessonPick> pick_lesson(const LessonShelf& shelf, const std::string& asked, const Question& question) {
  if (asked == "none") return LessonPick{};
  if (asked == "auto") return pick_automatically(shelf, question);
  const std::optional<LessonReference> meant = lesson_reference(asked);
  const auto found = meant ? shelf.lessons.find(meant->name) : shelf.lessons.end();
  if (found == shelf.lessons.end()) return not_usable("There is no lesson \"" + asked + "\".");
  const LessonVersions& versions = found->second;
  const auto version = versions.versions.find(meant->version.value_or(versions.active));
  if (version == versions.versions.end()) return not_usable("There is no version \"" + asked + "\" of that lesson.");
  const SharedLesson& lesson = version->second;
  if (!lesson->problem.empty())
    return not_usable("The " + named(lesson->lesson) + " cannot be used: " + lesson->problem);
  return pick_version(lesson, question);
}

std::string question_fingerprint(const LessonQuestion& question) {
  Value::Array options;
  std::vector<OptionText> sorted = question.options;
  std::sort(sorted.begin(), sorted.end());
  for (const auto& [id, description] : sorted) {
    Value::Array option = {Value(id)};
    if (description) option.emplace_back(*description);
    options.push_back(Value(std::move(option)));
  }
  return sha256_hex(
      to_json_text(Value(Value::Array{Value(question.type), Value(question.text), Value(std::move(options))})));
}

std::string question_fingerprint(const Question& question) { return question_fingerprint(lesson_question(question)); }

LessonQuestion lesson_question(const Question& question) {
  LessonQuestion out{.text = question.text, .type = question_type_name(question.type), .options = {}};
  for (const Option& option : question.options) out.options.emplace_back(option.id, option.description);
  return out;
}

Question question_of(const LessonQuestion& question) {
  Question out{.id = "q", .text = question.text};
  for (const QuestionType type : {QuestionType::kChoice, QuestionType::kYesNo, QuestionType::kScale}) {
    if (question.type == question_type_name(type)) out.type = type;
  }
  for (const auto& [id, description] : question.options) out.options.push_back({.id = id, .description = description});
  return out;
}

}  // namespace assay::service

namespace assay {

bool is_lesson_name(std::string_view name) {
  constexpr std::size_t kNameMax = 64;
  if (name.empty() || name.size() > kNameMax || name.front() == '-' || name.front() == '_') return false;
  for (const char c : name) {
    if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_')) return false;
  }
  return true;
}

std::optional<LessonReference> lesson_reference(std::string_view text) {
  LessonReference out;
  const std::size_t mark = text.find('@');
  out.name = std::string(text.substr(0, mark));
  if (!is_lesson_name(out.name)) return std::nullopt;
  if (mark == std::string_view::npos) return out;
  const std::string_view digits = text.substr(mark + 1);
  std::int32_t version = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), version);
  const bool is_number = code == std::errc() && end == digits.data() + digits.size() && !digits.starts_with('0');
  if (!is_number || version < 1) return std::nullopt;
  out.version = version;
  return out;
}

}  // namespace assay
