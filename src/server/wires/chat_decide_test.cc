#include "server/wires/chat_decide.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

constexpr const char* kMessages = R"([{"role":"system","content":"What does the customer want?"},
                                      {"role":"user","content":"I want my money back."}])";
constexpr const char* kEnum = R"({"type":"object","properties":{"wish":{"type":"string","enum":["refund","info"]}},
                                  "required":["wish"],"additionalProperties":false})";

ChatDecideWire wire_at(std::int64_t unix_ns, int round_digits = 0) {
  WireSettings settings;
  settings.model_names = {"real-model"};
  settings.options_max = 8;
  settings.round_digits = round_digits;
  return ChatDecideWire(settings, [unix_ns] { return unix_ns; });
}

std::string with_format(const std::string& schema) {
  return R"("response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":)" + schema + "}}";
}

std::string body(const std::string& more, const std::string& messages = kMessages) {
  return R"({"model":"real-model","x_decide":true,"messages":)" + messages + (more.empty() ? "" : ",") + more + "}";
}

std::variant<ParsedWire, WireRefusal> parse(const std::string& text) {
  return wire_at(7'000'000'001).parse({.method = "POST", .path = "/v1/chat/completions", .headers = {}, .body = text});
}

ParsedWire parsed(const std::string& text) {
  std::variant<ParsedWire, WireRefusal> wire = parse(text);
  if (const WireRefusal* refusal = std::get_if<WireRefusal>(&wire)) ADD_FAILURE() << text << "\n -> " << refusal->body;
  return wire.index() == 0 ? std::get<ParsedWire>(std::move(wire)) : ParsedWire();
}

Question question_of(const std::string& more, const std::string& messages = kMessages) {
  const ParsedWire wire = parsed(body(more, messages));
  return wire.request.questions.size() == 1 ? wire.request.questions[0] : Question();
}

// "id|id=description|…"
std::string options_of(const std::string& more) {
  std::string text;
  for (const Option& option : question_of(more).options) {
    text += (text.empty() ? "" : "|") + option.id;
    if (option.description.has_value()) text += "=" + *option.description;
  }
  return text;
}

Value json(const std::string& text) {
  Result<Value> value = parse_json(text);
  EXPECT_TRUE(value.ok()) << text;
  return value.ok() ? std::move(value).value() : Value();
}

// The refusal of a body as "param: message".
std::string refusal_of(const std::string& text) {
  const std::variant<ParsedWire, WireRefusal> wire = parse(text);
  const WireRefusal* refusal = std::get_if<WireRefusal>(&wire);
  if (refusal == nullptr) return "accepted";
  EXPECT_EQ(refusal->status, 400) << refusal->body;
  const Value reply = json(refusal->body);
  const Value* error = reply.find("error");
  const Value* param = error->find("param");
  return (param->is_null() ? "" : *param->string()) + ": " + *error->find("message")->string();
}

void expect_refused(const std::string& more, const std::string& field, const std::string& part = "") {
  const std::string said = refusal_of(body(more));
  EXPECT_TRUE(said.starts_with(field + ": ")) << more << "\n -> " << said;
  EXPECT_NE(said.find(part), std::string::npos) << more << "\n -> " << said;
}

void expect_messages_refused(const std::string& messages, const std::string& field, const std::string& part = "") {
  const std::string said = refusal_of(body(with_format(kEnum), messages));
  EXPECT_TRUE(said.starts_with("messages" + field + ": ")) << messages << "\n -> " << said;
  EXPECT_NE(said.find(part), std::string::npos) << messages << "\n -> " << said;
}

DecisionReply reply_of(const ParsedWire& wire, const std::vector<double>& probabilities) {
  Answer answer;
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    OptionAnswer option;
    option.id = wire.request.questions[0].options[i].id;
    option.probability = probabilities[i];
    answer.options.push_back(std::move(option));
    if (probabilities[i] > probabilities[answer.best]) answer.best = i;
  }
  answer.confidence = 0.5;
  DecisionReply reply;
  reply.answers = {answer};
  reply.input_tokens = 40;
  reply.cached_tokens = 30;
  return reply;
}

