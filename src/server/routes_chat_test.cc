// What the routes hand to a chat server, and what they keep.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "base/log.h"
#include "server/routes.h"
#include "server/testing/fake_chat_server.h"
#include "server/testing/fake_decider.h"

namespace assay::server {
namespace {

constexpr const char* kChat = R"({"messages": [{"role": "user", "content": "Hello"}]})";
constexpr const char* kDecision =
    R"({"x_decide": true, "model": "jev-latest", "messages": [{"role": "user", "content": "Hello?"}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object",
        "properties": {"answer": {"enum": ["yes", "no"]}}, "required": ["answer"], "additionalProperties": false}}}})";

class RoutesWithChat : public ::testing::Test {
 protected:
  HttpReply send(const std::string& method, const std::string& path, const std::string& body = "",
                 const std::string& type = "application/json") {
    return routes_.handle({.method = method, .path = path, .headers = {{"Content-Type", type}}, .body = body});
  }
  RouteOptions options() {
    RouteOptions out{.wire = {.body_bytes_max = 1000}, .request_id_seed = 1};
    out.chat = &chat_;
    return out;
  }

  FakeChatServer chat_;
  testing::FakeDecider decider_;
  Metrics metrics_;
  ManualClock clock_;
  Routes routes_{decider_, metrics_, clock_, options()};
};

TEST_F(RoutesWithChat, ChatGoesToTheChatServer) {
  chat_.reply.body = "{\"choices\": []}";
  const HttpReply reply = send("POST", "/v1/chat/completions", kChat);
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "{\"choices\": []}");
  ASSERT_EQ(chat_.asked.size(), 1u);
  EXPECT_EQ(chat_.asked[0], std::string("POST /v1/chat/completions ") + kChat);
}

TEST_F(RoutesWithChat, ChatUnderAnotherPathGoesThereToo) {
  EXPECT_EQ(send("POST", "/openai/v1/chat/completions", kChat).status, 200);
  EXPECT_EQ(send("POST", "/invocations", kChat).status, 200);
  ASSERT_EQ(chat_.asked.size(), 2u);
  EXPECT_EQ(chat_.asked[0], std::string("POST /v1/chat/completions ") + kChat);
  EXPECT_EQ(chat_.asked[1], chat_.asked[0]);
}

TEST_F(RoutesWithChat, AChatThatIsOneDecisionStaysHere) {
  EXPECT_EQ(send("POST", "/v1/chat/completions", kDecision).status, 200);
  EXPECT_TRUE(chat_.asked.empty());
}

TEST_F(RoutesWithChat, AnyMediaTypeIsTheChatServersMatter) {
  EXPECT_EQ(send("POST", "/v1/chat/completions", kChat, "text/plain").status, 200);
  EXPECT_EQ(send("POST", "/v1/embeddings", "{}", "").status, 200);
  EXPECT_EQ(send("POST", "/v1/decide", "{}", "text/plain").status, 415);
}

TEST_F(RoutesWithChat, OurOwnRoutesStayOurs) {
  EXPECT_EQ(send("GET", "/health").status, 200);
  EXPECT_TRUE(chat_.asked.empty());
  EXPECT_EQ(send("GET", "/props").status, 200);
  EXPECT_EQ(send("POST", "/slots/2", "{}").status, 200);
  EXPECT_EQ(chat_.asked.size(), 2u);
  EXPECT_EQ(send("DELETE", "/props").status, 405);
}

TEST_F(RoutesWithChat, BodiesAboveTheLimitAreRefusedHere) {
  EXPECT_EQ(send("POST", "/v1/chat/completions", std::string(1001, ' ')).status, 413);
  EXPECT_EQ(send("POST", "/v1/embeddings", std::string(1001, ' ')).status, 413);
  EXPECT_TRUE(chat_.asked.empty());
}

TEST_F(RoutesWithChat, NothingNewIsForwardedWhileDraining) {
  routes_.set_draining();
  EXPECT_EQ(send("POST", "/v1/embeddings", "{}").status, 503);
  EXPECT_EQ(send("POST", "/v1/chat/completions", kChat).status, 503);
  EXPECT_TRUE(chat_.asked.empty());
}

