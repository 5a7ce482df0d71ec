#include "server/http/cors.h"

#include <gtest/gtest.h>

#include <map>

namespace assay::server {
namespace {

std::map<std::string, std::string> as_map(const Cors::Headers& headers) { return {headers.begin(), headers.end()}; }

HttpRequest preflight(const std::string& origin, const std::string& wanted = "") {
  HttpRequest request{.method = "OPTIONS", .path = "/v1/decide", .headers = {}, .body = "", .disconnected = {}};
  request.headers = {{"Origin", origin}, {"Access-Control-Request-Method", "POST"}};
  if (!wanted.empty()) request.headers.emplace_back("Access-Control-Request-Headers", wanted);
  return request;
}

TEST(Cors, WithoutOriginsNothingIsSaid) {
  const Cors none({});
  EXPECT_TRUE(none.headers_for("https://a.example").empty());
  EXPECT_FALSE(none.preflight(preflight("https://a.example")).has_value());
}

TEST(Cors, AListedOriginIsNamedAndAnotherIsNot) {
  const Cors cors({"https://a.example", "http://localhost:3000"});
  for (const char* origin : {"https://a.example", "http://localhost:3000"}) {
    const auto headers = as_map(cors.headers_for(origin));
    EXPECT_EQ(headers.at("Access-Control-Allow-Origin"), origin);
    EXPECT_EQ(headers.at("Access-Control-Allow-Credentials"), "true");
    EXPECT_EQ(headers.at("Vary"), "Origin");
  }
  for (const char* origin : {"https://b.example", "http://a.example", "https://a.example:444", "null", ""}) {
    const auto headers = as_map(cors.headers_for(origin));
    EXPECT_EQ(headers.count("Access-Control-Allow-Origin"), 0u) << origin;
    EXPECT_EQ(headers.at("Vary"), "Origin");
    EXPECT_FALSE(cors.preflight(preflight(origin)).has_value()) << origin;
  }
}

TEST(Cors, TheStarLetsEveryPageInWithoutCredentials) {
  const Cors cors({"*"});
  const auto headers = as_map(cors.headers_for("https://a.example"));
  EXPECT_EQ(headers.at("Access-Control-Allow-Origin"), "*");
  EXPECT_EQ(headers.count("Access-Control-Allow-Credentials"), 0u);
  EXPECT_TRUE(cors.headers_for("").empty()) << "no page asks";
  EXPECT_TRUE(cors.preflight(preflight("https://a.example")).has_value());
}

TEST(Cors, LocalhostLetsThePagesOfThisMachineIn) {
  const Cors cors({"localhost"});
  for (const char* origin : {"http://localhost", "https://localhost", "http://localhost:8080", "http://127.0.0.1",
                             "http://127.0.0.1:3000", "http://[::1]", "http://[::1]:3000"}) {
    EXPECT_EQ(as_map(cors.headers_for(origin)).count("Access-Control-Allow-Origin"), 1u) << origin;
  }
  for (const char* origin : {"http://evil.example", "http://notlocalhost", "http://localhost.evil.example",
                             "http://localhost:80.evil.example", "http://localhost:", "ftp://localhost", "localhost",
                             "http://[::1].evil.example", "http://[::1", "://localhost", ""}) {
    EXPECT_EQ(as_map(cors.headers_for(origin)).count("Access-Control-Allow-Origin"), 0u) << origin;
  }
}

TEST(Cors, APreflightIsA204ThatAllowsWhatWasAskedFor) {
  const Cors cors({"https://a.example"});
  const HttpReply reply = cors.preflight(preflight("https://a.example", "authorization, x-typesafe-lang")).value();
  EXPECT_EQ(reply.status, 204);
  EXPECT_TRUE(reply.body.empty());
  const auto headers = as_map(reply.headers);
  EXPECT_EQ(headers.at("Access-Control-Allow-Headers"), "authorization, x-typesafe-lang");
  EXPECT_NE(headers.at("Access-Control-Allow-Methods").find("POST"), std::string::npos);
  const auto defaults = as_map(cors.preflight(preflight("https://a.example"))->headers);
  EXPECT_NE(defaults.at("Access-Control-Allow-Headers").find("Authorization"), std::string::npos);
}

TEST(Cors, APlainOptionsRequestIsNoPreflight) {
  const Cors cors({"*"});
  HttpRequest request = preflight("https://a.example");
  request.headers.pop_back();
  EXPECT_FALSE(cors.preflight(request).has_value());
  request = preflight("https://a.example");
  request.method = "POST";
  EXPECT_FALSE(cors.preflight(request).has_value());
}

TEST(Cors, OnlyOriginsAreTaken) {
  EXPECT_TRUE(Cors::check({}).ok());
  EXPECT_TRUE(Cors::check({"*", "localhost", "https://a.example", "http://[::1]:8080", "app://local"}).ok());
  for (const char* wrong : {"", "null", "a.example", "https://", "https://a.example/", "https://*.example",
                            "https://A.example", "https://a.example, https://b.example", "https://u@a.example"}) {
    const Status status = Cors::check({wrong});
    ASSERT_FALSE(status.ok()) << wrong;
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  }
}

}  // namespace
}  // namespace assay::server
