#include "server/wires/wire_reply.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

WireRequest request_of(std::size_t questions) {
  WireRequest wire;
  wire.single = questions == 1;
  for (std::size_t i = 0; i < questions; ++i) {
    wire.request.questions.push_back(
        {.id = "q" + std::to_string(i), .text = "What?", .options = {{"a", {}}, {"b", {}}}});
  }
  return wire;
}

OptionAnswer option_answer(const std::string& id, double probability, double score) {
  OptionAnswer option;
  option.id = id;
  option.probability = probability;
  option.score = score;
  return option;
}

Answer letters_answer(const std::string& id) {
  Answer answer;
  answer.question_id = id;
  answer.options = {option_answer("a", 1.0, 20), option_answer("b", 0.1, -0.5)};
  answer.prompt_version = "direct-options-v1";
  answer.reliability = Reliability::kReliable;
  answer.allowed_mass = 0.75;
  answer.argmax_token = 32;
  answer.label_tokens = {32, 33};
  answer.prompt_sha256 = "ab12";
  answer.prompt_tokens = 40;
  return answer;
}

DecisionReply reply_of(std::size_t answers) {
  DecisionReply reply{.answers = {}, .input_tokens = 50, .computed_rows = 44, .queue_ms = 500, .compute_ms = 1500};
  for (std::size_t i = 0; i < answers; ++i) reply.answers.push_back(letters_answer("q" + std::to_string(i)));
  return reply;
}

ModelReport model() {
  ModelReport report;
  report.id = "tiny";
  report.architecture = "llama";
  report.context_tokens = 4096;
  report.readout = Readout::kText;
  report.readout_source = "check";
  report.path = "/secret/tiny.gguf";
  report.check = {{Readout::kText, QuestionType::kChoice, 30, 40, 0.25, 1e-6, true},
                  {Readout::kText, QuestionType::kScale, 4, 16, 0.2, 0.4, false},
                  {Readout::kLetters, QuestionType::kYesNo, 9, 16, 0.5, 0.4, true}};
  return report;
}

std::string text_of(const Result<std::string>& body) { return body.ok() ? body.value() : body.error().message; }

TEST(SemifReply, WritesASingleResultWithSemifsNames) {
  const std::string text = text_of(semif_reply(request_of(1), reply_of(1), model()));
  EXPECT_EQ(text, R"({"result": {"id": "q0", "option_ids": ["a", "b"], "probabilities": [1.0, 0.1], )"
                  R"("option_logits": [20.0, -0.5], "answer_token_ids": [32, 33], "input_tokens": 40, )"
                  R"("allowed_token_mass": 0.75, "full_vocab_argmax_id": 32, "prompt_sha256": "ab12", )"
                  R"("prompt_version": "direct-options-v1", "layout": "state_first", )"
                  R"("model": {"id": "tiny", "architecture": "llama", "deterministic": false, )"
                  R"("serving_config": {"context_tokens": 4096, "threads": 0, "chat_template": "", "system_role": "", )"
                  R"("thinking": "", "readout": "text", "readout_source": "check", "extra_buffers": true}}, )"
                  R"("readout": "letters", "probability_status": "uncalibrated", "reliability": "reliable", )"
                  R"("forward_seconds": 1.5, "total_seconds": 2.0}})");
}

TEST(SemifReply, WritesSharedResultsWithOneTiming) {
  const std::string text = text_of(semif_reply(request_of(2), reply_of(2), model()));
  const Result<Value> body = parse_json(text);
  ASSERT_TRUE(body.ok()) << text;
  ASSERT_EQ(body->find("results")->array()->size(), 2u);
  EXPECT_EQ(*(*body->find("results")->array())[1].find("id")->string(), "q1");
  EXPECT_EQ((*body->find("results")->array())[1].find("total_seconds"), nullptr);
  EXPECT_EQ(to_json_text(*body->find("timing")),
            R"({"batch_size": 2, "input_tokens": 50, "computed_rows": 44, "cached_tokens": 0, )"
            R"("queue_seconds": 0.5, "forward_seconds": 1.5, "total_seconds": 2.0, "max_request_tokens": 4096})");
}

TEST(SemifReply, TellsLayoutDeterminismAndCachedTokens) {
  DecisionReply reply = reply_of(2);
  reply.cached_tokens = 31;
  reply.answers[1].layout = Layout::kQuestionFirst;
  ModelReport report = model();
  report.deterministic = true;
  const std::string text = text_of(semif_reply(request_of(2), reply, report));
  const Result<Value> body = parse_json(text);
  ASSERT_TRUE(body.ok()) << text;
  const Value::Array& results = *body->find("results")->array();
  EXPECT_EQ(*results[0].find("layout")->string(), "state_first");
  EXPECT_EQ(*results[1].find("layout")->string(), "question_first");
  EXPECT_TRUE(*results[1].find("model")->find("deterministic")->boolean());
  EXPECT_EQ(body->find("timing")->find("cached_tokens")->integer()->digits, "31");
}

