#include "engine/logits.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

namespace assay::engine {
namespace {

constexpr std::size_t kLanes = 16;    // partial sums side by side, so that the compiler may use vectors
constexpr std::size_t kBlock = 1024;  // lanes are added to a double after this many, which bounds rounding

// exp(x) for x <= 0: 2^n * 2^f with n whole and f in (-1, 0], 2^f by its Taylor series in f ln 2 (degree 7, error <
// 2e-8). A vocabulary has up to 256k entries and a question up to thousands of rows, so libm's scalar exp would cost as
// much as the model.
inline float exp_nonpositive(float x) {
  const float scaled = std::max(x, -80.0F) * 1.44269504F;
  const auto whole = static_cast<std::int32_t>(scaled);
  const float f = (scaled - static_cast<float>(whole)) * 0.69314718F;
  float sum = 1.0F + f / 7.0F;
  sum = 1.0F + f / 6.0F * sum;
  sum = 1.0F + f / 5.0F * sum;
  sum = 1.0F + f / 4.0F * sum;
  sum = 1.0F + f / 3.0F * sum;
  sum = 1.0F + f / 2.0F * sum;
  sum = 1.0F + f * sum;
  return sum * std::bit_cast<float>((whole + 127) << 23);
}

double sum_of_exp(std::span<const float> row, float highest) {
  double total = 0;
  for (std::size_t begin = 0; begin < row.size(); begin += kBlock) {
    const std::size_t end = std::min(row.size(), begin + kBlock);
    float lanes[kLanes] = {};
    std::size_t i = begin;
    for (; i + kLanes <= end; i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; lane++) lanes[lane] += exp_nonpositive(row[i + lane] - highest);
    }
    for (; i < end; i++) lanes[0] += exp_nonpositive(row[i] - highest);
    for (const float lane : lanes) total += static_cast<double>(lane);
  }
  return total;
}

Error nonfinite(const std::string& what) {
  return {ErrorCode::kNonfiniteLogits, "The model produced " + what + "; its weights or a kernel are broken.", ""};
}

}  // namespace

Result<ReadResult> read_logits(std::span<const float> row, std::span<const TokenId> targets) {
  float highest = -std::numeric_limits<float>::infinity();
  bool broken = false;
  for (const float logit : row) {
    broken = broken || std::isnan(logit);
    highest = std::max(highest, logit);
  }
  if (broken) return nonfinite("a logit that is not a number");
  if (!std::isfinite(highest)) return nonfinite("logits without a finite highest one");
  ReadResult result{.logits = {}, .vocabulary = true};
  result.argmax = static_cast<TokenId>(std::find(row.begin(), row.end(), highest) - row.begin());
  result.log_sum_exp = static_cast<double>(highest) + std::log(sum_of_exp(row, highest));
  result.logits.reserve(targets.size());
  for (const TokenId target : targets) {
    const float logit = row[target];
    if (!std::isfinite(logit)) return nonfinite("a non-finite logit for token " + std::to_string(target));
    result.logits.push_back(logit);
  }
  return result;
}

Result<ReadResult> read_options(Decoder& decoder, std::size_t row, std::span<const TokenId> targets) {
  ReadResult result;
  for (const TokenId target : targets) {
    const float logit = decoder.option_logit(row, target);
    if (!std::isfinite(logit)) return nonfinite("a non-finite logit for token " + std::to_string(target));
    result.logits.push_back(logit);
  }
  return result;
}

}  // namespace assay::engine
