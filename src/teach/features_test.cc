#include "teach/features.h"

#include <gtest/gtest.h>

#include <cmath>

namespace assay::teach {
namespace {

TEST(Standardisation, HasMeansAndDeviationsOfTheRows) {
  const std::vector<float> x = {1, 10, 5, /**/ 3, 10, 9, /**/ 1, 10, 5, /**/ 3, 10, 9};
  const Standardisation how = standardisation(x, 3, false);
  EXPECT_EQ(how.mean, (std::vector<float>{2, 10, 7}));
  EXPECT_EQ(how.scale, (std::vector<float>{1, 0, 0.5}));  // what never changes never counts
  EXPECT_EQ(prepared(x, how), (std::vector<double>{-1, 0, -1, /**/ 1, 0, 1, /**/ -1, 0, -1, /**/ 1, 0, 1}));
}

TEST(Standardisation, SeesAConstantThroughRounding) {
  const std::vector<float> x(300, 0.1F);
  EXPECT_EQ(standardisation(x, 1, false).scale[0], 0);
  EXPECT_EQ(prepared(std::vector<float>{5}, standardisation(x, 1, true)), std::vector<double>{0});
}

TEST(Prepared, DividesByTheRootMeanSquare) {
  const Standardisation how{.mean = {1, 1}, .scale = {1, 2}, .normalised = true};
  const auto z = prepared(std::vector<float>{4, 3}, how);  // (3, 4), of root mean square 5 / sqrt 2
  EXPECT_NEAR(z[0], 3 * std::sqrt(2.0) / 5, 1e-15);
  EXPECT_NEAR(z[1], 4 * std::sqrt(2.0) / 5, 1e-15);
  EXPECT_EQ(prepared(std::vector<float>{1, 1}, how), (std::vector<double>{0, 0}));
}

}  // namespace
}  // namespace assay::teach
