#pragma once
// Whether a model that was freed can be loaded again: llama.cpp ends the process where it cannot.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "assay/error.h"

namespace assay::server {

// Immutable, so thread-safe.
class WakeCheck {
 public:
  // Nothing to check.
  WakeCheck() = default;
  // The model's files as they are now; of NAME-00001-of-0000N.gguf all that are there, and an empty name is none.
  // `needed_bytes`: that loading them takes; 0: any. `free_bytes`: how many there are, asked each time; may be empty.
  WakeCheck(const std::vector<std::string>& files, std::uint64_t needed_bytes,
            std::function<std::uint64_t()> free_bytes);

  // Errors: kUnavailable, for a file that has gone, cannot be read or is another one now, and with both numbers where
  // memory is short. Either may be well again later.
  Status check() const;

 private:
  struct File {
    std::string path;
    std::uint64_t bytes = 0;
    std::filesystem::file_time_type written;
  };

  std::vector<File> files_;
  std::uint64_t needed_bytes_ = 0;
  std::function<std::uint64_t()> free_bytes_;
};

}  // namespace assay::server
