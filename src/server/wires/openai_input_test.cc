#include "server/wires/openai_input.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/base64.h"
#include "base/testing/png_file.h"
#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

Value json(const std::string& text) {
  Result<Value> value = parse_json(text);
  EXPECT_TRUE(value.ok()) << text;
  return value.ok() ? std::move(value).value() : Value();
}

std::string state_of(const std::string& input) {
  const Result<Value> state = read_openai_input(json(input));
  return state.ok() ? to_json_text(state.value()) : state.error().field + ": " + state.error().message;
}

// "field: message", or "accepted".
std::string refusal_of(const std::string& input) {
  const Result<Value> state = read_openai_input(json(input));
  if (state.ok()) return "accepted";
  EXPECT_EQ(state.error().code, ErrorCode::kInvalidArgument);
  return state.error().field + ": " + state.error().message;
}

void refused(const std::string& input, const std::string& field, const std::string& part) {
  const std::string said = refusal_of(input);
  EXPECT_TRUE(said.starts_with(field + ": ")) << input << "\n -> " << said;
  EXPECT_NE(said.find(part), std::string::npos) << input << "\n -> " << said;
}

const std::string& image_url() {
  static const std::string kUrl = "data:image/png;base64," + base64_text(assay::testing::png_file(16, 16));
  return kUrl;
}

std::string image_part() { return R"({"type":"input_image","detail":"low","image_url":")" + image_url() + R"("})"; }

TEST(OpenAiInput, ALoneImageLeavesTheTextsOfItsMessage) {
  ImageList images;
  const Result<Value> state = read_openai_input(json(R"([{"role":"user","content":[{"type":"input_text","text":"a"},)" +
                                                     image_part() + R"(,{"type":"input_text","text":"b"}]}])"),
                                                &images);
  ASSERT_TRUE(state.ok()) << state.error().message;
  EXPECT_EQ(to_json_text(*state), R"("a\nb")");
  const std::vector<Image> taken = images.take();
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].name, "");
}

TEST(OpenAiInput, SeveralImagesStandInTheirPlacesByName) {
  ImageList images;
  const Result<Value> state =
      read_openai_input(json(R"([{"role":"user","content":[)" + image_part() +
                             R"(,{"type":"input_text","text":"or"},)" + image_part() + R"(]}])"),
                        &images);
  ASSERT_TRUE(state.ok()) << state.error().message;
  EXPECT_EQ(to_json_text(*state), R"([{"image": "image 1"}, "or", {"image": "image 2"}])");
  ImageList more;
  const Result<Value> talk = read_openai_input(
      json(R"([{"role":"user","content":[)" + image_part() + R"(]},{"role":"assistant","content":"Nice."}])"), &more);
  ASSERT_TRUE(talk.ok()) << talk.error().message;
  EXPECT_EQ(to_json_text(*talk),
            R"([{"role": "user", "content": {"image": "image 1"}}, {"role": "assistant", "content": "Nice."}])");
}

TEST(OpenAiInput, AnImageThatCannotBeTakenIsRefusedAtItsPlace) {
  const auto refusal = [](const std::string& part) {
    ImageList images;
    const Result<Value> state = read_openai_input(json(R"([{"role":"user","content":[)" + part + "]}]"), &images);
    return state.ok() ? "accepted" : state.error().field + ": " + state.error().message;
  };
  EXPECT_EQ(refusal(R"({"type":"input_image"})"), "[0].content[0].image_url: is missing");
  EXPECT_EQ(refusal(R"({"type":"input_image","image_url":7})"), "[0].content[0].image_url: must be a string");
  EXPECT_TRUE(refusal(R"({"type":"input_image","file_id":"f-1"})").starts_with("[0].content[0].file_id: "));
  EXPECT_NE(refusal(R"({"type":"input_image","image_url":"https://example.com/a.png"})").find("nothing is fetched"),
            std::string::npos);
  EXPECT_EQ(read_openai_instructions(json("[" + image_part() + "]"), true).error().field, "[0]");
}

TEST(OpenAiInput, AStringIsTheState) {
  EXPECT_EQ(state_of(R"("text")"), R"("text")");
  EXPECT_EQ(state_of(R"("")"), R"("")");
  EXPECT_EQ(state_of("[]"), R"("")");
}

TEST(OpenAiInput, OneUserMessageIsItsContent) {
  EXPECT_EQ(state_of(R"([{"role":"user","content":"hello"}])"), R"("hello")");
  EXPECT_EQ(state_of(R"([{"type":"message","role":"user","content":[{"type":"input_text","text":"a"},
                         {"type":"input_text","text":"b"}]}])"),
            R"("a\nb")");
  EXPECT_EQ(state_of(R"([{"role":"user","content":[{"type":"input_json","data":{"z":1,"a":2.0}}]}])"),
            R"({"z": 1, "a": 2.0})");
  EXPECT_EQ(state_of(R"([{"role":"user","content":[{"type":"input_text","text":"a"},
                         {"type":"input_json","data":[{"k":null}]}]}])"),
            R"(["a", [{"k": null}]])");
  EXPECT_EQ(state_of(R"([{"role":"user","content":[]}])"), R"("")");
}

