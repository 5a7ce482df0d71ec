// What the routes do for all wires: which one is asked, keys, rate limits, the event stream, what is refused early.
#include <gtest/gtest.h>

#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "server/routes.h"
#include "server/testing/fake_decider.h"
#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

using Headers = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kSemif =
    R"({"decision":{"id":"t","state":"s","question":"q","options":[{"id":"a"},{"id":"b"}]}})";
constexpr const char* kSystemOne =
    R"({"model":"jev-latest","state":"s","questions":{"one":{"type":"noul"},"two":{"type":"score","criteria":["a","b"]}}})";
constexpr const char* kOpenAi =
    R"({"model":"jev-latest","input":"s","questions":[{"type":"predicate","instructions":"Is it so?"}]})";

std::string header(const HttpReply& reply, const std::string& name) {
  for (const auto& [key, value] : reply.headers) {
    if (key == name) return value;
  }
  return "";
}

// One server with these settings.
struct Server {
  explicit Server(RouteOptions options = {}) : routes(decider, metrics, clock, with_seed(std::move(options))) {}

  static RouteOptions with_seed(RouteOptions options) {
    options.request_id_seed = 1;
    return options;
  }
  HttpReply send(const std::string& method, const std::string& path, Headers headers = {},
                 const std::string& body = "") {
    if (method == "POST") headers.emplace_back("Content-Type", "application/json");
    return routes.handle({.method = method, .path = path, .headers = std::move(headers), .body = body});
  }
  HttpReply post(const std::string& path, const std::string& body, Headers headers = {}) {
    return send("POST", path, std::move(headers), body);
  }
  // All that a streaming reply writes; it is taken for gone after `pieces_max` pieces.
  static std::string streamed(const HttpReply& reply, int pieces_max = 1000) {
    std::string text;
    int pieces = 0;
    EXPECT_TRUE(reply.stream);
    if (!reply.stream) return text;
    reply.stream([&](std::string_view piece) {
      if (++pieces > pieces_max) return false;
      text += piece;
      return true;
    });
    return text;
  }

  testing::FakeDecider decider;
  Metrics metrics;
  ManualClock clock;
  Routes routes;
};

TEST(RoutesWires, SystemOneAnswersOnAllItsPaths) {
  Server server;
  for (const char* path :
       {"/v1/systemone", "/api/v1/systemone", "/api/alpha/decisions", "/v1/decisions", "/decisions", "/invocations"}) {
    const HttpReply reply = server.post(path, kSystemOne);
    EXPECT_EQ(reply.status, 200) << path << reply.body;
    EXPECT_TRUE(reply.body.starts_with(R"({"model": "fake", "answers": {"one": {"type": "noul", "noul": 0.5)")) << path;
  }
}

TEST(RoutesWires, OpenAiAnswersOnItsPathsAndInvocations) {
  Server server;
  for (const char* path : {"/v1/decisions", "/decisions", "/invocations"}) {
    const HttpReply reply = server.post(path, kOpenAi);
    EXPECT_EQ(reply.status, 200) << path << reply.body;
    EXPECT_TRUE(parse_json(reply.body)->find("answers")->array() != nullptr) << path;
  }
  EXPECT_NE(server.post("/v1/systemone", kOpenAi).status, 200);
}

TEST(RoutesWires, ChatWithoutADecisionIs400) {
  Server server;
  const HttpReply reply =
      server.post("/v1/chat/completions", R"({"model":"jev-latest","messages":[{"role":"user","content":"Hi"}]})");
  EXPECT_EQ(reply.status, 400);
  EXPECT_TRUE(parse_json(reply.body)->find("error")->find("message")->is_string()) << reply.body;
  EXPECT_EQ(server.decider.decided(), 0);
}

