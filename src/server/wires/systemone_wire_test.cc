// Replies and errors of the System One wire, from the body that came to the body that goes.
#include "server/wires/systemone_wire.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "server/testing/fake_decider.h"
#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

WireSettings settings(int round_digits = 0) {
  return {.model_names = {"our-model-1", "jev-latest"}, .round_digits = round_digits};
}

ParsedWire parse(const std::string& body, int round_digits = 0) {
  const HttpRequest request{.method = "POST", .path = "/v1/systemone", .headers = {}, .body = body};
  std::variant<ParsedWire, WireRefusal> parsed = SystemOneWire(settings(round_digits)).parse(request);
  if (const WireRefusal* refused = std::get_if<WireRefusal>(&parsed)) {
    ADD_FAILURE() << refused->body;
    return {};
  }
  return std::get<ParsedWire>(std::move(parsed));
}

std::string body_with(const std::string& question, const std::string& more = "") {
  return R"({"model":"jev-latest","state":"s",)" + more + R"("questions":{"q":)" + question + "}}";
}

// The reply to a body with one question, when the model gives its options these probabilities.
std::string reply(const std::string& body, const std::vector<double>& probabilities, int round_digits = 0) {
  const ParsedWire parsed = parse(body, round_digits);
  DecisionReply decided;
  decided.answers = {testing::FakeDecider::answer_with_chances(parsed.request.questions.at(0), probabilities)};
  decided.input_tokens = 58;
  const Result<std::string> text = parsed.write_reply(decided);
  return text.ok() ? *text : error_name(text.error().code);
}

TEST(SystemOneReply, Golden1Noul) {
  EXPECT_EQ(reply(R"({"model":"jev-latest","state":"x","questions":{"arrived":{"type":"noul"}}})", {0.75, 0.25}),
            R"({"model": "our-model-1", "answers": {"arrived": {"type": "noul", "noul": 0.75, )"
            R"("x_entropy": 0.5623351446188083, "x_readout": "letters", "x_reliability": "unknown"}}, )"
            R"("usage": {"input_tokens": 58, "output_tokens": 0}, "x_calibrated": false})");
}

TEST(SystemOneReply, Golden3ChoiceInRequestOrder) {
  const std::string text =
      reply(body_with(R"({"type":"choice","criteria":{"Gerätetechnik":null,"Buchhaltung":null,"🙂 sonstiges":"x"}})"),
            {0.91, 0.02, 0.07});
  EXPECT_NE(text.find(R"("choice": "Gerätetechnik", "probabilities": {"Gerätetechnik": 0.91, "Buchhaltung": 0.02, )"
                      R"("🙂 sonstiges": 0.07}, "confidence": 0.865)"),
            std::string::npos)
      << text;
}

TEST(SystemOneReply, Golden4Score) {
  const std::string text = reply(
      body_with(R"({"type":"score","criteria":["not at all","a little","noticeable",{"label":"high"},"emergency"]})"),
      {0.04, 0.16, 0.55, 0.2, 0.05});
  const Value answer = *parse_json(text)->find("answers")->find("q");
  EXPECT_NEAR(*answer.find("score")->number(), 2.06, 1e-9);
  EXPECT_NEAR(*answer.find("confidence")->number(), 0.55, 1e-9);  // distance; peak would be 0.4375
  EXPECT_EQ(to_json_text(*answer.find("legend")),
            R"({"0": "not at all", "1": "a little", "2": "noticeable", "3": {"label": "high"}, "4": "emergency"})");
  EXPECT_EQ(to_json_text(*answer.find("probabilities")), R"({"0": 0.04, "1": 0.16, "2": 0.55, "3": 0.2, "4": 0.05})");
}

