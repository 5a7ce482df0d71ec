// The rules and golden pairs (G1..G8) are those of the System One contract.
#include "server/wires/systemone_request.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

WireSettings settings() { return {.model_names = {"our-model-1", "jev-latest", "jev-preview"}}; }

std::variant<SystemOneRequest, WireRefusal> parse(const std::string& body, const WireHeaders& headers = {}) {
  return parse_system_one(body, settings(), headers);
}

SystemOneRequest read(const std::string& body) {
  std::variant<SystemOneRequest, WireRefusal> parsed = parse(body);
  if (const WireRefusal* refused = std::get_if<WireRefusal>(&parsed)) {
    ADD_FAILURE() << body << "\n" << refused->body;
    return {};
  }
  return std::get<SystemOneRequest>(std::move(parsed));
}

WireRefusal refusal(const std::string& body) {
  std::variant<SystemOneRequest, WireRefusal> parsed = parse(body);
  if (const WireRefusal* refused = std::get_if<WireRefusal>(&parsed)) return *refused;
  ADD_FAILURE() << "accepted: " << body;
  return {};
}

// Every loc of a list of faults, as JSON.
std::vector<std::string> locs(const WireRefusal& refused) {
  std::vector<std::string> out;
  const Result<Value> body = parse_json(refused.body);
  const Value* detail = body.ok() ? body->find("detail") : nullptr;
  if (detail == nullptr || detail->array() == nullptr) return out;
  for (const Value& entry : *detail->array()) {
    EXPECT_TRUE(entry.find("msg")->is_string() && entry.find("type")->is_string());
    out.push_back(to_json_text(*entry.find("loc")));
  }
  return out;
}

std::string body_with(const std::string& question, const std::string& more = "") {
  return R"({"model":"jev-latest","state":"s",)" + more + R"("questions":{"q":)" + question + "}}";
}

Question question(const std::string& json) {
  SystemOneRequest parsed = read(body_with(json));
  return parsed.request.questions.empty() ? Question() : parsed.request.questions.front();
}

void expect_loc(const std::string& question_json, const std::string& loc) {
  const WireRefusal refused = refusal(body_with(question_json));
  EXPECT_EQ(refused.status, 422) << question_json;
  EXPECT_EQ(locs(refused), std::vector<std::string>{loc}) << question_json;
}

TEST(SystemOneRequest, Golden1Noul) {
  const SystemOneRequest parsed =
      read(R"({"model":"jev-latest","state":"The parcel arrived on Tuesday.","questions":{"arrived":{"type":"noul",)"
           R"("instructions":"Did the parcel arrive?"}}})");
  ASSERT_EQ(parsed.request.questions.size(), 1u);
  const Question& asked = parsed.request.questions.front();
  EXPECT_EQ(asked.text, "Did the parcel arrive?");
  EXPECT_EQ(asked.type, QuestionType::kYesNo);
  ASSERT_EQ(asked.options.size(), 2u);
  EXPECT_EQ(asked.options[0].id, "true");
  EXPECT_EQ(asked.options[1].id, "false");
  EXPECT_FALSE(asked.options[0].description.has_value());
  EXPECT_EQ(parsed.echo.questions.front().id, "arrived");
  EXPECT_FALSE(parsed.request.allowed_mass);
}

TEST(SystemOneRequest, Rule1_1StatesOfEveryForm) {
  for (const char* state : {"\"\"", "{}", "[]", "\"x\"", R"({"b":1,"a":[2]})", R"(["x",null])"}) {
    const std::string body =
        std::string(R"({"model":"jev-latest","state":)") + state + R"(,"questions":{"q":{"type":"noul"}}})";
    EXPECT_EQ(read(body).request.state, *parse_json(state)) << state;
  }
  EXPECT_EQ(read(R"({"model":"jev-latest","state":null,"questions":{"q":{"type":"noul"}}})").request.state, Value(""));
  for (const char* state : {"1", "true", "1.5"}) {
    const WireRefusal refused =
        refusal(std::string(R"({"model":"jev-latest","state":)") + state + R"(,"questions":{"q":{"type":"noul"}}})");
    EXPECT_EQ(locs(refused), std::vector<std::string>{R"(["body", "state"])"});
  }
}

