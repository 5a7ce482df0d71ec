#pragma once
// The tar format as far as model archives need it: regular files with names and sizes (POSIX.1-2017, pax Interchange
// Format: ustar headers, with a pax header before them where a field does not fit). Writing is deterministic: owner 0,
// mode 0644, time 0.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "assay/error.h"

namespace assay::cli {

inline constexpr std::size_t kTarBlockBytes = 512;

struct TarEntry {
  std::string name;  // relative, with '/' between folders
  std::uint64_t bytes = 0;
};

// What stands before a file's bytes; a multiple of kTarBlockBytes. A name above 100 bytes or a size of 8 GiB or more
// goes into a pax header. REQUIRES: 0 < name's bytes <= 4096, and no NUL in it.
std::string tar_header(const TarEntry& entry);
// Zeros that fill a file's last block.
std::string tar_padding(std::uint64_t bytes);
// The two blocks of zeros that end an archive.
std::string tar_end();

// Reads an archive from front to back. Used by one thread.
class TarReader {
 public:
  // Fills up to `size` bytes and answers how many; 0 at the end.
  using Read = std::function<Result<std::size_t>(char* bytes, std::size_t size)>;
  explicit TarReader(Read read) : read_(std::move(read)) {}

  // The next regular file, past what is left of the present one; nothing at the end of the archive. Folders are passed
  // over. Errors: kIo, with what is broken: a wrong checksum, an end too early, a link or another kind of entry (which
  // SageMaker refuses), a name that leads out of the archive's folder.
  Result<std::optional<TarEntry>> next();
  // Bytes of the present file; 0 at its end. Errors: kIo when the archive ends first.
  Result<std::size_t> read(char* bytes, std::size_t size);

 private:
  using Block = std::array<char, kTarBlockBytes>;

  // False at a clean end of the input.
  Result<bool> read_block(Block& block);
  Result<std::string> read_all_of_entry(std::uint64_t bytes_max);
  Status skip_entry();
  // Takes the records of a pax header for the entry that follows.
  Status take_pax(const std::string& records);
  Result<TarEntry> regular_file(const Block& block);

  Read read_;
  std::uint64_t left_ = 0;     // bytes of the present entry not yet read
  std::uint64_t padding_ = 0;  // zeros after them
  std::optional<std::string> pax_name_;
  std::optional<std::uint64_t> pax_bytes_;
};

}  // namespace assay::cli
