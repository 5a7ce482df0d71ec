#include "server/routes.h"

#include <gtest/gtest.h>

#include <limits>
#include <new>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/log.h"
#include "server/testing/fake_decider.h"
#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

constexpr const char* kBody =
    R"({"decision":{"id":"t1","state":"s","question":"q","options":[{"id":"a"},{"id":"b","description":"B"}]}})";

class RoutesTest : public ::testing::Test {
 protected:
  HttpReply get(const std::string& path, const std::string& method = "GET") {
    return routes_.handle({.method = method, .path = path, .headers = {}, .body = ""});
  }
  HttpReply post(const std::string& path, const std::string& body, const std::string& type = "application/json") {
    return routes_.handle({.method = "POST", .path = path, .headers = {{"Content-Type", type}}, .body = body});
  }
  // A decision whose request has these headers too.
  HttpReply post_with(std::vector<std::pair<std::string, std::string>> headers) {
    headers.emplace_back("Content-Type", "application/json");
    return routes_.handle({.method = "POST", .path = "/v1/decide", .headers = std::move(headers), .body = kBody});
  }
  // The answer when the decider ends with this error.
  HttpReply post_when(ErrorCode code) {
    decider_.answer_with([code](const DecisionRequest&) -> Result<DecisionReply> {
      return Error{code, "questions[0].options[1].id tells a secret", "questions[0].options[1].id"};
    });
    return post("/v1/decide", kBody);
  }

  static std::string header(const HttpReply& reply, const std::string& name) {
    for (const auto& [key, value] : reply.headers) {
      if (key == name) return value;
    }
    return "";
  }
  static std::string text(const HttpReply& reply, const std::string& key) {
    const Result<Value> body = parse_json(reply.body);
    const Value* member = body.ok() ? body->find(key) : nullptr;
    return member == nullptr ? "" : to_display_text(*member);
  }

  testing::FakeDecider decider_;
  Metrics metrics_;
  ManualClock clock_;
  Routes routes_{decider_, metrics_, clock_, {.wire = {.body_bytes_max = 1000}, .request_id_seed = 1}};
};

TEST_F(RoutesTest, HealthTellsTheLimitsOfOneRequest) {
  decider_.set_in_flight(9);
  decider_.set_stats({.queued = 6, .running = 2});
  const HttpReply reply = get("/health");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.content_type, "application/json");
  EXPECT_EQ(reply.body,
            R"({"status": "ok", "limits": {"context_tokens": 4096, "options_max": 1024, "questions_max": 256, )"
            R"("body_bytes_max": 1000}, "in_flight": 9, "queued": 6, "running": 2})");
}

TEST_F(RoutesTest, PingAndHealthAre503WhenNothingCanBeDecided) {
  EXPECT_EQ(get("/ping").status, 200);
  EXPECT_EQ(get("/ping").body, R"({"status": "ok"})");
  decider_.set_healthy(false);
  EXPECT_EQ(get("/ping").status, 503);
  EXPECT_EQ(get("/health").status, 503);
  EXPECT_EQ(text(get("/health"), "status"), "failed");
  EXPECT_EQ(header(get("/ping"), "Retry-After"), "1");
  decider_.set_healthy(true);
  routes_.set_draining();
  EXPECT_EQ(get("/ping").status, 503);
  EXPECT_EQ(text(get("/health"), "status"), "draining");
}

