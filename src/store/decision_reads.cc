// Pages and not one long read: between two of them the log can be emptied, and what is forgotten meanwhile is gone.

#include "store/decision_reads.h"

#include <limits>

#include "store/answer_columns.h"

namespace assay::store {
namespace {

constexpr const char* kDecisionColumns =
    "n, id, time_ms, state_sha256, state, allowed_mass, receipt_model, receipt_build, receipt_settings, "
    "receipt_tokens, receipt_scores, readout";

Result<DecisionRecord> decision_of(const Database& database, const Query& query) {
  const std::optional<Readout> readout = readout_from_name(query.text(11));
  if (!readout) return damaged(database, "a readout is unknown");
  DecisionRecord out{.place = query.integer(0),
                     .id = query.text(1),
                     .time_ms = query.integer(2),
                     .state = query.text(4),
                     .state_sha256 = query.text(3),
                     .readout = *readout,
                     .allowed_mass = query.integer(5) != 0,
                     .receipt = std::nullopt,
                     .answers = {}};
  if (!query.is_null(6)) {
    out.receipt = Receipt{.model = query.text(6),
                          .build = query.text(7),
                          .settings = query.text(8),
                          .tokens = query.text(9),
                          .scores = query.text(10)};
  }
  return out;
}

Status read_answers(Database& database, std::int64_t decision, ChoiceReader& choices, DecisionRecord& out) {
  static const std::string kSql = std::string("SELECT ") + kAnswerColumns +
                                  " FROM answer a JOIN question q ON q.n = a.question "
                                  "LEFT JOIN feedback f ON f.answer = a.n WHERE a.decision = ?1 ORDER BY a.n";
  Query query(database, kSql.c_str());
  query.bind_integer(1, decision);
  for (;;) {
    const Result<bool> row = query.next();
    if (!row.ok()) return row.error();
    if (!*row) return {};
    Result<AnswerRecord> answer = answer_of(database, query, choices);
    if (!answer.ok()) return answer.error();
    out.answers.push_back(std::move(*answer));
  }
}

// Every condition has an index of its own behind it: answers of one question, or those with feedback, or all.
std::string rows_sql(const AnswerFilter& filter) {
  std::string sql = std::string("SELECT ") + kAnswerColumns + ", d.id, d.time_ms, d.state, d.state_sha256 FROM ";
  sql += filter.labelled_only ? "feedback f CROSS JOIN answer a ON a.n = f.answer "
                              : "answer a LEFT JOIN feedback f ON f.answer = a.n ";
  sql += "JOIN question q ON q.n = a.question JOIN decision d ON d.n = a.decision WHERE ";
  sql += filter.labelled_only ? "f.answer" : "a.n";
  sql += filter.newest_first ? " < ?1" : " > ?1";
  if (!filter.fingerprint.empty()) sql += " AND a.question = (SELECT n FROM question WHERE fingerprint = ?3)";
  sql += filter.labelled_only ? " ORDER BY f.answer" : " ORDER BY a.n";
  sql += filter.newest_first ? " DESC LIMIT ?2" : " LIMIT ?2";
  return sql;
}

Result<std::vector<std::size_t>> labelled_by_option(Database& database, std::int64_t question, std::size_t options) {
  std::vector<std::size_t> out(options, 0);
  Query query(database,
              "SELECT f.place, count(*) FROM answer a JOIN feedback f ON f.answer = a.n WHERE a.question = ?1 "
              "GROUP BY f.place");
  query.bind_integer(1, question);
  for (;;) {
    const Result<bool> row = query.next();
    if (!row.ok()) return row.error();
    if (!*row) return out;
    const std::int64_t place = query.integer(0);
    if (place < 0 || static_cast<std::uint64_t>(place) >= options) return damaged(database, "a label is no option");
    out[static_cast<std::size_t>(place)] = static_cast<std::size_t>(query.integer(1));
  }
}

Result<QuestionCount> count_of(Database& database, const Query& query, ChoiceReader& choices) {
  const Result<QuestionType> type = stored_type(database, query.text(2));
  if (!type.ok()) return type.error();
  Result<std::vector<Option>> options = choices.options(query.integer(0));
  if (!options.ok()) return options.error();
  Result<std::vector<std::size_t>> by_option = labelled_by_option(database, query.integer(0), options->size());
  if (!by_option.ok()) return by_option.error();
  QuestionCount out{.fingerprint = query.text(1),
                    .type = *type,
                    .question = query.text(3),
                    .options = std::move(*options),
                    .answers = static_cast<std::size_t>(query.integer(4)),
                    .labelled_by_option = std::move(*by_option)};
  for (const std::size_t count : out.labelled_by_option) out.labelled += count;
  return out;
}

}  // namespace

Result<std::optional<DecisionRecord>> find_decision(Database& database, const std::string& id) {
  static const std::string kSql = std::string("SELECT ") + kDecisionColumns + " FROM decision WHERE id = ?1";
  Query query(database, kSql.c_str());
  const Result<bool> row = query.bind_text(1, id).next();
  if (!row.ok()) return row.error();
  if (!*row) return std::optional<DecisionRecord>();
  Result<DecisionRecord> out = decision_of(database, query);
  if (!out.ok()) return out.error();
  ChoiceReader choices(database);
  if (Status read = read_answers(database, query.integer(0), choices, *out); !read.ok()) return read.error();
  return std::optional<DecisionRecord>(std::move(out).value());
}

Result<std::vector<AnswerRow>> answer_rows(Database& database, const AnswerFilter& filter,
                                           std::optional<std::int64_t> after, std::size_t rows_max) {
  const std::int64_t start =
      filter.newest_first ? std::numeric_limits<std::int64_t>::max() : std::numeric_limits<std::int64_t>::min();
  const std::string sql = rows_sql(filter);
  Query query(database, sql.c_str());
  query.bind_integer(1, after.value_or(start)).bind_integer(2, static_cast<std::int64_t>(rows_max));
  if (!filter.fingerprint.empty()) query.bind_text(3, filter.fingerprint);
  ChoiceReader choices(database);
  std::vector<AnswerRow> out;
  for (;;) {
    const Result<bool> row = query.next();
    if (!row.ok()) return row.error();
    if (!*row) return out;
    Result<AnswerRecord> answer = answer_of(database, query, choices);
    if (!answer.ok()) return answer.error();
    out.push_back({.place = query.integer(0),
                   .decision_id = query.text(kAnswerColumnCount),
                   .time_ms = query.integer(kAnswerColumnCount + 1),
                   .state = query.text(kAnswerColumnCount + 2),
                   .state_sha256 = query.text(kAnswerColumnCount + 3),
                   .answer = std::move(*answer)});
  }
}

Result<std::vector<LabelMark>> label_marks(Database& database, std::int64_t after, std::size_t marks_max) {
  Query query(database,
              "SELECT f.answer, f.place, q.fingerprint FROM feedback f CROSS JOIN answer a ON a.n = f.answer "
              "JOIN question q ON q.n = a.question WHERE f.answer > ?1 ORDER BY f.answer LIMIT ?2");
  query.bind_integer(1, after).bind_integer(2, static_cast<std::int64_t>(marks_max));
  std::vector<LabelMark> out;
  for (;;) {
    const Result<bool> row = query.next();
    if (!row.ok()) return row.error();
    if (!*row) return out;
    if (query.integer(1) < 0) return damaged(database, "a label is no option");
    out.push_back({.answer = query.integer(0),
                   .option = static_cast<std::size_t>(query.integer(1)),
                   .fingerprint = query.text(2)});
  }
}

Result<std::vector<DecisionRecord>> decisions_after(Database& database, const DecisionPage& page) {
  static const std::string kSql = std::string("SELECT ") + kDecisionColumns +
                                  " FROM decision WHERE n > ?1 AND (?2 = 0 OR labelled = 1) ORDER BY n LIMIT ?3";
  Query query(database, kSql.c_str());
  query.bind_integer(1, page.after).bind_integer(2, page.labelled_only ? 1 : 0);
  query.bind_integer(3, static_cast<std::int64_t>(page.rows_max));
  ChoiceReader choices(database);
  std::vector<DecisionRecord> out;
  for (std::size_t bytes = 0; bytes < page.bytes_max;) {
    const Result<bool> row = query.next();
    if (!row.ok()) return row.error();
    if (!*row) break;
    Result<DecisionRecord> record = decision_of(database, query);
    if (!record.ok()) return record.error();
    if (Status read = read_answers(database, query.integer(0), choices, *record); !read.ok()) return read.error();
    bytes += record->state.size();
    out.push_back(std::move(record).value());
  }
  return out;
}

Result<std::vector<QuestionCount>> question_counts(Database& database) {
  Query query(database,
              "SELECT q.n, q.fingerprint, q.type, q.text, (SELECT count(*) FROM answer a WHERE a.question = q.n) "
              "FROM question q ORDER BY q.n");
  ChoiceReader choices(database);
  std::vector<QuestionCount> out;
  for (;;) {
    const Result<bool> row = query.next();
    if (!row.ok()) return row.error();
    if (!*row) return out;
    Result<QuestionCount> count = count_of(database, query, choices);
    if (!count.ok()) return count.error();
    out.push_back(std::move(*count));
  }
}

}  // namespace assay::store