std::string completion(const std::string& more, const std::vector<double>& probabilities) {
  const ParsedWire wire = parsed(body(more));
  if (wire.request.questions.empty()) return "";
  const Result<std::string> text = wire.write_reply(reply_of(wire, probabilities));
  EXPECT_TRUE(text.ok());
  return text.ok() ? text.value() : "";
}

// The content of the first choice's message.
std::string content_of(const std::string& more, const std::vector<double>& probabilities) {
  const Value reply = json(completion(more, probabilities));
  const Value* choices = reply.find("choices");
  if (choices == nullptr || choices->array() == nullptr) return "";
  const Value* content = choices->array()->front().find("message")->find("content");
  return content->is_null() ? "null" : *content->string();
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(ChatDecide, OneEnumPropertyIsAQuestion) {
  const ParsedWire wire = parsed(body(with_format(kEnum)));
  ASSERT_EQ(wire.request.questions.size(), 1u);
  EXPECT_EQ(wire.request.questions[0].text, "What does the customer want?");
  EXPECT_EQ(wire.request.questions[0].type, QuestionType::kChoice);
  EXPECT_EQ(to_json_text(wire.request.state), R"("I want my money back.")");
  EXPECT_EQ(options_of(with_format(kEnum)), "refund|info");
  EXPECT_EQ(wire.content_type, "application/json");
  EXPECT_FALSE(wire.request.allowed_mass);
}

TEST(ChatDecide, EverySpellingOfAListIsRead) {
  const std::string list = R"(["a","b"])";
  const std::string grammar = R"("root ::= \"a\" | \"b\"")";
  for (const std::string& more :
       {R"("guided_choice":)" + list, R"("structured_outputs":{"choice":)" + list + "}", R"("grammar":)" + grammar,
        R"("guided_grammar":)" + grammar, R"("structured_outputs":{"grammar":)" + grammar + "}",
        R"("json_schema":{"enum":)" + list + "}", R"("guided_json":{"enum":)" + list + "}",
        R"("structured_outputs":{"json":{"enum":)" + list + "}}",
        R"("response_format":{"type":"json_object","schema":{"enum":)" + list + "}}",
        R"("response_format":{"type":"text"},"guided_choice":)" + list, with_format(R"({"enum":)" + list + "}")}) {
    EXPECT_EQ(options_of(more), "a|b") << more;
  }
}

TEST(ChatDecide, TrueAndFalseAreAQuestionOfYesOrNo) {
  EXPECT_EQ(question_of(with_format(R"({"properties":{"p":{"type":"boolean"}}})")).type, QuestionType::kYesNo);
  EXPECT_EQ(question_of(R"("x_none_of_these":true,)" + with_format(R"({"properties":{"p":{"type":"boolean"}}})")).type,
            QuestionType::kChoice);
}

TEST(ChatDecide, DescriptionsComeFromTheBodyFirst) {
  const std::string schema = R"({"properties":{"p":{"enum":["a",1],"enumDescriptions":["x","y"]}}})";
  EXPECT_EQ(options_of(with_format(schema) + R"(,"x_descriptions":{"1":"one"})"), "a=x|1=one");
  expect_refused(with_format(schema) + R"(,"x_descriptions":{"2":"two"})", "x_descriptions", "not one of the values");
  expect_refused(with_format(schema) + R"(,"x_descriptions":{"1":1})", "x_descriptions", "strings");
  expect_refused(with_format(schema) + R"(,"x_descriptions":[])", "x_descriptions", "object");
}