TEST(SystemOneReply, Rule1_4OneOptionIsCertain) {
  const std::string choice = reply(body_with(R"({"type":"choice","criteria":{"only":null}})"), {1});
  EXPECT_NE(choice.find(R"("choice": "only", "probabilities": {"only": 1.0}, "confidence": 1.0)"), std::string::npos);
  const std::string score = reply(body_with(R"({"type":"score","criteria":["only"]})"), {1});
  EXPECT_NE(score.find(R"("score": 0.0, "legend": {"0": "only"}, "probabilities": {"0": 1.0}, "confidence": 1.0)"),
            std::string::npos);
}

TEST(SystemOneReply, Rule1_9NamesComeBackByteForByte) {
  const std::string text = reply(body_with(R"({"type":"choice","criteria":{"":null," a ":null}})"), {0.25, 0.75});
  EXPECT_NE(text.find(R"("choice": " a ", "probabilities": {"": 0.25, " a ": 0.75})"), std::string::npos) << text;
}

TEST(SystemOneReply, Rule2_1AnswersAreInRequestOrder) {
  const ParsedWire parsed = parse(
      R"({"model":"jev-latest","state":"s","questions":{"🎯":{"type":"noul"},"a b":{"type":"noul"},"1":{"type":"noul"}}})");
  const std::string text = *parsed.write_reply(testing::FakeDecider::equal_chances(parsed.request));
  const Value body = parse_json(text).value();
  const Value::Object& answers = *body.find("answers")->object();
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[0].first, "🎯");
  EXPECT_EQ(answers[1].first, "a b");
  EXPECT_EQ(answers[2].first, "1");
}

TEST(SystemOneReply, Rule2_5NeverWritesNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(reply(body_with(R"({"type":"noul"})"), {nan, 0.5}), "nonfinite_logits");
  const ParsedWire parsed = parse(body_with(R"({"type":"noul"})"));
  Answer answer = testing::FakeDecider::answer_with_chances(parsed.request.questions[0], {0.5, 0.5});
  answer.confidence = nan;
  const Result<std::string> event = parsed.write_answer(0, answer);
  ASSERT_FALSE(event.ok());
  EXPECT_EQ(event.error().message, "the model gave a number that is not finite for \"q\"");
}

TEST(SystemOneReply, Rule2_7FullDoublesUnlessAskedToRound) {
  const std::string body = body_with(R"({"type":"score","criteria":["a","b","c"]})");
  const std::vector<double> thirds = {1.0 / 3, 1.0 / 3, 1.0 / 3};
  EXPECT_NE(reply(body, thirds).find("0.3333333333333333"), std::string::npos);
  const Value answer = *parse_json(reply(body, {0.0049, 0.0049, 0.9902}, 2))->find("answers")->find("q");
  // 0.0049 + 2 * 0.9902 = 1.9853: from the full numbers, so not what the rounded ones give.
  EXPECT_EQ(*answer.find("score")->number(), 1.99);
  EXPECT_EQ(to_json_text(*answer.find("probabilities")), R"({"0": 0.01, "1": 0.0, "2": 0.99})");
  EXPECT_NE(reply(body, thirds, 2).find(R"("probabilities": {"0": 0.34, "1": 0.33, "2": 0.33})"), std::string::npos);
}

TEST(SystemOneReply, Rule2_8TiesGoToTheFirst) {
  EXPECT_NE(
      reply(body_with(R"({"type":"choice","criteria":{"b":null,"a":null}})"), {0.5, 0.5}).find(R"("choice": "b")"),
      std::string::npos);
}