TEST_F(RoutesTest, ModelsAndMetricsAnswer) {
  EXPECT_EQ(text(get("/v1/models"), "object"), "list");
  const HttpReply metrics = get("/metrics");
  EXPECT_EQ(metrics.status, 200);
  EXPECT_EQ(metrics.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_NE(metrics.body.find(R"(assay_requests_total{route="/v1/models",status="200"} 1)"), std::string::npos);
}

TEST_F(RoutesTest, MetricsTellWhatTheEngineDoes) {
  decider_.set_stats({.queued = 4, .jobs_cancelled = 3});
  const std::string text = get("/metrics").body;
  EXPECT_NE(text.find("\nassay_engine_queued 4\n"), std::string::npos);
  EXPECT_NE(text.find("\nassay_engine_jobs_cancelled_total 3\n"), std::string::npos);
}

TEST_F(RoutesTest, HeadersGiveTimeoutAndPriority) {
  EXPECT_EQ(post_with({{"X-Timeout-Ms", "250"}, {"X-PRIORITY", "bulk"}}).status, 200);
  EXPECT_EQ(decider_.last_request().timeout_ms, 250);
  EXPECT_EQ(decider_.last_request().priority, Priority::kBulk);
  const HttpReply bad = post_with({{"x-timeout-ms", "soon"}});
  EXPECT_EQ(bad.status, 400);
  EXPECT_EQ(text(bad, "field"), "x-timeout-ms");
  EXPECT_EQ(text(post_with({{"x-priority", "high"}}), "field"), "x-priority");
  EXPECT_EQ(decider_.decided(), 1);
}

TEST_F(RoutesTest, TheClientIsAHashOfItsKey) {
  const auto client_with = [this](const std::string& name, const std::string& value) {
    EXPECT_EQ(post_with({{name, value}}).status, 200);
    return decider_.last_request().client;
  };
  // sha256("abc") = ba7816bf 8f01cfea 4141...
  EXPECT_EQ(client_with("Authorization", "Bearer abc"), "ba7816bf8f01cfea");
  EXPECT_EQ(client_with("X-API-Key", "abc"), "ba7816bf8f01cfea");
  EXPECT_EQ(client_with("X-Other", "abc"), "");
  EXPECT_EQ(client_with("Authorization", "Bearer "), "");
  EXPECT_NE(client_with("Authorization", "Bearer abd"), "ba7816bf8f01cfea");
  EXPECT_EQ(post_with({{"authorization", "Bearer abc"}, {"x-api-key", "other"}}).status, 200);
  EXPECT_EQ(decider_.last_request().client, "ba7816bf8f01cfea");
}

TEST_F(RoutesTest, TheDeciderCanAskWhetherTheClientIsThere) {
  std::atomic<bool> gone{false};
  decider_.answer_with([&gone](const DecisionRequest& request) -> Result<DecisionReply> {
    if (!request.cancelled || request.cancelled()) return Error{ErrorCode::kInternal, "gone too early", ""};
    gone.store(true);
    if (request.cancelled()) return Error{ErrorCode::kCancelled, "the client went away", ""};
    return testing::FakeDecider::equal_chances(request);
  });
  HttpRequest request{.method = "POST",
                      .path = "/v1/decide",
                      .headers = {{"Content-Type", "application/json"}},
                      .body = kBody,
                      .disconnected = [&gone] { return gone.load(); }};
  EXPECT_EQ(routes_.handle(request).status, 499);
  EXPECT_NE(metrics_.text({}).find(R"(assay_refusals_total{reason="cancelled"} 1)"), std::string::npos);
}

TEST_F(RoutesTest, WithoutAConnectionNobodyIsAsked) {
  EXPECT_EQ(post("/v1/decide", kBody).status, 200);
  EXPECT_FALSE(decider_.last_request().cancelled);
}

TEST_F(RoutesTest, RetryAfterIsWholeSecondsAndAtLeastOne) {
  const auto retry_after = [this](ErrorCode code, double seconds) {
    decider_.answer_with([code, seconds](const DecisionRequest&) -> Result<DecisionReply> {
      return Error{code, "not now", "", seconds};
    });
    return header(post("/v1/decide", kBody), "Retry-After");
  };
  EXPECT_EQ(retry_after(ErrorCode::kTooBusy, 2.1), "3");
  EXPECT_EQ(retry_after(ErrorCode::kTooBusy, 2), "2");
  EXPECT_EQ(retry_after(ErrorCode::kTooBusy, 0.01), "1");
  EXPECT_EQ(retry_after(ErrorCode::kTooBusy, 0), "1");
  EXPECT_EQ(retry_after(ErrorCode::kOverloaded, 7.5), "8");
  EXPECT_EQ(retry_after(ErrorCode::kOverloaded, 0), "1");
  EXPECT_EQ(retry_after(ErrorCode::kUnavailable, -4), "1");
  EXPECT_EQ(retry_after(ErrorCode::kTooBusy, 1e300), "3600");
  EXPECT_EQ(retry_after(ErrorCode::kTooBusy, std::numeric_limits<double>::infinity()), "3600");
  EXPECT_EQ(retry_after(ErrorCode::kTooBusy, std::numeric_limits<double>::quiet_NaN()), "1");
  EXPECT_EQ(retry_after(ErrorCode::kDeadline, 5), "");
}

TEST_F(RoutesTest, DecidesTheSameOnBothPaths) {
  for (const char* path : {"/v1/decide", "/invocations"}) {
    const HttpReply reply = post(path, kBody);
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_NE(reply.body.find(R"("option_ids": ["a", "b"], "probabilities": [0.5, 0.5])"), std::string::npos);
  }
  EXPECT_EQ(decider_.decided(), 2);
  EXPECT_NE(metrics_.text({}).find(R"(assay_request_seconds_count{route="/invocations",readout="letters"} 1)"),
            std::string::npos);
  EXPECT_NE(metrics_.text({}).find("assay_input_tokens_total 14"), std::string::npos);
}

TEST_F(RoutesTest, AWrongMethodOnAKnownPathIs405WithAllow) {
  const HttpReply decide = get("/v1/decide");
  EXPECT_EQ(decide.status, 405);
  EXPECT_EQ(header(decide, "Allow"), "POST");
  EXPECT_EQ(text(decide, "error"), "/v1/decide takes POST");
  const HttpReply health = post("/health", "{}");
  EXPECT_EQ(health.status, 405);
  EXPECT_EQ(header(health, "Allow"), "GET, HEAD");
  EXPECT_EQ(get("/health", "HEAD").status, 200);
  EXPECT_EQ(get("/invocations", "DELETE").status, 405);
}

TEST_F(RoutesTest, AnUnknownPathIs404AndNamesTheRightOne) {
  const HttpReply reply = post("/v1/systemon", kBody);
  EXPECT_EQ(reply.status, 404);
  EXPECT_EQ(reply.body,
            R"({"detail": "Not Found", "error": {"code": 404, "message": "no route /v1/systemon; did you mean POST )"
            R"(/v1/systemone?"}, "code": "not_found"})");
  EXPECT_NE(text(get("/v1/model"), "error").find("did you mean GET /v1/models?"), std::string::npos);
  EXPECT_NE(text(get("/"), "error").find("this server has GET /health"), std::string::npos);
  EXPECT_NE(metrics_.text({}).find(R"(assay_requests_total{route="other",status="404"} 3)"), std::string::npos);
}

