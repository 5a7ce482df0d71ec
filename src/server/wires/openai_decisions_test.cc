#include "server/wires/openai_decisions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

constexpr const char* kPredicate = R"({"type":"predicate","instructions":"The customer is angry."})";

WireSettings settings() {
  WireSettings settings;
  settings.model_names = {"real-model", "other-name"};
  return settings;
}

std::string body(const std::string& questions, const std::string& input = R"("I want my money.")",
                 const std::string& more = "") {
  return R"({"model":"gpt-6-luna","input":)" + input + R"(,"questions":)" + questions + more + "}";
}

std::variant<ParsedWire, WireRefusal> parse(const std::string& text) {
  return OpenAiDecisionsWire(settings())
      .parse({.method = "POST", .path = "/v1/decisions", .headers = {}, .body = text});
}

ParsedWire parsed(const std::string& text) {
  std::variant<ParsedWire, WireRefusal> wire = parse(text);
  if (const WireRefusal* refusal = std::get_if<WireRefusal>(&wire)) ADD_FAILURE() << text << "\n -> " << refusal->body;
  return wire.index() == 0 ? std::get<ParsedWire>(std::move(wire)) : ParsedWire();
}

Value json(const std::string& text) {
  Result<Value> value = parse_json(text);
  EXPECT_TRUE(value.ok()) << text;
  return value.ok() ? std::move(value).value() : Value();
}

Question question_of(const std::string& question, const std::string& more = "") {
  const ParsedWire wire = parsed(body("[" + question + "]", R"("s")", more));
  return wire.request.questions.empty() ? Question() : wire.request.questions[0];
}

// The refusal of a body as "status param: message".
std::string refusal_of(const std::string& text) {
  const std::variant<ParsedWire, WireRefusal> wire = parse(text);
  const WireRefusal* refusal = std::get_if<WireRefusal>(&wire);
  if (refusal == nullptr) return "accepted";
  const Value reply = json(refusal->body);
  const Value* error = reply.find("error");
  EXPECT_NE(error, nullptr) << refusal->body;
  if (error == nullptr) return refusal->body;
  EXPECT_EQ(error->object()->size(), 4u) << refusal->body;
  EXPECT_EQ(*error->find("type")->string(), "invalid_request_error");
  const Value* param = error->find("param");
  const std::string field = param->is_null() ? "" : *param->string();
  EXPECT_TRUE(error->find("message")->string()->starts_with(field)) << refusal->body;
  return std::to_string(refusal->status) + " " + field + ": " + *error->find("message")->string();
}

void expect_refused(const std::string& text, const std::string& field, const std::string& part = "") {
  const std::string said = refusal_of(text);
  EXPECT_TRUE(said.starts_with("400 " + field + ": ")) << text << "\n -> " << said;
  EXPECT_NE(said.find(part), std::string::npos) << text << "\n -> " << said;
}

void expect_question_refused(const std::string& question, const std::string& field, const std::string& part = "") {
  expect_refused(body("[" + std::string(kPredicate) + "," + question + "]"), "questions[1]" + field, part);
}

std::string choices(std::size_t count) {
  std::string list;
  for (std::size_t i = 0; i < count; ++i) {
    list += (i == 0 ? "" : ",") + (R"({"value":"v)" + std::to_string(i)) + R"("})";
  }
  return R"({"type":"choice","instructions":"Which?","choices":[)" + list + "]}";
}

std::string levels(std::size_t count) {
  std::string list;
  for (std::size_t i = 0; i < count; ++i) list += (i == 0 ? "" : ",") + std::string(R"({"label":"l"})");
  return R"({"type":"score","instructions":"How much?","levels":[)" + list + "]}";
}

std::string repeated(const std::string& question, std::size_t count) {
  std::string list;
  for (std::size_t i = 0; i < count; ++i) list += (i == 0 ? "" : ",") + question;
  return "[" + list + "]";
}

Answer answer_of(const Question& question, const std::vector<double>& probabilities) {
  Answer answer;
  answer.question_id = question.id;
  for (std::size_t i = 0; i < question.options.size(); ++i) {
    OptionAnswer option;
    option.id = question.options[i].id;
    option.probability = probabilities[i];
    answer.options.push_back(std::move(option));
    if (probabilities[i] > probabilities[answer.best]) answer.best = i;
  }
  answer.confidence = 0.5;
  return answer;
}

constexpr const char* kThree = R"([
  {"type":"predicate","instructions":"Angry?"},
  {"type":"choice","name":"wish","instructions":"What?","choices":[{"value":true},{"value":"true"},{"value":"x"}]},
  {"type":"score","name":"mood","instructions":"How?","levels":[{"label":"bad"},{"label":"fair"},{"label":"good"}]}])";

