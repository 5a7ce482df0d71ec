// What the routes do for SageMaker: /invocations for everything, JSON Lines, sessions, SageMaker's own addresses, and
// the routes that other platforms probe.
#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "server/routes.h"
#include "server/sagemaker/json_lines.h"
#include "server/testing/fake_decider.h"
#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

using Headers = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kSemif =
    R"({"decision":{"id":"t","state":"s","question":"q","options":[{"id":"a"},{"id":"b"}]}})";
constexpr const char* kSystemOne = R"({"model":"jev-latest","state":"s","questions":{"one":{"type":"noul"}}})";
constexpr const char* kStateless = R"({"model":"jev-latest","questions":{"one":{"type":"noul"}}})";
constexpr const char* kAttributes = "X-Amzn-SageMaker-Custom-Attributes";
constexpr const char* kSession = "X-Amzn-SageMaker-Session-Id";
constexpr const char* kNewSession = "X-Amzn-SageMaker-New-Session-Id";

std::string header(const HttpReply& reply, const std::string& name) {
  for (const auto& [key, value] : reply.headers) {
    if (key == name) return value;
  }
  return "";
}

struct Server {
  explicit Server(RouteOptions options = {}) : routes(decider, metrics, clock, prepared(std::move(options))) {}

  RouteOptions prepared(RouteOptions options) {
    options.request_id_seed = 1;
    options.sagemaker.unix_seconds = [] { return std::int64_t{0}; };
    options.log_requests = [this](std::string_view line) {
      const std::lock_guard<std::mutex> lock(mutex);
      lines.emplace_back(line);
    };
    return options;
  }
  HttpReply post(const std::string& path, const std::string& body, Headers headers = {},
                 const std::string& type = "application/json") {
    headers.emplace_back("Content-Type", type);
    return routes.handle({.method = "POST", .path = path, .headers = std::move(headers), .body = body});
  }
  HttpReply get(const std::string& path) {
    return routes.handle({.method = "GET", .path = path, .headers = {}, .body = ""});
  }

  testing::FakeDecider decider;
  Metrics metrics;
  ManualClock clock;
  std::mutex mutex;
  std::vector<std::string> lines;  // guarded by mutex
  Routes routes;
};

RouteOptions with_sessions() {
  RouteOptions options;
  options.sagemaker.sessions.idle_seconds_max = 60;
  return options;
}

TEST(RoutesSageMaker, TheHeaderNamesTheRoute) {
  Server server;
  const HttpReply reply = server.post("/invocations", kSystemOne, {{kAttributes, "a=b,route=/v1/systemone;x=y"}});
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_NE(reply.body.find("\"answers\""), std::string::npos);
  EXPECT_EQ(header(reply, kAttributes), "a=b,route=/v1/systemone;x=y");
  EXPECT_FALSE(header(reply, "x-request-id").empty());
  // SemIf's route reads no System One.
  EXPECT_EQ(server.post("/invocations", kSystemOne, {{kAttributes, "route=/v1/decide"}}).status, 400);
  const HttpReply bad = server.post("/invocations", kSemif, {{kAttributes, "route=/slots"}});
  EXPECT_EQ(bad.status, 400);
  EXPECT_NE(bad.body.find("/slots"), std::string::npos);
  EXPECT_FALSE(header(bad, "x-request-id").empty());
  EXPECT_EQ(header(bad, kAttributes), "route=/slots");
}

TEST(RoutesSageMaker, TheBodyNamesTheRoute) {
  Server server;
  EXPECT_EQ(server.post("/invocations", kSemif).status, 200);
  EXPECT_EQ(server.post("/invocations", kSystemOne).status, 200);
  const HttpReply chat = server.post(
      "/invocations",
      R"({"model":"","x_decide":true,"messages":[{"role":"user","content":"s"}],"guided_choice":["a","b"]})");
  EXPECT_EQ(chat.status, 200) << chat.body;
  EXPECT_NE(chat.body.find("\"choices\""), std::string::npos);
  EXPECT_EQ(server.post("/invocations", R"({"prompt":"s"})").status, 404) << "no chat server here";
}