TEST(SemifReply, ShowsTheReceiptAndTheAnswerCacheBehindTheResults) {
  for (const std::size_t questions : {1u, 2u}) {
    DecisionReply reply = reply_of(questions);
    const std::string without = text_of(semif_reply(request_of(questions), reply, model()));
    EXPECT_EQ(without.find("x_receipt"), std::string::npos);
    EXPECT_EQ(without.find("x_answer_cache"), std::string::npos);
    reply.from_answer_cache = true;
    reply.receipt = {.model = "m1", .build = "b2", .settings = "s3", .tokens = "t4", .scores = "c5"};
    const std::string text = text_of(semif_reply(request_of(questions), reply, model()));
    EXPECT_EQ(text, without.substr(0, without.size() - 1) +
                        R"(, "x_answer_cache": true, "x_receipt": {"model": "m1", "build": "b2", "settings": "s3", )"
                        R"("tokens": "t4", "scores": "c5"}})");
  }
}

TEST(SemifReply, StaysAListForOneSharedDecision) {
  WireRequest wire = request_of(1);
  wire.single = false;
  EXPECT_TRUE(text_of(semif_reply(wire, reply_of(1), model())).starts_with(R"({"results": [{"id": "q0")"));
}

TEST(SemifReply, LeavesOutWhatTheTextReadoutHasNot) {
  DecisionReply reply = reply_of(1);
  reply.answers[0].readout = Readout::kText;
  reply.answers[0].calibrated = true;
  reply.answers[0].allowed_mass.reset();
  reply.answers[0].argmax_token.reset();
  reply.answers[0].label_tokens.clear();
  const std::string text = text_of(semif_reply(request_of(1), reply, model()));
  for (const char* absent : {"answer_token_ids", "allowed_token_mass", "full_vocab_argmax_id", "x_explain", "null"}) {
    EXPECT_EQ(text.find(absent), std::string::npos) << absent;
  }
  EXPECT_NE(text.find(R"("readout": "text", "probability_status": "calibrated")"), std::string::npos);
}

TEST(SemifReply, ExplainsWhenAsked) {
  WireRequest wire = request_of(1);
  wire.request.explain = true;
  wire.request.hidden_state = true;
  DecisionReply reply = reply_of(1);
  Answer& answer = reply.answers[0];
  answer.prompt = "P\n";
  answer.prompt_token_ids = {1, 5};
  answer.hidden_state = {0.5f, -2.0f};
  answer.options.resize(1);
  answer.options[0].scored_text = "A";
  answer.options[0].log_prob = -0.25;
  answer.options[0].tokens = {{.token = 7, .piece = "A", .log_prob = -0.25},
                              {.token = 8, .piece = "\xE2\x82", .log_prob = -1, .prior_log_prob = -2}};
  const std::string text = text_of(semif_reply(wire, reply, model()));
  EXPECT_NE(text.find(R"("x_explain": {"prompt": "P\n", "token_ids": [1, 5], "options": [{"id": "a", )"
                      R"("scored_text": "A", "log_prob": -0.25, "prior_log_prob": 0.0, "tokens": [{"token": 7, )"
                      R"("piece": "A", "log_prob": -0.25, "prior_log_prob": 0.0}, {"token": 8, )"
                      "\"piece\": \"\xEF\xBF\xBD\xEF\xBF\xBD\", "
                      R"("bytes": [226, 130], "log_prob": -1.0, "prior_log_prob": -2.0}]}]}, )"
                      R"("x_hidden_state": [0.5, -2.0])"),
            std::string::npos)
      << text;
}

TEST(SemifReply, NeverWritesANumberThatIsNotFinite) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  const auto code_after = [](auto change) {
    DecisionReply reply = reply_of(1);
    change(reply.answers[0]);
    const Result<std::string> body = semif_reply(request_of(1), reply, model());
    return body.ok() ? "written" : error_name(body.error().code);
  };
  const std::string expected = "nonfinite_logits";
  EXPECT_EQ(code_after([&](Answer& a) { a.options[1].probability = nan; }), expected);
  EXPECT_EQ(code_after([&](Answer& a) { a.options[1].score = -infinity; }), expected);
  EXPECT_EQ(code_after([&](Answer& a) { a.options[0].log_prob = infinity; }), expected);
  EXPECT_EQ(code_after([&](Answer& a) { a.options[0].prior_log_prob = nan; }), expected);
  EXPECT_EQ(code_after([&](Answer& a) { a.options[0].tokens = {{.token = 1, .piece = "", .log_prob = nan}}; }),
            expected);
  EXPECT_EQ(code_after([&](Answer& a) { a.allowed_mass = nan; }), expected);
  EXPECT_EQ(code_after([&](Answer& a) { a.hidden_state = {std::numeric_limits<float>::infinity()}; }), expected);
  EXPECT_EQ(code_after([](Answer&) {}), std::string("written"));
}

