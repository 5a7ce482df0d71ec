#include "store/shadow_rows.h"

#include "store/doubles.h"

namespace assay::store {
namespace {

// 0: it is not there.
Result<std::int64_t> number_of(Database& database, const AnswerPlace& place, std::size_t options) {
  Query query(database,
              "SELECT a.n, (SELECT count(*) FROM choice c WHERE c.question = a.question) FROM answer a JOIN decision d "
              "ON d.n = a.decision WHERE d.id = ?1 ORDER BY a.n LIMIT 1 OFFSET ?2");
  query.bind_text(1, place.decision_id).bind_integer(2, static_cast<std::int64_t>(place.question));
  const Result<bool> row = query.next();
  if (!row.ok()) return row.error();
  if (!*row || query.integer(1) != static_cast<std::int64_t>(options)) return std::int64_t{0};
  return query.integer(0);
}

}  // namespace

Status put_shadow(Database& database, const AnswerPlace& place, const ShadowAnswer& shadow) {
  const Result<std::int64_t> answer = number_of(database, place, shadow.probabilities.size());
  if (!answer.ok()) return answer.error();
  if (*answer == 0) return {};
  Query query(database,
              "UPDATE answer SET shadow_lesson = ?2, shadow_version = ?3, shadow_best = ?4, shadow_confidence = ?5, "
              "shadow_probabilities = ?6 WHERE n = ?1");
  query.bind_integer(1, *answer).bind_text(2, shadow.lesson).bind_integer(3, shadow.version);
  query.bind_integer(4, static_cast<std::int64_t>(shadow.best)).bind_real(5, shadow.confidence);
  return query.bind_bytes(6, doubles_to_bytes(shadow.probabilities)).run();
}

Result<ShadowLabels> count_shadow_labels(Database& database, const std::string& lesson, std::int32_t active,
                                         std::int32_t shadow) {
  Query query(database,
              "SELECT count(*), coalesce(sum(a.shadow_best = f.place), 0), coalesce(sum(a.best = f.place), 0), "
              "coalesce(sum(a.shadow_best = f.place AND a.best <> f.place), 0), "
              "coalesce(sum(a.best = f.place AND a.shadow_best <> f.place), 0) "
              "FROM feedback f CROSS JOIN answer a ON a.n = f.answer "
              "WHERE a.lesson = ?1 AND a.lesson_version = ?2 AND a.shadow_lesson = ?1 AND a.shadow_version = ?3");
  query.bind_text(1, lesson).bind_integer(2, active).bind_integer(3, shadow);
  const Result<bool> row = query.next();
  if (!row.ok()) return row.error();
  ShadowLabels out;
  if (!*row) return out;
  std::uint64_t* const numbers[] = {&out.labelled, &out.shadow_right, &out.active_right, &out.shadow_alone,
                                    &out.active_alone};
  int column = 0;
  for (std::uint64_t* const number : numbers) *number = static_cast<std::uint64_t>(query.integer(column++));
  return out;
}

}  // namespace assay::store