DecisionReply reply_of(const DecisionRequest& request) {
  DecisionReply reply;
  reply.answers = {answer_of(request.questions[0], {0.25, 0.75}), answer_of(request.questions[1], {0.25, 0.5, 0.25}),
                   answer_of(request.questions[2], {0.125, 0.25, 0.625})};
  reply.input_tokens = 40;
  reply.cached_tokens = 30;
  return reply;
}

TEST(OpenAiDecisions, ReadsEachTypeOfQuestion) {
  const ParsedWire wire = parsed(body(kThree));
  ASSERT_EQ(wire.request.questions.size(), 3u);
  EXPECT_EQ(to_json_text(wire.request.state), R"("I want my money.")");
  const Question& predicate = wire.request.questions[0];
  EXPECT_EQ(predicate.text, "Angry?");
  EXPECT_EQ(predicate.type, QuestionType::kYesNo);
  EXPECT_EQ(predicate.options[0].id, "true");
  EXPECT_EQ(predicate.options[1].id, "false");
  const Question& choice = wire.request.questions[1];
  EXPECT_EQ(choice.type, QuestionType::kChoice);
  ASSERT_EQ(choice.options.size(), 3u);
  const Question& score = wire.request.questions[2];
  EXPECT_EQ(score.type, QuestionType::kScale);
  EXPECT_EQ(score.options[2].id, "2");
  EXPECT_EQ(score.options[2].description, "good");
  EXPECT_FALSE(wire.request.allowed_mass) << "it is told when asked for";
}

TEST(OpenAiDecisions, TwoBooleansAreAQuestionOfYesOrNo) {
  const std::string question =
      R"({"type":"choice","instructions":"Paid?","choices":[{"value":false},{"value":true,"description":"Is paid"}]})";
  EXPECT_EQ(question_of(question).type, QuestionType::kYesNo);
  EXPECT_EQ(question_of(question).options[1].description, "Is paid");
  const Question more = question_of(question, R"(,"x_none_of_these":true)");
  EXPECT_EQ(more.type, QuestionType::kChoice);
  EXPECT_EQ(more.options.size(), 3u);
}

TEST(OpenAiDecisions, ALevelIsItsLabelAndWhatItMeans) {
  const Question question = question_of(
      R"({"type":"score","instructions":"How bad?","levels":[{"label":"low","description":"Cosmetic"},{"label":"low"}]})");
  ASSERT_EQ(question.options.size(), 2u);
  EXPECT_EQ(question.options[0].description, "low: Cosmetic");
  EXPECT_EQ(question.options[1].description, "low");
}

TEST(OpenAiDecisions, InstructionsMayBeParts) {
  const Question question = question_of(
      R"({"type":"predicate","instructions":[{"type":"input_text","text":"Does it fit?"},
          {"type":"input_json","data":{"b":1,"a":[2]}},{"type":"input_text","text":"Be strict."}]})");
  EXPECT_EQ(question.text, "Does it fit?\n{\"b\": 1, \"a\": [2]}\nBe strict.");
}

TEST(OpenAiDecisions, RefusesImagesEverywhere) {
  const std::string image = R"({"type":"input_image","image_url":"data:image/png;base64,AA=="})";
  const std::string questions = "[" + std::string(kPredicate) + "]";
  expect_refused(body(questions, R"([{"role":"user","content":[{"type":"input_text","text":"a"},)" + image + "]}]"),
                 "input[0].content[1]", "text only");
  expect_refused(body(questions, R"([{"type":"function_call","call_id":"c","name":"n","arguments":"{}"},)"
                                 R"({"type":"function_call_output","call_id":"c","output":[)" +
                                     image + "]}]"),
                 "input[1].output[0]", "text only");
  expect_question_refused(R"({"type":"predicate","instructions":[)" + image + "]}", ".instructions[0]", "text only");
}

TEST(OpenAiDecisions, RefusesBadQuestions) {
  expect_refused(R"({"model":"gpt-6-luna","input":"a"})", "questions", "is missing");
  expect_refused(body("{}"), "questions", "must be an array");
  expect_refused(body("[]"), "questions", "1 to 400");
  expect_question_refused("7", "", "must be an object");
  expect_question_refused(R"({"instructions":"a"})", ".type", "is missing");
  expect_question_refused(R"({"type":"noul","instructions":"a"})", ".type", "predicate");
  expect_question_refused(R"({"type":"predicate"})", ".instructions", "is missing");
  expect_question_refused(R"({"type":"predicate","instructions":null})", ".instructions", "must be");
  expect_question_refused(R"({"type":"predicate","instructions":""})", ".instructions", "empty");
  expect_question_refused(R"({"type":"predicate","instructions":[]})", ".instructions", "empty");
  expect_question_refused(R"({"type":"predicate","instructions":"a","name":7})", ".name", "string");
}

