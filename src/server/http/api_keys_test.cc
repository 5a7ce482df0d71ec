#include "server/http/api_keys.h"

#include <gtest/gtest.h>

namespace assay::server {
namespace {

HttpRequest with(std::vector<std::pair<std::string, std::string>> headers) {
  return HttpRequest{.method = "POST", .path = "/", .headers = std::move(headers), .body = "", .disconnected = {}};
}

TEST(ApiKeys, WithoutKeysEveryoneMayAsk) {
  const ApiKeys none({});
  EXPECT_TRUE(none.empty());
  EXPECT_TRUE(none.check(with({}), true).ok());
  EXPECT_TRUE(none.check(with({{"Authorization", "Bearer whatever"}}), true).ok());
}

TEST(ApiKeys, AnyOfTheKeysIsTakenAndNothingElse) {
  const ApiKeys keys({"one", "two"});
  for (const char* good : {"one", "two"}) {
    EXPECT_EQ(keys.look(with({{"authorization", std::string("Bearer ") + good}}), true), KeyState::kAllowed) << good;
  }
  for (const char* bad : {"on", "onee", "One", "three", "one two", "one\ttwo"}) {
    EXPECT_EQ(keys.look(with({{"authorization", std::string("Bearer ") + bad}}), true), KeyState::kWrong) << bad;
  }
}

TEST(ApiKeys, MissingAndWrongAreToldApart) {
  const ApiKeys keys({"one"});
  EXPECT_EQ(keys.look(with({}), true), KeyState::kMissing);
  EXPECT_EQ(keys.look(with({{"Authorization", ""}}), true), KeyState::kMissing);
  for (const bool bearer_only : {true, false}) {
    for (const char* empty : {"Bearer ", "Bearer", "bearer", "bearer\t"})
      EXPECT_EQ(keys.look(with({{"Authorization", empty}}), bearer_only), KeyState::kMissing) << empty;
  }
  EXPECT_EQ(keys.look(with({{"Authorization", "Basic b25l"}}), true), KeyState::kMissing);
  EXPECT_EQ(keys.look(with({{"Authorization", "Bearer two"}}), true), KeyState::kWrong);
}

TEST(ApiKeys, OnlyBearerCountsWhereOnlyBearerIsAsked) {
  const ApiKeys keys({"one"});
  EXPECT_EQ(keys.look(with({{"X-Api-Key", "one"}}), true), KeyState::kMissing);
  EXPECT_EQ(keys.look(with({{"X-Api-Key", "one"}}), false), KeyState::kAllowed);
  EXPECT_EQ(keys.look(with({{"Authorization", "one"}}), true), KeyState::kMissing);
  EXPECT_EQ(keys.look(with({{"Authorization", "one"}}), false), KeyState::kAllowed);
  EXPECT_EQ(keys.look(with({{"Authorization", "Basic b25l"}, {"X-Api-Key", "one"}}), false), KeyState::kAllowed);
  EXPECT_EQ(keys.look(with({{"Authorization", "Bearer two"}, {"X-Api-Key", "one"}}), false), KeyState::kWrong);
  EXPECT_EQ(keys.look(with({{"Authorization", "Bearer"}, {"X-Api-Key", "one"}}), false), KeyState::kAllowed);
}

TEST(ApiKeys, TheSchemeIsInAnyCaseAndTheKeyIsNot) {
  const ApiKeys keys({"Key"});
  EXPECT_TRUE(keys.check(with({{"AUTHORIZATION", "bearer Key"}}), true).ok());
  EXPECT_TRUE(keys.check(with({{"Authorization", "BEARER  Key "}}), true).ok());
  EXPECT_FALSE(keys.check(with({{"Authorization", "Bearer key"}}), true).ok());
}

TEST(ApiKeys, ARefusalNamesTheHeaderAndNeverAKey) {
  const ApiKeys keys({"secret-7"});
  const Status missing = keys.check(with({}), true);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, ErrorCode::kUnauthorized);
  EXPECT_NE(missing.error().message.find("Bearer"), std::string::npos);
  const Status wrong = keys.check(with({{"Authorization", "Bearer guess-9"}}), true);
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().code, ErrorCode::kUnauthorized);
  EXPECT_EQ(wrong.error().message.find("guess-9"), std::string::npos);
  EXPECT_EQ(wrong.error().message.find("secret-7"), std::string::npos);
}

TEST(ApiKeys, AnEmptyKeyOpensNothing) {
  const ApiKeys keys({"", "one"});
  EXPECT_FALSE(keys.check(with({{"Authorization", "Bearer "}}), true).ok());
  EXPECT_FALSE(keys.check(with({{"X-Api-Key", ""}}), false).ok());
}

TEST(ApiKeys, ProbesNeedNoKey) {
  for (const char* path : {"/", "/health", "/v1/health", "/ping", "/v2/health/live", "/v2/health/ready"})
    EXPECT_TRUE(is_open_path(path)) << path;
  for (const char* path : {"", "/pin", "/ping/", "/metrics", "/v1/models", "/v2", "/v2/health"})
    EXPECT_FALSE(is_open_path(path)) << path;
}

}  // namespace
}  // namespace assay::server
