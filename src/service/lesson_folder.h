#pragma once
// The files of a folder of lessons: each is there whole or not at all, durable when it was told of, and never in the
// place of another version, whichever process writes.

#include <cstdint>
#include <optional>
#include <string>

#include "assay/error.h"

namespace assay::service {

// What tells whether a file is the one that was read.
struct FileMark {
  std::int64_t bytes = -1;  // -1: it is not there
  std::int64_t changed_ns = 0;
  std::uint64_t inode = 0;

  friend bool operator==(const FileMark&, const FileMark&) = default;
};
FileMark file_mark(const std::string& path);

std::optional<std::string> file_text(const std::string& path);

enum class Sharing { kReading, kWriting };

// While it lives no other process (and no other FolderLock of this one) changes the folder, or with kWriting looks
// through it. Waits for those that do, which takes as long as one version takes to be written; a process that is killed
// holds nothing. A file system without locks, and a folder that is not there, are no error: held() is false, and
// put_new_file() alone keeps versions apart.
class FolderLock {
 public:
  FolderLock(const std::string& folder, Sharing sharing);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  bool held() const { return held_; }

 private:
  int folder_ = -1;
  bool held_ = false;
};

// kWithTheFolder: durable after sync_folder(), and until then old, new or empty after a crash.
enum class Durable { kNow, kWithTheFolder };

// Writes a file beside its place and renames it into it; its name is durable after sync_folder(). Errors: kIo, with the
// path, and then nothing has changed.
Status put_file(const std::string& path, const std::string& text, Durable durable);
// The same with durable content, for a name that no file has. False: another file has it, and stays as it is.
Result<bool> put_new_file(const std::string& path, const std::string& text);
// put_file() and sync_folder().
Status write_whole_file(const std::string& path, const std::string& text);
// The names in the folder that this path lies in become durable.
void sync_folder(const std::string& path);
// Is it what the above have left of a process that was killed? Nobody's, where a FolderLock is held for writing.
bool is_left_over(const std::string& path);

Error file_error(const std::string& path, const char* what);

}  // namespace assay::service
