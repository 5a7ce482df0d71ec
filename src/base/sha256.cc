#include "base/sha256.h"

#include <fcntl.h>
#include <hash/hash.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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

}  // namespace assay
