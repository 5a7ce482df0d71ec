// The state is JSON text already and is put in as it is; all else goes through to_json_text(), which writes every
// number of this program.

#include "store/decision_line.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>

#include "base/utf8.h"

namespace assay::store {
namespace {

Value integer_value(std::int64_t number) { return Value(Value::Integer{std::to_string(number)}); }

// "key": value, with what stands before it.
void add_member(std::string& out, const char* key, const std::string& json) {
  out += out.ends_with('{') ? "\"" : ", \"";
  out += key;
  out += "\": " + json;
}

// SemIf's wire wants each decision to have the state, and an id that no other has; what callers call their questions
// may be one name for two.
std::string id_of(const DecisionRecord& record, std::size_t index) {
  const std::string& id = record.answers[index].question_id;
  const auto is_same = [&id](const AnswerRecord& other) { return other.question_id == id; };
  const bool is_single = std::count_if(record.answers.begin(), record.answers.end(), is_same) == 1;
  return is_single ? id : id + "#" + std::to_string(index);
}

std::string question_text(const DecisionRecord& record, std::size_t index) {
  const AnswerRecord& answer = record.answers[index];
  Value::Array options;
  for (const Option& option : answer.options) {
    Value::Object members = {{"id", Value(option.id)}};
    if (option.description) members.push_back({"description", Value(*option.description)});
    options.push_back(Value(std::move(members)));
  }
  std::string out = "{";
  add_member(out, "id", to_json_text(Value(id_of(record, index))));
  add_member(out, "state", record.state);
  add_member(out, "question", to_json_text(Value(answer.question)));
  add_member(out, "type", to_json_text(Value(question_type_name(answer.type))));
  add_member(out, "options", to_json_text(Value(std::move(options))));
  if (answer.min_confidence > 0) add_member(out, "x_min_confidence", to_json_text(Value(answer.min_confidence)));
  if (answer.permute > 1) add_member(out, "x_permute", std::to_string(answer.permute));
  return out + "}";
}

// What the answers were read with, where it is the same for all and can be asked for by name; else what was asked for.
Readout readout_of(const DecisionRecord& record) {
  const Readout first = record.answers.front().readout;
  const bool same = std::all_of(record.answers.begin(), record.answers.end(),
                                [first](const AnswerRecord& answer) { return answer.readout == first; });
  const bool has_name = first == Readout::kLetters || first == Readout::kText;
  if (same && has_name) return first;
  return record.readout == Readout::kHead ? Readout::kAuto : record.readout;
}

// Which lesson is to answer again: the version of all answers, or none; nothing where they differ.
std::optional<std::string> lesson_of(const DecisionRecord& record) {
  const auto name = [](const AnswerRecord& answer) -> std::string {
    const std::optional<LessonUse>& used = answer.lesson.used;
    return used ? used->name + "@" + std::to_string(used->version) : "none";
  };
  const std::string first = name(record.answers.front());
  const bool same = std::all_of(record.answers.begin(), record.answers.end(),
                                [&](const AnswerRecord& answer) { return name(answer) == first; });
  return same ? std::optional<std::string>(first) : std::nullopt;
}

// Whether the readout was computed beside every head that answered, as it is where a request asks for an explanation.
// A head that needs it has it anyhow, and then asking for it changes nothing.
bool was_explained(const DecisionRecord& record) {
  if (!record.allowed_mass) return false;  // an explanation has it
  bool any = false;
  for (const AnswerRecord& answer : record.answers) {
    if (answer.readout != Readout::kTaught) continue;
    if (answer.zero_shot_scores.empty()) return false;
    any = true;
  }
  return any;
}

std::string request_text(const DecisionRecord& record) {
  std::string out = "{";
  if (record.answers.size() == 1) {
    add_member(out, "decision", question_text(record, 0));
  } else {
    std::string list = "[";
    for (std::size_t i = 0; i < record.answers.size(); i++) list += (i > 0 ? ", " : "") + question_text(record, i);
    add_member(out, "decisions", list + "]");
  }
  add_member(out, "x_readout", to_json_text(Value(readout_name(readout_of(record)))));
  add_member(out, "x_layout", to_json_text(Value(layout_name(record.answers.front().layout))));
  if (const std::optional<std::string> lesson = lesson_of(record)) add_member(out, "x_lesson", "\"" + *lesson + "\"");
  if (was_explained(record)) add_member(out, "x_explain", "true");
  if (!record.allowed_mass) add_member(out, "x_allowed_mass", "false");
  return out + "}";
}

Value receipt_value(const Receipt& receipt) {
  return Value(Value::Object{{"model", Value(receipt.model)},
                             {"build", Value(receipt.build)},
                             {"settings", Value(receipt.settings)},
                             {"tokens", Value(receipt.tokens)},
                             {"scores", Value(receipt.scores)}});
}

Value options_value(const AnswerRecord& answer) {
  Value::Array out;
  for (std::size_t i = 0; i < answer.options.size(); i++) {
    Value::Object option = {{"id", Value(answer.options[i].id)}};
    if (answer.options[i].description) option.push_back({"description", Value(*answer.options[i].description)});
    option.push_back({"score", Value(answer.scores[i])});
    option.push_back({"probability", Value(answer.probabilities[i])});
    if (!answer.zero_shot_scores.empty()) option.push_back({"zero_shot_score", Value(answer.zero_shot_scores[i])});
    out.push_back(Value(std::move(option)));
  }
  return Value(std::move(out));
}

void add_lesson(const AnswerRecord& answer, Value::Object& out) {
  const LessonEffect& lesson = answer.lesson;
  if (lesson.used) {
    out.push_back({"lesson", Value(Value::Object{{"name", Value(lesson.used->name)},
                                                 {"version", integer_value(lesson.used->version)},
                                                 {"sha256", Value(lesson.used->sha256)},
                                                 {"taught", Value(lesson.used->taught)}})});
  }
  if (!lesson.note.empty()) out.push_back({"lesson_note", Value(lesson.note)});
  if (lesson.action != Action::kNone) out.push_back({"decision", Value(action_name(lesson.action))});
  if (lesson.threshold) out.push_back({"threshold", Value(*lesson.threshold)});
  if (lesson.risk) out.push_back({"risk", Value(*lesson.risk)});
  if (lesson.fallback) out.push_back({"fallback", Value(*lesson.fallback)});
}

Value shadow_value(const AnswerRecord& answer) {
  Value::Array probabilities;
  for (const double probability : answer.shadow->probabilities) probabilities.push_back(Value(probability));
  return Value(Value::Object{{"lesson", Value(answer.shadow->lesson)},
                             {"version", integer_value(answer.shadow->version)},
                             {"best", Value(answer.options[answer.shadow->best].id)},
                             {"confidence", Value(answer.shadow->confidence)},
                             {"probabilities", Value(std::move(probabilities))}});
}

Value feedback_value(const AnswerRecord& answer) {
  Value::Object out = {{"option", Value(answer.options[answer.label->option].id)},
                       {"time", Value(utc_text(answer.label->time_ms))},
                       {"corrections", integer_value(answer.label->corrections)}};
  if (!answer.label->note.empty()) out.push_back({"note", Value(answer.label->note)});
  return Value(std::move(out));
}

Value answer_value(const AnswerRecord& answer) {
  Value::Object out = {{"question_id", Value(answer.question_id)}, {"fingerprint", Value(answer.fingerprint)}};
  if (!answer.question.empty()) out.push_back({"question", Value(answer.question)});
  out.push_back({"type", Value(question_type_name(answer.type))});
  out.push_back({"options", options_value(answer)});
  out.push_back({"best", Value(answer.options[answer.best].id)});
  out.push_back({"confidence", Value(answer.confidence)});
  out.push_back({"abstained", Value(answer.abstained)});
  out.push_back({"calibrated", Value(answer.calibrated)});
  out.push_back({"readout", Value(readout_name(answer.readout))});
  out.push_back({"layout", Value(layout_name(answer.layout))});
  out.push_back({"prompt_version", Value(answer.prompt_version)});
  out.push_back({"prompt_sha256", Value(answer.prompt_sha256)});
  add_lesson(answer, out);
  if (answer.shadow) out.push_back({"shadow", shadow_value(answer)});
  if (answer.label) out.push_back({"feedback", feedback_value(answer)});
  return Value(std::move(out));
}

bool has_texts(const DecisionRecord& record) {
  if (record.state.empty() || record.answers.empty()) return false;
  for (const AnswerRecord& answer : record.answers) {
    if (answer.question.empty()) return false;
  }
  return true;
}

}  // namespace

std::string utc_text(std::int64_t unix_ms) {
  using std::chrono::floor;
  const std::chrono::sys_time<std::chrono::milliseconds> time{std::chrono::milliseconds(unix_ms)};
  const auto day = floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return text;
}

Result<std::string> decision_line(const DecisionRecord& record) {
  std::string out = "{";
  add_member(out, "id", to_json_text(Value(record.id)));
  if (record.place > 0) add_member(out, "place", std::to_string(record.place));
  add_member(out, "time", to_json_text(Value(utc_text(record.time_ms))));
  if (has_texts(record)) add_member(out, "request", request_text(record));
  if (record.receipt) add_member(out, "receipt", to_json_text(receipt_value(*record.receipt)));
  add_member(out, "state_sha256", to_json_text(Value(record.state_sha256)));
  Value::Array answers;
  for (const AnswerRecord& answer : record.answers) answers.push_back(answer_value(answer));
  add_member(out, "answers", to_json_text(Value(std::move(answers))));
  out += '}';
  if (first_invalid_utf8(out)) {
    return Error{ErrorCode::kIo, "a kept decision holds text that is no UTF-8: the file is damaged", ""};
  }
  return out;
}

}  // namespace assay::store
