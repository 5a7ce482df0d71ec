#include "decision/labels.h"

#include <vector>

namespace assay::decision {
namespace {

constexpr std::size_t kLetters = 26;

std::vector<std::string> make_codes() {
  std::vector<std::string> codes;
  codes.reserve(kLetters + kLetters * kLetters);
  for (char letter = 'A'; letter <= 'Z'; letter++) codes.emplace_back(1, letter);
  for (char first = 'A'; first <= 'Z'; first++) {
    for (char second = 'A'; second <= 'Z'; second++) codes.push_back({first, second});
  }
  return codes;
}

}  // namespace

std::span<const std::string> label_codes() {
  static const std::vector<std::string> kCodes = make_codes();
  return kCodes;
}

}  // namespace assay::decision
