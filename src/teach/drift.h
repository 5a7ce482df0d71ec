#pragma once
// Has the mean of what is seen, such as the confidence of answers, left the one that a lesson was made with?
//
// A sequential test by betting (Waudby-Smith and Ramdas 2023, "Estimating means of bounded random variables by
// betting"). Somebody bets on each number x before it is seen, 1 + b (x - m) for one staked, with m the expected mean:
// while the mean is m, no way of betting makes money on average, and by Ville's inequality the money ever reaches
// 1 / false_alarm_rate with a probability of at most false_alarm_rate, over the whole life of the test and however
// often it is looked at. So there is one number to set, and no window.
//
// The money is spread over 8 sizes of bet in each direction, and over the time at which betting begins, since a change
// may come late: a share w_t = 1 / (1 + ln t) - 1 / (1 + ln(t + 1)) starts with number t. Each sum over starts is one
// number per bet, so an observation costs 16 steps, whatever the count.
//
//   auto drift = DriftTest::open({.expected_mean = 0.83, .tolerance = 0.02, .false_alarm_rate = 0.01});
//   drift->add(confidence);
//   if (drift->alarm()) …
//
// A value: copyable, one thread at a time.

#include <array>
#include <cstddef>
#include <cstdint>

#include "assay/error.h"

namespace assay::teach {

struct DriftSettings {
  double expected_mean = 0.5;  // in [0, 1]
  // Means this far off still count as expected, in [0, 1]. The expected mean is itself measured, on so many labels: two
  // of its standard errors belong here, or a long enough life will end in an alarm about those.
  double tolerance = 0;
  double false_alarm_rate = 0.01;  // in (0, 1), over the whole life
};

// Everything that a test knows; plain numbers, so it can be kept and taken up again.
struct DriftState {
  DriftSettings settings;
  std::uint64_t count = 0;            // numbers taken
  double mean = 0;                    // of them
  std::array<double, 16> log_wealth;  // for each bet, the log of its money, 0.. 7 upwards, 8.. 15 downwards
  double log_evidence = 0;            // the log of the e-value now
  bool alarm = false;
};

class DriftTest {
 public:
  // Errors: kInvalidArgument for a setting that is NaN or out of its range; `field` is its name.
  static Result<DriftTest> open(const DriftSettings& settings);
  // Goes on where another stopped. Errors: the above, and kInvalidArgument for NaN in the state.
  static Result<DriftTest> resume(const DriftState& state);

  // Takes a number; outside of [0, 1] it counts as the nearer end; NaN is passed over.
  void add(double x);
  // Once true, stays true: start a new test after what was found has been seen to.
  bool alarm() const { return state_.alarm; }
  // The log of the e-value, of the money now for 1 at first: above 0 speaks against the expected mean, and it alarms at
  // -ln(false_alarm_rate). Finite.
  double evidence() const { return state_.log_evidence; }
  std::uint64_t count() const { return state_.count; }
  // Of the numbers taken; 0 for none.
  double mean() const { return state_.mean; }
  const DriftState& state() const { return state_; }

 private:
  explicit DriftTest(const DriftState& state) : state_(state) {}
  DriftState state_;
};

}  // namespace assay::teach
