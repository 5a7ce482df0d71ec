#include <gtest/gtest.h>

#include <string>

#include "base/base64.h"
#include "base/testing/png_file.h"
#include "server/wires/chat_decide.h"

namespace assay::server {
namespace {

std::string image_part() {
  return R"({"type":"image_url","image_url":{"url":"data:image/png;base64,)" +
         base64_text(assay::testing::png_file(16, 16)) + R"("}})";
}

// A refusal comes as the content type of nothing.
ParsedWire seen(const std::string& messages) {
  WireSettings settings;
  settings.model_names = {"real-model"};
  settings.reads_images = true;
  std::variant<ParsedWire, WireRefusal> wire = ChatDecideWire(settings).parse(
      {.method = "POST",
       .path = "/v1/chat/completions",
       .headers = {},
       .body = R"({"x_decide":true,"guided_choice":["cat","dog"],"messages":)" + messages + "}"});
  if (const WireRefusal* refusal = std::get_if<WireRefusal>(&wire)) {
    ParsedWire none;
    none.content_type = refusal->body;
    return none;
  }
  return std::get<ParsedWire>(std::move(wire));
}

TEST(ChatDecideImages, ImagesAreTakenWhereTheModelReadsThem) {
  const ParsedWire lone =
      seen(R"([{"role":"user","content":[)" + image_part() + R"(,{"type":"text","text":"Look."}]}])");
  ASSERT_EQ(lone.request.images.size(), 1u) << lone.content_type;
  EXPECT_EQ(lone.request.images[0].name, "");
  EXPECT_EQ(lone.request.state, Value("Look."));
  const ParsedWire two =
      seen(R"([{"role":"user","content":[)" + image_part() + R"(,{"type":"text","text":"or"},)" + image_part() + "]}]");
  ASSERT_EQ(two.request.images.size(), 2u) << two.content_type;
  EXPECT_EQ(two.request.images[1].name, "image 2");
  EXPECT_EQ(two.request.state, Value("[image 1]\nor\n[image 2]"));
  const Error error = two.in_wire_terms(invalid_argument("images[1]", "images[1] cannot be decoded"));
  EXPECT_EQ(error.field, "messages");
  EXPECT_EQ(error.message, "messages: image 2 cannot be decoded");
}

TEST(ChatDecideImages, AnImageThatCannotBeTakenIsRefusedAtItsPlace) {
  const auto refusal = [](const std::string& messages) { return seen(messages).content_type; };
  EXPECT_NE(refusal(R"([{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://a/b.png"}}]}])")
                .find("nothing is fetched"),
            std::string::npos);
  EXPECT_NE(refusal(R"([{"role":"user","content":[{"type":"image_url","image_url":"data:image/png;base64,QUJD"}]}])")
                .find("messages[0].content[0].image_url"),
            std::string::npos);
  EXPECT_NE(refusal(R"([{"role":"user","content":[{"type":"image_url"}]}])").find("is missing"), std::string::npos);
  EXPECT_NE(refusal(R"([{"role":"system","content":[)" + image_part() + R"(]},{"role":"user","content":"a"}])")
                .find("user's messages"),
            std::string::npos);
}

}  // namespace
}  // namespace assay::server
