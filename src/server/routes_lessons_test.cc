// The lesson routes through the front door, and what lessons do to replies of all wires.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "server/lesson_metrics.h"
#include "server/routes.h"
#include "server/testing/fake_decider.h"
#include "server/testing/fake_desk.h"
#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

using Calls = std::vector<std::string>;

class RoutesLessonsTest : public ::testing::Test {
 protected:
  HttpReply send(const std::string& method, const std::string& path, const std::string& body = "",
                 std::vector<std::pair<std::string, std::string>> query = {}) {
    HttpRequest request{.method = method, .path = path, .headers = {}, .body = body};
    if (!body.empty()) request.headers.emplace_back("Content-Type", "application/json");
    request.query = std::move(query);
    return routes_.handle(request);
  }
  static std::string text(const HttpReply& reply, const std::string& key) {
    const Result<Value> body = parse_json(reply.body);
    const Value* member = body.ok() ? body->find(key) : nullptr;
    return member == nullptr ? "" : to_display_text(*member);
  }
  static std::string header(const HttpReply& reply, const std::string& name) {
    for (const auto& [key, value] : reply.headers) {
      if (key == name) return value;
    }
    return "";
  }

  testing::FakeDecider decider_;
  testing::FakeDesk desk_;
  Metrics metrics_;
  ManualClock clock_;
  Routes routes_{
      decider_, metrics_, clock_, {.wire = {.body_bytes_max = 2000}, .lessons = &desk_, .request_id_seed = 1}};
};

TEST_F(RoutesLessonsTest, EachRouteAsksTheDesk) {
  const std::vector<std::pair<HttpReply, std::string>> asked = {
      {send("GET", "/v1/lessons"), R"({"lessons": []})"},
      {send("POST", "/v1/lessons", "a lesson"), R"({"name": "refunds"})"},
      {send("POST", "/v1/lessons", "a lesson", {{"shadow", "true"}}), R"({"name": "refunds"})"},
      {send("GET", "/v1/lessons/refunds"), R"({"name": "refunds"})"},
      {send("GET", "/v1/lessons/refunds", "", {{"version", "2"}}), R"({"name": "refunds"})"},
      {send("POST", "/v1/lessons/refunds/fit"), R"({"name": "refunds"})"},
      {send("POST", "/v1/lessons/refunds/fit", R"({"risk": 0.05, "method": "lda", "shadow": true})"),
       R"({"name": "refunds"})"},
      {send("POST", "/v1/lessons/refunds/fit", R"({"method": "add", "without_thresholds": true})"),
       R"({"name": "refunds"})"},
      {send("POST", "/v1/lessons/refunds/activate", R"({"version": 1})"), R"({"name": "refunds"})"},
      {send("POST", "/v1/lessons/refunds/promote"), R"({"name": "refunds"})"},
      {send("POST", "/v1/lessons/refunds/promote", R"({"force": true})"), R"({"name": "refunds"})"},
      {send("DELETE", "/v1/lessons/refunds/shadow"), R"({"name": "refunds", "shadow": null})"},
      {send("GET", "/v1/lessons/refunds/health"), R"({"name": "refunds"})"},
      {send("GET", "/v1/decisions/d1"), R"({"id": "d1"})"},
      {send("DELETE", "/v1/decisions/d1"), R"({"id": "d1", "forgotten": true})"}};
  for (const auto& [reply, body] : asked) {
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(reply.body, body);
    EXPECT_EQ(reply.content_type, "application/json");
    EXPECT_NE(header(reply, "x-request-id"), "");
  }
  EXPECT_EQ(desk_.calls(),
            (Calls{"list", "import a lesson", "import a lesson shadow", "export refunds active", "export refunds 2",
                   "fit refunds auto no risk 0.9", "fit refunds lda 0.05 0.9 shadow",
                   "fit refunds add no risk 0.9 without thresholds", "activate refunds 1", "promote refunds",
                   "promote refunds force", "drop refunds", "health refunds", "decision d1", "forget d1"}));
  EXPECT_NE(send("GET", "/metrics").body.find(R"(assay_requests_total{route="/v1/lessons/{name}/fit",status="200"} 3)"),
            std::string::npos);
}

