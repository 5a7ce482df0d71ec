#include "teach/apply.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/assert.h"
#include "decision/readout.h"
#include "teach/isotonic.h"
#include "teach/sureness.h"

namespace assay::teach {
namespace {

bool all_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

Error wrong_size(const char* field, std::size_t has, std::size_t needs) {
  return invalid_argument(
      field, std::string(field) + " has " + std::to_string(has) + " numbers; it takes " + std::to_string(needs));
}

Status check_sizes(const LinearHead& head, std::size_t option_count) {
  const std::size_t labelled = head.options.size();
  if (head.mean.size() != head.width) return wrong_size("head.mean", head.mean.size(), head.width);
  if (head.scale.size() != head.width) return wrong_size("head.scale", head.scale.size(), head.width);
  if (head.bias.size() != labelled) return wrong_size("head.bias", head.bias.size(), labelled);
  // By division: width and labelled come from a file, and their product may not fit.
  const bool fits = head.width == 0
                        ? head.weights.empty()
                        : head.weights.size() % head.width == 0 && head.weights.size() / head.width == labelled;
  if (!fits) return wrong_size("head.weights", head.weights.size(), labelled * head.width);
  if (labelled == 0) return invalid_argument("head.options", "head.options is empty; a head knows at least one option");
  for (std::size_t k = 0; k < labelled; k++) {
    if (head.options[k] >= option_count) {
      return invalid_argument("head.options", "head.options names option " + std::to_string(head.options[k]) +
                                                  " (counted from 0); the question has " +
                                                  std::to_string(option_count));
    }
    if (k > 0 && head.options[k] <= head.options[k - 1]) {
      return invalid_argument("head.options", "head.options must rise; entry " + std::to_string(k) + " does not");
    }
  }
  if (!(head.prior_weight >= 0 && head.prior_weight <= 1)) {
    return invalid_argument("head.prior_weight", "head.prior_weight must lie in 0..1");
  }
  return {};
}

// sum_d a_d * b_d, in four sums whose order is fixed: number d goes to sum d % 4.
template <typename Number>
double dot(std::span<const double> a, const Number* b) {
  double sums[4] = {0, 0, 0, 0};
  std::size_t d = 0;
  for (; d + 4 <= a.size(); d += 4) {
    for (std::size_t lane = 0; lane < 4; lane++) sums[lane] += a[d + lane] * static_cast<double>(b[d + lane]);
  }
  for (; d < a.size(); d++) sums[d % 4] += a[d] * static_cast<double>(b[d]);
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// s_k of assay/lesson.h.
std::vector<double> linear_scores(const LinearHead& head, std::span<const float> x) {
  std::vector<double> z(head.width);
  for (std::size_t d = 0; d < head.width; d++) {
    z[d] = (static_cast<double>(x[d]) - static_cast<double>(head.mean[d])) * static_cast<double>(head.scale[d]);
  }
  if (head.normalised) {
    const double mean_square = dot(z, z.data()) / static_cast<double>(head.width);
    const double factor = mean_square > 0 ? 1 / std::sqrt(mean_square) : 1;
    for (double& value : z) value *= factor;
  }
  std::vector<double> scores(head.options.size());
  for (std::size_t k = 0; k < scores.size(); k++) {
    scores[k] = static_cast<double>(head.bias[k]) + dot(z, head.weights.data() + k * head.width);
  }
  return scores;
}

void subtract(std::vector<double>& values, double what) {
  for (double& value : values) value -= what;
}

// Normalised, and none below kLogProbabilityMin.
Result<std::vector<double>> zero_shot_of(std::span<const double> log_probs) {
  std::vector<double> out(log_probs.begin(), log_probs.end());
  for (double& value : out) {
    if (std::isnan(value) || value == std::numeric_limits<double>::infinity()) {
      return Error{ErrorCode::kNonfiniteLogits, "a zero-shot log probability is not a number", ""};
    }
    value = std::max(value, kLogProbabilityMin);
  }
  subtract(out, decision::log_sum_exp(out));
  return out;
}

// The best option stays the best where rounding or equal values would let another one pass.
void keep_best(std::vector<double>& probabilities, std::size_t best) {
  const double below = std::nextafter(probabilities[best], 0.0);
  for (std::size_t j = 0; j < probabilities.size(); j++) {
    if (j != best) probabilities[j] = std::min(probabilities[j], j < best ? below : probabilities[best]);
  }
}

// c' of apply.h, by evidence.
double sure_of(const Calibration& calibration, std::span<const double> scores) {
  std::vector<double> scaled(scores.begin(), scores.end());
  for (double& score : scaled) score /= calibration.temperature;
  const double sure = sure_probability({calibration.slope, calibration.shift}, evidence_of(scaled), scores.size());
  if (calibration.isotonic.empty()) return sure;
  return std::max(interpolate(calibration.isotonic, sure), 1 / static_cast<double>(scores.size()));
}

// Gives the best option this probability, at least 1 / n: the others shrink alike, or all move towards guessing.
void move_best(std::vector<double>& probabilities, std::size_t best, double moved) {
  const double before = probabilities[best];
  const double guess = 1 / static_cast<double>(probabilities.size());
  if (moved >= before) {
    const double factor = before < 1 ? (1 - moved) / (1 - before) : 0;
    for (double& one : probabilities) one *= factor;
  } else {
    const double mixed = (before - moved) / (before - guess);  // moved >= guess, so before is above it
    for (double& one : probabilities) one = (1 - mixed) * one + mixed * guess;
  }
  probabilities[best] = moved;
}

}  // namespace

Status check_head(const LinearHead& head, std::size_t option_count) {
  if (Status sizes = check_sizes(head, option_count); !sizes) return sizes;
  if (!all_finite(head.mean)) return invalid_argument("head.mean", "head.mean has a number that is not finite");
  if (!all_finite(head.scale)) return invalid_argument("head.scale", "head.scale has a number that is not finite");
  if (!all_finite(head.weights))
    return invalid_argument("head.weights", "head.weights has a number that is not finite");
  if (!all_finite(head.bias)) return invalid_argument("head.bias", "head.bias has a number that is not finite");
  return {};
}

Status check_calibration(const Calibration& calibration) {
  if (!(std::isfinite(calibration.temperature) && calibration.temperature > 0)) {
    return invalid_argument("calibration.temperature", "calibration.temperature must be a finite number above 0");
  }
  if (!(std::isfinite(calibration.slope) && calibration.slope >= 0)) {
    return invalid_argument("calibration.slope", "calibration.slope must be a finite number of at least 0");
  }
  if (!std::isfinite(calibration.shift)) {
    return invalid_argument("calibration.shift", "calibration.shift must be a finite number");
  }
  double x_before = -1;
  double y_before = 0;
  for (const auto& [x, y] : calibration.isotonic) {
    if (!(x > x_before && x >= 0 && x <= 1 && y >= y_before && y <= 1)) {
      return invalid_argument("calibration.isotonic",
                              "calibration.isotonic takes pairs in 0..1 with rising x and a y that never falls");
    }
    x_before = x;
    y_before = y;
  }
  return {};
}

Result<std::vector<double>> head_scores(const LinearHead& head, std::span<const float> x, std::size_t option_count,
                                        std::span<const double> zero_shot_log_probs) {
  if (Status sizes = check_sizes(head, option_count); !sizes) return sizes.error();
  if (x.size() != head.width) return wrong_size("hidden_states", x.size(), head.width);
  const bool needs_zero_shot = head.prior_weight != 0 || head.options.size() < option_count;
  if (zero_shot_log_probs.size() != option_count && (needs_zero_shot || !zero_shot_log_probs.empty())) {
    return wrong_size("zero_shot_log_probs", zero_shot_log_probs.size(), option_count);
  }
  std::vector<double> scores = linear_scores(head, x);
  for (const double score : scores) {
    if (!std::isfinite(score)) {
      return Error{ErrorCode::kNonfiniteLogits, "the head's score of an option is not a finite number", ""};
    }
  }
  if (!needs_zero_shot) {
    subtract(scores, decision::log_sum_exp(scores));
    return scores;
  }
  return joined_scores(head.options, scores, head.prior_weight, zero_shot_log_probs);
}

Result<std::vector<double>> joined_scores(std::span<const std::size_t> options, std::span<const double> scores,
                                          double prior_weight, std::span<const double> zero_shot_log_probs) {
  ASSAY_ASSERT(!options.empty() && options.size() == scores.size() && options.back() < zero_shot_log_probs.size());
  auto out = zero_shot_of(zero_shot_log_probs);
  if (!out) return out;
  std::vector<double> labelled;
  for (const std::size_t option : options) labelled.push_back((*out)[option]);
  std::vector<double> g(scores.begin(), scores.end());
  subtract(g, decision::log_sum_exp(g));
  if (prior_weight != 0) {
    for (std::size_t k = 0; k < g.size(); k++) g[k] += prior_weight * labelled[k];
    subtract(g, decision::log_sum_exp(g));
  }
  // With labels for all options, L's share is 1.
  const double share = labelled.size() == out->size() ? 0.0 : decision::log_sum_exp(labelled);
  for (std::size_t k = 0; k < g.size(); k++) (*out)[options[k]] = g[k] + share;
  return out;
}

Result<std::vector<double>> calibrated(const Calibration& calibration, std::span<const double> scores) {
  if (Status whole = check_calibration(calibration); !whole) return whole.error();
  if (scores.empty()) return invalid_argument("scores", "there are no scores to calibrate");
  auto plain = decision::probabilities(scores, 1);
  if (!plain) return plain;
  const std::size_t best = decision::best_option(*plain);
  auto probabilities = decision::probabilities(scores, calibration.temperature);
  const bool moves = calibration.slope != 1 || calibration.shift != 0;
  if (scores.size() > 1 && moves) {
    move_best(*probabilities, best, sure_of(calibration, scores));
    keep_best(*probabilities, best);
    return probabilities;
  }
  if (calibration.isotonic.empty() || scores.size() == 1) {
    keep_best(*probabilities, best);
    return probabilities;
  }
  std::vector<double> others;
  for (std::size_t j = 0; j < scores.size(); j++) {
    if (j != best) others.push_back(scores[j]);
  }
  auto shares = decision::probabilities(others, calibration.temperature);
  const double largest = *std::max_element(shares->begin(), shares->end());
  const double moved = interpolate(calibration.isotonic, (*probabilities)[best]);
  const double top = std::max(moved, largest / (1 + largest));
  for (std::size_t j = 0, other = 0; j < scores.size(); j++) {
    (*probabilities)[j] = j == best ? top : (1 - top) * (*shares)[other++];
  }
  keep_best(*probabilities, best);
  return probabilities;
}

const Calibration* find_calibration(std::span<const Calibration> calibrations, std::string_view readout,
                                    std::string_view type, std::size_t option_count) {
  const Calibration* found = nullptr;
  for (const Calibration& one : calibrations) {
    const bool fits = one.readout == readout && one.type == type && option_count >= one.options_min &&
                      option_count <= one.options_max;
    if (!fits) continue;
    const std::size_t span = one.options_max - one.options_min;
    if (found == nullptr || span < found->options_max - found->options_min) found = &one;
  }
  return found;
}

const Threshold* threshold_for(std::span<const Threshold> thresholds, std::string_view best_option_id) {
  const Threshold* overall = nullptr;
  for (const Threshold& one : thresholds) {
    if (!one.option.empty() && one.option == best_option_id) return &one;
    if (one.option.empty() && overall == nullptr) overall = &one;
  }
  return overall;
}

}  // namespace assay::teach