TEST_F(RoutesTest, AnotherMediaTypeIs415) {
  for (const char* type : {"text/plain", "", "application/jsonx", "application/x-www-form-urlencoded"}) {
    EXPECT_EQ(post("/v1/decide", kBody, type).status, 415) << type;
  }
  EXPECT_EQ(routes_.handle({.method = "POST", .path = "/invocations", .headers = {}, .body = kBody}).status, 415);
  for (const char* type : {"application/json; charset=utf-8", "Application/JSON", " application/json ;x=1"}) {
    EXPECT_EQ(post("/v1/decide", kBody, type).status, 200) << type;
  }
  EXPECT_EQ(text(post("/v1/decide", kBody, "text/csv"), "code"), "media_type");
}

TEST_F(RoutesTest, ABodyAboveTheLimitIs413) {
  const HttpReply reply = post("/v1/decide", std::string(1001, ' '));
  EXPECT_EQ(reply.status, 413);
  EXPECT_EQ(text(reply, "error"), "the body has 1001 bytes; the limit is 1000");
  EXPECT_EQ(decider_.decided(), 0);
}

TEST_F(RoutesTest, ABadBodyIs400AndNamesTheField) {
  EXPECT_EQ(post("/v1/decide", "{").status, 400);
  const HttpReply reply = post("/v1/decide", R"({"decision":{"id":""}})");
  EXPECT_EQ(reply.status, 400);
  EXPECT_EQ(text(reply, "field"), "decision.id");
  EXPECT_EQ(text(reply, "error"), "decision.id must not be empty");
}

TEST_F(RoutesTest, EachErrorOfTheDeciderHasItsStatus) {
  EXPECT_EQ(post_when(ErrorCode::kInvalidArgument).status, 400);
  EXPECT_EQ(post_when(ErrorCode::kTooLong).status, 400);
  EXPECT_EQ(post_when(ErrorCode::kOverloaded).status, 503);
  EXPECT_EQ(post_when(ErrorCode::kTooBusy).status, 429);
  EXPECT_EQ(post_when(ErrorCode::kUnavailable).status, 503);
  EXPECT_EQ(post_when(ErrorCode::kDeadline).status, 504);
  EXPECT_EQ(post_when(ErrorCode::kCancelled).status, 499);
  EXPECT_EQ(post_when(ErrorCode::kNonfiniteLogits).status, 500);
  EXPECT_EQ(post_when(ErrorCode::kOutOfMemory).status, 500);
  for (const char* reason : {"overloaded", "too_busy", "unavailable", "deadline", "cancelled"}) {
    EXPECT_NE(metrics_.text({}).find(std::string("assay_refusals_total{reason=\"") + reason + "\"} 1"),
              std::string::npos)
        << reason;
  }
  EXPECT_EQ(text(post_when(ErrorCode::kTooBusy), "retryable"), "true");
  EXPECT_EQ(text(post_when(ErrorCode::kDeadline), "retryable"), "");
  const HttpReply busy = post_when(ErrorCode::kOverloaded);
  EXPECT_EQ(header(busy, "Retry-After"), "1");
  EXPECT_EQ(text(busy, "retryable"), "true");
  const HttpReply bad = post_when(ErrorCode::kInvalidArgument);
  EXPECT_EQ(text(bad, "field"), "decision.options[1].id");
  EXPECT_EQ(text(bad, "retryable"), "");
  EXPECT_EQ(header(bad, "Retry-After"), "");
}