TEST(RoutesSageMaker, TheOpenAiAddressTakesAnEmptyModel) {
  Server server;
  const std::string body =
      R"({"model":"","x_decide":true,"messages":[{"role":"user","content":"s"}],"guided_choice":["a","b"]})";
  for (const char* path : {"/openai/v1/chat/completions", "/v1/chat/completions"}) {
    const HttpReply reply = server.post(path, body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_NE(reply.body.find("\"model\": \"fake\""), std::string::npos);
  }
}

TEST(RoutesSageMaker, KeysAndMethodsHoldEverywhere) {
  RouteOptions options = with_sessions();
  options.api_keys = {"k"};
  Server server(options);
  EXPECT_EQ(server.post("/invocations", R"({"requestType":"NEW_SESSION"})").status, 401);
  EXPECT_EQ(server.post("/endpoints/e/invocations", kSemif).status, 401);
  EXPECT_EQ(server.post("/invocations", kSystemOne, {{"X-Api-Key", "k"}, {kAttributes, "route=/v1/systemone"}}).status,
            200);
  EXPECT_EQ(server.get("/invocations").status, 405);
  EXPECT_EQ(server.get("/endpoints/e/invocations").status, 405);
  EXPECT_EQ(server.get("/v2/health/ready").status, 200);
}

TEST(RoutesSageMaker, JsonLinesAreAnsweredLineByLine) {
  Server server;
  const std::string body = std::string(kSemif) + "\nnot json\n" + kSystemOne + "\n";
  const HttpReply reply = server.post("/invocations", body, {}, "application/jsonlines");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.content_type, "application/jsonlines");
  const std::vector<std::string_view> lines = json_lines_of(reply.body);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0], server.post("/invocations", kSemif).body);
  EXPECT_NE(lines[1].find("\"error\""), std::string_view::npos);
  EXPECT_EQ(lines[2], server.post("/invocations", kSystemOne).body);
  EXPECT_EQ(server.post("/v1/decide", body, {}, "application/jsonlines").status, 415);
}

TEST(RoutesSageMaker, OneBadLineCanRefuseAll) {
  RouteOptions options;
  options.sagemaker.json_lines_all_or_none = true;
  Server server(options);
  const HttpReply reply =
      server.post("/invocations", std::string(kSemif) + "\n\n" + kSemif, {}, "application/x-jsonlines");
  EXPECT_EQ(reply.status, 400);
  EXPECT_NE(reply.body.find("line 2"), std::string::npos) << reply.body;
  EXPECT_EQ(server.post("/invocations", kSemif, {}, "application/jsonlines").status, 200);
}

TEST(RoutesSageMaker, ASessionHoldsItsState) {
  Server server(with_sessions());
  const HttpReply opened =
      server.post("/invocations", R"({"requestType":"NEW_SESSION","state":"held"})", {{kSession, "NEW_SESSION"}});
  ASSERT_EQ(opened.status, 200) << opened.body;
  const std::string told = header(opened, kNewSession);
  const std::string id = told.substr(0, told.find(';'));
  EXPECT_EQ(told, id + "; Expires=1970-01-01T00:01:00Z");
  EXPECT_EQ(id.size(), 32u);

  EXPECT_EQ(server.post("/invocations", kStateless, {{kSession, id}}).status, 200);
  EXPECT_EQ(server.decider.last_request().state, Value("held"));
  const std::weak_ptr<const void> hold = server.decider.last_request().hold;
  EXPECT_FALSE(hold.expired());
  EXPECT_EQ(server.post("/invocations", kSystemOne, {{kSession, id}}).status, 200);
  EXPECT_EQ(server.decider.last_request().state, Value("s")) << "the body's own wins";
  EXPECT_EQ(server.decider.last_request().hold, hold.lock()) << "one for all calls of the session";
  EXPECT_EQ(server.post("/invocations", kStateless).status, 400);
  EXPECT_EQ(server.post("/invocations", kSystemOne).status, 200);
  EXPECT_EQ(server.decider.last_request().hold, nullptr) << "no session";

  const HttpReply closed = server.post("/invocations", R"({"requestType":"CLOSE"})", {{kSession, id}});
  EXPECT_EQ(closed.status, 200);
  EXPECT_TRUE(hold.expired());
  EXPECT_EQ(header(closed, "X-Amzn-SageMaker-Closed-Session-Id"), id);
  EXPECT_EQ(server.post("/invocations", kStateless, {{kSession, id}}).status, 400);
}