TEST(ChatDecide, RefusesBadValues) {
  const std::string at = "response_format.json_schema.schema";
  expect_refused(with_format(R"({"enum":["a","a"]})"), at + "[1]", "repeats");
  expect_refused(with_format(R"({"enum":["a",""]})"), at + "[1]", "empty");
  expect_refused(with_format(R"({"enum":[0,1,2,3,4,5,6,7,8]})"), at, "the limit is 8");
  expect_refused(R"("guided_choice":[])", "guided_choice", "not empty");
  expect_refused(R"("guided_choice":["a",1])", "guided_choice[1]", "string");
  expect_refused(R"("guided_choice":["a","a"])", "guided_choice[1]", "repeats");
  EXPECT_EQ(options_of(with_format(R"({"enum":[true,"true",1,"1"]})")), R"(true|"true"|1|"1")");
}

TEST(ChatDecide, RefusesWhatItCannotDecideAndSaysWhatItCan) {
  expect_refused("", "response_format", "guided_choice");
  expect_refused(R"("response_format":{"type":"text"})", "response_format", "guided_choice");
  expect_refused(R"("response_format":{"type":"json_object"})", "response_format.json_schema.schema", "is missing");
  expect_refused(R"("response_format":{"type":"grammar"})", "response_format.type", "json_schema");
  expect_refused(R"("response_format":"json")", "response_format", "object");
  expect_refused(R"("guided_choice":["a"],"grammar":"root ::= \"a\"")", "grammar", "give one of them");
  expect_refused(R"("grammar":"root ::= [a-z]+")", "grammar", "plain alternation");
  expect_refused(R"("grammar":7)", "grammar", "string");
  const std::string choice = R"("guided_choice":["a","b"])";
  expect_refused(choice + R"(,"n":2)", "n", "must be 1");
  expect_refused(choice + R"(,"tools":[{"type":"function","function":{"name":"f"}}])", "tools", "values");
  expect_refused(choice + R"(,"functions":[{"name":"f"}])", "functions", "values");
  expect_refused(choice + R"(,"stream":"yes")", "stream", "true or false");
  expect_refused(choice + R"(,"logprobs":5)", "logprobs", "true or false");
  expect_refused(choice + R"(,"top_logprobs":5)", "top_logprobs", "needs logprobs");
  expect_refused(choice + R"(,"logprobs":true,"top_logprobs":-1)", "top_logprobs", "integer");
  expect_refused(choice + R"(,"logprobs":true,"top_logprobs":1.0)", "top_logprobs", "integer");
  expect_refused(choice + R"(,"x_readout":"magic")", "x_readout");
  expect_refused(choice + R"(,"x_permute":3)", "x_permute");
  EXPECT_EQ(refusal_of(body(choice + R"(,"n":1,"tools":[],"temperature":0.2,"seed":1,"max_tokens":5,"future":{})")),
            "accepted");
}

TEST(ChatDecide, OnlyBodiesThatAskForADecisionAreItsOwn) {
  const std::string rest = R"("messages":[{"role":"user","content":"a"}],"guided_choice":["a"]})";
  EXPECT_TRUE(refusal_of("{" + rest).starts_with("x_decide: "));
  EXPECT_TRUE(refusal_of(R"({"x_decide":false,)" + rest).starts_with("x_decide: "));
  EXPECT_TRUE(refusal_of(R"({"x_decide":"true",)" + rest).find("must be true or false") != std::string::npos);
  EXPECT_TRUE(refusal_of("[]").starts_with(": "));
  EXPECT_TRUE(refusal_of("{").starts_with(": not valid JSON"));
  EXPECT_TRUE(refusal_of(R"({"x_decide":true,"guided_choice":["a"]})").starts_with("messages: messages is missing"));
  EXPECT_TRUE(ChatDecideWire::wants({.body = R"({"x_decide":true,)" + rest}));
  EXPECT_FALSE(ChatDecideWire::wants({.body = R"({"x_decide":false,)" + rest}));
  EXPECT_FALSE(ChatDecideWire::wants({.body = "{" + rest}));
  EXPECT_FALSE(ChatDecideWire::wants({.body = R"({"metadata":{"x_decide":true},)" + rest}));
  EXPECT_TRUE(ChatDecideWire::wants({.body = R"({"x_decide":true)"}));  // refused in this wire's words
  EXPECT_TRUE(ChatDecideWire::wants({.body = R"({"x_decide":1,)" + rest}));
  const auto unknown = wire_at(1).parse({.body = R"({"x_decide":true,"model":"gpt-4",)" + rest});
  ASSERT_EQ(unknown.index(), 1u);
  EXPECT_EQ(std::get<WireRefusal>(unknown).status, 404);
}

