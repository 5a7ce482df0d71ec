#include "base/parallel.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace assay {
namespace {

TEST(InParallel, DoesEachTaskOnce) {
  for (const std::size_t threads : {0, 1, 2, 7}) {
    for (const std::size_t count : {0, 1, 5, 300}) {
      std::vector<int> done(count, 0);
      in_parallel(count, threads, [&](std::size_t i) { done[i]++; });
      EXPECT_EQ(done, std::vector<int>(count, 1)) << threads;
    }
  }
}

TEST(InParallel, OneThreadGoesInOrderHere) {
  std::vector<std::size_t> order;
  const std::thread::id here = std::this_thread::get_id();
  in_parallel(4, 1, [&](std::size_t i) {
    order.push_back(i);
    EXPECT_EQ(std::this_thread::get_id(), here);
  });
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 3}));
}

TEST(InParallel, AFailureComesOutWhenTheOthersHaveEnded) {
  for (const std::size_t threads : {1, 3}) {
    std::atomic<int> done{0};
    const auto task = [&](std::size_t i) {
      if (i == 2) throw std::runtime_error("the third");
      done++;
    };
    EXPECT_THROW(in_parallel(50, threads, task), std::runtime_error);
    EXPECT_EQ(done, 49);
  }
}

}  // namespace
}  // namespace assay
