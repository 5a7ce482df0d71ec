#include "server/sagemaker/invocations.h"

#include <gtest/gtest.h>

#include "server/route_table.h"

namespace assay::server {
namespace {

HttpRequest request_of(std::string body, std::string attributes = "") {
  HttpRequest request{
      .method = "POST", .path = "/invocations", .headers = {}, .body = std::move(body), .disconnected = {}};
  if (!attributes.empty()) request.headers.emplace_back("x-amzn-sagemaker-custom-attributes", std::move(attributes));
  return request;
}

std::string path_of(std::string body, std::string attributes = "") {
  const Result<std::string> path = invocation_path(request_of(std::move(body), std::move(attributes)));
  return path.ok() ? *path : "error: " + path.error().message;
}

TEST(Invocations, TheBodyChooses) {
  EXPECT_EQ(path_of(R"({"messages": []})"), "/v1/chat/completions");
  EXPECT_EQ(path_of(R"({"model": "", "x_decide": true, "messages": []})"), "/v1/chat/completions");
  EXPECT_EQ(path_of(R"({"prompt": "a"})"), "/v1/completions");
  EXPECT_EQ(path_of(R"({"query": "a", "documents": []})"), "/v1/rerank");
  EXPECT_EQ(path_of(R"({"input": "a"})"), "/v1/embeddings");
  EXPECT_EQ(path_of(R"({"input": ["a", "b"]})"), "/v1/embeddings");
  EXPECT_EQ(path_of(R"({"input": [ {"role": "user"}]})"), "/v1/responses");
  EXPECT_EQ(path_of(R"({"input": "a", "max_output_tokens": 4})"), "/v1/responses");
}

TEST(Invocations, DecisionsStay) {
  for (const char* body : {R"({"decision": {}})", R"({"decisions": []})", R"({"state": 1, "questions": {}})",
                           R"({"input": "a", "questions": []})", "{}", "[]", "", R"({"state": 1})"}) {
    EXPECT_EQ(path_of(body), "/invocations") << body;
  }
}

TEST(Invocations, TheHeaderChoosesBeforeTheBody) {
  EXPECT_EQ(path_of(R"({"messages": []})", "a=b,route=/v1/systemone;x=y"), "/v1/systemone");
  EXPECT_EQ(path_of("{}", "route=/tokenize"), "/tokenize");
  EXPECT_EQ(path_of("{}", "x=1 route=/v1/decide y"), "/v1/decide");
  EXPECT_EQ(path_of(R"({"prompt": ""})", "trace=1,myroute=/v1/decide"), "/v1/completions");
}

TEST(Invocations, ABadRouteIsNamed) {
  for (const char* route : {"/slots/1", "v1/systemone", "/../etc", "http://host/", "/v1/decide?x", "/invocations",
                            "/metrics", "/models/load"}) {
    const std::string said = path_of("{}", std::string("route=") + route);
    EXPECT_NE(said.find(std::string("'") + route + "'"), std::string::npos) << said;
  }
  EXPECT_NE(path_of("{}", "route=").find("''"), std::string::npos);
  EXPECT_EQ(path_of("{}", "route=/\x01").find('\x01'), std::string::npos);
}

TEST(Invocations, OurOwnRoutesThatDecideCanBeNamed) {
  for (const Route& route : known_routes()) {
    const std::string_view path = route.path;
    const bool can = std::string_view(route.method) == "POST" && route.kind != RouteKind::kInvocations &&
                     route.kind != RouteKind::kEndpoint;
    if (route.kind == RouteKind::kSemif || route.kind == RouteKind::kSystemOne || route.kind == RouteKind::kDecisions ||
        route.kind == RouteKind::kChat) {
      EXPECT_TRUE(can && is_invocation_route(path)) << path;
    }
  }
}

TEST(Invocations, AttributesComeBackWhenTheyCan) {
  EXPECT_EQ(custom_attributes_of(request_of("", "a=b, c")), "a=b, c");
  EXPECT_EQ(custom_attributes_of(request_of("")), "");
  EXPECT_EQ(custom_attributes_of(request_of("", "a\nb")), "");
  EXPECT_EQ(custom_attributes_of(request_of("", std::string(1025, 'a'))), "");
  EXPECT_EQ(custom_attributes_of(request_of("", std::string(1024, 'a'))).size(), 1024u);
}

}  // namespace
}  // namespace assay::server