TEST(ChatDecide, TheQuestionIsWhatTheSystemSaid) {
  const std::string described = with_format(R"({"properties":{"p":{"enum":["a"],"description":"The wish."}}})");
  const std::string both = R"([{"role":"system","content":"One."},{"role":"user","content":"u"},
                               {"role":"developer","content":[{"type":"text","text":"Two."}]}])";
  const std::string none = R"([{"role":"user","content":"u"}])";
  EXPECT_EQ(question_of(described, both).text, "One.\n\nTwo.\n\nThe wish.");
  EXPECT_EQ(question_of(described, none).text, "The wish.");
  EXPECT_EQ(question_of(with_format(R"({"properties":{"p":{"enum":["a"]}}})"), none).text,
            "Which value of \"p\" fits best?");
  EXPECT_EQ(question_of(R"("guided_choice":["a"])", none).text, "Which of these fits best?");
}

TEST(ChatDecide, TheStateIsWhatWasSaidAfter) {
  const auto state = [](const std::string& messages) {
    return to_json_text(parsed(body(with_format(kEnum), messages)).request.state);
  };
  EXPECT_EQ(state(R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}])"),
            R"("a\nb")");
  EXPECT_EQ(state(R"([{"role":"system","content":"q"}])"), R"("")");
  EXPECT_EQ(state(R"([{"role":"user","content":"a"},
                      {"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function",
                       "function":{"name":"f","arguments":"{\"x\": 1}"}}]},
                      {"role":"tool","tool_call_id":"c","content":"out"},{"role":"user","name":"bob","content":"b"}])"),
            R"([{"role": "user", "content": "a"}, )"
            R"({"role": "assistant", "tool_calls": [{"name": "f", "arguments": {"x": 1}}]}, )"
            R"({"role": "tool", "content": "out", "tool_call_id": "c"}, )"
            R"({"role": "user", "name": "bob", "content": "b"}])");
}

TEST(ChatDecide, RefusesBadMessages) {
  expect_messages_refused("[]", "", "not empty");
  expect_messages_refused("{}", "", "array");
  expect_messages_refused("[7]", "[0]", "object");
  expect_messages_refused(R"([{"content":"a"}])", "[0].role", "must be");
  expect_messages_refused(R"([{"role":"human","content":"a"}])", "[0].role", "must be");
  expect_messages_refused(R"([{"role":"user"}])", "[0].content", "is missing");
  expect_messages_refused(R"([{"role":"user","content":7}])", "[0].content", "must be a string");
  expect_messages_refused(R"([{"role":"user","content":[{"type":"text"}]}])", "[0].content[0].text", "string");
  expect_messages_refused(R"([{"role":"user","content":[{"type":"thing","text":"a"}]}])", "[0].content[0].type",
                          "text");
  for (const std::string type : {"image_url", "input_audio", "file"}) {
    expect_messages_refused(R"([{"role":"user","content":[{"type":")" + type + R"("}]}])", "[0].content[0].type",
                            "text only");
  }
}

