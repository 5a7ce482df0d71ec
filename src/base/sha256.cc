#include "base/sha256.h"

#include <fcntl.h>
#include <hash/hash.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

extern "C" {
#include <hash/sha256/sha256.h>
}

namespace assay {

std::string sha256_hex(std::string_view bytes) { return hash_sha256_hex(bytes.data(), bytes.size()); }

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
        hex = hash_sha256_hex(bytes, size);
        munmap(bytes, size);
      }
    }
  }
  close(file);
  return hex;
}

struct Sha256::State {
  sha256_t sum;
};

Sha256::Sha256() : state_(std::make_unique<State>()) { sha256_init(&state_->sum); }

Sha256::~Sha256() = default;

void Sha256::update(std::string_view bytes) {
  sha256_update(&state_->sum, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

std::string Sha256::hex() {
  std::array<unsigned char, SHA256_DIGEST_SIZE> digest;
  sha256_final(&state_->sum, digest.data());
  constexpr const char* kDigits = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : digest) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

}  // namespace assay
