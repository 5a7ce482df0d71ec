#include "store/decision_rows.h"

#include <utility>
#include <vector>

#include "base/sha256.h"
#include "store/doubles.h"
#include "store/kept_bytes.h"

namespace assay::store {
namespace {

constexpr std::size_t kOptionsShown = 10;

Status insert_choices(Database& database, std::int64_t question, const AnswerRecord& answer, Keep keep) {
  Query query(database, "INSERT OR REPLACE INTO choice(question, place, id, description) VALUES(?1, ?2, ?3, ?4)");
  for (std::size_t i = 0; i < answer.options.size(); i++) {
    const Option& option = answer.options[i];
    query.bind_integer(1, question).bind_integer(2, static_cast<std::int64_t>(i)).bind_text(3, option.id);
    query.bind_text_or_null(4, keep == Keep::kTexts ? option.description : std::nullopt);
    if (Status done = query.run(); !done.ok()) return done;
    query.again();
  }
  return {};
}

Status add_texts(Database& database, std::int64_t question, const AnswerRecord& answer) {
  Query query(database, "UPDATE question SET text = ?2 WHERE n = ?1");
  query.bind_integer(1, question).bind_text(2, answer.question);
  if (Status done = query.run(); !done.ok()) return done;
  return insert_choices(database, question, answer, Keep::kTexts);
}

// The question's number, under which it is kept from now on.
Result<std::int64_t> question_number(Database& database, const AnswerRecord& answer, Keep keep) {
  const std::string fingerprint = question_fingerprint(answer.question, answer.type, answer.options);
  {
    Query query(database, "SELECT n, text IS NULL FROM question WHERE fingerprint = ?1");
    const Result<bool> there = query.bind_text(1, fingerprint).next();
    if (!there.ok()) return there.error();
    if (*there) {
      const std::int64_t n = query.integer(0);
      if (keep == Keep::kHashes || query.integer(1) == 0) return n;
      const Status added = add_texts(database, n, answer);
      return added.ok() ? Result<std::int64_t>(n) : added.error();
    }
  }
  Query query(database, "INSERT INTO question(fingerprint, type, text) VALUES(?1, ?2, ?3)");
  query.bind_text(1, fingerprint).bind_text(2, question_type_name(answer.type));
  query.bind_text_or_null(3, keep == Keep::kTexts ? std::optional<std::string>(answer.question) : std::nullopt);
  if (Status done = query.run(); !done.ok()) return done.error();
  const std::int64_t n = database.last_row();
  const Status inserted = insert_choices(database, n, answer, keep);
  return inserted.ok() ? Result<std::int64_t>(n) : inserted.error();
}

void bind_lesson(Query& query, const LessonEffect& lesson) {
  if (lesson.used) {
    query.bind_text(15, lesson.used->name).bind_integer(16, lesson.used->version);
    query.bind_text(17, lesson.used->sha256).bind_integer(18, lesson.used->taught ? 1 : 0);
  }
  query.bind_text(19, lesson.note).bind_text(20, action_name(lesson.action));
  query.bind_real_or_null(21, lesson.threshold).bind_real_or_null(22, lesson.risk);
  query.bind_text_or_null(23, lesson.fallback);
}

void bind_shadow(Query& query, const ShadowAnswer& shadow) {
  query.bind_text(25, shadow.lesson).bind_integer(26, shadow.version);
  query.bind_integer(27, static_cast<std::int64_t>(shadow.best)).bind_real(28, shadow.confidence);
  query.bind_bytes(29, doubles_to_bytes(shadow.probabilities));
}

Status insert_answer(Database& database, std::int64_t decision, std::int64_t question, const AnswerRecord& answer) {
  Query query(database,
              "INSERT INTO answer(decision, question, question_id, min_confidence, permute, readout, layout, "
              "prompt_version, prompt_sha256, scores, probabilities, best, confidence, abstained, lesson, "
              "lesson_version, lesson_sha256, lesson_taught, lesson_note, action, threshold, risk, fallback, "
              "zero_shot_scores, shadow_lesson, shadow_version, shadow_best, shadow_confidence, "
              "shadow_probabilities, calibrated) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, "
              "?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30)");
  query.bind_integer(1, decision).bind_integer(2, question).bind_text(3, answer.question_id);
  query.bind_real(4, answer.min_confidence).bind_integer(5, answer.permute);
  query.bind_text(6, readout_name(answer.readout)).bind_text(7, layout_name(answer.layout));
  query.bind_text(8, answer.prompt_version).bind_text(9, answer.prompt_sha256);
  query.bind_bytes(10, doubles_to_bytes(answer.scores)).bind_bytes(11, doubles_to_bytes(answer.probabilities));
  query.bind_integer(12, static_cast<std::int64_t>(answer.best)).bind_real(13, answer.confidence);
  query.bind_integer(14, answer.abstained ? 1 : 0).bind_integer(30, answer.calibrated ? 1 : 0);
  bind_lesson(query, answer.lesson);
  if (!answer.zero_shot_scores.empty()) query.bind_bytes(24, doubles_to_bytes(answer.zero_shot_scores));
  if (answer.shadow) bind_shadow(query, *answer.shadow);
  return query.run();
}

// 0: no such decision.
Result<std::int64_t> decision_number(Database& database, const std::string& id) {
  Query query(database, "SELECT n FROM decision WHERE id = ?1");
  const Result<bool> there = query.bind_text(1, id).next();
  if (!there.ok()) return there.error();
  return *there ? query.integer(0) : std::int64_t{0};
}

struct LabelledPlace {
  std::int64_t answer = 0;
  std::int64_t question = 0;
};

Result<LabelledPlace> place_of(Database& database, std::int64_t decision, const Feedback& feedback) {
  Query query(database,
              "SELECT n, question FROM answer WHERE decision = ?1 AND (?2 = '' OR question_id = ?2) ORDER BY n");
  Result<bool> row = query.bind_integer(1, decision).bind_text(2, feedback.question_id).next();
  if (!row.ok()) return row.error();
  if (!*row) return invalid_argument("question_id", "the decision has no question of that id");
  const LabelledPlace place{.answer = query.integer(0), .question = query.integer(1)};
  row = query.next();
  if (!row.ok()) return row.error();
  if (*row) return invalid_argument("question_id", "the decision has several such questions; say which one");
  return place;
}

Error no_such_option(Database& database, std::int64_t question) {
  std::string message = "is no option of the question; its options are ";
  Query query(database, "SELECT id FROM choice WHERE question = ?1 ORDER BY place");
  query.bind_integer(1, question);
  for (std::size_t i = 0;; i++) {
    const Result<bool> row = query.next();
    if (!row.ok()) return row.error();
    if (!*row) break;
    if (i == kOptionsShown) return invalid_argument("option", message + ", …");
    message += (i == 0 ? "\"" : ", \"") + query.text(0) + "\"";
  }
  return invalid_argument("option", std::move(message));
}

Result<std::int64_t> option_place(Database& database, std::int64_t question, const std::string& option) {
  {
    Query query(database, "SELECT place FROM choice WHERE question = ?1 AND id = ?2");
    const Result<bool> there = query.bind_integer(1, question).bind_text(2, option).next();
    if (!there.ok()) return there.error();
    if (*there) return query.integer(0);
  }
  return no_such_option(database, question);
}

Status write_feedback(Database& database, std::int64_t answer, std::int64_t place, const Feedback& feedback,
                      std::int64_t now_ms) {
  Query query(database,
              "INSERT INTO feedback(answer, place, note, time_ms, corrections) VALUES(?1, ?2, ?3, ?4, 0) "
              "ON CONFLICT(answer) DO UPDATE SET corrections = corrections + (place <> ?2), place = ?2, note = ?3, "
              "time_ms = ?4");
  query.bind_integer(1, answer).bind_integer(2, place).bind_text(3, feedback.note).bind_integer(4, now_ms);
  return query.run();
}

// Numbers that a statement gives, in its order.
Result<std::vector<std::int64_t>> numbers_of(Query& query) {
  std::vector<std::int64_t> out;
  for (;;) {
    const Result<bool> row = query.next();
    if (!row.ok()) return row.error();
    if (!*row) return out;
    out.push_back(query.integer(0));
  }
}

Result<std::vector<std::int64_t>> numbers_below(Database& database, const char* sql, std::int64_t decision) {
  Query query(database, sql);
  query.bind_integer(1, decision);
  return numbers_of(query);
}

Status erase_each(Database& database, const char* sql, const std::vector<std::int64_t>& numbers) {
  Query query(database, sql);
  for (const std::int64_t number : numbers) {
    if (Status done = query.bind_integer(1, number).run(); !done.ok()) return done;
    query.again();
  }
  return {};
}

Status erase_numbered(Database& database, std::int64_t decision) {
  const auto questions = numbers_below(database, "SELECT DISTINCT question FROM answer WHERE decision = ?1", decision);
  if (!questions.ok()) return questions.error();
  const auto bytes = numbers_below(database, "SELECT bytes FROM bytes_of WHERE decision = ?1", decision);
  if (!bytes.ok()) return bytes.error();
  Status done = erase_each(database, "DELETE FROM decision WHERE n = ?1", {decision});
  if (!done.ok()) return done;
  done = erase_each(database,
                    "DELETE FROM question WHERE n = ?1 AND NOT EXISTS (SELECT 1 FROM answer WHERE question = ?1)",
                    *questions);
  if (!done.ok()) return done;
  return erase_each(database, "DELETE FROM bytes WHERE n = ?1 AND NOT EXISTS (SELECT 1 FROM bytes_of WHERE bytes = ?1)",
                    *bytes);
}

Result<std::size_t> erase_all_of(Database& database, Query& query) {
  const Result<std::vector<std::int64_t>> decisions = numbers_of(query);
  if (!decisions.ok()) return decisions.error();
  for (const std::int64_t decision : *decisions) {
    if (Status erased = erase_numbered(database, decision); !erased.ok()) return erased.error();
  }
  return decisions->size();
}

Status insert_answers(Database& database, std::int64_t decision, const DecisionRecord& record, Keep keep) {
  for (const AnswerRecord& answer : record.answers) {
    const Result<std::int64_t> question = question_number(database, answer, keep);
    if (!question.ok()) return question.error();
    if (Status done = insert_answer(database, decision, *question, answer); !done.ok()) return done;
    for (const StoredBytes& bytes : answer.bytes) {
      if (Status done = insert_bytes(database, decision, bytes); !done.ok()) return done;
    }
  }
  return {};
}

}  // namespace

Result<bool> insert_decision(Database& database, const DecisionRecord& record, Keep keep) {
  {
    Query query(
        database,
        "INSERT INTO decision(id, time_ms, state_sha256, state, allowed_mass, receipt_model, receipt_build, "
        "receipt_settings, receipt_tokens, receipt_scores, readout) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, "
        "?11) "
        "ON CONFLICT(id) DO NOTHING");
    query.bind_text(1, record.id).bind_integer(2, record.time_ms).bind_text(3, sha256_hex(record.state));
    if (keep == Keep::kTexts) query.bind_text(4, record.state);
    query.bind_integer(5, record.allowed_mass ? 1 : 0).bind_text(11, readout_name(record.readout));
    if (record.receipt) {
      query.bind_text(6, record.receipt->model).bind_text(7, record.receipt->build);
      query.bind_text(8, record.receipt->settings).bind_text(9, record.receipt->tokens);
      query.bind_text(10, record.receipt->scores);
    }
    if (Status done = query.run(); !done.ok()) return done.error();
  }
  if (database.changed_rows() == 0) return false;
  if (const Status done = insert_answers(database, database.last_row(), record, keep); !done.ok()) return done.error();
  for (const StoredBytes& note : record.notes) {
    if (const Status done = put_note(database, note); !done.ok()) return done.error();
  }
  return true;
}

Result<FeedbackResult> put_feedback(Database& database, const Feedback& feedback, std::int64_t now_ms) {
  const Result<std::int64_t> decision = decision_number(database, feedback.decision_id);
  if (!decision.ok()) return decision.error();
  if (*decision == 0) return Error{ErrorCode::kNotFound, "no decision of that id is kept", "decision_id"};
  const Result<LabelledPlace> place = place_of(database, *decision, feedback);
  if (!place.ok()) return place.error();
  const Result<std::int64_t> option = option_place(database, place->question, feedback.option);
  if (!option.ok()) return option.error();
  FeedbackResult result = FeedbackResult::kStored;
  {
    Query query(database, "SELECT place, note FROM feedback WHERE answer = ?1");
    const Result<bool> there = query.bind_integer(1, place->answer).next();
    if (!there.ok()) return there.error();
    if (*there) result = query.integer(0) == *option ? FeedbackResult::kKnown : FeedbackResult::kCorrected;
    // Said again word for word, or without a note: nothing to write.
    if (result == FeedbackResult::kKnown && (feedback.note.empty() || feedback.note == query.text(1))) return result;
  }
  if (Status done = write_feedback(database, place->answer, *option, feedback, now_ms); !done.ok()) return done.error();
  Query query(database, "UPDATE decision SET labelled = 1 WHERE n = ?1 AND labelled = 0");
  if (Status done = query.bind_integer(1, *decision).run(); !done.ok()) return done.error();
  return result;
}

Result<bool> erase_decision(Database& database, const std::string& id) {
  const Result<std::int64_t> decision = decision_number(database, id);
  if (!decision.ok()) return decision.error();
  if (*decision == 0) return false;
  if (Status erased = erase_numbered(database, *decision); !erased.ok()) return erased.error();
  return true;
}

Result<std::size_t> erase_unlabelled(Database& database, std::size_t count) {
  Query query(database, "SELECT n FROM decision WHERE labelled = 0 ORDER BY n LIMIT ?1");
  query.bind_integer(1, static_cast<std::int64_t>(count));
  return erase_all_of(database, query);
}

Result<std::size_t> erase_older(Database& database, std::int64_t time_ms, std::size_t count) {
  Query query(database, "SELECT n FROM decision WHERE time_ms < ?1 ORDER BY time_ms LIMIT ?2");
  query.bind_integer(1, time_ms).bind_integer(2, static_cast<std::int64_t>(count));
  return erase_all_of(database, query);
}

}  // namespace assay::store