TEST(ChatDecide, ACompletionLooksAsOpenAisDoes) {
  const std::string text = completion(with_format(kEnum), {0.75, 0.25});
  EXPECT_TRUE(text.starts_with(R"({"id": "chatcmpl-)")) << text;
  EXPECT_TRUE(contains(text, R"("object": "chat.completion", "created": 7, "model": "real-model", "choices": )"
                             R"([{"index": 0, "message": {"role": "assistant", "content": "{\"wish\": \"refund\"}", )"
                             R"("refusal": null}, "logprobs": null, "finish_reason": "stop"}], )"
                             R"("usage": {"prompt_tokens": 40, "completion_tokens": 0, "total_tokens": 40, )"
                             R"("prompt_tokens_details": {"cached_tokens": 30}, )"
                             R"("completion_tokens_details": {"reasoning_tokens": 0}}, )"
                             R"("x_probabilities": {"refund": 0.75, "info": 0.25}, "x_confidence": 0.5, )"))
      << text;
  EXPECT_TRUE(contains(text, R"("x_readout": "letters")")) << text;
}

TEST(ChatDecide, TheContentKeepsTheValuesType) {
  EXPECT_EQ(content_of(with_format(R"({"properties":{"p":{"enum":["a",1,2.0,true,null]}}})"), {0, 1, 0, 0, 0}),
            R"({"p": 1})");
  EXPECT_EQ(content_of(with_format(R"({"properties":{"p":{"enum":["a",1,2.0,true,null]}}})"), {0, 0, 1, 0, 0}),
            R"({"p": 2.0})");
  EXPECT_EQ(content_of(with_format(R"({"properties":{"p":{"type":"boolean"}}})"), {0, 1}), R"({"p": false})");
  EXPECT_EQ(content_of(with_format(R"({"properties":{"p":{"enum":[null,"a"]}}})"), {1, 0}), R"({"p": null})");
  EXPECT_EQ(content_of(R"("json_schema":{"enum":["a","b"]})", {0, 1}), R"("b")");
  EXPECT_EQ(content_of(R"("guided_choice":["a b","c"])", {1, 0}), "a b");
  EXPECT_EQ(content_of(R"("grammar":"root ::= \"\\\"a\\\"\" | \"b\"")", {1, 0}), R"("a")");
}

TEST(ChatDecide, LogprobsAreThoseOfTheOptions) {
  const std::string more = R"("guided_choice":["ä","b","c"],"logprobs":true)";
  const std::string text = completion(more + R"(,"top_logprobs":2)", {0.25, 0.75, 0});
  const std::string entry =
      R"({"token": "b", "logprob": )" + to_json_text(Value(std::log(0.75))) + R"(, "bytes": [98])";
  EXPECT_TRUE(contains(text, R"("logprobs": {"content": [)" + entry + R"(, "top_logprobs": [)" + entry +
                                 R"(}, {"token": "ä", "logprob": )" + to_json_text(Value(std::log(0.25))) +
                                 R"(, "bytes": [195, 164]}]}], "refusal": null})"))
      << text;
  EXPECT_TRUE(contains(completion(more, {0.25, 0.75, 0}), R"({"token": "c", "logprob": -9999.0, "bytes": [99]}])"));
  EXPECT_TRUE(contains(completion(more + R"(,"top_logprobs":0)", {0.25, 0.75, 0}), R"("top_logprobs": []})"));
}

TEST(ChatDecide, ARefusalSaysWhy) {
  const ParsedWire wire = parsed(body(with_format(kEnum) + R"(,"logprobs":true,"x_none_of_these":true)"));
  DecisionReply reply = reply_of(wire, {0.25, 0.25, 0.5});
  const Result<std::string> none = wire.write_reply(reply);
  ASSERT_TRUE(none.ok());
  EXPECT_TRUE(contains(*none, R"("content": null, "refusal": "None of the values fits."}, "logprobs": null)")) << *none;
  EXPECT_TRUE(contains(*none, R"("x_reason": "none_of_these")")) << *none;
  EXPECT_TRUE(contains(*none, R"("none_of_these": 0.5})")) << *none;
  reply = reply_of(wire, {0.5, 0.25, 0.25});
  reply.answers[0].abstained = true;
  const Result<std::string> abstained = wire.write_reply(reply);
  ASSERT_TRUE(abstained.ok());
  EXPECT_TRUE(contains(*abstained, R"("content": null)")) << *abstained;
  EXPECT_TRUE(contains(*abstained, R"("x_reason": "abstained")")) << *abstained;
}

TEST(ChatDecide, AStreamIsTheSameCompletionInPieces) {
  const std::string more = with_format(kEnum) + R"(,"stream":true)";
  const ParsedWire wire = parsed(body(more));
  EXPECT_EQ(wire.content_type, "text/event-stream");
  const std::string text = completion(more, {0.75, 0.25});
  std::vector<std::string> events;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find("\n\n", at);
    ASSERT_NE(end, std::string::npos);
    ASSERT_EQ(text.substr(at, 6), "data: ");
    events.push_back(text.substr(at + 6, end - at - 6));
    EXPECT_FALSE(contains(events.back(), "\n"));
    at = end + 2;
  }
  ASSERT_EQ(events.size(), 4u);
  EXPECT_TRUE(contains(events[0], R"("delta": {"role": "assistant", "content": ""}, "logprobs": null, )"));
  EXPECT_TRUE(contains(events[1], R"("delta": {"content": "{\"wish\": \"refund\"}"})"));
  EXPECT_TRUE(contains(events[2], R"("delta": {}, "logprobs": null, "finish_reason": "stop")"));
  EXPECT_TRUE(contains(events[2], R"("x_probabilities": {"refund": 0.75, "info": 0.25})"));
  EXPECT_EQ(events[3], "[DONE]");
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(contains(events[i], R"("object": "chat.completion.chunk")"));
  const std::string usage = completion(more + R"(,"stream_options":{"include_usage":true})", {0.75, 0.25});
  EXPECT_TRUE(contains(usage, R"("choices": [], "usage": {"prompt_tokens": 40)")) << usage;
  EXPECT_TRUE(contains(usage, R"("finish_reason": null}], "usage": null})")) << usage;
}

TEST(ChatDecide, WritesNoNumberThatIsNotFinite) {
  for (const std::string& more : {with_format(kEnum), with_format(kEnum) + R"(,"stream":true)"}) {
    const ParsedWire wire = parsed(body(more));
    const Result<std::string> text = wire.write_reply(reply_of(wire, {0.5, std::nan("")}));
    ASSERT_FALSE(text.ok());
    EXPECT_EQ(text.error().code, ErrorCode::kNonfiniteLogits);
  }
}

TEST(ChatDecide, ADecidersErrorNamesTheCallersField) {
  const ParsedWire wire = parsed(body(R"("guided_choice":["a","b"])"));
  const auto field = [&wire](const std::string& from) {
    return wire.in_wire_terms(Error{ErrorCode::kInvalidArgument, from + " is bad", from}).field;
  };
  EXPECT_EQ(field("state"), "messages");
  EXPECT_EQ(field("questions[0].text"), "messages");
  EXPECT_EQ(field("questions[0].options[1].id"), "guided_choice");
  EXPECT_EQ(field("questions[0].permute"), "x_permute");
  EXPECT_EQ(field("readout"), "x_readout");
  EXPECT_EQ(field("lesson"), "x_lesson");
}

TEST(ChatDecide, RoundsTheEntropyToo) {
  const HttpRequest request{.body = body(R"("guided_choice":["a","b"])")};
  const auto wire = wire_at(1, 2).parse(request);
  const ParsedWire& parsed_wire = std::get<ParsedWire>(wire);
  const Result<std::string> text = parsed_wire.write_reply(reply_of(parsed_wire, {0.7, 0.3}));
  ASSERT_TRUE(text.ok());
  EXPECT_NE(text->find(R"("x_entropy": 0.61,)"), std::string::npos) << *text;
}

TEST(ChatDecide, TwoRepliesHaveTwoIds) {
  const HttpRequest request{.body = body(R"("guided_choice":["a","b"])")};
  const auto id = [&request](std::int64_t now) {
    const auto wire = wire_at(now).parse(request);
    const ParsedWire& parsed_wire = std::get<ParsedWire>(wire);
    const Result<std::string> text = parsed_wire.write_reply(reply_of(parsed_wire, {1, 0}));
    return text.ok() ? text->substr(0, 60) : "";
  };
  EXPECT_NE(id(1), id(2));
}

}  // namespace
}  // namespace assay::server