TEST(RoutesWires, AChatStreamHasItsMediaType) {
  Server server;
  const std::string body =
      R"({"model":"jev-latest","x_decide":true,"messages":[{"role":"user","content":"Hi"}],"response_format":)"
      R"({"type":"json_schema","json_schema":{"name":"n","schema":{"type":"object","properties":{"a":{"enum":["x","y"]}}}}})";
  const HttpReply plain = server.post("/v1/chat/completions", body + "}");
  EXPECT_EQ(plain.status, 200) << plain.body;
  EXPECT_EQ(plain.content_type, "application/json");
  const HttpReply stream = server.post("/v1/chat/completions", body + R"(,"stream":true})");
  EXPECT_EQ(stream.content_type, "text/event-stream");
  EXPECT_TRUE(stream.body.starts_with("data: ")) << stream.body;
}

TEST(RoutesWires, InvocationsWithoutAKnownShapeNamesAll) {
  Server server;
  const HttpReply reply = server.post("/invocations", R"({"inputs":"x"})");
  EXPECT_EQ(reply.status, 400);
  for (const char* name : {"SemIf", "System One", "OpenAI"}) EXPECT_NE(reply.body.find(name), std::string::npos);
  EXPECT_NE(server.post("/invocations", "{").body.find("not valid JSON"), std::string::npos);
  EXPECT_EQ(server.post("/invocations", kSemif).status, 200);
}

TEST(RoutesWires, Rule2_9EveryReplyHasBothRequestIds) {
  Server server;
  for (const HttpReply& reply :
       {server.send("GET", "/nowhere"), server.post("/v1/systemone", kSystemOne), server.post("/v1/systemone", "{"),
        server.send("GET", "/v1/systemone"), server.send("GET", "/health"), server.post("/v1/decide", kSemif)}) {
    EXPECT_FALSE(header(reply, "x-typesafe-request-id").empty());
    EXPECT_EQ(header(reply, "x-typesafe-request-id"), header(reply, "x-request-id"));
  }
  EXPECT_EQ(header(server.send("GET", "/health", {{"x-request-id", "abc"}}), "x-typesafe-request-id"), "abc");
}

TEST(RoutesWires, ErrorsAreInTheFormOfThePath) {
  Server server;
  const HttpReply method = server.send("GET", "/v1/systemone");
  EXPECT_EQ(method.status, 405);
  EXPECT_EQ(header(method, "Allow"), "POST");
  EXPECT_EQ(method.body,
            R"({"detail": "Method Not Allowed", "error": {"code": 405, "message": "/v1/systemone takes POST"}, )"
            R"("code": "invalid_argument"})");
  EXPECT_EQ(server.send("GET", "/v1/decide").body, R"({"error": "/v1/decide takes POST", "code": "invalid_argument"})");
  const HttpReply openai = server.send("GET", "/v1/decisions");
  EXPECT_EQ(openai.status, 405);
  EXPECT_TRUE(parse_json(openai.body)->find("error")->find("type")->is_string());
  const HttpReply media = server.routes.handle(
      {.method = "POST", .path = "/v1/systemone", .headers = {{"content-type", "text/plain"}}, .body = kSystemOne});
  EXPECT_EQ(media.status, 415);
  EXPECT_TRUE(parse_json(media.body)->find("detail")->find("message")->is_string());
}

TEST(RoutesWires, Rule3_7WhatCannotBeDecidedNowSaysWhen) {
  Server server;
  server.decider.set_healthy(false);
  const HttpReply reply = server.post("/v1/systemone", kSystemOne);
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(header(reply, "Retry-After"), "1");
  EXPECT_EQ(*parse_json(reply.body)->find("detail")->find("error_type")->string(), "overloaded");
}

TEST(RoutesWires, OurOwnFaultsStayInTheLog) {
  set_log_level(LogLevel::kOff);
  Server server;
  server.decider.answer_with([](const DecisionRequest&) -> Result<DecisionReply> { throw 7; });
  const HttpReply reply = server.post("/v1/systemone", kSystemOne);
  EXPECT_EQ(reply.status, 500);
  EXPECT_EQ(*parse_json(reply.body)->find("detail")->find("error_type")->string(), "unknown");
  set_log_level(LogLevel::kInfo);
}