TEST(OpenAiDecisions, RefusesBadChoicesAndLevels) {
  const auto refused = [](const std::string& list, const std::string& field, const std::string& part) {
    expect_question_refused(R"({"type":"choice","instructions":"a","choices":)" + list + "}", field, part);
  };
  refused("{}", ".choices", "must be an array");
  refused(R"(["a","b"])", ".choices[0]", "must be an object");
  refused(R"([{"value":"a"},{"description":"b"}])", ".choices[1].value", "is missing");
  refused(R"([{"value":"a"},{"value":1}])", ".choices[1].value", "string or a boolean");
  refused(R"([{"value":"a"},{"value":null}])", ".choices[1].value", "string or a boolean");
  refused(R"([{"value":"a"},{"value":""}])", ".choices[1]", "empty");
  refused(R"([{"value":"a"},{"value":"b"},{"value":"a"}])", ".choices[2]", "repeats");
  refused(R"([{"value":true},{"value":true}])", ".choices[1]", "repeats");
  refused(R"([{"value":"a","description":7},{"value":"b"}])", ".choices[0].description", "string");
  expect_question_refused(R"({"type":"choice","instructions":"a"})", ".choices", "is missing");
  expect_question_refused(R"({"type":"score","instructions":"a"})", ".levels", "is missing");
  expect_question_refused(R"({"type":"score","instructions":"a","levels":["x","y"]})", ".levels[0]", "object");
  expect_question_refused(R"({"type":"score","instructions":"a","levels":[{"label":"x"},{}]})", ".levels[1].label",
                          "is missing");
  expect_question_refused(R"({"type":"score","instructions":"a","levels":[{"label":1},{}]})", ".levels[0].label",
                          "string");
}

TEST(OpenAiDecisions, KeepsTheLimitsOfTheContract) {
  for (const std::size_t count : {0u, 1u, 256u}) expect_question_refused(choices(count), ".choices", "2 to 255");
  for (const std::size_t count : {0u, 1u, 11u}) expect_question_refused(levels(count), ".levels", "2 to 10");
  for (const std::size_t count : {2u, 255u}) EXPECT_EQ(question_of(choices(count)).options.size(), count);
  for (const std::size_t count : {2u, 10u}) EXPECT_EQ(question_of(levels(count)).options.size(), count);
  EXPECT_EQ(parsed(body(repeated(kPredicate, 400))).request.questions.size(), 400u);
  expect_refused(body(repeated(kPredicate, 401)), "questions", "1 to 400");
}

TEST(OpenAiDecisions, RefusesWhatIsNoBody) {
  EXPECT_TRUE(refusal_of("{").starts_with("400 : not valid JSON"));
  EXPECT_TRUE(refusal_of("").starts_with("400 : not valid JSON"));
  EXPECT_TRUE(refusal_of("[]").starts_with("400 : the body must be"));
  EXPECT_TRUE(refusal_of(R"({"input":"a","input":"b"})").starts_with("400 : not valid JSON"));
  expect_refused(R"({"questions":[]})", "input", "is missing");
}

TEST(OpenAiDecisions, KnowsTheModelByAllItsNames) {
  const std::string questions = R"(,"input":"a","questions":[)" + std::string(kPredicate) + "]}";
  for (const std::string name : {R"("gpt-6-luna")", R"("real-model")", R"("other-name")", "null"}) {
    EXPECT_EQ(refusal_of(R"({"model":)" + name + questions), "accepted") << name;
  }
  EXPECT_EQ(refusal_of(R"({"input":"a","questions":[)" + std::string(kPredicate) + "]}"), "accepted");
  expect_refused(R"({"model":7)" + questions, "model", "string");
  const std::string said = refusal_of(R"({"model":"gpt-4")" + questions);
  EXPECT_TRUE(said.starts_with("404 model: ")) << said;
  EXPECT_NE(said.find("real-model"), std::string::npos) << said;
}

TEST(OpenAiDecisions, IgnoresWhatChangesNoAnswer) {
  const std::string question = R"([{"type":"predicate","instructions":"a","future":1,"x_future":[]}])";
  EXPECT_EQ(refusal_of(body(question, R"("a")",
                            R"(,"prompt_cache_key":"k","prompt_cache_options":{"mode":"explicit","ttl":"30m"},)"
                            R"("safety_identifier":null,"future":[1],"x_future":{})")),
            "accepted");
}

