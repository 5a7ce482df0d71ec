#include "service/packed_floats.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/base64.h"
#include "base/sha256.h"

static_assert(std::endian::native == std::endian::little, "packed floats are little-endian");

namespace assay::service {
namespace {

Error damaged(const std::string& what) { return invalid_argument("f32", what + ": the file is damaged"); }

Error wrong_size(std::size_t there, std::size_t wanted) {
  return damaged("holds " + std::to_string(there) + " numbers instead of " + std::to_string(wanted));
}

}  // namespace

PackedFloats pack_floats(const std::vector<float>& numbers) {
  const std::string_view bytes(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(float));
  return {.base64 = base64_text(bytes), .sha256 = sha256_hex(bytes)};
}

Status check_floats(const std::vector<float>& numbers, std::size_t size) {
  if (numbers.size() != size) return wrong_size(numbers.size(), size);
  if (std::all_of(numbers.begin(), numbers.end(), [](float number) { return std::isfinite(number); })) return {};
  return invalid_argument("f32", "holds a number that is not finite");
}

Result<std::vector<float>> unpack_floats(const PackedFloats& packed, std::size_t size) {
  const std::optional<std::string> bytes = base64_bytes(packed.base64);
  if (!bytes) return damaged("is no base64");
  if (bytes->size() != size * sizeof(float)) return wrong_size(bytes->size() / sizeof(float), size);
  if (sha256_hex(*bytes) != packed.sha256) return damaged("does not have its hash");
  std::vector<float> numbers(size);
  if (size > 0) std::memcpy(numbers.data(), bytes->data(), bytes->size());
  if (Status checked = check_floats(numbers, size); !checked.ok()) return checked.error();
  return numbers;
}

}  // namespace assay::service
