#include "server/wires/wire.h"

#include <gtest/gtest.h>

#include <string>

namespace assay::server {
namespace {

constexpr const char* kOptions = R"([{"id":"refund","description":"Wants money back"},{"id":"info"}])";

std::string decision(const std::string& id, const std::string& state, const std::string& more = "",
                     const std::string& options = kOptions) {
  return R"({"id":")" + id + R"(","state":)" + state + R"(,"question":"What?","options":)" + options + more + "}";
}

std::string single(const std::string& decision_text, const std::string& more = "") {
  return R"({"decision":)" + decision_text + more + "}";
}

Result<WireRequest> parse(const std::string& body) { return parse_semif_request(body, WireOptions()); }

// "field: message", or "ok".
std::string outcome(const std::string& body, const WireOptions& options = {}) {
  const Result<WireRequest> wire = parse_semif_request(body, options);
  if (wire.ok()) return "ok";
  EXPECT_EQ(semif_status(wire.error().code), 400) << wire.error().message;
  EXPECT_TRUE(wire.error().message.starts_with(wire.error().field)) << wire.error().message;
  return wire.error().field + ": " + wire.error().message;
}

void expect_refused(const std::string& body, const std::string& field, const std::string& part) {
  const std::string text = outcome(body);
  EXPECT_TRUE(text.starts_with(field + ": ")) << body << "\n -> " << text;
  EXPECT_NE(text.find(part), std::string::npos) << body << "\n -> " << text;
}

QuestionType type_of(const std::string& options, const std::string& more = "") {
  const Result<WireRequest> wire = parse(single(decision("t", "\"s\"", more, options)));
  EXPECT_TRUE(wire.ok());
  return wire.ok() ? wire->request.questions[0].type : QuestionType::kChoice;
}

TEST(SemifRequest, ReadsASingleDecision) {
  const Result<WireRequest> wire = parse(single(decision("t1", R"({"b":1,"a":[2.0]})", R"(,"surprise":7)")));
  ASSERT_TRUE(wire.ok()) << wire.error().message;
  EXPECT_TRUE(wire->single);
  EXPECT_EQ(to_json_text(wire->request.state), R"({"b": 1, "a": [2.0]})");
  ASSERT_EQ(wire->request.questions.size(), 1u);
  const Question& question = wire->request.questions[0];
  EXPECT_EQ(question.id, "t1");
  EXPECT_EQ(question.text, "What?");
  EXPECT_EQ(question.options[0].id, "refund");
  EXPECT_EQ(question.options[0].description, "Wants money back");
  EXPECT_EQ(question.options[1].description, std::nullopt);
  EXPECT_EQ(wire->request.readout, Readout::kAuto);
  EXPECT_FALSE(wire->request.explain);
  EXPECT_FALSE(wire->request.hidden_state);
}

TEST(SemifRequest, ReadsSeveralDecisionsOnOneState) {
  const Result<WireRequest> wire =
      parse(R"({"decisions":[)" + decision("a", R"({"x":1})") + "," + decision("b", R"({"x":1})") + "]}");
  ASSERT_TRUE(wire.ok()) << wire.error().message;
  EXPECT_FALSE(wire->single);
  ASSERT_EQ(wire->request.questions.size(), 2u);
  EXPECT_EQ(wire->request.questions[1].id, "b");
}

TEST(SemifRequest, NeedsExactlyOneOfDecisionAndDecisions) {
  const std::string one = decision("a", "\"s\"");
  expect_refused("{}", "", "exactly one of decision and decisions");
  expect_refused(R"({"decision":)" + one + R"(,"decisions":[)" + one + "]}", "", "exactly one");
  expect_refused("[]", "", "must be a JSON object");
  expect_refused("3", "", "must be a JSON object");
  expect_refused("{", "", "not valid JSON near byte");
}

TEST(SemifRequest, NamesAnUnknownTopLevelKey) {
  expect_refused(single(decision("a", "\"s\""), R"(,"temperature":0)"), "temperature", "is not known here");
  EXPECT_EQ(outcome(single(decision("a", "\"s\""), R"(,"x_unheard_of":{"y":1})")), "ok");
}

TEST(SemifRequest, UnderstandsItsOwnSettings) {
  const Result<WireRequest> wire =
      parse(single(decision("a", "\"s\""), R"(,"x_readout":"text","x_explain":true,"x_hidden_state":true)"));
  ASSERT_TRUE(wire.ok()) << wire.error().message;
  EXPECT_EQ(wire->request.readout, Readout::kText);
  EXPECT_TRUE(wire->request.explain);
  EXPECT_TRUE(wire->request.hidden_state);
  const std::string one = decision("a", "\"s\"");
  expect_refused(single(one, R"(,"x_readout":"best")"), "x_readout", "\"auto\", \"letters\" or \"text\"");
  expect_refused(single(one, R"(,"x_readout":1)"), "x_readout", "must be");
  expect_refused(single(one, R"(,"x_explain":1)"), "x_explain", "true or false");
  expect_refused(single(one, R"(,"x_hidden_state":"yes")"), "x_hidden_state", "true or false");
}

// The request of a body with `more` at its top; the headers may say something too.
Result<WireRequest> parse_with(const std::string& more, const WireHeaders& headers = {}) {
  return parse_semif_request(single(decision("a", "\"s\""), more), WireOptions(), headers);
}

TEST(SemifRequest, UnderstandsWhatDecidesWhenAndHow) {
  const Result<WireRequest> plain = parse_with("");
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->request.timeout_ms, 0);
  EXPECT_EQ(plain->request.priority, Priority::kInteractive);
  EXPECT_EQ(plain->request.layout, Layout::kAuto);
  EXPECT_FALSE(plain->request.receipt);
  const Result<WireRequest> wire = parse_with(
      R"(,"timeout_ms":1500,"x_priority":"bulk","x_layout":"question_first","x_receipt":true,"x_client":"me")");
  ASSERT_TRUE(wire.ok()) << wire.error().message;
  EXPECT_EQ(wire->request.timeout_ms, 1500);
  EXPECT_EQ(wire->request.priority, Priority::kBulk);
  EXPECT_EQ(wire->request.layout, Layout::kQuestionFirst);
  EXPECT_TRUE(wire->request.receipt);
  EXPECT_EQ(wire->request.client, "");
  EXPECT_EQ(parse_with(R"(,"x_timeout_ms":0.5)")->request.timeout_ms, 0.5);
  EXPECT_EQ(parse_with(R"(,"timeout_ms":3600000)")->request.timeout_ms, 3'600'000);
  EXPECT_EQ(parse_with(R"(,"timeout_ms":3.6e6)")->request.timeout_ms, 3'600'000);
  EXPECT_EQ(parse_with(R"(,"x_priority":"interactive","x_layout":"state_first")")->request.layout, Layout::kStateFirst);
  EXPECT_EQ(parse_with(R"(,"x_layout":"auto")")->request.layout, Layout::kAuto);
}

TEST(SemifRequest, NamesTheLimitsOfATimeout) {
  const std::string one = decision("a", "\"s\"");
  for (const char* bad : {"0", "-1", "0.0", "3600001", "3600000.5", "1e300", "\"5\"", "null", "true", "[1]",
                          "99999999999999999999999999999999999999999999999999999999999999"}) {
    for (const std::string key : {"timeout_ms", "x_timeout_ms"}) {
      expect_refused(single(one, ",\"" + key + "\":" + bad), key, "above 0 and at most 3600000");
    }
  }
  expect_refused(single(one, ",\"timeout_ms\":" + std::string(4000, '9')), "timeout_ms", "at most 3600000");
  expect_refused(single(one, R"(,"timeout_ms":5,"x_timeout_ms":5)"), "x_timeout_ms", "another name of timeout_ms");
}

TEST(SemifRequest, NamesTheWordsOfASetting) {
  const std::string one = decision("a", "\"s\"");
  for (const char* bad : {"\"low\"", "\"\"", "1", "null", "\"Bulk\""}) {
    expect_refused(single(one, std::string(",\"x_priority\":") + bad), "x_priority", "\"interactive\" or \"bulk\"");
    expect_refused(single(one, std::string(",\"x_layout\":") + bad), "x_layout",
                   "\"auto\", \"state_first\" or \"question_first\"");
  }
  expect_refused(single(one, R"(,"x_receipt":1)"), "x_receipt", "true or false");
  expect_refused(single(one, R"(,"priority":"bulk")"), "priority", "is not known here");
}

TEST(SemifRequest, TakesHeadersWhereTheBodyIsSilent) {
  const WireHeaders headers{.timeout_ms = "250.5", .priority = "bulk"};
  const Result<WireRequest> silent = parse_with("", headers);
  ASSERT_TRUE(silent.ok());
  EXPECT_EQ(silent->request.timeout_ms, 250.5);
  EXPECT_EQ(silent->request.priority, Priority::kBulk);
  const Result<WireRequest> spoken = parse_with(R"(,"x_timeout_ms":7,"x_priority":"interactive")", headers);
  ASSERT_TRUE(spoken.ok());
  EXPECT_EQ(spoken->request.timeout_ms, 7);
  EXPECT_EQ(spoken->request.priority, Priority::kInteractive);
}

TEST(SemifRequest, RefusesAHeaderThatIsNoGoodWhateverTheBodySays) {
  const std::string settings = R"(,"timeout_ms":7,"x_priority":"bulk")";
  for (const char* bad : {"", "0", "-5", "nan", "inf", "1e999", "5s", " 5", "3600001", "0x10"}) {
    const Result<WireRequest> wire = parse_with(settings, {.timeout_ms = bad, .priority = {}});
    ASSERT_FALSE(wire.ok()) << bad;
    EXPECT_EQ(wire.error().field, "x-timeout-ms");
    EXPECT_NE(wire.error().message.find("at most 3600000"), std::string::npos) << wire.error().message;
  }
  const Result<WireRequest> wire = parse_with(settings, {.timeout_ms = {}, .priority = "urgent"});
  ASSERT_FALSE(wire.ok());
  EXPECT_EQ(wire.error().message, "x-priority must be \"interactive\" or \"bulk\"");
}

TEST(SemifRequest, NamesThePathOfEveryBadField) {
  const std::string good = decision("a", "\"s\"");
  const auto options = [](const std::string& list) { return single(decision("a", "\"s\"", "", list)); };
  expect_refused(R"({"decision":null})", "decision", "must be an object");
  expect_refused(R"({"decision":{"state":"s"}})", "decision.id", "is missing");
  expect_refused(single(decision("", "\"s\"")), "decision.id", "must not be empty");
  expect_refused(R"({"decision":{"id":"a","question":3}})", "decision.question", "must be a string");
  expect_refused(R"({"decision":{"id":"a","question":"q"}})", "decision.options", "is missing");
  expect_refused(options("{}"), "decision.options", "must be an array");
  expect_refused(options("[]"), "decision.options", "0 options given; the least is 1");
  expect_refused(options(R"(["a"])"), "decision.options[0]", "must be an object");
  expect_refused(options(R"([{"id":"a"},{"id":""}])"), "decision.options[1].id", "must not be empty");
  expect_refused(options(R"([{"id":"a"},{}])"), "decision.options[1].id", "is missing");
  expect_refused(options(R"([{"id":"a","description":1}])"), "decision.options[0].description", "string or null");
  expect_refused(options(R"([{"id":"a"},{"id":"b"},{"id":"a"}])"), "decision.options[2].id", "earlier option");
  const std::string bad = decision("b", "\"s\"", "", R"([{"id":"a"},{"id":"b"},{"id":7}])");
  expect_refused(R"({"decisions":[)" + good + "," + bad + "]}", "decisions[1].options[2].id", "must be a string");
  expect_refused(R"({"decisions":[)" + good + ",1]}", "decisions[1]", "must be an object");
}

TEST(SemifRequest, RefusesAStateThatIsEmptyOrNoState) {
  for (const char* state : {"\"\"", "{}", "[]"}) {
    expect_refused(single(decision("a", state)), "decision.state", "must not be empty");
  }
  for (const char* state : {"null", "1", "1.5", "true"}) {
    expect_refused(single(decision("a", state)), "decision.state", "a string, an object or an array");
  }
  expect_refused(R"({"decision":{"id":"a","question":"q","options":[{"id":"x"}]}})", "decision.state", "is missing");
}

TEST(SemifRequest, SharedDecisionsNeedOneStateAndTheirOwnIds) {
  const auto both = [](const std::string& a, const std::string& b) { return R"({"decisions":[)" + a + "," + b + "]}"; };
  expect_refused(both(decision("a", "\"s\""), decision("b", "\"t\"")), "decisions[1].state", "differs");
  expect_refused(both(decision("a", R"({"x":1})"), decision("b", R"({"x":1.0})")), "decisions[1].state", "differs");
  expect_refused(both(decision("a", "\"s\""), decision("a", "\"s\"")), "decisions[1].id", "earlier decision");
  expect_refused(R"({"decisions":[]})", "decisions", "non-empty array");
  expect_refused(R"({"decisions":{}})", "decisions", "non-empty array");
}

TEST(SemifRequest, NamesTheLimitItKeeps) {
  WireOptions options{.body_bytes_max = 400, .options_min = 2, .options_max = 2, .questions_max = 1};
  const std::string a = decision("a", "\"s\"");
  EXPECT_EQ(outcome(single(a), options), "ok");
  EXPECT_NE(outcome(R"({"decisions":[)" + a + "," + a + "]}", options).find("2 decisions given; the limit is 1"),
            std::string::npos);
  const std::string three = R"([{"id":"a"},{"id":"b"},{"id":"c"}])";
  EXPECT_NE(outcome(single(decision("a", "\"s\"", "", three)), options).find("3 options given; the limit is 2"),
            std::string::npos);
  EXPECT_NE(outcome(single(decision("a", "\"s\"", "", R"([{"id":"a"}])")), options).find("the least is 2"),
            std::string::npos);
  EXPECT_NE(outcome(std::string(401, ' '), options).find("401 bytes; the limit is 400"), std::string::npos);
}

TEST(SemifRequest, TakesAsManyOptionsAsItSays) {
  std::string list;
  for (int i = 0; i < 1024; ++i) list += R"({"id":"o)" + std::to_string(i) + R"("},)";
  const std::string full = "[" + list.substr(0, list.size() - 1) + "]";
  EXPECT_EQ(outcome(single(decision("a", "\"s\"", "", full))), "ok");
  expect_refused(single(decision("a", "\"s\"", "", "[" + list + R"({"id":"x"}])")), "decision.options", "1025 options");
}

TEST(SemifRequest, KeepsOptionIdsByteForByte) {
  const Result<WireRequest> wire = parse(single(decision("a", "\"s\"", "", R"([{"id":" A "},{"id":"a"},{"id":"é"}])")));
  ASSERT_TRUE(wire.ok());
  EXPECT_EQ(wire->request.questions[0].options[0].id, " A ");
  EXPECT_EQ(wire->request.questions[0].options[2].id, "\xC3\xA9");
}

TEST(SemifRequest, InfersTheTypeFromTheOptionIds) {
  EXPECT_EQ(type_of(R"([{"id":"yes"},{"id":"no"}])"), QuestionType::kYesNo);
  EXPECT_EQ(type_of(R"([{"id":"FALSE"},{"id":"True"}])"), QuestionType::kYesNo);
  EXPECT_EQ(type_of(R"([{"id":"yes"},{"id":"YES"}])"), QuestionType::kChoice);
  EXPECT_EQ(type_of(R"([{"id":"yes"},{"id":"false"}])"), QuestionType::kChoice);
  EXPECT_EQ(type_of(R"([{"id":"0"},{"id":"1"},{"id":"2"}])"), QuestionType::kScale);
  EXPECT_EQ(type_of(R"([{"id":"0"},{"id":"1"}])"), QuestionType::kChoice);
  EXPECT_EQ(type_of(R"([{"id":"1"},{"id":"2"},{"id":"3"}])"), QuestionType::kChoice);
  EXPECT_EQ(type_of(R"([{"id":"0"},{"id":"2"},{"id":"1"}])"), QuestionType::kChoice);
}

TEST(SemifRequest, TakesAStatedTypeOverTheInferredOne) {
  EXPECT_EQ(type_of(R"([{"id":"yes"},{"id":"no"}])", R"(,"type":"choice")"), QuestionType::kChoice);
  EXPECT_EQ(type_of(R"([{"id":"ja"},{"id":"nein"}])", R"(,"type":"yes_no")"), QuestionType::kYesNo);
  EXPECT_EQ(type_of(R"([{"id":"low"},{"id":"high"}])", R"(,"type":"scale")"), QuestionType::kScale);
  expect_refused(single(decision("a", "\"s\"", R"(,"type":"rank")")), "decision.type", "must be");
  expect_refused(single(decision("a", "\"s\"", R"(,"type":"yes_no")", R"([{"id":"a"}])")), "decision.type", "two");
}

TEST(SemifError, SpeaksOfTheFieldsThatTheBodyHas) {
  WireRequest wire;
  const auto translated = [&](const std::string& field) {
    const Error error = semif_error(wire.single, invalid_argument(field, field + " is bad"));
    EXPECT_EQ(error.message, error.field + " is bad");
    return error.field;
  };
  EXPECT_EQ(translated("questions[0].options[3].id"), "decision.options[3].id");
  EXPECT_EQ(translated("questions[0].text"), "decision.question");
  EXPECT_EQ(translated("state"), "decision.state");
  EXPECT_EQ(translated("lesson"), "x_lesson");
  EXPECT_EQ(translated("explain"), "x_explain");
  EXPECT_EQ(translated("readout"), "x_readout");
  EXPECT_EQ(translated("layout"), "x_layout");
  EXPECT_EQ(translated("receipt"), "x_receipt");
  EXPECT_EQ(translated("priority"), "x_priority");
  EXPECT_EQ(translated("timeout_ms"), "timeout_ms");
  wire.single = false;
  EXPECT_EQ(translated("questions[12].id"), "decisions[12].id");
  EXPECT_EQ(translated("questions"), "decisions");
  EXPECT_EQ(translated("state"), "decisions[0].state");
}

TEST(SemifStatus, IsBadRequestForTooLong) {
  EXPECT_EQ(semif_status(ErrorCode::kTooLong), 400);
  EXPECT_EQ(semif_status(ErrorCode::kOverloaded), 503);
  EXPECT_EQ(semif_status(ErrorCode::kTooBusy), 429);
  EXPECT_EQ(semif_status(ErrorCode::kDeadline), 504);
  EXPECT_EQ(semif_status(ErrorCode::kCancelled), 499);
  EXPECT_EQ(semif_status(ErrorCode::kNonfiniteLogits), 500);
}

}  // namespace
}  // namespace assay::server