TEST(RoutesWires, Golden10Models) {
  Server server({.model_names = {"jev-latest", "fake", "typesafe/jev-1.13", "jev-latest"}});
  const Value body = parse_json(server.send("GET", "/v1/models").body).value();
  EXPECT_EQ(body.find("data")->array()->size(), 1u);
  const Value::Array& models = *body.find("models")->array();
  ASSERT_EQ(models.size(), 3u);  // each name once
  for (const Value& model : models) {
    EXPECT_TRUE(model.find("description")->is_string());
    EXPECT_EQ(model.find("release_date")->string()->size(), 10u);
    const std::string request =
        R"({"model":")" + *model.find("name")->string() + R"(","state":"s","questions":{"q":{"type":"noul"}}})";
    EXPECT_EQ(server.post("/v1/systemone", request).status, 200) << request;
  }
  EXPECT_EQ(
      server.post("/v1/systemone", R"({"model":"jev-preview","state":"s","questions":{"q":{"type":"noul"}}})").status,
      400);
}

TEST(RoutesWires, Golden9Keys) {
  Server server({.api_keys = {"k1", "k2"}});
  EXPECT_EQ(server.post("/v1/systemone", kSystemOne).status, 401);
  EXPECT_EQ(server.post("/v1/systemone", kSystemOne, {{"Authorization", "Bearer wrong"}}).status, 401);
  EXPECT_EQ(server.post("/v1/systemone", kSystemOne, {{"x-api-key", "k1"}}).status, 401);
  EXPECT_EQ(server.post("/v1/systemone", kSystemOne, {{"authorization", "Bearer k2"}}).status, 200);
  // Rule 3.6: the key comes before the body.
  const HttpReply bad = server.post("/v1/systemone", "{", {{"Authorization", "Bearer wrong"}});
  EXPECT_EQ(bad.status, 401);
  EXPECT_EQ(*parse_json(bad.body)->find("detail")->find("error_type")->string(), "authentication_error");
  EXPECT_EQ(header(bad, "WWW-Authenticate"), "Bearer");
  EXPECT_EQ(server.send("GET", "/v1/models").status, 401);
  EXPECT_EQ(server.send("GET", "/v1/models", {{"x-api-key", "k1"}}).status, 401);
  EXPECT_EQ(server.send("GET", "/v1/models", {{"Authorization", "Bearer k1"}}).status, 200);
  EXPECT_EQ(server.send("GET", "/metrics").status, 401);
  EXPECT_EQ(server.post("/v1/decide", kSemif, {{"x-api-key", "k1"}}).status, 200);
  for (const char* open : {"/health", "/ping", "/docs", "/openapi.json"}) {
    EXPECT_EQ(server.send("GET", open).status, 200) << open;
  }
  EXPECT_EQ(server.send("GET", "/nowhere").status, 404);
  EXPECT_EQ(server.decider.decided(), 2);
}

TEST(RoutesWires, Rule3_5WithoutKeysEveryoneMay) {
  Server server;
  for (const char* value : {"Bearer x", "Basic x", "", "Bearer"}) {
    EXPECT_EQ(server.post("/v1/systemone", kSystemOne, {{"Authorization", value}}).status, 200) << value;
  }
}

TEST(RoutesWires, EachClientHasItsRateLimit) {
  Server server({.rate_limit_per_minute = 2});
  const Headers a = {{"Authorization", "Bearer a"}};
  EXPECT_EQ(server.post("/v1/systemone", kSystemOne, a).status, 200);
  EXPECT_EQ(server.post("/v1/systemone", "{", a).status, 422);
  const HttpReply third = server.post("/v1/systemone", kSystemOne, a);
  EXPECT_EQ(third.status, 429);
  EXPECT_EQ(header(third, "Retry-After"), "30");
  EXPECT_EQ(server.post("/v1/systemone", kSystemOne, {{"Authorization", "Bearer b"}}).status, 200);
  EXPECT_EQ(server.send("GET", "/health", a).status, 200);
  server.clock.advance_ms(30001);
  EXPECT_EQ(server.post("/v1/decide", kSemif, a).status, 200);
}