TEST(SystemOneRequest, Rule1_2InstructionsOfEveryForm) {
  EXPECT_EQ(question(R"({"type":"noul"})").text, kNoulInstructions);
  EXPECT_EQ(question(R"({"type":"noul","instructions":null})").text, kNoulInstructions);
  EXPECT_EQ(question(R"({"type":"noul","instructions":""})").text, kNoulInstructions);
  EXPECT_EQ(question(R"({"type":"choice","criteria":{"a":null}})").text, kChoiceInstructions);
  EXPECT_EQ(question(R"({"type":"score","criteria":["a"]})").text, kScoreInstructions);
  EXPECT_EQ(question(R"({"type":"noul","instructions":{"z":"1","a":["é"]}})").text, R"({"z": "1", "a": ["é"]})");
  EXPECT_EQ(question(R"({"type":"noul","instructions":["x"]})").text, R"(["x"])");
  expect_loc(R"({"type":"noul","instructions":5})", R"(["body", "questions", "q", "noul", "instructions"])");
}

TEST(SystemOneRequest, Rule1_3NoulCriteriaOfEveryForm) {
  for (const char* criteria : {"null", "{}", R"({"true":null,"false":null})", R"({"other":1})"}) {
    const Question asked = question(std::string(R"({"type":"noul","criteria":)") + criteria + "}");
    EXPECT_FALSE(asked.options[0].description.has_value() || asked.options[1].description.has_value()) << criteria;
  }
  const Question one = question(R"({"type":"noul","criteria":{"true":{"means":"wants another"}}})");
  EXPECT_EQ(one.options[0].description, R"({"means": "wants another"})");
  EXPECT_FALSE(one.options[1].description.has_value());
  EXPECT_EQ(question(R"({"type":"noul","criteria":{"false":"no","true":"yes"}})").options[1].description, "no");
  expect_loc(R"({"type":"noul","criteria":[]})", R"(["body", "questions", "q", "noul", "criteria"])");
  expect_loc(R"({"type":"noul","criteria":{"true":1}})", R"(["body", "questions", "q", "noul", "criteria", "true"])");
}

std::string choice_of(std::size_t count) {
  std::string criteria;
  for (std::size_t i = 0; i < count; ++i) {
    criteria += (i == 0 ? "\"n" : ",\"n") + std::to_string(i) + "\":\"items " + std::to_string(i) + "\"";
  }
  return R"({"type":"choice","criteria":{)" + criteria + "}}";
}

std::string score_of(std::size_t count) {
  std::string criteria;
  for (std::size_t i = 0; i < count; ++i) criteria += (i == 0 ? "\"l" : ",\"l") + std::to_string(i) + "\"";
  return R"({"type":"score","criteria":[)" + criteria + "]}";
}

TEST(SystemOneRequest, Rule1_4EverySizeUpToTheContracts) {
  for (const std::size_t count : {1, 2, 16, 17, 26, 27, 52, 53, 64, 128, 255}) {
    EXPECT_EQ(question(choice_of(count)).options.size(), count);
  }
  for (std::size_t count = 1; count <= 10; ++count) EXPECT_EQ(question(score_of(count)).options.size(), count);
  expect_loc(choice_of(0), R"(["body", "questions", "q", "choice", "criteria"])");
  expect_loc(score_of(0), R"(["body", "questions", "q", "score", "criteria"])");
  for (const std::string& beyond : {choice_of(256), score_of(11)}) {
    const WireRefusal refused = refusal(body_with(beyond));
    EXPECT_EQ(refused.status, 400);
    const Value body = parse_json(refused.body).value();
    EXPECT_EQ(*body.find("detail")->find("error_type")->string(), "api_usage_error");
    EXPECT_TRUE(body.find("detail")->find("message")->is_string());
  }
}

TEST(SystemOneRequest, Rule1_5KnowsItsNamesOnly) {
  for (const char* model : {"our-model-1", "jev-latest", "jev-preview"}) {
    EXPECT_EQ(read(R"({"state":"x","questions":{"a":{"type":"noul"}},"model":")" + std::string(model) + "\"}")
                  .request.questions.size(),
              1u);
  }
  const WireRefusal refused =
      refusal(R"({"model":"no-such-model","state":"x","questions":{"a":{"type":"noul","instructions":"?"}}})");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.body,
            R"({"detail": {"error_type": "api_usage_error", "message": "Unknown model: no-such-model"}, )"
            R"("error": {"code": 400, "message": "Unknown model: no-such-model"}, "x_code": "invalid_argument"})");
  EXPECT_EQ(locs(refusal(R"({"state":"x","questions":{"a":{"type":"noul"}}})")),
            std::vector<std::string>{R"(["body", "model"])"});
  EXPECT_EQ(refusal(R"({"model":7,"state":"x","questions":{"a":{"type":"noul"}}})").status, 422);
}

