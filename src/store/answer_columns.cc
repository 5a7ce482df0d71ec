#include "store/answer_columns.h"

#include <optional>
#include <utility>

#include "store/doubles.h"

namespace assay::store {

const char* const kAnswerColumns =
    "a.n, a.question, a.question_id, q.fingerprint, q.type, q.text, a.min_confidence, a.permute, a.readout, a.layout, "
    "a.prompt_version, a.prompt_sha256, a.scores, a.probabilities, a.best, a.confidence, a.abstained, a.calibrated, "
    "a.lesson, a.lesson_version, a.lesson_sha256, a.lesson_taught, a.lesson_note, a.action, a.threshold, a.risk, "
    "a.fallback, a.zero_shot_scores, a.shadow_lesson, a.shadow_version, a.shadow_best, a.shadow_confidence, "
    "a.shadow_probabilities, f.place, f.note, f.time_ms, f.corrections";

namespace {

std::optional<Action> action_from_name(const std::string& name) {
  for (const Action action : {Action::kNone, Action::kAct, Action::kEscalate}) {
    if (name == action_name(action)) return action;
  }
  return std::nullopt;
}

// One double for each option, or a damaged file.
Result<std::vector<double>> numbers_of(const Database& database, const Query& query, int column, std::size_t count) {
  std::optional<std::vector<double>> numbers = doubles_of_bytes(query.bytes(column));
  if (!numbers || numbers->size() != count) return damaged(database, "an answer's numbers are not one for each option");
  return std::move(*numbers);
}

// A place of an option.
Result<std::size_t> place_of(const Database& database, std::int64_t place, std::size_t count) {
  if (place < 0 || static_cast<std::uint64_t>(place) >= count) return damaged(database, "an option is none of its own");
  return static_cast<std::size_t>(place);
}

Result<LessonEffect> effect_of(const Database& database, const Query& query) {
  LessonEffect out;
  if (!query.is_null(18)) {
    out.used = LessonUse{.name = query.text(18),
                         .version = static_cast<std::int32_t>(query.integer(19)),
                         .sha256 = query.text(20),
                         .taught = query.integer(21) != 0};
  }
  out.note = query.text(22);
  const std::optional<Action> action = action_from_name(query.text(23));
  if (!action) return damaged(database, "an action is unknown");
  out.action = *action;
  out.threshold = query.real_or_null(24);
  out.risk = query.real_or_null(25);
  out.fallback = query.text_or_null(26);
  return out;
}

Status read_shadow(const Database& database, const Query& query, AnswerRecord& out) {
  if (query.is_null(28)) return {};
  ShadowAnswer shadow{.lesson = query.text(28),
                      .version = static_cast<std::int32_t>(query.integer(29)),
                      .confidence = query.real(31),
                      .probabilities = {}};
  const Result<std::size_t> best = place_of(database, query.integer(30), out.options.size());
  if (!best.ok()) return best.error();
  shadow.best = *best;
  Result<std::vector<double>> probabilities = numbers_of(database, query, 32, out.options.size());
  if (!probabilities.ok()) return probabilities.error();
  shadow.probabilities = std::move(*probabilities);
  out.shadow = std::move(shadow);
  return {};
}

Status read_label(const Database& database, const Query& query, AnswerRecord& out) {
  if (query.is_null(33)) return {};
  const Result<std::size_t> option = place_of(database, query.integer(33), out.options.size());
  if (!option.ok()) return option.error();
  out.label = Label{.option = *option,
                    .note = query.text(34),
                    .time_ms = query.integer(35),
                    .corrections = static_cast<std::int32_t>(query.integer(36))};
  return {};
}

Status read_names(const Database& database, const Query& query, AnswerRecord& out) {
  const Result<QuestionType> type = stored_type(database, query.text(4));
  if (!type.ok()) return type.error();
  const std::optional<Readout> readout = readout_from_name(query.text(8));
  const std::optional<Layout> layout = layout_from_name(query.text(9));
  if (!readout || !layout) return damaged(database, "a readout or a layout is unknown");
  out.type = *type;
  out.readout = *readout;
  out.layout = *layout;
  return {};
}

Status read_numbers(const Database& database, const Query& query, AnswerRecord& out) {
  const std::size_t count = out.options.size();
  Result<std::vector<double>> scores = numbers_of(database, query, 12, count);
  if (!scores.ok()) return scores.error();
  Result<std::vector<double>> probabilities = numbers_of(database, query, 13, count);
  if (!probabilities.ok()) return probabilities.error();
  const Result<std::size_t> best = place_of(database, query.integer(14), count);
  if (!best.ok()) return best.error();
  out.scores = std::move(*scores);
  out.probabilities = std::move(*probabilities);
  out.best = *best;
  if (query.is_null(27)) return {};
  Result<std::vector<double>> zero_shot = numbers_of(database, query, 27, count);
  if (!zero_shot.ok()) return zero_shot.error();
  out.zero_shot_scores = std::move(*zero_shot);
  return {};
}

}  // namespace

Error damaged(const Database& database, const std::string& what) {
  return Error{ErrorCode::kIo, "'" + database.path() + "': the file is damaged (" + what + ")", ""};
}

Result<QuestionType> stored_type(const Database& database, const std::string& name) {
  for (const QuestionType type : {QuestionType::kChoice, QuestionType::kYesNo, QuestionType::kScale}) {
    if (name == question_type_name(type)) return type;
  }
  return damaged(database, "a question's type is unknown");
}

Result<std::vector<Option>> ChoiceReader::options(std::int64_t question) {
  if (const auto found = known_.find(question); found != known_.end()) return found->second;
  Query query(database_, "SELECT place, id, description FROM choice WHERE question = ?1 ORDER BY place");
  query.bind_integer(1, question);
  std::vector<Option> out;
  for (;;) {
    const Result<bool> row = query.next();
    if (!row.ok()) return row.error();
    if (!*row) break;
    if (query.integer(0) != static_cast<std::int64_t>(out.size())) return damaged(database_, "an option is missing");
    out.push_back({.id = query.text(1), .description = query.text_or_null(2)});
  }
  if (out.empty()) return damaged(database_, "a question has no options");
  return known_.emplace(question, std::move(out)).first->second;
}

Result<AnswerRecord> answer_of(Database& database, const Query& query, ChoiceReader& choices) {
  Result<std::vector<Option>> options = choices.options(query.integer(1));
  if (!options.ok()) return options.error();
  AnswerRecord out{.question_id = query.text(2),
                   .question = query.text(5),
                   .options = std::move(*options),
                   .min_confidence = query.real(6),
                   .permute = static_cast<std::int32_t>(query.integer(7)),
                   .prompt_version = query.text(10),
                   .prompt_sha256 = query.text(11),
                   .scores = {},
                   .probabilities = {},
                   .confidence = query.real(15),
                   .abstained = query.integer(16) != 0,
                   .calibrated = query.integer(17) != 0};
  out.fingerprint = query.text(3);
  Result<LessonEffect> effect = effect_of(database, query);
  if (!effect.ok()) return effect.error();
  out.lesson = std::move(*effect);
  for (const auto read : {read_names, read_numbers, read_shadow, read_label}) {
    if (Status status = read(database, query, out); !status.ok()) return status.error();
  }
  return out;
}

}  // namespace assay::store