TEST(RoutesWires, RefuseEarlySaysWhatNeedsNoBody) {
  Server server({.wire = {.body_bytes_max = 1000}, .api_keys = {"k"}, .rate_limit_per_minute = 1});
  const auto early = [&](const std::string& method, const std::string& path, const Headers& headers) {
    const auto refused = server.routes.refuse_early({.method = method, .path = path, .headers = headers, .body = ""});
    return refused.has_value() ? refused->status : 0;
  };
  const Headers good = {{"Authorization", "Bearer k"}, {"Content-Type", "application/json"}};
  EXPECT_EQ(early("POST", "/nowhere", good), 404);
  EXPECT_EQ(early("GET", "/v1/systemone", good), 405);
  EXPECT_EQ(early("POST", "/v1/systemone", {}), 401);
  EXPECT_EQ(early("POST", "/v1/systemone", {{"Authorization", "Bearer k"}}), 415);
  Headers large = good;
  large.emplace_back("Content-Length", "1001");
  EXPECT_EQ(early("POST", "/v1/systemone", large), 413);
  EXPECT_EQ(early("POST", "/v1/decide", large), 413);
  large.back().second = "99999999999999999999999999";
  EXPECT_EQ(early("POST", "/v1/systemone", large), 413);
  large.back().second = "1000";
  // It takes nothing of the rate limit, however often it is asked.
  for (int i = 0; i < 3; ++i) EXPECT_EQ(early("POST", "/v1/systemone", large), 0);
  EXPECT_EQ(early("GET", "/health", {}), 0);
  EXPECT_EQ(server.post("/v1/systemone", kSystemOne, {{"Authorization", "Bearer k"}}).status, 200);
  EXPECT_NE(server.metrics.text({}).find(R"(assay_requests_total{route="/v1/systemone",status="413"} 2)"),
            std::string::npos);
  EXPECT_NE(server.metrics.text({}).find("assay_requests_in_flight 0"), std::string::npos);
}

TEST(RoutesWires, PagesAreServed) {
  Server server;
  const HttpReply page = server.send("GET", "/docs");
  EXPECT_EQ(page.status, 200);
  EXPECT_TRUE(page.content_type.starts_with("text/html"));
  EXPECT_FALSE(page.body.empty());
  EXPECT_FALSE(header(page, "Content-Security-Policy").empty());
  EXPECT_TRUE(parse_json(server.send("GET", "/openapi.json").body).ok());
}

TEST(RoutesStream, TellsEachAnswerAndEndsWithThePlainReply) {
  for (const bool tells : {true, false}) {
    Server server;
    server.decider.set_tells(tells);
    const HttpReply reply = server.post("/v1/systemone", kSystemOne, {{"Accept", "text/event-stream"}});
    EXPECT_EQ(reply.status, 200);
    EXPECT_EQ(reply.content_type, "text/event-stream");
    EXPECT_EQ(server.decider.decided(), 0);  // the stream decides
    EXPECT_NE(server.metrics.text({}).find("assay_requests_in_flight 1"), std::string::npos);
    const std::string plain = server.post("/v1/systemone", kSystemOne).body;
    const Value answers = *parse_json(plain)->find("answers");
    EXPECT_EQ(Server::streamed(reply),
              "event: answer\ndata: {\"id\": \"one\", \"answer\": " + to_json_text(*answers.find("one")) +
                  "}\n\nevent: answer\ndata: {\"id\": \"two\", \"answer\": " + to_json_text(*answers.find("two")) +
                  "}\n\nevent: done\ndata: " + plain + "\n\n");
  }
}

TEST(RoutesStream, IsCountedWhenItEnds) {
  Server server;
  {
    const HttpReply reply = server.post("/v1/decide", kSemif, {{"Accept", "text/event-stream"}});
    server.clock.advance_ms(250);
    EXPECT_NE(Server::streamed(reply).find("event: done\ndata: {\"result\": "), std::string::npos);
  }
  const std::string text = server.metrics.text({});
  EXPECT_NE(text.find(R"(assay_request_seconds_sum{route="/v1/decide",readout="letters"} 0.25)"), std::string::npos);
  EXPECT_NE(text.find("assay_requests_in_flight 0"), std::string::npos);
}