TEST(OpenAiInput, AConversationIsAListInItsOrder) {
  EXPECT_EQ(state_of(R"([{"role":"developer","content":"Be fair."},{"role":"user","content":"Hi"},
      {"role":"assistant","phase":"final_answer","content":[{"type":"output_text","text":"Yes?"},
                                                             {"type":"refusal","refusal":"No."}]},
      {"type":"function_call","call_id":"c1","name":"look","arguments":"{\"id\": 7}","status":"completed"},
      {"type":"function_call_output","call_id":"c1","output":[{"type":"input_text","text":"found"}]},
      {"type":"custom_tool_call","call_id":"c2","name":"sql","input":"select 1","namespace":null},
      {"type":"custom_tool_call_output","call_id":"c2","output":"1"}])"),
            R"([{"role": "developer", "content": "Be fair."}, {"role": "user", "content": "Hi"}, )"
            R"({"role": "assistant", "content": ["Yes?", {"refusal": "No."}]}, )"
            R"({"type": "function_call", "call_id": "c1", "name": "look", "arguments": {"id": 7}}, )"
            R"({"type": "function_call_output", "call_id": "c1", "output": "found"}, )"
            R"({"type": "custom_tool_call", "call_id": "c2", "name": "sql", "input": "select 1"}, )"
            R"({"type": "custom_tool_call_output", "call_id": "c2", "output": "1"}])");
  EXPECT_EQ(state_of(R"([{"role":"system","content":"only"}])"), R"([{"role": "system", "content": "only"}])");
}

TEST(OpenAiInput, RefusesInputThatTheContractDoesNotKnow) {
  refused("7", "", "must be a string or an array");
  refused("null", "", "must be a string or an array");
  refused(R"({"role":"user","content":"a"})", "", "must be a string or an array");
  refused(R"(["a"])", "[0]", "must be an object");
  refused(R"([{"content":"a"}])", "[0].role", "must be");
  refused(R"([{"role":"tool","content":"a"}])", "[0].role", "must be");
  refused(R"([{"type":"item_reference","id":"x"}])", "[0].type", "must be");
  refused(R"([{"type":7,"role":"user","content":"a"}])", "[0].type", "must be");
  refused(R"([{"role":"user"}])", "[0].content", "is missing");
  refused(R"([{"role":"user","content":7}])", "[0].content", "must be a string");
  refused(R"([{"role":"user","content":["a"]}])", "[0].content[0]", "must be an object");
  refused(R"([{"role":"user","content":[{"type":"output_text","text":"a"}]}])", "[0].content[0].type", "input_text");
  refused(R"([{"role":"system","content":[{"type":"input_json","data":{}}]}])", "[0].content[0].type", "input_text");
  refused(R"([{"role":"user","content":[{"type":"input_text"}]}])", "[0].content[0].text", "is missing");
  refused(R"([{"role":"user","content":[{"type":"input_json","data":[1]}]}])", "[0].content[0].data", "object");
  refused(R"([{"type":"function_call","call_id":"c","name":"n"}])", "[0].arguments", "is missing");
  refused(R"([{"type":"function_call","name":"n","arguments":""}])", "[0].call_id", "is missing");
}

TEST(OpenAiInput, AnOutputNeedsAnEarlierCallOfItsKind) {
  const std::string output = R"({"type":"function_call_output","call_id":"c1","output":"o"})";
  const std::string call = R"({"type":"function_call","call_id":"c1","name":"n","arguments":"{}"})";
  const std::string custom = R"({"type":"custom_tool_call","call_id":"c1","name":"n","input":""})";
  EXPECT_EQ(refusal_of("[" + call + "," + output + "]"), "accepted");
  refused("[" + output + "," + call + "]", "[0].call_id", "function_call");
  refused("[" + custom + "," + output + "]", "[1].call_id", "function_call");
}

TEST(OpenAiInput, ManySmallPartsAreJoinedInOnePass) {
  std::string parts;
  for (int i = 0; i < 100'000; ++i) parts += std::string(i == 0 ? "" : ",") + R"({"type":"input_text","text":"a"})";
  const Result<Value> state = read_openai_input(json(R"([{"role":"user","content":[)" + parts + "]}]"));
  ASSERT_TRUE(state.ok());
  ASSERT_NE(state->string(), nullptr);
  EXPECT_EQ(state->string()->size(), 199'999u);
}

}  // namespace
}  // namespace assay::server
