#include "store/database.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/assert.h"

namespace assay::store {
namespace {

// Made here and not by SQLite, whose mode would let others read it. The log beside it gets the file's mode.
Status make_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) {
    const int number = errno;
    return Error{ErrorCode::kIo, "'" + path + "' cannot be opened for writing: " + std::strerror(number), ""};
  }
  ::close(file);
  return {};
}

std::string reason_of(int primary_code, const std::string& detail) {
  switch (primary_code) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another program holds its lock";
    case SQLITE_FULL:
      return "the disk is full, or the file has reached its limit";
    case SQLITE_CORRUPT:
      return "the file is damaged (" + detail + ")";
    case SQLITE_NOTADB:
      return "the file is no database, or damaged";
    case SQLITE_READONLY:
      return "the file or its folder cannot be written";
    case SQLITE_CANTOPEN:
      return "the file or the log beside it cannot be opened";
    case SQLITE_NOMEM:
      return "memory is short";
    default:
      return detail;
  }
}

ErrorCode code_of(int primary_code) {
  switch (primary_code) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorCode::kUnavailable;
    case SQLITE_NOMEM:
      return ErrorCode::kOutOfMemory;
    case SQLITE_TOOBIG:
      return ErrorCode::kTooLong;
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_MISUSE:
    case SQLITE_RANGE:
    case SQLITE_ERROR:
      return ErrorCode::kInternal;
    default:
      return ErrorCode::kIo;
  }
}

}  // namespace

Error store_error(int sqlite_code, const std::string& path, const std::string& doing, const std::string& detail) {
  const int primary = sqlite_code & 0xFF;  // the extended codes have more above these bits
  const ErrorCode code = code_of(primary);
  // Whoever waits for a lock may be a client, who has no business with the server's folders.
  const std::string name = code == ErrorCode::kUnavailable ? path.substr(path.rfind('/') + 1) : path;
  Error error{code, doing + " failed: '" + name + "': " + reason_of(primary, detail), ""};
  if (code == ErrorCode::kUnavailable) error.retry_after_seconds = 1;
  return error;
}

bool is_of_file(const Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kIo || error.code == ErrorCode::kOutOfMemory;
}

