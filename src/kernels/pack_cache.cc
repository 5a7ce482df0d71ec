#include "kernels/pack_cache.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <random>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/assert.h"
#include "base/parallel.h"
#include "base/sha256.h"
#include "base/xxh3.h"

namespace assay::kernels {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view kMagic = "ASSAYPCK";
constexpr std::uint32_t kFormat = 1;
constexpr std::size_t kBlockBytes = std::size_t{2} << 20;
constexpr std::size_t kHeadBytes = 128;
constexpr std::size_t kWeightsAlignment = std::size_t{2} << 20;
constexpr std::string_view kEnding = ".assay-packed";
constexpr std::string_view kUnfinished = ".unfinished";
#ifndef MADV_POPULATE_READ
constexpr int kPopulateRead = 22;
#else
constexpr int kPopulateRead = MADV_POPULATE_READ;
#endif

using Hashes = std::vector<std::uint64_t>;

std::string reason(int error) { return std::generic_category().message(error); }

std::size_t block_count(std::size_t bytes) { return (bytes + kBlockBytes - 1) / kBlockBytes; }

std::size_t first_part_bytes(std::size_t bytes) {
  return kHeadBytes + (block_count(bytes) + 1) * sizeof(std::uint64_t);
}

std::size_t weights_at(std::size_t bytes) {
  return (first_part_bytes(bytes) + kWeightsAlignment - 1) / kWeightsAlignment * kWeightsAlignment;
}

template <typename T>
void append(std::string& out, T number) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &number, sizeof(T));
  out.append(bytes, sizeof(T));
}

std::string head_of(const std::string& identity, std::size_t bytes) {
  std::string head(kMagic);
  append(head, kFormat);
  append(head, static_cast<std::uint32_t>(kBlockBytes));
  append(head, static_cast<std::uint64_t>(bytes));
  head += sha256_hex(identity);
  head.resize(kHeadBytes, '\0');
  return head;
}

std::uint64_t hash_of(std::string_view text) { return xxh3(std::as_bytes(std::span(text))); }

std::string first_part_of(std::string head, const Hashes& hashes) {
  for (const std::uint64_t hash : hashes) append(head, hash);
  append(head, hash_of(head));
  return head;
}

class OpenFile {
 public:
  explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
  ~OpenFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  bool ok() const { return descriptor_ >= 0; }
  int number() const { return descriptor_; }

 private:
  const int descriptor_;
};

// Calls `work(block)` for each block, on threads, until one says false; that one's number, or `count`.
template <typename Work>
std::size_t each_block(std::size_t count, std::int32_t threads, const Work& work) {
  std::atomic<std::size_t> stopped{count};
  in_parallel(count, static_cast<std::size_t>(threads), [&](std::size_t block) {
    if (stopped == count && !work(block)) stopped = block;
  });
  return stopped;
}

std::span<const std::byte> block_of(std::span<const std::byte> weights, std::size_t block) {
  const std::size_t begin = block * kBlockBytes;
  return weights.subspan(begin, std::min(kBlockBytes, weights.size() - begin));
}

bool read_all(int descriptor, std::string& into) {
  std::size_t done = 0;
  while (done < into.size()) {
    const ssize_t count = ::pread(descriptor, into.data() + done, into.size() - done, static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += static_cast<std::size_t>(count);
  }
  return true;
}

// 0, or the error's number.
int write_all(int descriptor, std::span<const std::byte> bytes, std::size_t at) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno;
    if (count == 0) return ENOSPC;
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    at += static_cast<std::size_t>(count);
  }
  return 0;
}

// The hashes that the file has, or a fault.
std::string read_hashes(int descriptor, const std::string& head, std::size_t bytes, Hashes& hashes) {
  struct stat status = {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) return "it is not a plain file";
  if (static_cast<std::uint64_t>(status.st_size) != weights_at(bytes) + bytes) return "it has another length";
  std::string part(first_part_bytes(bytes), '\0');
  if (!read_all(descriptor, part)) return "it cannot be read";
  if (!part.starts_with(head)) return "it is of another model, build or format";
  const std::string_view hashed = std::string_view(part).substr(0, part.size() - sizeof(std::uint64_t));
  std::uint64_t hash = 0;
  std::memcpy(&hash, part.data() + hashed.size(), sizeof hash);
  if (hash != hash_of(hashed)) return "its first part is damaged";
  hashes.resize(block_count(bytes));
  std::memcpy(hashes.data(), part.data() + kHeadBytes, hashes.size() * sizeof(std::uint64_t));
  return "";
}

// The system brings the pages first: a disk that cannot give them is an error here, a signal in a plain read.
bool bring(std::span<const std::byte> block) {
  if (::madvise(const_cast<std::byte*>(block.data()), block.size(), kPopulateRead) == 0) return true;
  return errno == EINVAL || errno == ENOSYS;  // an older kernel
}

