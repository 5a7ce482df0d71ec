#pragma once
// Files in gzip's format (RFC 1952), in pieces. The header holds no name and no time, so equal bytes give equal files
// (with one version of zlib).

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "assay/error.h"

namespace assay::cli {

// Used by one thread.
class GzipWriter {
 public:
  // Creates the file, or empties it. `level` as zlib's: 0 stores, 1 is fast, 9 is small. Errors: kIo.
  static Result<std::unique_ptr<GzipWriter>> create(const std::string& path, int level);
  ~GzipWriter();
  GzipWriter(const GzipWriter&) = delete;
  GzipWriter& operator=(const GzipWriter&) = delete;

  // Errors of both: kIo, with the system's reason. After one the file is worth nothing.
  Status write(std::string_view bytes);
  // Ends the stream and brings it to the disk. REQUIRES: called once, last.
  Status finish();

 private:
  struct State;
  explicit GzipWriter(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Used by one thread. Reads several streams that follow each other as one, as gzip does.
class GzipReader {
 public:
  // Errors: kNotFound.
  static Result<std::unique_ptr<GzipReader>> open(const std::string& path);
  ~GzipReader();
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  // Fills up to `size` bytes and answers how many; 0 at the end. Errors: kIo: not gzip, damaged, or cut short.
  Result<std::size_t> read(char* bytes, std::size_t size);

 private:
  struct State;
  explicit GzipReader(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace assay::cli
