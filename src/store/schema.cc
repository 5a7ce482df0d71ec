// A question's text and options are kept once, however often it is asked; an answer points to them. Places of options
// are their places in the question. Doubles of one answer lie behind one another in one value, little end first.

#include "store/schema.h"

#include <filesystem>
#include <system_error>
#include <utility>

namespace assay::store {
namespace {

constexpr std::int64_t kApplicationId = 0x41535359;  // "ASSY", in the file's header

constexpr const char* kTables = R"(
CREATE TABLE decision(
  n INTEGER PRIMARY KEY AUTOINCREMENT,  -- order of arrival; no number is given twice
  id TEXT NOT NULL UNIQUE,
  time_ms INTEGER NOT NULL,
  labelled INTEGER NOT NULL DEFAULT 0,
  state_sha256 TEXT NOT NULL,
  state TEXT,
  readout TEXT NOT NULL,
  allowed_mass INTEGER NOT NULL,
  receipt_model TEXT,
  receipt_build TEXT,
  receipt_settings TEXT,
  receipt_tokens TEXT,
  receipt_scores TEXT);
CREATE INDEX decision_by_age ON decision(time_ms);
CREATE INDEX decision_by_label ON decision(labelled, n);

CREATE TABLE question(
  n INTEGER PRIMARY KEY,
  fingerprint TEXT NOT NULL UNIQUE,
  type TEXT NOT NULL,
  text TEXT);
CREATE TABLE choice(
  question INTEGER NOT NULL REFERENCES question(n) ON DELETE CASCADE,
  place INTEGER NOT NULL,
  id TEXT NOT NULL,
  description TEXT,
  PRIMARY KEY(question, place)) WITHOUT ROWID;

CREATE TABLE answer(
  n INTEGER PRIMARY KEY AUTOINCREMENT,
  decision INTEGER NOT NULL REFERENCES decision(n) ON DELETE CASCADE,
  question INTEGER NOT NULL REFERENCES question(n),
  question_id TEXT NOT NULL,
  min_confidence REAL NOT NULL,
  permute INTEGER NOT NULL,
  readout TEXT NOT NULL,
  layout TEXT NOT NULL,
  prompt_version TEXT NOT NULL,
  prompt_sha256 TEXT NOT NULL,
  scores BLOB NOT NULL,
  probabilities BLOB NOT NULL,
  best INTEGER NOT NULL,
  confidence REAL NOT NULL,
  abstained INTEGER NOT NULL,
  calibrated INTEGER NOT NULL,
  lesson TEXT,
  lesson_version INTEGER,
  lesson_sha256 TEXT,
  lesson_taught INTEGER,
  lesson_note TEXT NOT NULL,
  action TEXT NOT NULL,
  threshold REAL,
  risk REAL,
  fallback TEXT,
  zero_shot_scores BLOB,
  shadow_lesson TEXT,
  shadow_version INTEGER,
  shadow_best INTEGER,
  shadow_confidence REAL,
  shadow_probabilities BLOB);
CREATE INDEX answer_by_decision ON answer(decision, question_id);
CREATE INDEX answer_by_question ON answer(question, n);

CREATE TABLE feedback(
  answer INTEGER PRIMARY KEY REFERENCES answer(n) ON DELETE CASCADE,
  place INTEGER NOT NULL,
  note TEXT NOT NULL,
  time_ms INTEGER NOT NULL,
  corrections INTEGER NOT NULL);

CREATE TABLE bytes(
  n INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  bytes BLOB NOT NULL);
CREATE TABLE bytes_of(
  decision INTEGER NOT NULL REFERENCES decision(n) ON DELETE CASCADE,
  bytes INTEGER NOT NULL REFERENCES bytes(n) ON DELETE CASCADE,
  PRIMARY KEY(decision, bytes)) WITHOUT ROWID;
CREATE INDEX bytes_of_by_bytes ON bytes_of(bytes);
)";

Status set_up_connection(Database& database) {
  return database.execute(
      "PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; PRAGMA secure_delete=ON; PRAGMA temp_store=MEMORY; "
      "PRAGMA trusted_schema=OFF; PRAGMA cell_size_check=ON");
}

Error no_store(const Database& database) {
  return invalid_argument("", "'" + database.path() + "' is a database, but none of decisions; name another file");
}

// Is it ours, and of a version that this program knows? False: it is empty.
Result<bool> check_version(Database& database) {
  const Result<std::int64_t> application = database.integer_of("PRAGMA application_id");
  if (!application.ok()) return application.error();
  const Result<std::int64_t> version = database.integer_of("PRAGMA user_version");
  if (!version.ok()) return version.error();
  const Result<std::int64_t> tables = database.integer_of("SELECT count(*) FROM sqlite_master");
  if (!tables.ok()) return tables.error();
  if (*tables == 0 && *application == 0 && *version == 0) return false;
  if (*application != kApplicationId) return no_store(database);
  if (*version == kSchemaVersion) return true;
  const std::string it = "'" + database.path() + "' has schema " + std::to_string(*version);
  const std::string ours = "this program knows " + std::to_string(kSchemaVersion);
  if (*version > kSchemaVersion) {
    return Error{ErrorCode::kUnavailable, it + ", of a newer Assay; " + ours + ": use that Assay, or another file", ""};
  }
  return Error{ErrorCode::kIo, it + ", which no Assay wrote; " + ours, ""};
}

Status make_tables(Database& database) {
  Transaction transaction(database);
  if (Status begun = transaction.begin(); !begun.ok()) return begun;
  // Another program may have been first.
  const Result<bool> there = check_version(database);
  if (!there.ok()) return there.error();
  if (*there) return {};
  if (Status made = database.execute(kTables); !made.ok()) return made;
  if (Status marked = database.execute("PRAGMA application_id=" + std::to_string(kApplicationId) +
                                       "; PRAGMA user_version=" + std::to_string(kSchemaVersion));
      !marked.ok()) {
    return marked;
  }
  return transaction.commit();
}

Status limit_file(Database& database, std::uint64_t bytes_max) {
  if (bytes_max == 0) return {};
  const Result<std::int64_t> page = database.integer_of("PRAGMA page_size");
  if (!page.ok()) return page.error();
  const std::uint64_t pages = bytes_max / static_cast<std::uint64_t>(*page);
  return database.execute("PRAGMA max_page_count=" + std::to_string(pages == 0 ? 1 : pages));
}

}  // namespace