// An unfinished file is locked as long as its writer lives.
void remove_left_overs(const PackCacheFile& file) {
  std::error_code failure;
  const std::string start = fs::path(file.path()).filename().string() + ".";
  std::vector<fs::path> unfinished;
  const fs::directory_iterator end;
  for (fs::directory_iterator i(file.dir, failure); !failure && i != end; i.increment(failure)) {
    const std::string name = i->path().filename().string();
    if (name.starts_with(start) && name.ends_with(kUnfinished)) unfinished.push_back(i->path());
  }
  for (const fs::path& path : unfinished) {
    const OpenFile left(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (left.ok() && ::flock(left.number(), LOCK_EX | LOCK_NB) == 0) ::unlink(path.c_str());
  }
}

// Locks a file that was just made. False: between the two somebody took it for a dead writer's and removed it.
bool is_ours(int descriptor) {
  // A disk that knows no locks says so: there nobody removes anything, either.
  while (::flock(descriptor, LOCK_EX) != 0 && errno == EINTR) {
  }
  struct stat status = {};
  return ::fstat(descriptor, &status) != 0 || status.st_nlink > 0;
}

// 0, or the error's number.
int write_file(int descriptor, const std::string& identity, std::span<const std::byte> weights, std::int32_t threads) {
  const std::size_t at = weights_at(weights.size());
  // Room for all of it first, so that a full disk is known before the work.
  const int room = ::fallocate(descriptor, 0, 0, static_cast<off_t>(at + weights.size()));
  if (room != 0 && errno != EOPNOTSUPP && errno != ENOSYS) return errno;
  Hashes hashes(block_count(weights.size()));
  std::atomic<int> error{0};
  each_block(hashes.size(), threads, [&](std::size_t block) {
    const std::span<const std::byte> bytes = block_of(weights, block);
    hashes[block] = xxh3(bytes);
    const int failed = write_all(descriptor, bytes, at + block * kBlockBytes);
    if (failed != 0) error = failed;
    return failed == 0;
  });
  if (error != 0) return error;
  const std::string first = first_part_of(head_of(identity, weights.size()), hashes);
  return write_all(descriptor, std::as_bytes(std::span(first)), 0);
}

}  // namespace

std::string PackCacheFile::path() const { return dir + "/" + sha256_hex(identity) + std::string(kEnding); }

PackCacheRead read_pack_cache(const PackCacheFile& file, std::size_t bytes, std::int32_t threads) {
  ASSAY_ASSERT(bytes > 0 && threads > 0);
  // O_NONBLOCK: a pipe under the file's name must not stop the start.
  const OpenFile opened(::open(file.path().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!opened.ok()) return {.region = nullptr, .fault = errno == ENOENT ? std::string() : reason(errno)};
  Hashes hashes;
  if (std::string fault = read_hashes(opened.number(), head_of(file.identity, bytes), bytes, hashes); !fault.empty())
    return {.region = nullptr, .fault = std::move(fault)};
  std::unique_ptr<PackedRegion> region = PackedRegion::map(opened.number(), weights_at(bytes), bytes);
  if (!region) return {.region = nullptr, .fault = "it cannot be mapped: " + reason(errno)};
  const std::size_t bad = each_block(hashes.size(), threads, [&](std::size_t block) {
    const std::span<const std::byte> weights = block_of(region->bytes(), block);
    return bring(weights) && xxh3(weights) == hashes[block];
  });
  if (bad != hashes.size()) return {.region = nullptr, .fault = "block " + std::to_string(bad) + " is damaged"};
  return {.region = std::move(region), .fault = ""};
}

// Not synced: what a power cut leaves half written has wrong hashes, and is made again.
std::string write_pack_cache(const PackCacheFile& file, std::span<const std::byte> weights, std::int32_t threads) {
  std::error_code failure;
  fs::create_directories(file.dir, failure);
  if (failure) return failure.message();
  remove_left_overs(file);
  std::random_device random;  // numbers of processes are not enough: containers that share a folder begin at 1 each
  const std::string path = file.path();
  std::string unfinished;
  int number = -1;
  while (number < 0) {
    unfinished = path + "." + std::to_string(random()) + std::to_string(random()) + std::string(kUnfinished);
    number = ::open(unfinished.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (number < 0) return reason(errno);
    if (!is_ours(number)) {
      ::close(number);
      number = -1;
    }
  }
  const OpenFile opened(number);
  int error = write_file(opened.number(), file.identity, weights, threads);
  if (error == 0 && ::rename(unfinished.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) ::unlink(unfinished.c_str());
  return error == 0 ? "" : reason(error);
}

}  // namespace assay::kernels