TEST_F(RoutesWithChat, AStreamIsAtWorkUntilItHasBeenSent) {
  chat_.reply.stream = [](const BodyWriter& write) { return write("data: x\n\n"); };
  std::string seen;
  {
    const HttpReply reply = send("POST", "/v1/chat/completions", kChat);
    ASSERT_TRUE(reply.stream);
    reply.stream([&seen](std::string_view piece) {
      seen += piece;
      return true;
    });
    EXPECT_NE(metrics_.text({}).find("assay_requests_in_flight 1"), std::string::npos) << metrics_.text({});
  }
  EXPECT_EQ(seen, "data: x\n\n");
  EXPECT_NE(metrics_.text({}).find("assay_requests_in_flight 0"), std::string::npos);
}

TEST_F(RoutesWithChat, PingSaysWhenChatHasFailed) {
  EXPECT_EQ(send("GET", "/ping").status, 200);
  chat_.is_healthy = false;
  EXPECT_EQ(send("GET", "/ping").status, 503);
}

TEST_F(RoutesWithChat, ItsMetricsStandBehindOurs) {
  const HttpReply reply = send("GET", "/metrics");
  EXPECT_NE(reply.body.find("llamacpp:n_decode_total 3"), std::string::npos);
  const std::pair<std::string, std::string> started = {"Process-Start-Time-Unix", "7"};
  EXPECT_NE(std::find(reply.headers.begin(), reply.headers.end(), started), reply.headers.end());
}

TEST_F(RoutesWithChat, AKeyIsNeededThereToo) {
  RouteOptions with_key = options();
  with_key.api_keys = {"k"};
  Routes routes(decider_, metrics_, clock_, with_key);
  HttpRequest request{.method = "POST", .path = "/v1/embeddings", .headers = {}, .body = "{}"};
  const HttpReply refused = routes.handle(request);
  EXPECT_EQ(refused.status, 401);
  EXPECT_NE(refused.body.find("\"type\": \"authentication_error\""), std::string::npos) << refused.body;
  request.headers = {{"X-Api-Key", "k"}};
  EXPECT_EQ(routes.handle(request).status, 200);
}

TEST_F(RoutesWithChat, HealthTellsWhatOneChatMayHold) {
  EXPECT_EQ(send("GET", "/health").body.find("chat_context_tokens"), std::string::npos);
  chat_.slot_tokens = 512;
  EXPECT_NE(send("GET", "/health").body.find("\"chat_context_tokens\": 512"), std::string::npos);
}

TEST_F(RoutesWithChat, HealthAndMetricsSayThatTheModelSleeps) {
  EXPECT_EQ(send("GET", "/health").body.find("sleeping"), std::string::npos);
  EXPECT_NE(send("GET", "/metrics").body.find("\nassay_sleeping 0\n"), std::string::npos);
  chat_.is_asleep = true;
  const HttpReply health = send("GET", "/health");
  EXPECT_EQ(health.status, 200);
  EXPECT_NE(health.body.find("\"status\": \"ok\""), std::string::npos) << health.body;
  EXPECT_NE(health.body.find("\"sleeping\": true"), std::string::npos) << health.body;
  EXPECT_NE(send("GET", "/metrics").body.find("\nassay_sleeping 1\n"), std::string::npos);
  EXPECT_TRUE(chat_.asked.empty());
}

TEST_F(RoutesWithChat, OneModelsMetricsAreForwardedWhereThereAreMany) {
  const HttpRequest of_one{.method = "GET", .path = "/metrics", .query = {{"model", "a"}}};
  routes_.handle(of_one);
  EXPECT_TRUE(chat_.asked.empty());  // one model: these are its own
  FakeChatServer many;
  many.is_router = true;
  RouteOptions with_many = options();
  with_many.chat = &many;
  Routes routes(decider_, metrics_, clock_, with_many);
  routes.handle({.method = "GET", .path = "/metrics"});
  EXPECT_TRUE(many.asked.empty());
  routes.handle(of_one);
  ASSERT_EQ(many.asked.size(), 1u);
  EXPECT_EQ(many.asked[0], "GET /metrics ");
}

}  // namespace
}  // namespace assay::server
