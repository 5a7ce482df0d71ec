#include "store/doubles.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace assay::store {
namespace {

constexpr std::size_t kBytes = 8;

}  // namespace

std::string doubles_to_bytes(const std::vector<double>& numbers) {
  std::string out;
  out.reserve(numbers.size() * kBytes);
  for (const double number : numbers) {
    const auto bits = std::bit_cast<std::uint64_t>(number);
    for (std::size_t i = 0; i < kBytes; i++) out += static_cast<char>((bits >> (8 * i)) & 0xFFU);
  }
  return out;
}

std::optional<std::vector<double>> doubles_of_bytes(std::string_view bytes) {
  if (bytes.size() % kBytes != 0) return std::nullopt;
  std::vector<double> out;
  out.reserve(bytes.size() / kBytes);
  for (std::size_t first = 0; first < bytes.size(); first += kBytes) {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < kBytes; i++) {
      bits |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[first + i])) << (8 * i);
    }
    const auto number = std::bit_cast<double>(bits);
    if (!std::isfinite(number)) return std::nullopt;
    out.push_back(number);
  }
  return out;
}

}  // namespace assay::store