TEST(SystemOneRequest, Rule1_6IgnoresUnknownFields) {
  EXPECT_EQ(question(R"({"type":"noul","weight":3,"x_other":{}})").options.size(), 2u);
  EXPECT_EQ(read(body_with(R"({"type":"noul"})", R"("x_trace":"t-1","seed":7,"stream":true,"provider":{},)"))
                .request.questions.size(),
            1u);
}

TEST(SystemOneRequest, Rule1_7KeepsTheOrderOfKeys) {
  const SystemOneRequest parsed =
      read(R"({"model":"jev-latest","state":{"z":1,"a":2},"questions":{"9":{"type":"noul"},"1":{"type":"choice",)"
           R"("criteria":{"b":null,"10":null,"2":null}}}})");
  EXPECT_EQ(to_json_text(parsed.request.state), R"({"z": 1, "a": 2})");
  EXPECT_EQ(parsed.echo.questions[0].id, "9");
  EXPECT_EQ(parsed.echo.questions[1].id, "1");
  EXPECT_EQ(parsed.echo.questions[1].names, (std::vector<std::string>{"b", "10", "2"}));
  EXPECT_EQ(parsed.request.questions[1].options[1].id, "10");
}

TEST(SystemOneRequest, Rule1_9NamesAreAnyText) {
  const SystemOneRequest parsed =
      read(R"({"model":"jev-latest","state":"s","questions":{"":{"type":"choice","criteria":{"":null," a ":null,)"
           R"("🙂 e\u0301":"x"}},"q.2 ü":{"type":"noul"}}})");
  EXPECT_EQ(parsed.echo.questions[0].id, "");
  EXPECT_EQ(parsed.echo.questions[1].id, "q.2 ü");
  EXPECT_EQ(parsed.echo.questions[0].names, (std::vector<std::string>{"", " a ", "🙂 e\u0301"}));
  const std::vector<Option>& options = parsed.request.questions[0].options;
  EXPECT_EQ(options[0].id, "o0");
  EXPECT_EQ(options[0].description, kEmptyName);
  EXPECT_EQ(options[1].description, " a ");
  EXPECT_EQ(options[2].description, "x");
  EXPECT_TRUE(validate_request(parsed.request, {}).ok());
}

TEST(SystemOneRequest, VeryLongNamesAreNoIds) {
  const std::string name(5000, 'n');
  const SystemOneRequest parsed = read(R"({"model":"jev-latest","state":"s","questions":{")" + name +
                                       R"(":{"type":"choice","criteria":{")" + name + R"(":null,"b":null}}}})");
  EXPECT_EQ(parsed.echo.questions[0].id, name);
  EXPECT_EQ(parsed.request.questions[0].options[0].id, "o0");
  EXPECT_EQ(parsed.request.questions[0].options[0].description, name);
  EXPECT_TRUE(validate_request(parsed.request, {}).ok());
}

TEST(SystemOneRequest, OrdinaryNamesStayIds) {
  const Question asked = question(R"({"type":"choice","criteria":{"access_denied":null,"ok":"all is well","e":""}})");
  EXPECT_EQ(asked.options[0].id, "access_denied");
  EXPECT_FALSE(asked.options[0].description.has_value());
  EXPECT_EQ(asked.options[1].description, "all is well");
  EXPECT_FALSE(asked.options[2].description.has_value());
}

TEST(SystemOneRequest, Rule1_10RefusesAKeyTwice) {
  EXPECT_EQ(
      refusal(R"({"model":"jev-latest","model":"jev-latest","state":"s","questions":{"q":{"type":"noul"}}})").status,
      422);
}

