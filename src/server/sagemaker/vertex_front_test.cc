#include "server/sagemaker/vertex_front.h"

#include <gtest/gtest.h>

#include "server/http/http_headers.h"

namespace assay::server {
namespace {

class VertexFrontTest : public ::testing::Test {
 protected:
  static HttpReply echo(const HttpRequest& request) {
    HttpReply reply;
    if (request.path == "/stream") reply.stream = [](const BodyWriter& /*write*/) { return true; };
    reply.body = request.path == "/text" ? "plain"
                                         : R"({"path": ")" + request.path + R"(", "got": )" +
                                               (request.body.empty() ? "null" : request.body) + "}";
    if (request.path == "/nothing") reply.body.clear();
    return reply;
  }

  std::string predict(const std::string& instances) {
    return front_.predict({.method = "POST", .path = "/predict", .headers = {}, .body = instances}).body;
  }

  const std::vector<Route> routes_ = {{"/v1/chat/completions", "POST", RouteKind::kChat},
                                      {"/chat/completions", "POST", RouteKind::kForeign},
                                      {"/models", "GET", RouteKind::kForeign},
                                      {"/text", "POST", RouteKind::kForeign},
                                      {"/nothing", "POST", RouteKind::kForeign},
                                      {"/stream", "POST", RouteKind::kForeign},
                                      {"/slots/:id_slot", "POST", RouteKind::kForeign},
                                      {"/predict", "POST", RouteKind::kVertex}};
  VertexFront front_{{.predict_path = "/predict", .health_path = ""}, routes_, echo};
};

TEST(VertexFormat, IsThePathInCamelCaseWithoutVersion) {
  EXPECT_EQ(vertex_format_of("/v1/chat/completions"), "chatCompletions");
  EXPECT_EQ(vertex_format_of("/apply-template"), "applyTemplate");
  EXPECT_EQ(vertex_format_of("/v1/systemone"), "systemone");
  EXPECT_EQ(vertex_format_of("/lora-adapters"), "loraAdapters");
}

TEST_F(VertexFrontTest, EachInstanceIsAskedOfItsRouteInOrder) {
  EXPECT_EQ(predict(R"({"instances": [{"@requestFormat": "chatCompletions", "n": 1, "stream": true},
                                      {"@requestFormat": "/chat/completions", "n": 2},
                                      {"@requestFormat": "models"}, {"@requestFormat": "text"},
                                      {"@requestFormat": "nothing"}]})"),
            R"({"predictions": [{"path": "/v1/chat/completions", "got": {"n": 1, "stream": false}}, )"
            R"({"path": "/chat/completions", "got": {"n": 2}}, {"path": "/models", "got": null}, "plain", null]})");
  EXPECT_EQ(predict(R"({"instances": []})"), R"({"predictions": []})");
}

TEST_F(VertexFrontTest, WhatIsWrongWithOneInstanceStandsInItsPlace) {
  const std::string body =
      predict(R"({"instances": [1, {}, {"@requestFormat": "no such"}, {"@requestFormat": "predict"},
                                      {"@requestFormat": "slots"}, {"@requestFormat": "stream"},
                                      {"@requestFormat": "text"}]})");
  std::size_t errors = 0;
  for (std::size_t at = body.find("\"error\""); at != std::string::npos; at = body.find("\"error\"", at + 1)) ++errors;
  EXPECT_EQ(errors, 6u) << body;
  EXPECT_TRUE(body.ends_with("\"plain\"]}")) << body;
}

TEST_F(VertexFrontTest, ABodyWithoutInstancesIsRefused) {
  std::string many = R"({"instances": [)";
  for (std::size_t i = 0; i <= kVertexInstancesMax; ++i) many += i == 0 ? "{}" : ",{}";
  for (const std::string& body :
       {std::string("{"), std::string("[]"), std::string(R"({"instances": {}})"), many + "]}"}) {
    const HttpReply reply = front_.predict({.method = "POST", .path = "/predict", .headers = {}, .body = body});
    EXPECT_EQ(reply.status, 400) << body;
    EXPECT_NE(reply.body.find("error"), std::string::npos);
  }
}

TEST_F(VertexFrontTest, TheCallersKeyGoesAlongAndTheOuterTypeDoesNot) {
  HttpRequest seen;
  const VertexFront front({.predict_path = "/predict", .health_path = ""}, routes_, [&seen](const HttpRequest& inner) {
    seen = inner;
    return HttpReply{};
  });
  front.predict({.method = "POST",
                 .path = "/predict",
                 .headers = {{"Authorization", "Bearer k"}, {"Content-Length", "7"}, {"Content-Type", "text/x"}},
                 .body = R"({"instances": [{"@requestFormat": "text"}]})"});
  EXPECT_EQ(*find_header(seen, "authorization"), "Bearer k");
  EXPECT_EQ(*find_header(seen, "content-type"), "application/json");
  EXPECT_EQ(find_header(seen, "content-length"), nullptr);
}

}  // namespace
}  // namespace assay::server
