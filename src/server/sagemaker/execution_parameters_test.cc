#include "server/sagemaker/execution_parameters.h"

#include <gtest/gtest.h>

namespace assay::server {
namespace {

constexpr std::size_t kMegabyte = std::size_t{1024} * 1024;

TEST(ExecutionParameters, KeepToTheLimitsOfTheServerAndOfSageMaker) {
  EXPECT_EQ(execution_parameters_body(25 * kMegabyte, 64),
            R"({"MaxConcurrentTransforms": 16, "BatchStrategy": "MULTI_RECORD", "MaxPayloadInMB": 6})");
  EXPECT_EQ(execution_parameters_body(2 * kMegabyte, 64),
            R"({"MaxConcurrentTransforms": 50, "BatchStrategy": "MULTI_RECORD", "MaxPayloadInMB": 2})");
  EXPECT_EQ(execution_parameters_body(1024, 0),
            R"({"MaxConcurrentTransforms": 1, "BatchStrategy": "MULTI_RECORD", "MaxPayloadInMB": 1})");
}

}  // namespace
}  // namespace assay::server