TEST_F(RoutesTest, OurOwnFaultsStayInTheLog) {
  set_log_level(LogLevel::kOff);
  const HttpReply failed = post_when(ErrorCode::kInternal);
  EXPECT_EQ(failed.status, 500);
  EXPECT_EQ(failed.body.find("secret"), std::string::npos);
  decider_.answer_with([](const DecisionRequest&) -> Result<DecisionReply> { throw std::runtime_error("secret"); });
  const HttpReply thrown = post("/v1/decide", kBody);
  EXPECT_EQ(thrown.status, 500);
  EXPECT_EQ(text(thrown, "code"), "internal");
  EXPECT_EQ(thrown.body.find("secret"), std::string::npos);
  decider_.answer_with([](const DecisionRequest&) -> Result<DecisionReply> { throw 7; });
  EXPECT_EQ(post("/v1/decide", kBody).status, 500);
  set_log_level(LogLevel::kInfo);
}

TEST_F(RoutesTest, OutOfMemoryIsAnAnswerToo) {
  decider_.answer_with([](const DecisionRequest&) -> Result<DecisionReply> { throw std::bad_alloc(); });
  const HttpReply reply = post("/v1/decide", kBody);
  EXPECT_EQ(reply.status, 500);
  EXPECT_EQ(text(reply, "code"), "out_of_memory");
  EXPECT_NE(metrics_.text({}).find("assay_requests_in_flight 0"), std::string::npos);
}

TEST_F(RoutesTest, ANumberThatIsNotFiniteIsAnErrorAndNeverJson) {
  decider_.answer_with([](const DecisionRequest& request) -> Result<DecisionReply> {
    DecisionReply reply = testing::FakeDecider::equal_chances(request);
    reply.answers[0].options[0].probability = std::numeric_limits<double>::quiet_NaN();
    return reply;
  });
  const HttpReply reply = post("/v1/decide", kBody);
  EXPECT_EQ(reply.status, 500);
  EXPECT_EQ(text(reply, "code"), "nonfinite_logits");
  EXPECT_EQ(reply.body.find("nan"), std::string::npos);
}

TEST_F(RoutesTest, DecidesNothingWhileDrainingOrAfterAFault) {
  decider_.set_healthy(false);
  EXPECT_EQ(post("/v1/decide", kBody).status, 503);
  decider_.set_healthy(true);
  routes_.set_draining();
  const HttpReply reply = post("/v1/decide", kBody);
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(text(reply, "code"), "unavailable");
  EXPECT_EQ(decider_.decided(), 0);
}

TEST_F(RoutesTest, EveryReplyHasARequestId) {
  const auto id_for = [this](const std::string& given) {
    return header(
        routes_.handle({.method = "GET", .path = "/nowhere", .headers = {{"X-Request-ID", given}}, .body = ""}),
        "x-request-id");
  };
  EXPECT_EQ(id_for("abc-123"), "abc-123");
  EXPECT_EQ(id_for(std::string(128, 'x')), std::string(128, 'x'));
  std::set<std::string> made;
  for (const std::string& bad : {std::string(), std::string(129, 'x'), std::string("a b"), std::string("a\r\nb"),
                                 std::string("\xC3\xA9"), std::string("a\x7F")}) {
    const std::string id = id_for(bad);
    EXPECT_EQ(id.size(), 16u);
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos);
    made.insert(id);
  }
  EXPECT_EQ(made.size(), 6u);
}

TEST_F(RoutesTest, MeasuresEachRequestByTheClock) {
  decider_.answer_with([this](const DecisionRequest& request) -> Result<DecisionReply> {
    clock_.advance_ms(250);
    return testing::FakeDecider::equal_chances(request);
  });
  EXPECT_EQ(post("/v1/decide", kBody).status, 200);
  EXPECT_NE(metrics_.text({}).find(R"(assay_request_seconds_sum{route="/v1/decide",readout="letters"} 0.25)"),
            std::string::npos);
}

TEST_F(RoutesTest, AnswersManyThreadsAtOnce) {
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 50; ++n) right += post("/v1/decide", kBody).status == 200 ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right.load(), 200);
}

}  // namespace
}  // namespace assay::server