Result<std::unique_ptr<Database>> open_for_writing(const std::string& path, const SchemaOptions& options) {
  Result<std::unique_ptr<Database>> opened = Database::open(path, options.busy_ms);
  if (!opened.ok()) return opened;
  Database& database = **opened;
  if (Status set = set_up_connection(database); !set.ok()) return set.error();
  // Before anything is written: another program's file stays as it is.
  const Result<bool> there = check_version(database);
  if (!there.ok()) return there.error();
  const Result<std::string> journal = database.text_of("PRAGMA journal_mode=WAL");
  if (!journal.ok()) return journal.error();
  if (*journal != "wal") {
    return Error{ErrorCode::kIo, "'" + path + "' lies where no write-ahead log can be kept (it needs shared memory)",
                 ""};
  }
  if (!*there) {
    if (Status made = make_tables(database); !made.ok()) return made.error();
  }
  if (Status limited = limit_file(database, options.file_bytes_max); !limited.ok()) return limited.error();
  return opened;
}

Result<std::unique_ptr<Database>> open_existing(const std::string& path, const SchemaOptions& options) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown))
    return Error{ErrorCode::kNotFound, "there is no file '" + path + "'", ""};
  Result<std::unique_ptr<Database>> opened = open_for_reading(path, options);
  if (!opened.ok()) return opened;
  const Result<bool> ours = check_version(**opened);
  if (!ours.ok()) return ours.error();
  if (!*ours) return no_store(**opened);
  return opened;
}

Result<std::unique_ptr<Database>> open_for_reading(const std::string& path, const SchemaOptions& options) {
  Result<std::unique_ptr<Database>> opened = Database::open(path, options.busy_ms);
  if (!opened.ok()) return opened;
  if (Status set = set_up_connection(**opened); !set.ok()) return set.error();
  if (Status only = (*opened)->execute("PRAGMA query_only=ON"); !only.ok()) return only.error();
  return opened;
}

}  // namespace assay::store
