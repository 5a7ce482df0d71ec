#pragma once
// A thin layer on SQLite (sqlite.org/c3ref): a connection, statements that are prepared once, transactions, and errors
// as values that name the file.
//
//   Query query(database, "SELECT n FROM decision WHERE id = ?1");
//   query.bind_text(1, id);
//   const Result<bool> row = query.next();
//   if (row.ok() && *row) use(query.integer(0));

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "assay/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace assay::store {

// What SQLite's result code means to whoever asked, with the file's name:
//   kUnavailable      another program holds the lock and kept it for the whole wait; again later can succeed
//   kIo               the disk is full, the file is damaged or no database, it cannot be opened or written
//   kOutOfMemory      memory is short
//   kTooLong          one value is larger than SQLite takes
//   kInternal         a row breaks the schema, or a statement is wrong: faults of ours
// The first three are of the file and hold for whatever is tried next, the last two are of what was tried alone.
Error store_error(int sqlite_code, const std::string& path, const std::string& doing, const std::string& detail);
// Whether an error is of the file (see store_error()).
bool is_of_file(const Error& error);

// A connection. Used by one thread at a time.
class Database {
 public:
  // Creates the file, readable by its owner only, when there is none. A statement that meets another connection's lock
  // waits for at most busy_ms.
  static Result<std::unique_ptr<Database>> open(const std::string& path, int busy_ms);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Runs one or more statements without parameters; rows that they give are dropped.
  Status execute(const std::string& sql);
  // The first column of the first row; kInternal when there is none.
  Result<std::string> text_of(const std::string& sql);
  Result<std::int64_t> integer_of(const std::string& sql);

  std::int64_t changed_rows() const;  // by the last INSERT, UPDATE or DELETE
  std::int64_t last_row() const;      // the rowid of the last INSERT
  bool in_transaction() const;
  const std::string& path() const { return path_; }
  // A result code as an error. `doing`: what failed, as in "opening the store".
  Error error(int sqlite_code, const std::string& doing) const;

 private:
  friend class Query;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };

  Database(sqlite3* connection, std::string path) : connection_(connection), path_(std::move(path)) {}
  Result<sqlite3_stmt*> statement(const char* sql);

  sqlite3* const connection_;
  const std::string path_;
  std::map<std::string, std::unique_ptr<sqlite3_stmt, Finalize>, std::less<>> statements_;  // by their text
};

// One run of a statement, from binding to the last row. Places of parameters begin at 1, columns at 0. A failure is
// kept and comes out of next().
class Query {
 public:
  // `sql` is a literal: it stays prepared for as long as the connection lives. REQUIRES: no other Query of the same
  // text is alive.
  Query(Database& database, const char* sql);
  ~Query();
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  Query& bind_text(int place, std::string_view text);
  Query& bind_text_or_null(int place, const std::optional<std::string>& text);
  Query& bind_integer(int place, std::int64_t number);
  Query& bind_real(int place, double number);  // NaN becomes NULL
  Query& bind_real_or_null(int place, const std::optional<double>& number);
  Query& bind_bytes(int place, std::string_view bytes);
  Query& bind_null(int place);

  // True: a row is there; false: no more.
  Result<bool> next();
  // Runs to the end, dropping rows.
  Status run();
  // Ready to be bound and run once more.
  void again();

  // Of the row that is there. Another type than the column's is converted as SQLite does; NULL is empty or 0.
  std::string text(int column) const;
  std::optional<std::string> text_or_null(int column) const;
  std::int64_t integer(int column) const;
  double real(int column) const;
  std::optional<double> real_or_null(int column) const;
  std::string bytes(int column) const;
  bool is_null(int column) const;

 private:
  void keep(int sqlite_code);

  Database& database_;
  sqlite3_stmt* statement_ = nullptr;  // the database's
  std::optional<Error> failure_;
};

// Begins at begin(), and is rolled back unless commit() succeeds.
class Transaction {
 public:
  explicit Transaction(Database& database) : database_(database) {}
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  // Takes the write lock at once, so that nothing fails halfway for want of it.
  Status begin();
  // Durable when it succeeds (synchronous is FULL).
  Status commit();

 private:
  Database& database_;
};

}  // namespace assay::store
