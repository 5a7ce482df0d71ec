#include "base/sha256.h"

#include <fcntl.h>
#include <hash/hash.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/sha256_blocks.h"

extern "C" {
#include <hash/sha256/sha256.h>
}

namespace assay {

namespace {

constexpr std::size_t kBlock = 64;

// The sum of bytes that come in pieces, by sha256_blocks().
class FastSum {
 public:
  void update(std::string_view bytes) {
    const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
    std::size_t left = bytes.size();
    const std::size_t waiting = size_ % kBlock;
    size_ += left;
    if (waiting > 0) {
      const std::size_t taken = std::min(left, kBlock - waiting);
      std::memcpy(block_.data() + waiting, at, taken);
      if (waiting + taken < kBlock) return;
      sha256_blocks(state_, block_.data(), 1);
      at += taken;
      left -= taken;
    }
    sha256_blocks(state_, at, left / kBlock);
    if (left % kBlock > 0) std::memcpy(block_.data(), at + left - left % kBlock, left % kBlock);
  }

  // One bit, zeros up to the end of a block, the last eight bytes of which are the number of bits.
  std::array<unsigned char, SHA256_DIGEST_SIZE> end() {
    const std::uint64_t bits = 8 * static_cast<std::uint64_t>(size_);
    const std::size_t waiting = size_ % kBlock;
    std::array<unsigned char, 2 * kBlock> tail{0x80};
    const std::size_t size = (waiting < kBlock - 8 ? kBlock : 2 * kBlock) - waiting;
    for (std::size_t i = 0; i < 8; i++) tail[size - 1 - i] = static_cast<unsigned char>(bits >> (8 * i));
    update({reinterpret_cast<const char*>(tail.data()), size});
    std::array<unsigned char, SHA256_DIGEST_SIZE> digest;
    for (std::size_t i = 0; i < digest.size(); i++)
      digest[i] = static_cast<unsigned char>(state_[i / 4] >> (24 - 8 * (i % 4)));
    return digest;
  }

 private:
  // The first 32 bits behind the point of the square roots of the first 8 primes.
  Sha256Words state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<unsigned char, kBlock> block_{};  // the first size_ % kBlock bytes wait
  std::size_t size_ = 0;
};

std::string hex_of(const std::array<unsigned char, SHA256_DIGEST_SIZE>& digest) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : digest) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  if (!has_sha256_blocks()) return sha256_hex_portable(bytes);
  FastSum sum;
  sum.update(bytes);
  return hex_of(sum.end());
}

std::string sha256_hex_portable(std::string_view bytes) { return hash_sha256_hex(bytes.data(), bytes.size()); }

std::string sha256_hex_of_file(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  struct stat status = {};
  std::string hex;
  if (fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size == 0) {
      hex = sha256_hex("");
    } else {
      void* bytes = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
      if (bytes != MAP_FAILED) {
        madvise(bytes, size, MADV_SEQUENTIAL);
        hex = sha256_hex({static_cast<const char*>(bytes), size});
        munmap(bytes, size);
      }
    }
  }
  close(file);
  return hex;
}

struct Sha256::State {
  FastSum fast;
  sha256_t portable;
};

Sha256::Sha256() : state_(std::make_unique<State>()) { sha256_init(&state_->portable); }

Sha256::~Sha256() = default;

void Sha256::update(std::string_view bytes) {
  if (has_sha256_blocks()) {
    state_->fast.update(bytes);
  } else {
    sha256_update(&state_->portable, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  }
}

std::string Sha256::hex() {
  if (has_sha256_blocks()) return hex_of(state_->fast.end());
  std::array<unsigned char, SHA256_DIGEST_SIZE> digest;
  sha256_final(&state_->portable, digest.data());
  return hex_of(digest);
}

}  // namespace assay