TEST(SystemOneRequest, Golden4Levels) {
  const SystemOneRequest parsed =
      read(body_with(R"({"type":"score","criteria":["not at all",{"label":"high","sign":"raised voice"},"x"]})"));
  const Question& asked = parsed.request.questions[0];
  EXPECT_EQ(asked.type, QuestionType::kScale);
  EXPECT_EQ(asked.options[1].id, "1");
  EXPECT_EQ(asked.options[1].description, R"({"label": "high", "sign": "raised voice"})");
  EXPECT_TRUE(parsed.echo.questions[0].levels[1].is_object());
  expect_loc(R"({"type":"score","criteria":["a",null]})", R"(["body", "questions", "q", "score", "criteria", 1])");
}

TEST(SystemOneRequest, Golden7ListsAllFaults) {
  const WireRefusal refused =
      refusal(R"({"model":"jev-latest","questions":{"a":{"type":"boolean","instructions":"Yes?"},)"
              R"("b":{"type":"score","criteria":{"0":"low","1":"high"}}}})");
  EXPECT_EQ(refused.status, 422);
  EXPECT_EQ(locs(refused), (std::vector<std::string>{R"(["body", "state"])", R"(["body", "questions", "a"])",
                                                     R"(["body", "questions", "b", "score", "criteria"])"}));
  const Value body = parse_json(refused.body).value();
  EXPECT_EQ(*body.find("error")->find("message")->string(), "state: Field required (and 2 more, see detail)");
}

TEST(SystemOneRequest, Rule3_1EveryBadBodyIsTheCallersFault) {
  for (const char* body :
       {"", "{", "[]", "null", "\"x\"", "3", "{}", R"({"model":"jev-latest","state":"s","questions":{}})",
        R"({"model":"jev-latest","state":"s","questions":[]})",
        R"({"model":"jev-latest","state":"s","questions":null})",
        R"({"model":"jev-latest","state":"s","questions":{"q":null}})",
        R"({"model":"jev-latest","state":"s","questions":{"q":{}}})",
        R"({"model":"jev-latest","state":"s","questions":{"q":{"type":7}}})",
        R"({"model":"jev-latest","state":"s","questions":{"q":{"type":"choice"}}})",
        R"({"model":"jev-latest","state":"s","questions":{"q":{"type":"choice","criteria":["a"]}}})",
        R"({"model":"jev-latest","state":"s","questions":{"q":{"type":"choice","criteria":{"a":1}}}})",
        R"({"model":"jev-latest","state":NaN,"questions":{"q":{"type":"noul"}}})", "{\"state\":\"\xFF\"}"}) {
    const WireRefusal refused = refusal(body);
    EXPECT_EQ(refused.status, 422) << body;
    const std::vector<std::string> found = locs(refused);
    ASSERT_FALSE(found.empty()) << body;
    for (const std::string& loc : found) EXPECT_TRUE(loc.starts_with(R"(["body")")) << loc;
  }
  EXPECT_EQ(refusal(std::string(10000, '[')).status, 422);
}

TEST(SystemOneRequest, Rule3_3AFaultNamesItsPath) {
  expect_loc(R"({"type":"choice","criteria":{}})", R"(["body", "questions", "q", "choice", "criteria"])");
  expect_loc(R"({"type":"choice","criteria":{"é":3}})", R"(["body", "questions", "q", "choice", "criteria", "é"])");
  expect_loc(R"({"type":"noul","x_permute":0})", R"(["body", "questions", "q", "noul", "x_permute"])");
}

TEST(SystemOneRequest, Rule4_3RefusesWhatItCannotSee) {
  const std::string noul = R"({"type":"noul"})";
  for (const std::string& body :
       {body_with(noul, R"("assets":{"a":{"type":"image"}},)"), body_with(noul, R"("images":["data:x"],)"),
        body_with(R"({"type":"box","instructions":"Where?"})")}) {
    EXPECT_EQ(refusal(body).status, 400) << body;
  }
  EXPECT_EQ(read(body_with(noul, R"("assets":{},"images":null,)")).request.questions.size(), 1u);
}

TEST(SystemOneRequest, FaultsComeBeforeLimits) {
  EXPECT_EQ(refusal(R"({"model":"nobody","questions":{"q":{"type":"noul"}}})").status, 422);
}