TEST(SystemOneReply, AbstainsWithNull) {
  const std::string choice =
      reply(body_with(R"({"type":"choice","criteria":{"a":null,"b":null}})", R"("x_min_confidence":0.3,)"), {0.6, 0.4});
  EXPECT_NE(choice.find(R"("choice": null, "probabilities": {"a": 0.6, "b": 0.4}, "confidence": )"), std::string::npos);
  EXPECT_NE(choice.find(R"("x_abstained": true, "x_reason": "abstained")"), std::string::npos) << choice;
  const std::string noul = reply(body_with(R"({"type":"noul","x_min_confidence":0.3})"), {0.6, 0.4});
  EXPECT_NE(noul.find(R"("noul": null, "x_confidence": )"), std::string::npos) << noul;
  EXPECT_NE(noul.find(R"("x_noul": 0.6, "x_abstained": true)"), std::string::npos) << noul;
  const std::string score =
      reply(body_with(R"({"type":"score","criteria":["a","b"],"x_min_confidence":1})"), {0.6, 0.4});
  EXPECT_NE(score.find(R"("score": null)"), std::string::npos);
  const std::string sure = reply(body_with(R"({"type":"noul","x_min_confidence":0.3})"), {0.9, 0.1});
  EXPECT_NE(sure.find(R"("noul": 0.9)"), std::string::npos);
  EXPECT_EQ(sure.find("x_noul"), std::string::npos);
  EXPECT_NE(sure.find(R"("x_abstained": false, "x_entropy")"), std::string::npos) << sure;
}

TEST(SystemOneReply, Rule2_2ExtensionsBeginWithX) {
  ParsedWire parsed = parse(body_with(R"({"type":"choice","criteria":{"a":null,"b":null},"x_permute":2})",
                                      R"("x_explain":true,"x_receipt":true,)"));
  DecisionReply decided = testing::FakeDecider::equal_chances(parsed.request);
  decided.receipt = Receipt{"m", "b", "s", "t", "c"};
  decided.from_answer_cache = true;
  decided.answers[0].allowed_mass = 0.5;
  const std::string text = *parsed.write_reply(decided);
  const Value body = parse_json(text).value();
  for (const auto& [key, value] : *body.object()) {
    EXPECT_TRUE(key == "model" || key == "answers" || key == "usage" || key.starts_with("x_")) << key;
  }
  for (const auto& [key, value] : *body.find("answers")->find("q")->object()) {
    EXPECT_TRUE(key == "type" || key == "choice" || key == "probabilities" || key == "confidence" ||
                key.starts_with("x_"))
        << key;
  }
  EXPECT_NE(text.find(R"("x_orders": 2)"), std::string::npos);
  EXPECT_NE(text.find(R"("x_allowed_mass": 0.5)"), std::string::npos);
  EXPECT_NE(text.find(R"("x_answer_cache": true, "x_receipt": {"model": "m")"), std::string::npos);
  EXPECT_TRUE(body.find("answers")->find("q")->find("x_explain")->is_object());
}

TEST(SystemOneReply, AnEventHasTheRepliesAnswer) {
  const ParsedWire parsed = parse(
      R"({"model":"jev-latest","state":"s","questions":{"a":{"type":"noul"},"b\n":{"type":"score","criteria":["x","y"]}}})");
  const DecisionReply decided = testing::FakeDecider::equal_chances(parsed.request);
  const std::string event = *parsed.write_answer(1, decided.answers[1]);
  const Value reply_body = parse_json(*parsed.write_reply(decided)).value();
  EXPECT_EQ(event, R"({"id": "b\n", "answer": )" + to_json_text(*reply_body.find("answers")->find("b\n")) + "}");
  EXPECT_EQ(event.find('\n'), std::string::npos);
}

