#pragma once
// SHA-256 as lower-case hex.

#include <memory>
#include <string>
#include <string_view>

namespace assay {

std::string sha256_hex(std::string_view bytes);
// Of a whole file, read through a mapping. Empty when the file cannot be read.
std::string sha256_hex_of_file(const std::string& path);

// Of bytes that come in pieces. Used by one thread.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(std::string_view bytes);
  // Of everything so far. REQUIRES: called once, last.
  std::string hex();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay
