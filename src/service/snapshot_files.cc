// Nothing in a file is believed before it was compared with what this process expects: the first part is made anew from
// the tokens asked for and compared as bytes, the payload's length follows from the file's size, and the hash covers
// all. So no number that is read from a file is ever used as a size.

#include "service/snapshot_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <new>
#include <random>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "base/sha256.h"

namespace assay::service {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "ASSAYPFX";
constexpr std::uint32_t kFormat = 1;
constexpr std::size_t kHashBytes = 32;
constexpr std::size_t kIdentityAt = kMagic.size() + sizeof(kFormat);
constexpr std::size_t kStartBytes = kIdentityAt + kHashBytes;

void append_little_endian(std::string& out, std::uint64_t number, int bytes) {
  for (int i = 0; i < bytes; i++) out += static_cast<char>((number >> (8 * i)) & 0xFFU);
}

unsigned hex_value(char digit) { return static_cast<unsigned>(digit <= '9' ? digit - '0' : digit - 'a' + 10); }

// SHA-256 as 32 bytes.
std::string hash_of(std::string_view bytes) {
  const std::string hex = sha256_hex(bytes);
  ASSAY_ASSERT(hex.size() == 2 * kHashBytes);
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    out += static_cast<char>(hex_value(hex[i]) << 4U | hex_value(hex[i + 1]));
  return out;
}

std::string reason(int error) { return std::generic_category().message(error); }

// An open file that closes itself.
class OpenFile {
 public:
  OpenFile(const std::string& path, int flags, mode_t mode = 0) : descriptor_(::open(path.c_str(), flags, mode)) {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  bool ok() const { return descriptor_ >= 0; }

  // Nothing when it is not a plain file.
  std::optional<std::uint64_t> size() const {
    struct stat status = {};
    if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    return static_cast<std::uint64_t>(status.st_size);
  }

  // Makes `out` as long as `bytes` and reads what is new of it. False: the file ends before, or reading fails.
  bool read_up_to(std::size_t bytes, std::string& out) const {
    std::size_t done = out.size();
    out.resize(bytes);
    while (done < bytes) {
      const ssize_t count = ::read(descriptor_, out.data() + done, bytes - done);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) return false;
      done += static_cast<std::size_t>(count);
    }
    return true;
  }

  // Writes everything and waits for the disk. 0, or the error's number.
  int write_all(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return errno;
      bytes.remove_prefix(static_cast<std::size_t>(count));
    }
    return ::fsync(descriptor_) == 0 ? 0 : errno;
  }

 private:
  const int descriptor_;
};

// For reading. O_NONBLOCK: a pipe under a snapshot's name must not stop the engine.
constexpr int kReadFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

// What read_file() found: a payload, or a fault, or neither when there is no file.
struct Found {
  std::optional<std::string> payload;
  std::string fault;
};

// Why a file does not begin as it should.
std::string difference(std::string_view bytes, std::string_view expected) {
  if (!bytes.starts_with(kMagic)) return "it is no snapshot";
  if (!bytes.starts_with(expected.substr(0, kIdentityAt))) return "it has another format version";
  if (!bytes.starts_with(expected.substr(0, kStartBytes))) return "it is of another model, build or settings";
  return "its tokens or lengths are not those that its name promises";
}

Found read_file(const std::string& path, const std::string& first_part) {
  const OpenFile file(path, kReadFlags);
  if (!file.ok()) return {.fault = errno == ENOENT ? std::string() : reason(errno)};
  const std::optional<std::uint64_t> size = file.size();
  if (!size) return {.fault = "it is not a plain file"};
  if (*size > SnapshotFiles::kFileBytesMax)
    return {.fault = "it is longer than " + std::to_string(SnapshotFiles::kFileBytesMax) + " bytes"};
  const std::size_t payload_at = first_part.size() + sizeof(std::uint64_t);
  if (*size < payload_at + kHashBytes) return {.fault = "it is too short"};
  const std::size_t payload_bytes = *size - payload_at - kHashBytes;
  std::string expected = first_part;
  append_little_endian(expected, payload_bytes, sizeof(std::uint64_t));

  std::string bytes;
  if (!file.read_up_to(payload_at, bytes)) return {.fault = "it cannot be read"};
  if (bytes != expected) return {.fault = difference(bytes, expected)};
  if (!file.read_up_to(*size, bytes)) return {.fault = "it cannot be read"};
  const std::string_view hashed = std::string_view(bytes).substr(0, payload_at + payload_bytes);
  if (std::string_view(bytes).substr(hashed.size()) != hash_of(hashed)) return {.fault = "its hash is wrong"};
  // Shortened in place: a second copy of the payload could be gigabytes.
  bytes.resize(hashed.size());
  bytes.erase(0, payload_at);
  return {.payload = std::move(bytes)};
}