TEST_F(RoutesLessonsTest, KeptDecisionsAreExportedAsLines) {
  const auto lines = [](const HttpReply& reply) {
    std::string out;
    reply.stream([&out](std::string_view piece) {
      out += piece;
      return true;
    });
    return out;
  };
  const HttpReply all = send("GET", "/v1/decisions/export");
  ASSERT_EQ(all.status, 200);
  EXPECT_EQ(all.content_type, "application/jsonlines");
  EXPECT_NE(header(all, "x-request-id"), "");
  EXPECT_EQ(lines(all), "{\"id\": \"d1\"}\n{\"id\": \"d2\"}\n");
  EXPECT_EQ(lines(send("GET", "/v1/decisions/export", "", {{"after", "1"}})), "{\"id\": \"d2\"}\n");
  EXPECT_EQ(lines(send("GET", "/v1/decisions/export", "", {{"limit", "1"}})), "{\"id\": \"d1\"}\n");
  EXPECT_EQ(lines(send("GET", "/v1/decisions/export", "", {{"labelled", "true"}})), "{\"id\": \"d2\"}\n");
  for (const auto& [name, value] : std::vector<std::pair<std::string, std::string>>{
           {"after", "-1"}, {"after", "x"}, {"limit", ""}, {"labelled", "1"}, {"before", "2"}}) {
    const HttpReply bad = send("GET", "/v1/decisions/export", "", {{name, value}});
    EXPECT_EQ(bad.status, 400) << name;
    EXPECT_EQ(text(bad, "field"), name == "before" ? "query" : name);
  }
  EXPECT_EQ(header(send("POST", "/v1/decisions/export", "{}"), "Allow"), "GET, HEAD");
  EXPECT_EQ(send("DELETE", "/v1/decisions/export").status, 405);
  desk_.fail_with({ErrorCode::kUnavailable, "another program holds the lock", "", 3});
  EXPECT_EQ(send("GET", "/v1/decisions/export").status, 503);
  EXPECT_NE(lines(all).find(R"("code": "unavailable")"), std::string::npos);
  Routes none(decider_, metrics_, clock_, {.request_id_seed = 1});
  EXPECT_EQ(none.handle({.method = "GET", .path = "/v1/decisions/export", .headers = {}, .body = ""}).status, 404);
}

TEST_F(RoutesLessonsTest, AStreamsLastEventNamesTheDecision) {
  decider_.answer_with([](const DecisionRequest& request) -> Result<DecisionReply> {
    DecisionReply reply = testing::FakeDecider::equal_chances(request);
    reply.decision_id = "d-7";
    return reply;
  });
  for (
      const auto& [path, body] : std::vector<std::pair<std::string, std::string>>{
          {"/v1/decide", R"({"decision":{"id":"t","state":"s","question":"q","options":[{"id":"a"},{"id":"b"}]}})"},
          {"/v1/systemone", R"({"model":"fake","state":"s","questions":{"x":{"type":"noul"}}})"},
          {"/v1/decisions", R"({"input":"s","questions":[{"type":"predicate","instructions":"So?"}]})"},
          {"/v1/chat/completions",
           R"({"x_decide":true,"stream":true,"messages":[{"role":"user","content":"s"}],"guided_choice":["a","b"]})"}}) {
    const HttpReply reply =
        routes_.handle({.method = "POST",
                        .path = path,
                        .headers = {{"Content-Type", "application/json"}, {"Accept", "text/event-stream"}},
                        .body = body});
    EXPECT_EQ(reply.status, 200) << reply.body;
    std::string events = reply.body;
    if (reply.stream) {
      reply.stream([&events](std::string_view piece) {
        events += piece;
        return true;
      });
    }
    EXPECT_NE(events.find(R"("x_decision_id": "d-7")"), std::string::npos) << path << "\n" << events;
  }
}

TEST_F(RoutesLessonsTest, FeedbackTellsWhatBecameOfIt) {
  const char* const refund = R"({"decision_id": "d1", "option": "refund"})";
  EXPECT_EQ(send("POST", "/v1/feedback", refund).body, R"({"decision_id": "d1", "result": "stored"})");
  EXPECT_EQ(send("POST", "/v1/feedback", refund).body, R"({"decision_id": "d1", "result": "known"})");
  EXPECT_EQ(send("POST", "/v1/feedback", R"({"decision_id": "d1", "question_id": "q", "option": "info"})").body,
            R"({"decision_id": "d1", "question_id": "q", "result": "corrected"})");
  const HttpReply missing = send("POST", "/v1/feedback", R"({"decision_id": "d2", "option": "info"})");
  EXPECT_EQ(missing.status, 404);
  EXPECT_EQ(text(missing, "field"), "decision_id");
  const HttpReply wrong = send("POST", "/v1/feedback", R"({"decision_id": "d1", "option": "x"})");
  EXPECT_EQ(wrong.status, 400);
  EXPECT_EQ(text(wrong, "field"), "option");
}

