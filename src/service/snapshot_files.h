#pragma once
// Kept segments as files: a folder with one file for each, so that a restart reads what was computed before.
//
// A file's name is the SHA-256, in hex, of its first part (all before the payload's length), then ".assay-prefix". Its
// content, numbers little-endian:
//
//   bytes  what
//   8      "ASSAYPFX"
//   4      format version, 1
//   32     SHA-256 of the identity: model hash, build and settings, as the caller names them
//   8      N, the number of tokens
//   4 N    all tokens that lead to the segment's end, its own included
//   8      `from`: the segment is tokens [from, N)
//   8      P, the length of the payload
//   P      payload: what Decoder::save() gave
//   32     SHA-256 of everything before it
//
// The hashes find damage and mix-ups. They are no signature: who may write to the folder may change answers.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>

#include "assay/error.h"
#include "engine/prefix_store.h"

namespace assay::service {

enum class SnapshotAccess { kRead, kReadWrite };

// One thread: the engine's. Any number of objects and processes may share a folder: a file appears under its name whole
// or not at all, and of two that write the same one the last stays.
//
//   auto files = SnapshotFiles::open("snapshots", model_sha256 + build + settings, SnapshotAccess::kRead);
class SnapshotFiles final : public engine::PrefixStore {
 public:
  // Longer files are neither written nor read.
  static constexpr std::uint64_t kFileBytesMax = std::uint64_t{4} << 30;
  static constexpr const char* kEnding = ".assay-prefix";

  // Looks once at every file's first bytes and logs how many are for this identity and how many are not. With
  // kReadWrite the folder is made if need be. kNotFound: there is no such folder; kIo: it cannot be made, listed or
  // (with kReadWrite) written, or is none.
  static Result<std::unique_ptr<SnapshotFiles>> open(const std::string& dir, const std::string& identity,
                                                     SnapshotAccess access);

  SnapshotFiles(const SnapshotFiles&) = delete;
  SnapshotFiles& operator=(const SnapshotFiles&) = delete;

  // The payload, if the file is there and all of it is as put() wrote it for this identity and these very tokens. Any
  // other file gets one warning and is not looked at again until put() replaces it. REQUIRES: 0 <= from < path.size().
  std::optional<std::string> find(const engine::Tokens& path, std::int32_t from) override;
  // Whether put() would write something new: also where find() refused what lies there.
  bool wants(const engine::Tokens& path, std::int32_t from) override;
  // Writes the file and has it on the disk before it gets its name. What cannot be written (disk full, no rights, too
  // long) is left out; the first time gets a warning. REQUIRES: access kReadWrite; `from` as for find().
  void put(const engine::Tokens& path, std::int32_t from, std::string bytes) override;

 private:
  SnapshotFiles(std::string dir, const std::string& identity, SnapshotAccess access);

  void log_what_is_there(std::size_t ours, std::size_t others) const;
  Status scan() const;
  std::string first_part(const engine::Tokens& path, std::int32_t from) const;

  const std::string dir_;
  const std::string start_;  // the bytes that every file of this identity begins with
  const SnapshotAccess access_;

  std::unordered_set<std::string> refused_;  // names of files that find() did not trust; there are no more than files
  bool warned_of_writing_ = false;
};

}  // namespace assay::service