// Whole or not at all, and on the disk before it has its name. The folder itself is not synced: a file lost with the
// power is computed again. 0, or the error's number.
int write_file(const std::string& path, std::string_view bytes) {
  std::random_device random;  // numbers of processes are not enough: containers that share a folder begin at 1 each
  const std::string unfinished = path + "." + std::to_string(random()) + std::to_string(random()) + ".unfinished";
  int error = 0;
  {
    OpenFile file(unfinished, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (!file.ok()) return errno;
    error = file.write_all(bytes);
  }
  if (error == 0 && ::rename(unfinished.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) ::unlink(unfinished.c_str());
  return error;
}

std::string name_of(std::string_view first_part) { return sha256_hex(first_part) + SnapshotFiles::kEnding; }

Error folder_error(ErrorCode code, const std::string& dir, const std::string& what) {
  return Error{code, "snapshots_dir: the folder '" + dir + "' " + what, "snapshots_dir"};
}

Status check_folder(const std::string& dir, SnapshotAccess access) {
  std::error_code failure;
  if (access == SnapshotAccess::kReadWrite) {
    fs::create_directories(dir, failure);
    if (failure) return folder_error(ErrorCode::kIo, dir, "cannot be made: " + failure.message());
  }
  const fs::file_status status = fs::status(dir, failure);
  if (status.type() == fs::file_type::not_found) return folder_error(ErrorCode::kNotFound, dir, "does not exist");
  if (status.type() == fs::file_type::none)
    return folder_error(ErrorCode::kIo, dir, "cannot be looked at: " + failure.message());
  if (status.type() != fs::file_type::directory) return folder_error(ErrorCode::kIo, dir, "is not a folder");
  if (access == SnapshotAccess::kReadWrite && ::faccessat(AT_FDCWD, dir.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
    return folder_error(ErrorCode::kIo, dir, "cannot be written: " + reason(errno));
  return {};
}

}  // namespace

SnapshotFiles::SnapshotFiles(std::string dir, const std::string& identity, SnapshotAccess access)
    : dir_(std::move(dir)),
      start_([&] {
        std::string start(kMagic);
        append_little_endian(start, kFormat, sizeof(kFormat));
        return start + hash_of(identity);
      }()),
      access_(access) {}

Result<std::unique_ptr<SnapshotFiles>> SnapshotFiles::open(const std::string& dir, const std::string& identity,
                                                           SnapshotAccess access) {
  if (const Status status = check_folder(dir, access); !status.ok()) return status.error();
  std::unique_ptr<SnapshotFiles> files(new SnapshotFiles(dir, identity, access));
  if (const Status status = files->scan(); !status.ok()) return status.error();
  return files;
}

Status SnapshotFiles::scan() const {
  std::size_t ours = 0;
  std::size_t others = 0;
  std::error_code failure;
  const fs::directory_iterator end;
  for (fs::directory_iterator i(dir_, failure); !failure && i != end; i.increment(failure)) {
    if (!i->path().native().ends_with(kEnding)) continue;
    const OpenFile file(i->path().native(), kReadFlags);
    std::string start;
    const bool is_ours = file.ok() && file.size() && file.read_up_to(start_.size(), start) && start == start_;
    (is_ours ? ours : others)++;
  }
  if (failure) return folder_error(ErrorCode::kIo, dir_, "cannot be listed: " + failure.message());
  log_what_is_there(ours, others);
  return {};
}

void SnapshotFiles::log_what_is_there(std::size_t ours, std::size_t others) const {
  std::string line = "snapshots: '" + dir_ + "' has " + std::to_string(ours) + (ours == 1 ? " file" : " files") +
                     " for this model, build and settings";
  if (others > 0) line += "; " + std::to_string(others) + " for others " + (others == 1 ? "is" : "are") + " ignored";
  log_line(LogLevel::kInfo, line);
}

std::string SnapshotFiles::first_part(const engine::Tokens& path, std::int32_t from) const {
  ASSAY_ASSERT(from >= 0 && static_cast<std::size_t>(from) < path.size());
  std::string out = start_;
  append_little_endian(out, path.size(), sizeof(std::uint64_t));
  for (const engine::TokenId token : path) append_little_endian(out, static_cast<std::uint32_t>(token), sizeof(token));
  append_little_endian(out, static_cast<std::uint64_t>(from), sizeof(std::uint64_t));
  return out;
}

std::optional<std::string> SnapshotFiles::find(const engine::Tokens& path, std::int32_t from) {
  const std::string first = first_part(path, from);
  const std::string name = name_of(first);
  if (refused_.contains(name)) return std::nullopt;
  Found found;
  try {
    found = read_file(dir_ + "/" + name, first);
  } catch (const std::bad_alloc&) {
    found = {.fault = "there is no memory for it"};
  }
  if (!found.fault.empty()) {
    refused_.insert(name);
    log_line(LogLevel::kWarn, "snapshots: '" + dir_ + "/" + name + "' is ignored: " + found.fault);
  }
  return std::move(found.payload);
}

bool SnapshotFiles::wants(const engine::Tokens& path, std::int32_t from) {
  if (access_ == SnapshotAccess::kRead) return false;
  const std::string name = name_of(first_part(path, from));
  std::error_code failure;
  return refused_.contains(name) || !fs::is_regular_file(dir_ + "/" + name, failure);
}

void SnapshotFiles::put(const engine::Tokens& path, std::int32_t from, std::string bytes) {
  ASSAY_ASSERT(access_ == SnapshotAccess::kReadWrite);
  std::string first = first_part(path, from);
  const std::string name = name_of(first);
  append_little_endian(first, bytes.size(), sizeof(std::uint64_t));
  int error = EFBIG;
  if (first.size() + bytes.size() + kHashBytes <= kFileBytesMax) {
    try {
      bytes.insert(0, first);
      bytes += hash_of(bytes);
      error = write_file(dir_ + "/" + name, bytes);
    } catch (const std::bad_alloc&) {
      error = ENOMEM;
    }
  }
  if (error == 0) {
    refused_.erase(name);
  } else if (!warned_of_writing_) {
    warned_of_writing_ = true;
    log_line(LogLevel::kWarn, "snapshots: '" + dir_ + "/" + name + "' cannot be written: " + reason(error) +
                                  "; of further ones nothing will be said");
  }
}

}  // namespace assay::service