TEST(RoutesStream, WhatCanBeRefusedBeforeIsAPlainReply) {
  Server server;
  const HttpReply reply = server.post("/v1/systemone", "{", {{"Accept", "text/event-stream"}});
  EXPECT_EQ(reply.status, 422);
  EXPECT_FALSE(reply.stream);
  EXPECT_EQ(reply.content_type, "application/json");
}

TEST(RoutesStream, EndsWithTheErrorWhenDecidingFails) {
  Server server;
  server.decider.answer_with([](const DecisionRequest& request) -> Result<DecisionReply> {
    request.on_answer(1, testing::FakeDecider::equal_chances(request).answers[1]);
    return Error{ErrorCode::kDeadline, "too late", ""};
  });
  const HttpReply reply = server.post("/v1/systemone", kSystemOne, {{"Accept", "text/event-stream"}});
  const std::string text = Server::streamed(reply);
  EXPECT_TRUE(text.starts_with("event: answer\ndata: {\"id\": \"two\"")) << text;
  EXPECT_TRUE(
      text.ends_with("event: error\ndata: {\"detail\": {\"error_type\": \"timeout\", \"message\": \"too late\"}, "
                     "\"error\": {\"code\": 504, \"message\": \"too late\"}, \"x_code\": \"deadline\"}\n\n"))
      << text;
}

TEST(RoutesStream, AClientThatTakesNothingIsGone) {
  Server server;
  bool cancelled = false;
  server.decider.answer_with([&cancelled](const DecisionRequest& request) -> Result<DecisionReply> {
    const DecisionReply reply = testing::FakeDecider::equal_chances(request);
    EXPECT_FALSE(request.cancelled());
    request.on_answer(0, reply.answers[0]);
    request.on_answer(1, reply.answers[1]);
    cancelled = request.cancelled();
    return Error{ErrorCode::kCancelled, "nobody waits", ""};
  });
  const HttpReply reply = server.post("/v1/systemone", kSystemOne, {{"Accept", "text/event-stream"}});
  EXPECT_EQ(Server::streamed(reply, 1).find("two"), std::string::npos);
  EXPECT_TRUE(cancelled);
}

TEST(RoutesStream, LetsNoExceptionOut) {
  set_log_level(LogLevel::kOff);
  Server server;
  server.decider.answer_with([](const DecisionRequest&) -> Result<DecisionReply> { throw std::bad_alloc(); });
  const HttpReply reply = server.post("/v1/systemone", kSystemOne, {{"Accept", "text/event-stream"}});
  EXPECT_NE(Server::streamed(reply).find("out_of_memory"), std::string::npos);
  const HttpReply other = server.post("/v1/systemone", kSystemOne, {{"Accept", "text/event-stream"}});
  ASSERT_TRUE(other.stream);
  EXPECT_NO_THROW(other.stream([](std::string_view) -> bool { throw std::bad_alloc(); }));
  set_log_level(LogLevel::kInfo);
}

TEST(WantsEventStream, GoesByQualityAndThenByOrder) {
  const auto wants = [](const std::string& accept) {
    return wants_event_stream({.method = "POST", .path = "/", .headers = {{"Accept", accept}}, .body = ""});
  };
  EXPECT_TRUE(wants("text/event-stream"));
  EXPECT_TRUE(wants("Text/Event-Stream; charset=utf-8"));
  EXPECT_TRUE(wants("text/event-stream, application/json"));
  EXPECT_TRUE(wants("application/json;q=0.5 , text/event-stream;q=0.9"));
  EXPECT_TRUE(wants("*/*, text/event-stream"));
  EXPECT_FALSE(wants("application/json, text/event-stream"));
  EXPECT_FALSE(wants("text/event-stream;q=0"));
  EXPECT_FALSE(wants("text/event-stream;q=0.1, application/json"));
  EXPECT_FALSE(wants("*/*"));
  EXPECT_FALSE(wants("application/json"));
  EXPECT_FALSE(wants(""));
  EXPECT_FALSE(wants(",;,=,q"));
  EXPECT_FALSE(wants_event_stream({.method = "POST", .path = "/", .headers = {}, .body = ""}));
}

}  // namespace
}  // namespace assay::server
