// OpenSSL's where the build has it (ASSAY_TLS): it uses the processor's own instructions. Else llama.cpp's, in plain C,
// which takes about five times as long.
#include "base/sha256.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>

#include "base/assert.h"

#ifdef ASSAY_OPENSSL
#include <openssl/evp.h>
#else
extern "C" {
#include <hash/sha256/sha256.h>
}
#endif

namespace assay {
namespace {

constexpr std::size_t kDigestBytes = 32;

}  // namespace

#ifdef ASSAY_OPENSSL
struct Sha256::State {
  EVP_MD_CTX* const sum = EVP_MD_CTX_new();

  State() { ASSAY_ASSERT(sum != nullptr && EVP_DigestInit_ex(sum, EVP_sha256(), nullptr) == 1); }
  ~State() { EVP_MD_CTX_free(sum); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void update(std::string_view bytes) { ASSAY_ASSERT(EVP_DigestUpdate(sum, bytes.data(), bytes.size()) == 1); }
  void end(unsigned char* digest) { ASSAY_ASSERT(EVP_DigestFinal_ex(sum, digest, nullptr) == 1); }
};
#else
struct Sha256::State {
  sha256_t sum;

  State() { sha256_init(&sum); }

  void update(std::string_view bytes) {
    sha256_update(&sum, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  }
  void end(unsigned char* digest) { sha256_final(&sum, digest); }
};
#endif

Sha256::Sha256() : state_(std::make_unique<State>()) {}

Sha256::~Sha256() = default;

void Sha256::update(std::string_view bytes) { state_->update(bytes); }

std::string Sha256::hex() {
  std::array<unsigned char, kDigestBytes> digest{};
  state_->end(digest.data());
  constexpr const char* kDigits = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : digest) {
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 sum;
  sum.update(bytes);
  return sum.hex();
}

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

}  // namespace assay