TEST_F(RoutesLessonsTest, AListOfFeedbackHasAResultForEach) {
  const HttpReply reply = send("POST", "/v1/feedback",
                               R"([{"decision_id": "d1", "option": "refund"}, {"decision_id": "d1", "option": "x"}, )"
                               R"({"decision_id": "d2", "option": "info"}])");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body,
            R"({"results": [{"decision_id": "d1", "result": "stored"}, {"decision_id": "d1", "result": "refused", )"
            R"("error": "option is none of the question's", "code": "invalid_argument", "field": "option"}, )"
            R"({"decision_id": "d2", "result": "refused", "error": "no decision of that id is kept", )"
            R"("code": "not_found", "field": "decision_id"}], "stored": 1, "known": 0, "corrected": 0, "refused": 2})");
  desk_.fail_with({ErrorCode::kUnavailable, "another program holds the lock", "", 3});
  const HttpReply failed = send("POST", "/v1/feedback", R"([{"decision_id": "d1", "option": "refund"}])");
  EXPECT_EQ(failed.status, 503);
  EXPECT_EQ(header(failed, "Retry-After"), "3");
}

TEST_F(RoutesLessonsTest, BadRequestsAreNamedAndNeverReachTheDesk) {
  const auto expect = [this](const HttpReply& reply, int status, const std::string& field) {
    EXPECT_EQ(reply.status, status) << reply.body;
    EXPECT_EQ(text(reply, "field"), field) << reply.body;
    EXPECT_NE(text(reply, "error"), "");
    EXPECT_EQ(desk_.calls(), Calls{});
  };
  expect(send("POST", "/v1/feedback", "{"), 400, "");
  expect(send("POST", "/v1/feedback", R"({"decision_id": "d1", "option": "a", "why": 1})"), 400, "why");
  expect(send("POST", "/v1/lessons/refunds/fit", R"({"risk": 2})"), 400, "risk");
  expect(send("POST", "/v1/lessons/refunds/activate"), 400, "version");
  expect(send("POST", "/v1/lessons", "{}", {{"shadow", "1"}}), 400, "shadow");
  expect(send("GET", "/v1/lessons/refunds", "", {{"version", "0"}}), 400, "version");
  expect(send("GET", "/v1/lessons/Refunds"), 404, "name");
  expect(send("GET", "/v1/lessons/" + std::string(65, 'a')), 404, "name");
  expect(send("GET", "/v1/decisions/" + std::string(129, 'a')), 404, "id");
  expect(send("DELETE", "/v1/decisions/a\"b"), 404, "id");
  expect(send("POST", "/v1/feedback", std::string(2001, ' ')), 413, "");
  const HttpReply plain = routes_.handle(
      {.method = "POST", .path = "/v1/feedback", .headers = {{"Content-Type", "text/plain"}}, .body = "{}"});
  expect(plain, 415, "");
  expect(routes_.handle({.method = "POST", .path = "/v1/lessons/a/fit", .headers = {}, .body = "{}"}), 415, "");
}

TEST_F(RoutesLessonsTest, OtherMethodsAreRefusedWithThoseThatThereAre) {
  EXPECT_EQ(send("PUT", "/v1/lessons", "{}").status, 405);
  EXPECT_EQ(header(send("PUT", "/v1/lessons", "{}"), "Allow"), "GET, HEAD, POST");
  EXPECT_EQ(header(send("POST", "/v1/decisions/d1", "{}"), "Allow"), "GET, HEAD, DELETE");
  EXPECT_EQ(header(send("GET", "/v1/feedback"), "Allow"), "POST");
  EXPECT_EQ(send("HEAD", "/v1/lessons").status, 200);
}

TEST_F(RoutesLessonsTest, WhatTheDeskDoesNotKnowIs404) {
  EXPECT_EQ(send("GET", "/v1/lessons/others").status, 404);
  EXPECT_EQ(send("POST", "/v1/lessons/others/fit").status, 404);
  EXPECT_EQ(send("DELETE", "/v1/decisions/d2").status, 404);
  EXPECT_EQ(send("GET", "/v1/decisions/d2").status, 404);
}

TEST_F(RoutesLessonsTest, FaultsOfTheFileAreForTheLog) {
  set_log_level(LogLevel::kOff);
  desk_.fail_with({ErrorCode::kIo, "'/var/lib/decisions.db': the disk is full", ""});
  const HttpReply reply = send("DELETE", "/v1/decisions/d1");
  set_log_level(LogLevel::kInfo);
  EXPECT_EQ(reply.status, 500);
  EXPECT_EQ(reply.body.find("/var/lib"), std::string::npos);
}