TEST(SystemOneRequest, AnErrorIsNeverLong) {
  const std::string name(1u << 20, 'n');
  std::string questions;
  for (int i = 0; i < 200; ++i) {
    questions += (i == 0 ? "\"" : ",\"") + std::to_string(i) + name.substr(0, 5000) + "\":{\"type\":\"" + "x\"}";
  }
  const WireRefusal many = refusal(R"({"model":"jev-latest","state":"s","questions":{)" + questions + "}}");
  EXPECT_EQ(many.status, 422);
  EXPECT_LT(many.body.size(), 60000u);
  EXPECT_NE(many.body.find("and 100 more that are not listed"), std::string::npos);
  EXPECT_LT(refusal(R"({"model":")" + name + R"(","state":"s","questions":{"q":{"type":"noul"}}})").body.size(), 2000u);
}

TEST(SystemOneRequest, TooManyQuestionsAndBytes) {
  std::string questions;
  for (int i = 0; i < 257; ++i) questions += (i == 0 ? "\"" : ",\"") + std::to_string(i) + R"(":{"type":"noul"})";
  EXPECT_EQ(refusal(R"({"model":"jev-latest","state":"s","questions":{)" + questions + "}}").status, 400);
  WireSettings small = settings();
  small.body_bytes_max = 10;
  const auto parsed = parse_system_one("[1,2,3,4,5,6]", small, {});
  ASSERT_TRUE(std::holds_alternative<WireRefusal>(parsed));
  EXPECT_EQ(std::get<WireRefusal>(parsed).status, 413);
}

TEST(SystemOneRequest, ExtensionsHoldForAllOrForOne) {
  const SystemOneRequest parsed =
      read(R"({"model":"jev-latest","state":"s","x_min_confidence":0.5,"x_none_of_these":true,"x_permute":2,)"
           R"("x_allowed_mass":true,"x_readout":"letters","questions":{"a":{"type":"noul"},)"
           R"("b":{"type":"choice","criteria":{"x":null},"x_min_confidence":0.25,"x_none_of_these":"nothing fits"},)"
           R"("c":{"type":"choice","criteria":{"x":null,"y":null},"x_none_of_these":false,"x_permute":1}}})");
  ASSERT_EQ(parsed.request.questions.size(), 3u);
  EXPECT_TRUE(parsed.request.allowed_mass);
  EXPECT_EQ(parsed.request.readout, Readout::kLetters);
  EXPECT_EQ(parsed.request.questions[0].min_confidence, 0.5);
  EXPECT_EQ(parsed.request.questions[0].options.size(), 2u);
  EXPECT_EQ(parsed.request.questions[1].min_confidence, 0.25);
  EXPECT_EQ(parsed.request.questions[1].options.back().description, "nothing fits");
  EXPECT_EQ(parsed.echo.questions[1].names, (std::vector<std::string>{"x", "none_of_these"}));
  EXPECT_EQ(parsed.request.questions[1].permute, 2);
  EXPECT_EQ(parsed.request.questions[2].permute, 1);
  EXPECT_EQ(parsed.request.questions[2].options.size(), 2u);
}

TEST(SystemOneRequest, NoneOfTheseCannotBeTakenOrBeOneTooMany) {
  const std::string loc = R"(["body", "questions", "q", "choice", "x_none_of_these"])";
  expect_loc(R"({"type":"choice","x_none_of_these":true,"criteria":{"none_of_these":null}})", loc);
  expect_loc(R"({"type":"choice","x_none_of_these":true,"criteria":{"none_of_these":null,"":null}})", loc);
  std::string full = choice_of(255);
  full.insert(full.size() - 1, R"(,"x_none_of_these":true)");
  expect_loc(full, loc);
  expect_loc(R"({"type":"noul","x_none_of_these":true})", R"(["body", "questions", "q", "noul", "x_none_of_these"])");
}

TEST(SystemOneRequest, HeadersAreReadToo) {
  const std::string body = body_with(R"({"type":"noul"})");
  const auto parsed = parse(body, {.timeout_ms = "250", .priority = "bulk"});
  ASSERT_TRUE(std::holds_alternative<SystemOneRequest>(parsed));
  EXPECT_EQ(std::get<SystemOneRequest>(parsed).request.timeout_ms, 250);
  const auto refused = parse(body, {.timeout_ms = "soon", .priority = {}});
  ASSERT_TRUE(std::holds_alternative<WireRefusal>(refused));
  EXPECT_EQ(locs(std::get<WireRefusal>(refused)), std::vector<std::string>{R"(["body", "x-timeout-ms"])"});
}

}  // namespace
}  // namespace assay::server
