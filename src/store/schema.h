#pragma once
// The store's file: its tables, its version, and how it is opened.

#include <cstdint>
#include <memory>
#include <string>

#include "assay/error.h"
#include "store/database.h"

namespace assay::store {

inline constexpr std::int64_t kSchemaVersion = 1;

struct SchemaOptions {
  int busy_ms = 2000;                // how long to wait for another program's lock
  std::uint64_t file_bytes_max = 0;  // the file grows no further; 0: no limit
};

// A connection that writes: the tables are made when the file is new. Write-ahead log, synchronous FULL (what is
// committed has been told to the disk), foreign keys, deleted rows overwritten. Errors beside store_error()'s:
// kInvalidArgument when the file is another program's database, kUnavailable when a newer Assay made it, kIo when its
// file system has no write-ahead log.
Result<std::unique_ptr<Database>> open_for_writing(const std::string& path, const SchemaOptions& options);

// A connection that only reads a file that must be there: nothing is made. Errors as above, and kNotFound.
Result<std::unique_ptr<Database>> open_existing(const std::string& path, const SchemaOptions& options);

// A second connection, that only reads. REQUIRES: open_for_writing() has succeeded.
Result<std::unique_ptr<Database>> open_for_reading(const std::string& path, const SchemaOptions& options);

}  // namespace assay::store
