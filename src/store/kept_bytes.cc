// Bytes of several decisions with one state are kept once; bytes_of says whose they are. Nobody's have no row there.
// Notes lie in the same table under keys that begin with kNote.

#include "store/kept_bytes.h"

#include <vector>

namespace assay::store {
namespace {

constexpr const char* kNote = "note/";

Status insert_alone(Database& database, const StoredBytes& bytes) {
  Query insert(database, "INSERT OR IGNORE INTO bytes(key, bytes) VALUES(?1, ?2)");
  return insert.bind_text(1, bytes.key).bind_bytes(2, bytes.bytes).run();
}

Status erase_bytes(Database& database, const std::vector<std::int64_t>& numbers) {
  Query query(database, "DELETE FROM bytes WHERE n = ?1");
  for (const std::int64_t number : numbers) {
    if (Status done = query.bind_integer(1, number).run(); !done.ok()) return done;
    query.again();
  }
  return {};
}

// 0: no such decision.
Result<std::int64_t> number_of(Database& database, const std::string& id) {
  Query query(database, "SELECT n FROM decision WHERE id = ?1");
  const Result<bool> there = query.bind_text(1, id).next();
  if (!there.ok()) return there.error();
  return *there ? query.integer(0) : std::int64_t{0};
}

}  // namespace

Status insert_bytes(Database& database, std::int64_t decision, const StoredBytes& bytes) {
  if (Status done = insert_alone(database, bytes); !done.ok()) return done;
  Query use(database, "INSERT OR IGNORE INTO bytes_of(decision, bytes) SELECT ?1, n FROM bytes WHERE key = ?2");
  return use.bind_integer(1, decision).bind_text(2, bytes.key).run();
}

Status put_bytes(Database& database, const std::string& decision_id, const StoredBytes& bytes) {
  if (decision_id.empty()) return insert_alone(database, bytes);
  const Result<std::int64_t> decision = number_of(database, decision_id);
  if (!decision.ok()) return decision.error();
  return *decision == 0 ? Status() : insert_bytes(database, *decision, bytes);
}

Status erase_other_bytes(Database& database, const std::string& beginning, const std::set<std::string>& names) {
  std::vector<std::int64_t> gone;
  {
    Query query(database,
                "SELECT n, key FROM bytes WHERE substr(key, 1, length(?1)) = ?1 AND NOT EXISTS (SELECT 1 FROM bytes_of "
                "WHERE bytes = n)");
    query.bind_text(1, beginning);
    for (;;) {
      const Result<bool> row = query.next();
      if (!row.ok()) return row.error();
      if (!*row) break;
      const std::string rest = query.text(1).substr(beginning.size());
      if (!names.contains(rest.substr(0, rest.find('/')))) gone.push_back(query.integer(0));
    }
  }
  return erase_bytes(database, gone);
}

Result<std::uint64_t> count_bytes(Database& database) {
  const Result<std::int64_t> all =
      database.integer_of("SELECT coalesce(sum(length(bytes)), 0) FROM bytes WHERE key NOT LIKE 'note/%'");
  return all.ok() ? Result<std::uint64_t>(static_cast<std::uint64_t>(*all)) : all.error();
}

Result<std::uint64_t> trim_bytes(Database& database, std::uint64_t bytes_max) {
  Result<std::uint64_t> all = count_bytes(database);
  if (!all.ok() || *all <= bytes_max) return all;
  std::uint64_t left = *all;
  std::vector<std::int64_t> gone;
  {
    // 1 where a label or a row of labels stands behind them: these go last.
    Query query(database,
                "SELECT n, length(bytes), NOT EXISTS (SELECT 1 FROM bytes_of WHERE bytes = n) OR EXISTS (SELECT 1 FROM "
                "bytes_of o JOIN decision d ON d.n = o.decision WHERE o.bytes = b.n AND d.labelled = 1) AS is_labelled "
                "FROM bytes b WHERE key NOT LIKE 'note/%' ORDER BY is_labelled, n");
    while (left > bytes_max - bytes_max / 20) {
      const Result<bool> row = query.next();
      if (!row.ok()) return row.error();
      if (!*row) break;
      gone.push_back(query.integer(0));
      left -= static_cast<std::uint64_t>(query.integer(1));
    }
  }
  if (Status erased = erase_bytes(database, gone); !erased.ok()) return erased.error();
  return left;
}

Status put_note(Database& database, const StoredBytes& note) {
  Query query(database,
              "INSERT INTO bytes(key, bytes) VALUES(?1, ?2) ON CONFLICT(key) DO UPDATE SET bytes = excluded.bytes");
  return query.bind_text(1, kNote + note.key).bind_bytes(2, note.bytes).run();
}

Result<std::optional<std::string>> find_bytes(Database& database, const std::string& key) {
  Query query(database, "SELECT bytes FROM bytes WHERE key = ?1");
  const Result<bool> row = query.bind_text(1, key).next();
  if (!row.ok()) return row.error();
  return *row ? std::optional<std::string>(query.bytes(0)) : std::optional<std::string>();
}

Result<std::optional<std::string>> find_note(Database& database, const std::string& key) {
  return find_bytes(database, kNote + key);
}

}  // namespace assay::store
