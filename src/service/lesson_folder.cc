#include "service/lesson_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string_view>

namespace assay::service {
namespace {

constexpr const char* kBeside = ".part-";
constexpr int kBesideMax = 1000;

std::string folder_of(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

// A file of our own beside `path`; below 0: errno says why not.
int make_beside(const std::string& path, std::string& beside) {
  for (int number = 0; number < kBesideMax; number++) {
    beside = path + kBeside + std::to_string(getpid()) + (number == 0 ? "" : "-" + std::to_string(number));
    const int file = open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (file >= 0 || errno != EEXIST) return file;
  }
  return -1;
}

bool write_all(int file, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = write(file, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    done += static_cast<std::size_t>(wrote);
  }
  return true;
}

bool rename_over(const std::string& from, const std::string& to) { return rename(from.c_str(), to.c_str()) == 0; }

// False with EEXIST where the name is taken. A file system that cannot say so in one step is asked in two; there it is
// the lock of the folder that lets nobody in between.
bool rename_new(const std::string& from, const std::string& to) {
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  if (access(to.c_str(), F_OK) != 0) return rename_over(from, to);
  errno = EEXIST;
  return false;
}

// False: errno says why, and nothing has changed.
bool put(const std::string& path, const std::string& text, Durable durable,
         bool (*rename_into)(const std::string& from, const std::string& to)) {
  std::string beside;
  const int file = make_beside(path, beside);
  if (file < 0) return false;
  const bool good =
      write_all(file, text) && (durable == Durable::kWithTheFolder || fsync(file) == 0) && rename_into(beside, path);
  const int number = errno;
  close(file);
  if (!good) unlink(beside.c_str());
  errno = number;
  return good;
}

}  // namespace

Error file_error(const std::string& path, const char* what) {
  return {ErrorCode::kIo, "'" + path + "' cannot be " + what + ": " + std::strerror(errno), "lessons"};
}

FileMark file_mark(const std::string& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0) return {};
  constexpr std::int64_t kSecond = 1'000'000'000;
  return {.bytes = static_cast<std::int64_t>(found.st_size),
          .changed_ns = static_cast<std::int64_t>(found.st_mtim.tv_sec) * kSecond + found.st_mtim.tv_nsec,
          .inode = static_cast<std::uint64_t>(found.st_ino)};
}

std::optional<std::string> file_text(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return std::nullopt;
  struct stat found = {};
  std::string text;
  ssize_t got = fstat(file, &found) == 0 && S_ISREG(found.st_mode) ? 1 : -1;
  std::size_t size = 0;
  while (got > 0) {
    // One more than is said to be there: the end is found by reading it.
    text.resize(std::max(size + 1, static_cast<std::size_t>(found.st_size) + 1));
    do {
      got = read(file, text.data() + size, text.size() - size);
    } while (got < 0 && errno == EINTR);
    size += got > 0 ? static_cast<std::size_t>(got) : 0;
    if (size == text.size()) text.resize(2 * size);
  }
  close(file);
  if (got < 0) return std::nullopt;
  text.resize(size);
  return text;
}

FolderLock::FolderLock(const std::string& folder, Sharing sharing) {
  folder_ = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_ < 0) return;
  const int how = sharing == Sharing::kWriting ? LOCK_EX : LOCK_SH;
  int done = 0;
  do {
    done = flock(folder_, how);
  } while (done != 0 && errno == EINTR);
  held_ = done == 0;
}

FolderLock::~FolderLock() {
  if (folder_ >= 0) close(folder_);
}

Status put_file(const std::string& path, const std::string& text, Durable durable) {
  if (put(path, text, durable, rename_over)) return {};
  return file_error(path, "written");
}

Result<bool> put_new_file(const std::string& path, const std::string& text) {
  if (put(path, text, Durable::kNow, rename_new)) return true;
  if (errno == EEXIST) return false;
  return file_error(path, "written");
}

Status write_whole_file(const std::string& path, const std::string& text) {
  if (Status done = put_file(path, text, Durable::kNow); !done.ok()) return done;
  sync_folder(path);
  return {};
}

void sync_folder(const std::string& path) {
  const int directory = open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  fsync(directory);
  close(directory);
}

bool is_left_over(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename().string();
  const std::size_t place = name.rfind(kBeside);
  if (place == std::string::npos) return false;
  const std::string_view kind = std::string_view(name).substr(0, place);
  return kind.ends_with(".lesson.json") || kind.ends_with(".active") || kind.ends_with(".shadow") ||
         kind.ends_with(".rows.jsonl");
}

}  // namespace assay::service