TEST(OpenAiDecisions, ReadsTheFieldsThatAllWiresHave) {
  const std::string two = "[" + std::string(kPredicate) + "," +
                          R"({"type":"choice","instructions":"W?","choices":[{"value":"a"},{"value":"b"}],)"
                          R"("x_min_confidence":0.75,"x_permute":2,"x_none_of_these":"Neither"}])";
  const ParsedWire wire =
      parsed(body(two, R"("s")",
                  R"(,"x_readout":"letters","x_layout":"question_first","x_receipt":true,)"
                  R"("x_allowed_mass":true,"x_min_confidence":0.25,"x_priority":"bulk","timeout_ms":5)"));
  EXPECT_EQ(wire.request.readout, Readout::kLetters);
  EXPECT_EQ(wire.request.layout, Layout::kQuestionFirst);
  EXPECT_EQ(wire.request.priority, Priority::kBulk);
  EXPECT_TRUE(wire.request.receipt);
  EXPECT_TRUE(wire.request.allowed_mass);
  EXPECT_EQ(wire.request.timeout_ms, 5);
  ASSERT_EQ(wire.request.questions.size(), 2u);
  EXPECT_EQ(wire.request.questions[0].min_confidence, 0.25);
  EXPECT_EQ(wire.request.questions[1].min_confidence, 0.75);
  EXPECT_EQ(wire.request.questions[1].permute, 2);
  ASSERT_EQ(wire.request.questions[1].options.size(), 3u);
  EXPECT_EQ(wire.request.questions[1].options[2].description, "Neither");
  expect_refused(body("[" + std::string(kPredicate) + "]", R"("s")", R"(,"x_readout":"magic")"), "x_readout");
  expect_question_refused(R"({"type":"predicate","instructions":"a","x_min_confidence":2})", ".x_min_confidence");
  expect_question_refused(R"({"type":"predicate","instructions":"a","x_none_of_these":true})", ".x_none_of_these");
  HttpRequest slow{.method = "POST", .path = "/", .headers = {{"X-Timeout-Ms", "no"}}, .body = body("[]")};
  EXPECT_EQ(OpenAiDecisionsWire(settings()).parse(slow).index(), 1u);
}

TEST(OpenAiDecisions, RepliesInOpenAisShape) {
  const ParsedWire wire = parsed(body(kThree));
  const Result<std::string> text = wire.write_reply(reply_of(wire.request));
  ASSERT_TRUE(text.ok()) << text.error().message;
  const std::string more = R"(, "x_readout": "letters", "x_reliability": "unknown"})";
  EXPECT_NE(
      text->find(R"({"answers": [{"type": "predicate", "name": null, "probability": 0.25, "x_confidence": 0.5, )"),
      std::string::npos)
      << *text;
  EXPECT_NE(text->find(R"({"type": "choice", "name": "wish", "choice": "true", "confidence": 0.5, "probabilities": )"
                       R"([{"value": true, "probability": 0.25}, {"value": "true", "probability": 0.5}, )"
                       R"({"value": "x", "probability": 0.25}])"),
            std::string::npos)
      << *text;
  EXPECT_NE(text->find(R"({"type": "score", "name": "mood", "score": 1.5, "confidence": 0.5, "probabilities": )"
                       R"([{"label": "bad", "probability": 0.125, "value": 0}, )"
                       R"({"label": "fair", "probability": 0.25, "value": 1}, )"
                       R"({"label": "good", "probability": 0.625, "value": 2}])"),
            std::string::npos)
      << *text;
  EXPECT_TRUE(text->ends_with(more + R"(], "model": "real-model", "usage": {"input_tokens": 40, )"
                                     R"("input_tokens_details": {"cache_write_tokens": 0, "cached_tokens": 30}, )"
                                     R"("output_tokens": 0, "output_tokens_details": {"reasoning_tokens": 0}, )"
                                     R"("total_tokens": 40}})"))
      << *text;
}

TEST(OpenAiDecisions, AnAnswerThatAbstainedIsARefusalWithItsReason) {
  const ParsedWire wire = parsed(body(kThree));
  DecisionReply reply = reply_of(wire.request);
  reply.answers[1].abstained = true;
  const Result<std::string> text = wire.write_reply(reply);
  ASSERT_TRUE(text.ok());
  EXPECT_NE(text->find(R"({"type": "refusal", "name": "wish", "x_reason": "abstained", "x_answer": {"type": "choice")"),
            std::string::npos)
      << *text;
}