TEST(RoutesSageMaker, ARequestCanOpenASession) {
  Server server(with_sessions());
  const HttpReply opened = server.post("/invocations", kSemif, {{kSession, "NEW_SESSION"}});
  EXPECT_EQ(opened.status, 200);
  EXPECT_NE(server.decider.last_request().hold, nullptr);
  const std::string id = header(opened, kNewSession).substr(0, 32);
  EXPECT_EQ(server.post("/invocations", kStateless, {{kSession, id}}).status, 200);
  EXPECT_EQ(server.decider.last_request().state, Value("s"));
  server.clock.advance_ms(60'000);
  EXPECT_EQ(server.post("/invocations", kStateless, {{kSession, id}}).status, 400);
  // What is refused, or is a stream, opens none.
  EXPECT_EQ(header(server.post("/invocations", "{}", {{kSession, "NEW_SESSION"}}), kNewSession), "");
  const HttpReply stream =
      server.post("/invocations", kSemif, {{kSession, "NEW_SESSION"}, {"Accept", "text/event-stream"}});
  EXPECT_EQ(stream.status, 400);
  EXPECT_FALSE(stream.stream);
}

TEST(RoutesSageMaker, LinesOfASessionShareItsState) {
  Server server(with_sessions());
  EXPECT_EQ(server.post("/invocations", "", {{kSession, "NEW_SESSION"}}).status, 400);
  const HttpReply opened = server.post("/invocations", kSemif, {{kSession, "NEW_SESSION"}});
  const std::string id = header(opened, kNewSession).substr(0, 32);
  const std::string two = std::string(kStateless) + "\n" + kStateless + "\n";
  const HttpReply lines = server.post("/invocations", two, {{kSession, id}}, "application/jsonlines");
  EXPECT_EQ(lines.status, 200);
  EXPECT_EQ(server.decider.last_request().state, Value("s"));
  const HttpReply one = server.post("/invocations", kStateless, {{kSession, id}});
  EXPECT_EQ(lines.body, one.body + "\n" + one.body + "\n");
  const HttpReply none = server.post("/invocations", two, {{kSession, "NEW_SESSION"}}, "application/jsonlines");
  EXPECT_EQ(none.status, 400);
  EXPECT_NE(none.body.find("JSON Lines"), std::string::npos) << none.body;
}

TEST(RoutesSageMaker, WithoutSessionsTheyAreRefused) {
  Server server;
  for (const char* id : {"NEW_SESSION", "0123"}) {
    EXPECT_EQ(server.post("/invocations", kSemif, {{kSession, id}}).status, 400) << id;
  }
  EXPECT_EQ(server.post("/invocations", R"({"requestType":"NEW_SESSION"})").status, 400);
  Server with(with_sessions());
  EXPECT_EQ(with.post("/invocations", R"({"requestType":"CLOSE"})").status, 400) << "of which session?";
  EXPECT_EQ(with.post("/invocations", R"({"requestType":"CLOSE"})", {{kSession, "NEW_SESSION"}}).status, 400);
}

TEST(RoutesSageMaker, AnEndpointIsAskedAsInTheCloud) {
  Server server;
  const HttpReply good = server.post("/endpoints/any-name/invocations", kSemif, {{"Authorization", "AWS4-HMAC x"}},
                                     "application/octet-stream");
  EXPECT_EQ(good.status, 200);
  EXPECT_EQ(good.body, server.post("/invocations", kSemif).body);
  EXPECT_EQ(header(good, "x-Amzn-Invoked-Production-Variant"), "AllTraffic");
  const HttpReply bad = server.post("/endpoints/any-name/invocations", "{}");
  EXPECT_EQ(bad.status, 424);
  EXPECT_EQ(header(bad, "x-amzn-ErrorType"), "ModelError");
  EXPECT_EQ(server.post("/endpoints/a/b/invocations", kSemif).status, 404);
  EXPECT_EQ(server.post("/endpoints//invocations", kSemif).status, 404);
}

TEST(RoutesSageMaker, AnEndpointStreamsInFrames) {
  Server server;
  const std::string path = "/endpoints/e/invocations-response-stream";
  const HttpReply plain = server.post(path, kSemif);
  EXPECT_EQ(plain.content_type, "application/vnd.amazon.eventstream");
  EXPECT_EQ(header(plain, "X-Amzn-SageMaker-Content-Type"), "application/json");
  const HttpReply stream = server.post(path, kSystemOne, {{"X-Amzn-SageMaker-Accept", "text/event-stream"}});
  ASSERT_TRUE(stream.stream);
  int frames = 0;
  stream.stream([&frames](std::string_view) {
    ++frames;
    return true;
  });
  EXPECT_EQ(frames, 2) << "one answer, and done";
  EXPECT_EQ(server.post(path, "{}").status, 424);
}

TEST(RoutesSageMaker, AnAsynchronousCallIsFetchedLater) {
  std::mutex go;
  go.lock();
  Server server;
  server.decider.answer_with([&go](const DecisionRequest& request) -> Result<DecisionReply> {
    const std::lock_guard<std::mutex> wait(go);
    return testing::FakeDecider::equal_chances(request);
  });
  const std::string path = "/endpoints/e/async-invocations";
  const HttpReply accepted = server.post(path, kSemif, {{"X-Amzn-SageMaker-Inference-Id", "i1"}, {"Host", "h"}});
  EXPECT_EQ(accepted.status, 202) << accepted.body;
  EXPECT_EQ(header(accepted, "X-Amzn-SageMaker-OutputLocation"), "http://h" + path + "/i1");
  EXPECT_EQ(server.get(path + "/i1").status, 202);
  go.unlock();
  while (server.get(path + "/i1").status == 202) std::this_thread::yield();
  EXPECT_NE(server.get(path + "/i1").body.find("\"result\""), std::string::npos);
  EXPECT_EQ(server.get(path + "/i2").status, 404);
  EXPECT_EQ(server.post(path, "", {{"X-Amzn-SageMaker-InputLocation", "s3://b/k"}}).status, 400);
  EXPECT_EQ(server.post(path, std::string(128'001, 'x')).status, 400);
}

TEST(RoutesSageMaker, ProbesAndParameters) {
  Server server;
  EXPECT_EQ(server.get("/v1/health").body, server.get("/health").body);
  EXPECT_EQ(server.get("/v2/models/fake/ready").status, 200);
  EXPECT_EQ(server.get("/v2/models/other").status, 404);
  EXPECT_NE(server.get("/execution-parameters").body.find("\"MaxPayloadInMB\": 6"), std::string::npos);
  EXPECT_NE(server.get("/metrics").body.find("llamacpp:requests_deferred 0\n"), std::string::npos);
  server.routes.set_draining();
  EXPECT_EQ(server.get("/v2/health/ready").status, 503);
  EXPECT_EQ(server.get("/v2/health/live").status, 200);
}

TEST(RoutesSageMaker, EachRequestIsOneLineWithoutItsWords) {
  Server server;
  server.post("/invocations", kSemif, {{"X-Amzn-SageMaker-Inference-Id", "i1"}, {"x-request-id", "r1"}});
  server.post("/invocations", "{}");
  server.get("/ping");
  ASSERT_EQ(server.lines.size(), 3u);
  EXPECT_NE(server.lines[0].find(R"("id": "r1", "inference_id": "i1", "method": "POST", "route": "/invocations", )"
                                 R"("status": 200)"),
            std::string::npos)
      << server.lines[0];
  EXPECT_NE(server.lines[0].find("\"input_tokens\": 7"), std::string::npos);
  EXPECT_EQ(server.lines[0].find("\"s\""), std::string::npos);
  EXPECT_NE(server.lines[1].find("\"status\": 400"), std::string::npos);
  EXPECT_NE(server.lines[2].find("\"route\": \"/ping\""), std::string::npos);
}

}  // namespace
}  // namespace assay::server
