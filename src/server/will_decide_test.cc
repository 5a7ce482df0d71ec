#include "server/will_decide.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace assay::server {
namespace {

bool decides(const char* path, const std::string& body,
             std::vector<std::pair<std::string, std::string>> headers = {{"Content-Type", "application/json"}}) {
  return will_decide(*find_route(path), {.method = "POST", .path = path, .headers = std::move(headers), .body = body});
}

TEST(WillDecide, SomePathsDoNothingElse) {
  for (const char* path : {"/v1/decide", "/v1/systemone", "/v1/decisions"}) EXPECT_TRUE(decides(path, "")) << path;
  for (const char* path : {"/v1/chat/completions", "/health", "/endpoints/{name}/invocations"}) {
    EXPECT_FALSE(decides(path, R"({"decision": {)")) << path;
  }
}

TEST(WillDecide, OnInvocationsTheFirstKeysSayIt) {
  for (const char* begun : {R"({"decision": {"id": "a", "state": "xxx)", R"({"decisions": [)", R"({"state": "xxx)"}) {
    EXPECT_TRUE(decides("/invocations", begun)) << begun;
  }
  for (const char* begun : {"", "{", R"({"messages": [{"role")", R"({"prompt": "xxx)", R"({"input": "xxx)",
                            R"({"requestType": "NEW_SESSION", "state": "xxx)", R"({"x": 1, )", "[1"}) {
    EXPECT_FALSE(decides("/invocations", begun)) << begun;
  }
}

TEST(WillDecide, OnInvocationsHeadersSayIt) {
  const char* attributes = "X-Amzn-SageMaker-Custom-Attributes";
  EXPECT_TRUE(decides("/invocations", "", {{attributes, "route=/v1/systemone"}}));
  EXPECT_FALSE(decides("/invocations", R"({"decision": {)", {{attributes, "route=/v1/chat/completions"}}));
  EXPECT_FALSE(decides("/invocations", R"({"decision": {)", {{attributes, "route=/nowhere"}}));
  EXPECT_FALSE(decides("/invocations", R"({"decision": {)", {{"Content-Type", "application/jsonlines"}}));
  EXPECT_FALSE(decides("/invocations", R"({"state": "x)", {{"X-Amzn-SageMaker-Session-Id", "NEW_SESSION"}}));
}

}  // namespace
}  // namespace assay::server
