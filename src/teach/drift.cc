// With the bets b_i, each of which has 1/16 of the money, and x_t the number at t:
//
//   wealth_i(t) = (wealth_i(t - 1) + w_t) (1 + b_i (x_t - m_i)),   e-value = mean of wealth_i + what has not begun,
//
// where what has not begun is 1 / (1 + ln(t + 1)): a mixture of martingales that start at fixed times, each of which is
// 1 until then, and so a martingale itself. m_i is expected_mean + tolerance for the bets upwards and
// expected_mean - tolerance for those downwards: for any mean between, each bet loses on average or is even.

#include "teach/drift.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace assay::teach {
namespace {

constexpr std::size_t kSizes = 8;
// The largest bet stakes this part of what can be lost at all; each next one half as much.
constexpr double kLargestStake = 0.75;
// A mean closer to an end than this is bet on as if it were this far away; the bets only get smaller by it.
constexpr double kEdge = 0.02;

// The money that has not begun after `count` numbers.
double waiting(std::uint64_t count) { return 1 / (1 + std::log1p(static_cast<double>(count))); }

double log_add(double a, double b) {
  const double larger = std::max(a, b);
  return larger + std::log1p(std::exp(std::min(a, b) - larger));
}

// b_i (x - m_i), above -1.
double gain(const DriftSettings& settings, std::size_t bet, double x) {
  const double stake = std::ldexp(kLargestStake, -static_cast<int>(bet % kSizes));
  if (bet < kSizes) {  // upwards: m is lost at worst
    const double mean = std::min(settings.expected_mean + settings.tolerance, 1.0);
    return stake / std::max(mean, kEdge) * (x - mean);
  }
  const double mean = std::max(settings.expected_mean - settings.tolerance, 0.0);
  return stake / std::max(1 - mean, kEdge) * (mean - x);
}

Error invalid(const char* field, const char* rule) {
  return {.code = ErrorCode::kInvalidArgument, .message = std::string(field) + " must be " + rule, .field = field};
}

}  // namespace

Result<DriftTest> DriftTest::open(const DriftSettings& settings) {
  DriftState state{.settings = settings};
  state.log_wealth.fill(-std::numeric_limits<double>::max());  // nothing, yet finite
  return resume(state);
}

Result<DriftTest> DriftTest::resume(const DriftState& state) {
  const auto within = [](double value) { return value >= 0 && value <= 1; };  // false for NaN
  const DriftSettings& settings = state.settings;
  if (!within(settings.expected_mean)) return invalid("expected_mean", "from 0 to 1");
  if (!within(settings.tolerance)) return invalid("tolerance", "from 0 to 1");
  if (!(settings.false_alarm_rate > 0 && settings.false_alarm_rate < 1)) {
    return invalid("false_alarm_rate", "above 0 and below 1");
  }
  if (!within(state.mean)) return invalid("mean", "from 0 to 1");
  if (!std::isfinite(state.log_evidence)) return invalid("log_evidence", "a finite number");
  if (!std::all_of(state.log_wealth.begin(), state.log_wealth.end(), [](double x) { return std::isfinite(x); })) {
    return invalid("log_wealth", "finite numbers");
  }
  return DriftTest(state);
}

void DriftTest::add(double x) {
  if (std::isnan(x)) return;
  x = std::clamp(x, 0.0, 1.0);
  const double log_starting = std::log(waiting(state_.count) - waiting(state_.count + 1));
  state_.count++;
  state_.mean += (x - state_.mean) / static_cast<double>(state_.count);
  double log_sum = std::log(waiting(state_.count) * static_cast<double>(state_.log_wealth.size()));
  for (std::size_t bet = 0; bet < state_.log_wealth.size(); bet++) {
    double& log_wealth = state_.log_wealth[bet];
    log_wealth = log_add(log_wealth, log_starting) + std::log1p(gain(state_.settings, bet, x));
    log_sum = log_add(log_sum, log_wealth);
  }
  state_.log_evidence = log_sum - std::log(static_cast<double>(state_.log_wealth.size()));
  if (state_.log_evidence >= -std::log(state_.settings.false_alarm_rate)) state_.alarm = true;
}

}  // namespace assay::teach