TEST(SystemOneError, DeciderErrorsSpeakOfTheBody) {
  const ParsedWire parsed =
      parse(R"({"model":"jev-latest","state":"s","questions":{"a.b":{"type":"choice","criteria":{"x":null,"é]":null}},)"
            R"("n":{"type":"noul"},"s":{"type":"score","criteria":["l"]}}})");
  const SystemOneWire wire(settings());
  const auto loc = [&](const std::string& field) {
    const Error error = parsed.in_wire_terms(invalid_argument(field, field + " is bad"));
    const Value body = parse_json(wire.refuse(error).body).value();
    EXPECT_EQ(wire.refuse(error).status, 422);
    return to_json_text(*(*body.find("detail")->array())[0].find("loc"));
  };
  EXPECT_EQ(loc("questions[0].options[1].id"), R"(["body", "questions", "a.b", "choice", "criteria", "é]"])");
  EXPECT_EQ(loc("questions[1].options[0].description"), R"(["body", "questions", "n", "noul", "criteria", "true"])");
  EXPECT_EQ(loc("questions[2].options[0]"), R"(["body", "questions", "s", "score", "criteria", 0])");
  EXPECT_EQ(loc("questions[1].text"), R"(["body", "questions", "n", "noul", "instructions"])");
  EXPECT_EQ(loc("questions[1].permute"), R"(["body", "questions", "n", "noul", "x_permute"])");
  EXPECT_EQ(loc("questions[1].options"), R"(["body", "questions", "n", "noul", "criteria"])");
  EXPECT_EQ(loc("questions[7].text"), R"(["body", "questions[7].text"])");
  EXPECT_EQ(loc("state"), R"(["body", "state"])");
  EXPECT_EQ(loc("readout"), R"(["body", "x_readout"])");
  EXPECT_EQ(loc("lesson"), R"(["body", "x_lesson"])");
  EXPECT_EQ(parsed.in_wire_terms(invalid_argument("questions[1].text", "questions[1].text is bad")).message,
            "questions.n.noul.instructions is bad");
  // Too long has a body without a loc, so its text says where.
  EXPECT_EQ(parsed.in_wire_terms({ErrorCode::kTooLong, "The prompt has 9 tokens.", "questions[1].text"}).message,
            "questions.n.noul.instructions: The prompt has 9 tokens.");
}

TEST(SystemOneError, Rule1_8TooLongIsTokensExceeded) {
  const WireRefusal refused =
      SystemOneWire(settings())
          .refuse(Error{ErrorCode::kTooLong, "the prompt has 9000 tokens; the limit is 8192", "questions[0]"});
  EXPECT_EQ(refused.status, 413);
  EXPECT_EQ(
      refused.body,
      R"({"detail": {"error_type": "tokens_exceeded", "message": "the prompt has 9000 tokens; the limit is 8192"}, )"
      R"("error": {"code": 413, "message": "the prompt has 9000 tokens; the limit is 8192"}, "x_code": "too_long"})");
}

TEST(SystemOneError, Rule3_4EveryErrorHasBothForms) {
  const SystemOneWire wire(settings());
  for (const ErrorCode code :
       {ErrorCode::kInvalidArgument, ErrorCode::kTooLong, ErrorCode::kUnauthorized, ErrorCode::kMediaType,
        ErrorCode::kOverloaded, ErrorCode::kTooBusy, ErrorCode::kUnavailable, ErrorCode::kDeadline,
        ErrorCode::kCancelled, ErrorCode::kNonfiniteLogits, ErrorCode::kOutOfMemory, ErrorCode::kInternal}) {
    const WireRefusal refused = wire.refuse(Error{code, "so it is", "", 2.5});
    EXPECT_EQ(refused.status, http_status(code));
    EXPECT_NE(refused.status, 501);
    EXPECT_EQ(refused.code, code);
    EXPECT_EQ(refused.retry_after_seconds, 2.5);
    const Value body = parse_json(refused.body).value();
    EXPECT_EQ(*body.find("detail")->find("message")->string(), "so it is");
    EXPECT_EQ(body.find("error")->find("code")->integer()->digits, std::to_string(http_status(code)));
    EXPECT_EQ(*body.find("x_code")->string(), error_name(code));
  }
  const Value key = parse_json(wire.refuse(Error{ErrorCode::kUnauthorized, "no", ""}).body).value();
  EXPECT_EQ(*key.find("detail")->find("error_type")->string(), "authentication_error");
}

}  // namespace
}  // namespace assay::server