void Database::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Result<std::unique_ptr<Database>> Database::open(const std::string& path, int busy_ms) {
  if (Status made = make_file(path); !made.ok()) return made.error();
  sqlite3* connection = nullptr;
  // NOMUTEX: a connection is used by one thread at a time, several may be open.
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
  const int code = sqlite3_open_v2(path.c_str(), &connection, flags, nullptr);
  if (connection == nullptr) return Error{ErrorCode::kOutOfMemory, "'" + path + "': memory is short", ""};
  std::unique_ptr<Database> database(new Database(connection, path));
  if (code != SQLITE_OK) return database->error(code, "opening the store of decisions");
  sqlite3_extended_result_codes(connection, 1);
  sqlite3_busy_timeout(connection, busy_ms);
  sqlite3_db_config(connection, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  return database;
}

Database::~Database() {
  statements_.clear();
  sqlite3_close_v2(connection_);
}

Error Database::error(int sqlite_code, const std::string& doing) const {
  return store_error(sqlite_code, path_, doing, sqlite3_errmsg(connection_));
}

Status Database::execute(const std::string& sql) {
  const int code = sqlite3_exec(connection_, sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? Status() : error(code, "the store of decisions");
}

Result<std::string> Database::text_of(const std::string& sql) {
  sqlite3_stmt* prepared = nullptr;
  int code = sqlite3_prepare_v2(connection_, sql.c_str(), -1, &prepared, nullptr);
  const std::unique_ptr<sqlite3_stmt, Finalize> statement(prepared);
  if (code == SQLITE_OK) code = sqlite3_step(prepared);
  if (code == SQLITE_DONE) return Error{ErrorCode::kInternal, "'" + path_ + "': no row from " + sql, ""};
  if (code != SQLITE_ROW) return error(code, "the store of decisions");
  const unsigned char* text = sqlite3_column_text(prepared, 0);
  return std::string(text == nullptr ? "" : reinterpret_cast<const char*>(text));
}

Result<std::int64_t> Database::integer_of(const std::string& sql) {
  const Result<std::string> text = text_of(sql);
  if (!text.ok()) return text.error();
  return static_cast<std::int64_t>(std::strtoll(text->c_str(), nullptr, 10));
}

std::int64_t Database::changed_rows() const { return sqlite3_changes(connection_); }

std::int64_t Database::last_row() const { return sqlite3_last_insert_rowid(connection_); }

bool Database::in_transaction() const { return sqlite3_get_autocommit(connection_) == 0; }

Result<sqlite3_stmt*> Database::statement(const char* sql) {
  if (const auto found = statements_.find(std::string_view(sql)); found != statements_.end()) {
    ASSAY_ASSERT(sqlite3_stmt_busy(found->second.get()) == 0);
    return found->second.get();
  }
  sqlite3_stmt* prepared = nullptr;
  const int code = sqlite3_prepare_v3(connection_, sql, -1, SQLITE_PREPARE_PERSISTENT, &prepared, nullptr);
  if (code != SQLITE_OK) return error(code, "the store of decisions");
  statements_.emplace(sql, prepared);
  return prepared;
}

Query::Query(Database& database, const char* sql) : database_(database) {
  Result<sqlite3_stmt*> statement = database.statement(sql);
  if (statement.ok()) {
    statement_ = *statement;
  } else {
    failure_ = statement.error();
  }
}

Query::~Query() {
  if (statement_ != nullptr) again();
}

void Query::again() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

void Query::keep(int sqlite_code) {
  if (sqlite_code != SQLITE_OK && !failure_) failure_ = database_.error(sqlite_code, "the store of decisions");
}

// SQLITE_TRANSIENT: SQLite makes a copy. Bytes are bound from a pointer that is never null, for null would be NULL.
Query& Query::bind_text(int place, std::string_view text) {
  if (statement_ == nullptr) return *this;
  const char* bytes = text.empty() ? "" : text.data();
  keep(sqlite3_bind_text64(statement_, place, bytes, text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
  return *this;
}

Query& Query::bind_text_or_null(int place, const std::optional<std::string>& text) {
  return text ? bind_text(place, *text) : bind_null(place);
}

Query& Query::bind_integer(int place, std::int64_t number) {
  if (statement_ != nullptr) keep(sqlite3_bind_int64(statement_, place, number));
  return *this;
}

Query& Query::bind_real(int place, double number) {
  if (statement_ != nullptr) keep(sqlite3_bind_double(statement_, place, number));
  return *this;
}

Query& Query::bind_real_or_null(int place, const std::optional<double>& number) {
  return number ? bind_real(place, *number) : bind_null(place);
}

Query& Query::bind_bytes(int place, std::string_view bytes) {
  if (statement_ == nullptr) return *this;
  const char* first = bytes.empty() ? "" : bytes.data();
  keep(sqlite3_bind_blob64(statement_, place, first, bytes.size(), SQLITE_TRANSIENT));
  return *this;
}

Query& Query::bind_null(int place) {
  if (statement_ != nullptr) keep(sqlite3_bind_null(statement_, place));
  return *this;
}

Result<bool> Query::next() {
  if (failure_) return *failure_;
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  failure_ = database_.error(code, "the store of decisions");
  return *failure_;
}

Status Query::run() {
  for (;;) {
    const Result<bool> row = next();
    if (!row.ok()) return row.error();
    if (!*row) return {};
  }
}

std::string Query::text(int column) const { return bytes(column); }

std::optional<std::string> Query::text_or_null(int column) const {
  if (is_null(column)) return std::nullopt;
  return text(column);
}

std::int64_t Query::integer(int column) const { return sqlite3_column_int64(statement_, column); }

double Query::real(int column) const { return sqlite3_column_double(statement_, column); }

std::optional<double> Query::real_or_null(int column) const {
  if (is_null(column)) return std::nullopt;
  return real(column);
}

std::string Query::bytes(int column) const {
  const void* first = sqlite3_column_blob(statement_, column);
  const int count = sqlite3_column_bytes(statement_, column);
  if (first == nullptr || count <= 0) return {};
  return {static_cast<const char*>(first), static_cast<std::size_t>(count)};
}

bool Query::is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

Transaction::~Transaction() {
  // After a full disk SQLite may have rolled back by itself. What fails here fails again in the next begin().
  if (database_.in_transaction()) static_cast<void>(database_.execute("ROLLBACK"));
}

Status Transaction::begin() { return database_.execute("BEGIN IMMEDIATE"); }

Status Transaction::commit() { return database_.execute("COMMIT"); }

}  // namespace assay::store