TEST(OpenAiDecisions, TheAddedOptionIsNamedAsWhatItIs) {
  const ParsedWire wire = parsed(body("[" + choices(2) + "]", R"("s")", R"(,"x_none_of_these":true)"));
  DecisionReply reply;
  reply.answers = {answer_of(wire.request.questions[0], {0.25, 0.25, 0.5})};
  const Result<std::string> text = wire.write_reply(reply);
  ASSERT_TRUE(text.ok());
  EXPECT_NE(text->find(R"("choice": "none_of_these")"), std::string::npos) << *text;
  EXPECT_NE(text->find(R"({"value": "none_of_these", "probability": 0.5}])"), std::string::npos) << *text;
}

TEST(OpenAiDecisions, AnEventIsTheSameAnswerWithItsPlace) {
  const ParsedWire wire = parsed(body(kThree));
  const DecisionReply reply = reply_of(wire.request);
  const Result<std::string> whole = wire.write_reply(reply);
  const Result<std::string> event = wire.write_answer(1, reply.answers[1]);
  ASSERT_TRUE(whole.ok() && event.ok());
  const std::string head = R"({"index": 1, )";
  ASSERT_TRUE(event->starts_with(head)) << *event;
  EXPECT_NE(whole->find("{" + event->substr(head.size())), std::string::npos) << *event;
}

TEST(OpenAiDecisions, WritesNoNumberThatIsNotFinite) {
  const ParsedWire wire = parsed(body(kThree));
  for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
    DecisionReply reply = reply_of(wire.request);
    reply.answers[2].options[0].probability = bad;
    const Result<std::string> text = wire.write_reply(reply);
    ASSERT_FALSE(text.ok());
    EXPECT_EQ(text.error().code, ErrorCode::kNonfiniteLogits);
    EXPECT_FALSE(wire.write_answer(2, reply.answers[2]).ok());
    reply = reply_of(wire.request);
    reply.answers[0].confidence = bad;
    EXPECT_FALSE(wire.write_reply(reply).ok());
  }
}

TEST(OpenAiDecisions, RoundsOnlyWhenAsked) {
  WireSettings rounded = settings();
  rounded.round_digits = 2;
  const std::variant<ParsedWire, WireRefusal> wire = OpenAiDecisionsWire(rounded).parse({.body = body(kThree)});
  const ParsedWire& parsed_wire = std::get<ParsedWire>(wire);
  const Result<std::string> text = parsed_wire.write_reply(reply_of(parsed_wire.request));
  ASSERT_TRUE(text.ok());
  EXPECT_NE(text->find(R"("score": 1.5)"), std::string::npos) << *text;
  EXPECT_EQ(text->find("0.125"), std::string::npos) << *text;
  const std::string key = "\"x_entropy\": ";
  for (std::size_t at = text->find(key); at != std::string::npos; at = text->find(key, at + 1)) {
    const std::size_t begin = at + key.size();
    EXPECT_LE(text->find(',', begin) - begin, 4u) << *text;  // "0.69"
  }
}

TEST(OpenAiDecisions, ADecidersErrorNamesTheCallersField) {
  const ParsedWire wire = parsed(body(kThree));
  const auto field = [&wire](const std::string& from) {
    const Error error = wire.in_wire_terms(Error{ErrorCode::kInvalidArgument, from + " is bad", from});
    EXPECT_EQ(error.message, error.field + " is bad");
    return error.field;
  };
  EXPECT_EQ(field("state"), "input");
  EXPECT_EQ(field("questions[0].text"), "questions[0].instructions");
  EXPECT_EQ(field("questions[0].options[1].id"), "questions[0]");
  EXPECT_EQ(field("questions[1].options[1].id"), "questions[1].choices[1].value");
  EXPECT_EQ(field("questions[1].options"), "questions[1].choices");
  EXPECT_EQ(field("questions[2].options[1].description"), "questions[2].levels[1].description");
  EXPECT_EQ(field("questions[1].permute"), "questions[1].x_permute");
  EXPECT_EQ(field("readout"), "x_readout");
  EXPECT_EQ(field("lesson"), "x_lesson");
  EXPECT_EQ(field("questions[9].text"), "questions[9].text");
  EXPECT_EQ(field("questions"), "questions");
}

TEST(OpenAiDecisions, ABodyAboveTheLimitIsNotRead) {
  WireSettings small = settings();
  small.body_bytes_max = 10;
  const auto wire = OpenAiDecisionsWire(small).parse({.body = body("[]")});
  ASSERT_EQ(wire.index(), 1u);
  EXPECT_EQ(std::get<WireRefusal>(wire).status, 413);
}

}  // namespace
}  // namespace assay::server
