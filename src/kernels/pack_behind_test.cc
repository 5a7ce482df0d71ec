#include "kernels/pack_behind.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <future>

namespace assay::kernels {
namespace {

// How often each step was done, counted without a lock: TSan sees who does one beside somebody else, or returns too
// early.
class Steps {
 public:
  explicit Steps(std::size_t count) : times_(count) {}

  std::function<void(std::int64_t)> counted() {
    return [this](std::int64_t step) { times_[static_cast<std::size_t>(step)]++; };
  }
  std::int64_t size() const { return static_cast<std::int64_t>(times_.size()); }
  std::int64_t done_once() const { return std::count(times_.begin(), times_.end(), 1); }

 private:
  std::vector<int> times_;
};

TEST(PackBehind, FinishingDoesEachStepOnce) {
  for (const std::int32_t threads : {0, 1, 3}) {
    Steps steps(1000);
    PackBehind behind(steps.size(), steps.counted(), threads, {});
    behind.finish();
    EXPECT_EQ(steps.done_once(), 1000) << threads;
    behind.finish();
    EXPECT_EQ(steps.done_once(), 1000) << threads;
  }
}

TEST(PackBehind, WhoeverWaitsAtOnceSeesAll) {
  Steps steps(1000);
  PackBehind behind(steps.size(), steps.counted(), 2, {});
  const auto look = [&] {
    behind.finish();
    return steps.done_once();
  };
  std::future<std::int64_t> first = std::async(std::launch::async, look);
  std::future<std::int64_t> second = std::async(std::launch::async, look);
  EXPECT_EQ(first.get(), 1000);
  EXPECT_EQ(second.get(), 1000);
}

TEST(PackBehind, ItGoesOnByItself) {
  Steps steps(10);
  std::promise<void> last;
  const std::function<void(std::int64_t)> count = steps.counted();
  const auto pack = [&](std::int64_t step) {
    count(step);
    if (step == 9) last.set_value();
  };
  PackBehind behind(10, pack, 1, {});
  last.get_future().wait();
  behind.stop();
  EXPECT_EQ(steps.done_once(), 10);
}

TEST(PackBehind, StoppedItLeavesTheRest) {
  Steps steps(1000);
  std::promise<void> begun;
  std::promise<void> go_on;
  const std::function<void(std::int64_t)> count = steps.counted();
  const auto pack = [&](std::int64_t step) {
    if (step == 0) {
      begun.set_value();
      go_on.get_future().wait();
    }
    count(step);
  };
  PackBehind behind(steps.size(), pack, 1, {});
  begun.get_future().wait();
  std::future<void> stopped = std::async(std::launch::async, [&behind] { behind.stop(); });
  // It stops before the next step, whether the word comes before or after this one is done.
  go_on.set_value();
  stopped.get();
  const std::int64_t done = steps.done_once();
  EXPECT_GE(done, 1);
  behind.finish();
  EXPECT_EQ(steps.done_once(), done);
}

TEST(PackBehind, ItTellsHowFarItIs) {
  for (const std::int32_t threads : {0, 1}) {
    Steps steps(4);
    std::vector<float> told;
    PackBehind behind(4, steps.counted(), threads, [&told](float share) { told.push_back(share); });
    behind.finish();
    EXPECT_TRUE(std::is_sorted(told.begin(), told.end()));
    if (threads == 0) {
      EXPECT_EQ(told, (std::vector<float>{0.25F, 0.5F, 0.75F, 1.0F}));
    }
  }
}

}  // namespace
}  // namespace assay::kernels