TEST(SemifReply, RoundTripsDoublesToTheBit) {
  DecisionReply reply = reply_of(1);
  const double value = 0.1 + 0.2;
  reply.answers[0].options[0].probability = value;
  const Result<Value> body = parse_json(text_of(semif_reply(request_of(1), reply, model())));
  ASSERT_TRUE(body.ok());
  EXPECT_EQ(*(*body->find("result")->find("probabilities")->array())[0].number(), value);
}

TEST(ErrorBody, SaysWhatWhereAndWhetherToTryAgain) {
  EXPECT_EQ(error_body(invalid_argument("decision.id", "decision.id is missing")),
            R"({"error": "decision.id is missing", "code": "invalid_argument", "field": "decision.id"})");
  EXPECT_EQ(error_body(Error{ErrorCode::kOverloaded, "busy", ""}),
            R"({"error": "busy", "code": "overloaded", "retryable": true})");
  EXPECT_EQ(error_body(Error{ErrorCode::kTooBusy, "later", "", 12.5}),
            R"({"error": "later", "code": "too_busy", "retryable": true})");
  EXPECT_EQ(error_body(Error{ErrorCode::kDeadline, "late", ""}), R"({"error": "late", "code": "deadline"})");
  EXPECT_EQ(error_body(Error{ErrorCode::kUnavailable, "stopping", ""}),
            R"({"error": "stopping", "code": "unavailable", "retryable": true})");
  EXPECT_EQ(error_body(Error{ErrorCode::kInternal, "bad \xFF byte", ""}),
            "{\"error\": \"bad \xEF\xBF\xBD byte\", \"code\": \"internal\"}");
}

TEST(ModelsBody, NamesTheModelAndItsAliasesAndNoPath) {
  const std::string text = models_body(model(), {"tiny", "jev-latest", "jev-preview"});
  const Result<Value> body = parse_json(text);
  ASSERT_TRUE(body.ok()) << text;
  EXPECT_EQ(*body->find("object")->string(), "list");
  const Value& entry = (*body->find("data")->array())[0];
  EXPECT_EQ(*entry.find("id")->string(), "tiny");
  EXPECT_EQ(*entry.find("owned_by")->string(), "assay");
  EXPECT_EQ(to_json_text(*entry.find("meta")->find("reliability")),
            R"({"choice": "reliable", "yes_no": "unknown", "scale": "unreliable"})");
  const Value::Array& names = *body->find("models")->array();
  ASSERT_EQ(names.size(), 3u);
  EXPECT_EQ(*names[0].find("name")->string(), "tiny");
  EXPECT_EQ(*names[1].find("name")->string(), "jev-latest");
  EXPECT_EQ(*names[2].find("name")->string(), "jev-preview");
  EXPECT_EQ(names[2].find("release_date")->string()->size(), 10u);
  EXPECT_EQ(text.find("secret"), std::string::npos);
}

TEST(ModelsBody, TellsLayoutAndDeterminism) {
  ModelReport report = model();
  report.layout = Layout::kQuestionFirst;
  report.deterministic = true;
  report.determinism = "checked \"at load\"";
  const Result<Value> body = parse_json(models_body(report, {"tiny"}));
  ASSERT_TRUE(body.ok());
  const Value& meta = *(*body->find("data")->array())[0].find("meta");
  EXPECT_EQ(*meta.find("layout")->string(), "question_first");
  EXPECT_TRUE(*meta.find("deterministic")->boolean());
  EXPECT_EQ(*meta.find("determinism")->string(), "checked \"at load\"");
}

TEST(HealthBody, TellsTheLimitsOfOneRequestAndTheLoad) {
  EXPECT_EQ(
      health_body({.status = "ok", .context_tokens = 8192, .limits = {}, .in_flight = 3, .queued = 1, .running = 2}),
      R"({"status": "ok", "limits": {"context_tokens": 8192, "options_max": 1024, "questions_max": 256, )"
      R"("body_bytes_max": 26214400}, "in_flight": 3, "queued": 1, "running": 2})");
  const std::string with_chat = health_body({.status = "ok", .chat_context_tokens = 2048, .limits = {}});
  EXPECT_NE(with_chat.find(R"("body_bytes_max": 26214400, "chat_context_tokens": 2048})"), std::string::npos)
      << with_chat;
  EXPECT_EQ(ping_body("ok"), R"({"status": "ok"})");
}

}  // namespace
}  // namespace assay::server