TEST_F(RoutesLessonsTest, WithoutADeskEveryRouteSaysHowToGetOne) {
  Routes routes(decider_, metrics_, clock_, {.request_id_seed = 1});
  for (const Route& route : known_routes()) {
    if (route.kind != RouteKind::kLessons) continue;
    HttpRequest request{.method = route.method, .path = route.path, .headers = {}, .body = ""};
    if (request.method == "POST") request.body = "{}";
    request.headers = {{"Content-Type", "application/json"}};
    const HttpReply reply = routes.handle(request);
    EXPECT_EQ(reply.status, 404) << route.path;
    EXPECT_NE(reply.body.find("--lessons DIR"), std::string::npos) << reply.body;
  }
}

TEST_F(RoutesLessonsTest, KeysAreAskedForAsOnOtherRoutes) {
  Routes routes(decider_, metrics_, clock_, {.api_keys = {"k1"}, .lessons = &desk_, .request_id_seed = 1});
  HttpRequest request{.method = "GET", .path = "/v1/lessons", .headers = {}, .body = ""};
  EXPECT_EQ(routes.handle(request).status, 401);
  request.headers = {{"X-Api-Key", "k1"}};
  EXPECT_EQ(routes.handle(request).status, 200);
}

TEST_F(RoutesLessonsTest, FeedbackIsTakenFromAFailedModelButNotWhenTheServerEnds) {
  const char* const body = R"({"decision_id": "d1", "option": "refund"})";
  decider_.set_healthy(false);
  EXPECT_EQ(send("POST", "/v1/feedback", body).status, 200);
  routes_.set_draining();
  EXPECT_EQ(send("POST", "/v1/feedback", body).status, 503);
  EXPECT_EQ(send("GET", "/v1/lessons").status, 200);
}

TEST_F(RoutesLessonsTest, MetricsTellWhatIsKeptAndHowLessonsDo) {
  EXPECT_EQ(send("GET", "/metrics").body.find("assay_feedback_total"), std::string::npos);
  DeskStats& stats = desk_.counts();
  stats.keeps_decisions = true;
  stats.decisions_queued = 4;
  stats.decisions_dropped = 2;
  stats.feedback_stored = 3;
  stats.keeps_states = true;
  stats.hidden_states_bytes = 4608;
  stats.hidden_states_kept = 14;
  stats.lessons = {{.name = "refunds",
                    .version = 2,
                    .taught = true,
                    .answers = 10,
                    .acted = 6,
                    .escalated = 3,
                    .mean_confidence = 0.5,
                    .drifting = true}};
  const std::string text = send("GET", "/metrics").body;
  for (const char* line :
       {"assay_decisions_queued 4", "assay_decision_log_failing 0", "assay_hidden_states_bytes 4608",
        R"(assay_fit_rows_total{source="kept"} 14)", R"(assay_decisions_logged_total{result="dropped"} 2)",
        R"(assay_feedback_total{result="stored"} 3)", R"(assay_lesson_taught{lesson="refunds",version="2"} 1)",
        R"(assay_lesson_answers_total{lesson="refunds",version="2",decision="act"} 6)",
        R"(assay_lesson_answers_total{lesson="refunds",version="2",decision="none"} 1)",
        R"(assay_lesson_mean_confidence{lesson="refunds",version="2"} 0.5)",
        R"(assay_lesson_drifting{lesson="refunds",version="2"} 1)"}) {
    EXPECT_NE(text.find(std::string("\n") + line + "\n"), std::string::npos) << line << "\n" << text;
  }
  EXPECT_EQ(text.find("assay_lesson_confidence_then{"), std::string::npos);
}

// What a decider with lessons says of every answer.
Result<DecisionReply> taught(const DecisionRequest& request) {
  DecisionReply reply = testing::FakeDecider::equal_chances(request);
  reply.decision_id = "d-7";
  for (Answer& answer : reply.answers) {
    answer.calibrated = true;
    answer.lesson = {.used = LessonUse{.name = "refunds", .version = 2, .sha256 = "ab", .taught = true},
                     .note = "",
                     .action = Action::kEscalate,
                     .threshold = 0.75,
                     .risk = 0.05,
                     .fallback = answer.options.back().id};
  }
  return reply;
}

