#include "decision/readout.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "base/assert.h"

namespace assay::decision {
namespace {

// Neumaier's sum: `lost` collects what rounding drops from `total`, so that the error does not grow with the count.
double compensated_sum(std::span<const double> values) {
  double total = 0;
  double lost = 0;
  for (const double value : values) {
    const double next = total + value;
    const bool total_is_larger = std::abs(total) >= std::abs(value);
    lost += total_is_larger ? (total - next) + value : (value - next) + total;
    total = next;
  }
  return total + lost;
}

// Is `begin` shorter than `whole` and equal to its first tokens?
bool is_proper_prefix(const std::vector<std::int32_t>& begin, const std::vector<std::int32_t>& whole) {
  return begin.size() < whole.size() && std::equal(begin.begin(), begin.end(), whole.begin());
}

}  // namespace

double log_sum_exp(std::span<const double> values) {
  double highest = -std::numeric_limits<double>::infinity();
  for (const double value : values) {
    if (std::isnan(value)) return value;
    highest = std::max(highest, value);
  }
  if (std::isinf(highest)) return highest;  // all minus infinity, or one plus infinity
  double sum = 0;
  for (const double value : values) sum += std::exp(value - highest);
  return highest + std::log(sum);
}

Result<std::vector<double>> probabilities(std::span<const double> scores, double temperature) {
  ASSAY_ASSERT(!scores.empty());
  ASSAY_ASSERT(std::isfinite(temperature) && temperature > 0);
  for (std::size_t i = 0; i < scores.size(); i++) {
    if (!std::isfinite(scores[i])) {
      return Error{ErrorCode::kNonfiniteLogits,
                   "the model's score of option " + std::to_string(i) + " (counted from 0) is not a finite number", ""};
    }
  }
  // Every exponent is <= 0 and the highest score's is exactly 0, so the sum lies between 1 and n. The difference and
  // the quotient may overflow to minus infinity, whose exp is the 0 that is meant.
  const double highest = *std::max_element(scores.begin(), scores.end());
  std::vector<double> out;
  out.reserve(scores.size());
  for (const double score : scores) out.push_back(std::exp((score - highest) / temperature));
  const double sum = compensated_sum(out);
  for (double& value : out) value /= sum;
  return out;
}

std::size_t best_option(std::span<const double> probabilities) {
  ASSAY_ASSERT(!probabilities.empty());
  return static_cast<std::size_t>(std::max_element(probabilities.begin(), probabilities.end()) - probabilities.begin());
}

double allowed_mass(std::span<const float> label_logits, double vocabulary_log_sum_exp) {
  double mass = 0;
  for (const float logit : label_logits) mass += std::exp(static_cast<double>(logit) - vocabulary_log_sum_exp);
  return std::clamp(mass, 0.0, 1.0);
}

std::vector<bool> needs_end(std::span<const std::vector<std::int32_t>> option_tokens) {
  // Sorted, everything that a list begins follows it directly, behind the lists equal to it:
  //   [1]  [1 5]  [1 5]  [1 5 2]  [1 7]  [3]
  // So from the back, each list is compared with the nearest different one after it.
  std::vector<std::size_t> order(option_tokens.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return option_tokens[a] < option_tokens[b]; });
  std::vector<bool> out(option_tokens.size(), false);
  for (std::size_t i = order.size(); i-- > 1;) {
    const std::size_t here = order[i - 1];
    const std::size_t next = order[i];
    const bool equal = option_tokens[here] == option_tokens[next];
    out[here] = equal ? out[next] : is_proper_prefix(option_tokens[here], option_tokens[next]);
  }
  return out;
}

double peak_confidence(std::span<const double> probabilities) {
  ASSAY_ASSERT(!probabilities.empty());
  if (probabilities.size() == 1) return 1;
  const auto n = static_cast<double>(probabilities.size());
  const double highest = *std::max_element(probabilities.begin(), probabilities.end());
  return std::clamp((n * highest - 1) / (n - 1), 0.0, 1.0);
}

double distance_confidence(std::span<const double> probabilities) {
  ASSAY_ASSERT(!probabilities.empty());
  if (probabilities.size() == 1) return 1;
  const auto n = static_cast<double>(probabilities.size());
  const auto best = static_cast<double>(best_option(probabilities));
  double distance = 0;
  double guessed = 0;
  for (std::size_t i = 0; i < probabilities.size(); i++) {
    const auto level = static_cast<double>(i);
    distance += probabilities[i] * std::abs(level - best);
    guessed += std::abs(level - (n - 1) / 2) / n;
  }
  return std::clamp(1 - distance / guessed, 0.0, 1.0);
}

double confidence_of(QuestionType type, std::span<const double> probabilities) {
  return type == QuestionType::kScale ? distance_confidence(probabilities) : peak_confidence(probabilities);
}

void finish_answer(const Question& question, Answer& answer) {
  std::vector<double> probabilities;
  for (const OptionAnswer& option : answer.options) probabilities.push_back(option.probability);
  answer.confidence = confidence_of(question.type, probabilities);
  answer.abstained = answer.confidence < question.min_confidence;
}

double entropy(std::span<const double> probabilities) {
  double sum = 0;
  for (const double p : probabilities) {
    if (p > 0) sum -= p * std::log(p);
  }
  return std::max(0.0, sum);
}

}  // namespace assay::decision
