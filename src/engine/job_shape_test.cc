#include "engine/job_shape.h"

#include <gtest/gtest.h>

#include <vector>

namespace assay::engine {
namespace {

using Numbers = std::vector<std::int32_t>;

// A root of two tokens with two children, and a second root:
//
//   0: 5 6 -+- 1: 7      (read 1 behind it)
//           +- 2: 8 9    (read 0 behind the 8)
//   3: 4
TEST(JobShape, HasTheTreeItsPositionsAndItsReads) {
  const Job job = {
      .segments = {{.tokens = {5, 6}}, {.parent = 0, .tokens = {7}}, {.parent = 0, .tokens = {8, 9}}, {.tokens = {4}}},
      .reads = {{.segment = 2, .offset = 0}, {.segment = 1, .offset = 0}}};
  const JobShape shape(job);
  EXPECT_EQ(shape.roots, (Numbers{0, 3}));
  EXPECT_EQ(shape.children, (std::vector<Numbers>{{1, 2}, {}, {}, {}}));
  EXPECT_EQ(shape.lengths, (Numbers{2, 1, 2, 1}));
  EXPECT_EQ(shape.starts, (Numbers{0, 2, 2, 0}));
  EXPECT_EQ(shape.read_of_row, (std::vector<Numbers>{{-1, -1}, {1}, {0, -1}, {-1}}));
}

}  // namespace
}  // namespace assay::engine