TEST_F(RoutesLessonsTest, RepliesOfAllWiresTellWhatALessonDid) {
  decider_.answer_with(taught);
  const std::string said =
      R"("x_calibrated": true, "x_lesson": {"name": "refunds", "version": 2, "sha256": "ab", "taught": true}, )"
      R"("x_decision": "escalate", "x_threshold": 0.75, "x_risk": 0.05, "x_fallback": )";
  struct Asked {
    const char* path;
    const char* body;
    const char* fallback;
  };
  for (
      const Asked& asked :
      {Asked{"/v1/decide", R"({"decision":{"id":"t","state":"s","question":"q","options":[{"id":"a"},{"id":"b"}]}})",
             R"("b")"},
       Asked{"/v1/systemone", R"({"model":"fake","state":"s","questions":{"x":{"type":"noul"}}})", "false"},
       Asked{"/v1/systemone",
             R"({"model":"fake","state":"s","questions":{"x":{"type":"choice","criteria":{"a":null,"b":null}}}})",
             R"("b")"},
       Asked{"/v1/systemone",
             R"({"model":"fake","state":"s","questions":{"x":{"type":"score","criteria":["low","high"]}}})", "1"},
       Asked{"/v1/decisions", R"({"input":"s","questions":[{"type":"predicate","instructions":"So?"}]})", "false"},
       Asked{
           "/v1/decisions",
           R"({"input":"s","questions":[{"type":"choice","instructions":"?","choices":[{"value":"a"},{"value":true}]}]})",
           "true"},
       Asked{"/v1/chat/completions",
             R"({"x_decide":true,"messages":[{"role":"user","content":"s"}],"guided_choice":["a","b"]})", R"("b")"}}) {
    const HttpReply reply = send("POST", asked.path, asked.body);
    EXPECT_EQ(reply.status, 200) << reply.body;
    EXPECT_NE(reply.body.find(said + asked.fallback), std::string::npos) << asked.path << "\n" << reply.body;
    EXPECT_EQ(text(reply, "x_decision_id"), "d-7") << reply.body;
    EXPECT_EQ(header(reply, "x-decision-id"), "d-7");
  }
}

TEST_F(RoutesLessonsTest, ANoteAloneIsToldAndNothingElse) {
  decider_.answer_with([](const DecisionRequest& request) -> Result<DecisionReply> {
    DecisionReply reply = testing::FakeDecider::equal_chances(request);
    reply.answers.front().lesson.note = "refunds is of another model";
    return reply;
  });
  const HttpReply reply =
      send("POST", "/v1/decide", R"({"decision":{"id":"t","state":"s","question":"q","options":[{"id":"a"}]}})");
  EXPECT_NE(reply.body.find(R"("x_lesson_note": "refunds is of another model")"), std::string::npos);
  for (const char* absent : {"x_lesson\"", "x_calibrated", "x_decision", "x_threshold", "x_fallback"}) {
    EXPECT_EQ(reply.body.find(absent), std::string::npos) << absent;
  }
  EXPECT_EQ(header(reply, "x-decision-id"), "");
}

TEST_F(RoutesLessonsTest, TheDeciderHearsTheCallersNamesAndWishes) {
  const HttpReply reply = send("POST", "/v1/systemone",
                               R"({"model":"fake","state":"s","questions":{"wish":{"type":"noul"}}, )"
                               R"("x_lesson": "refunds", "x_calibrated": true})");
  EXPECT_EQ(reply.status, 200) << reply.body;
  EXPECT_EQ(decider_.last_request().questions.at(0).name, "wish");
  EXPECT_EQ(decider_.last_request().lesson, "refunds");
  EXPECT_TRUE(decider_.last_request().calibrated);
  EXPECT_EQ(send("POST", "/v1/decisions",
                 R"({"input":"s","questions":[{"type":"predicate","name":"so","instructions":"So?"}]})")
                .status,
            200);
  EXPECT_EQ(decider_.last_request().questions.at(0).name, "so");
}

TEST_F(RoutesLessonsTest, ARefusalOfTheDeciderHasTheFieldOfTheBody) {
  decider_.answer_with([](const DecisionRequest&) -> Result<DecisionReply> {
    return invalid_argument("x_calibrated", "x_calibrated asks for what is not there");
  });
  EXPECT_EQ(
      text(send("POST", "/v1/decide",
                R"({"decision":{"id":"t","state":"s","question":"q","options":[{"id":"a"}]},"x_calibrated":true})"),
           "field"),
      "x_calibrated");
  const HttpReply reply = send("POST", "/v1/systemone",
                               R"({"model":"fake","state":"s","questions":{"w":{"type":"noul"}},"x_calibrated":true})");
  EXPECT_EQ(reply.status, 422);
  EXPECT_NE(reply.body.find(R"("loc": ["body", "x_calibrated"])"), std::string::npos) << reply.body;
}

}  // namespace
}  // namespace assay::server
