// The rules are those of the System One contract, section 4.4.
#include "server/wires/systemone_images.h"

#include <gtest/gtest.h>

#include <string>

#include "base/base64.h"
#include "base/testing/png_file.h"
#include "server/http/http_headers.h"
#include "server/wires/systemone_wire.h"

namespace assay::server {
namespace {

using assay::testing::png_file;

std::string png(std::uint8_t red = 1) { return base64_text(png_file(16, 16, {red, 2, 3})); }

std::string asset(const std::string& data, const std::string& format = "png") {
  return R"({"type":"image","format":")" + format + R"(","data_base64":")" + data + R"("})";
}

std::variant<ParsedWire, WireRefusal> parse(const std::string& more, const std::string& state = R"("See img-1.")",
                                            bool reads_images = true) {
  WireSettings settings{.model_names = {"our-model-1"}};
  settings.reads_images = reads_images;
  const std::string body = R"({"model":"our-model-1","state":)" + state +
                           R"(,"questions":{"q":{"type":"noul","instructions":"Is it like img-2?"}},)" + more + "}";
  return SystemOneWire(settings).parse({.method = "POST", .path = "/v1/systemone", .headers = {}, .body = body});
}

ParsedWire read(const std::string& more, const std::string& state = R"("See img-1.")") {
  std::variant<ParsedWire, WireRefusal> wire = parse(more, state);
  if (const WireRefusal* refused = std::get_if<WireRefusal>(&wire)) {
    ADD_FAILURE() << more.substr(0, 200) << "\n" << refused->body;
    return {};
  }
  return std::get<ParsedWire>(std::move(wire));
}

void expect_refused(const std::string& more, int status, const std::string& part) {
  const std::variant<ParsedWire, WireRefusal> wire = parse(more);
  const WireRefusal* refused = std::get_if<WireRefusal>(&wire);
  ASSERT_NE(refused, nullptr) << more.substr(0, 200);
  EXPECT_EQ(refused->status, status) << refused->body;
  EXPECT_NE(refused->body.find(part), std::string::npos) << refused->body;
}

TEST(SystemOneImages, Rule4_3AssetsAreCalledByTheirReferences) {
  const ParsedWire wire =
      read(R"("assets":{"img-1":)" + asset(png(1)) + R"(,"img-2":)" + asset(png(2)) + R"(},"images":[])");
  ASSERT_EQ(wire.request.images.size(), 2u);
  EXPECT_EQ(wire.request.images[0].name, "img-1");
  EXPECT_EQ(*wire.request.images[0].file, png_file(16, 16, {1, 2, 3}));
  EXPECT_EQ(wire.request.images[1].name, "img-2");  // a question speaks of it
}

TEST(SystemOneImages, Rule4_3AnAssetThatNothingSpeaksOfIsAnApiUsageError) {
  expect_refused(R"("assets":{"img-9":)" + asset(png()) + "}", 400, "assets.img-9");
  expect_refused(R"("assets":{"":)" + asset(png()) + "}", 400, "api_usage_error");
  EXPECT_EQ(read(R"("assets":{"deep":)" + asset(png()) + "}", R"({"a":[{"deep key":1}]})").request.images.size(), 1u);
}

TEST(SystemOneImages, Rule4_3TheShapeOfAnAssetIsChecked) {
  expect_refused(R"("assets":[1])", 422, R"("assets"])");
  expect_refused(R"("assets":{"img-1":7})", 422, R"("assets", "img-1"])");
  expect_refused(R"("assets":{"img-1":{"format":"png","data_base64":"QQ=="}})", 422, R"("img-1", "type"])");
  expect_refused(R"("assets":{"img-1":)" + asset(png(), "gif") + "}", 422, R"("img-1", "format"])");
  expect_refused(R"("assets":{"img-1":{"type":"image","format":"png"}})", 422, R"("img-1", "data_base64"])");
}

TEST(SystemOneImages, Rule4_3WhatIsNoImageIsAnApiUsageErrorThatNamesIt) {
  expect_refused(R"("assets":{"img-1":)" + asset("???") + "}", 400, "assets.img-1.data_base64 is no base64");
  expect_refused(R"("assets":{"img-1":)" + asset(png(), "jpg") + "}", 400, "is a PNG and not the JPEG");
  expect_refused(R"("assets":{"img-1":)" + asset(base64_text(png_file(8, 8))) + "}", 400, "8 x 8");
  std::string nine;
  for (int i = 0; i < 9; i++) nine += (i == 0 ? "\"" : ",\"") + png() + "\"";
  expect_refused(R"("images":[)" + nine + "]", 400, "images.8 is one image too many");
}

TEST(SystemOneImages, AListTakesDataUrlsAndBareBase64) {
  const ParsedWire wire = read(R"("images":["data:image/png;base64,)" + png() + R"(",")" + png(9) + R"("])");
  ASSERT_EQ(wire.request.images.size(), 2u);
  EXPECT_EQ(wire.request.images[0].name, "");
  expect_refused(R"("images":"x")", 422, R"("images"])");
  expect_refused(R"("images":[7])", 422, R"("images", 0])");
  expect_refused(R"("images":["https://example.com/a.png"])", 400, "nothing is fetched");
}

TEST(SystemOneImages, AnImageInTheStateOrAQuestionIsAnErrorAndNotText) {
  const std::string parts[] = {R"({"type":"image_url","image_url":{"url":"data:image/png;base64,)" + png() + R"("}})",
                               R"({"type":"input_image","image_url":"data:image/png;base64,)" + png() + R"("})",
                               R"({"type":"image","source":{"type":"base64","data":")" + png() + R"("}})"};
  for (const std::string& part : parts) {
    const std::string state = R"([{"role":"user","content":[{"type":"text","text":"Look."},)" + part + "]}]";
    for (const bool reads_images : {true, false}) {
      const auto wire = parse(R"("x_trace":1)", state, reads_images);
      const WireRefusal* refused = std::get_if<WireRefusal>(&wire);
      ASSERT_NE(refused, nullptr) << part;
      EXPECT_EQ(refused->status, 400);
      EXPECT_NE(refused->body.find("state.0.content.1 is a part of a chat"), std::string::npos) << refused->body;
      EXPECT_EQ(refused->body.find("in assets under") != std::string::npos, reads_images) << refused->body;
      EXPECT_LT(refused->body.size(), 1000u) << "the image is not told back";
    }
  }
  // What only speaks of images is data.
  for (const std::string state :
       {R"({"type":"image","caption":"a cat"})", R"(["data:image/png;base64,QUJD"])", R"({"type":"image_url"})",
        R"([{"type":"image_url","image_url":"https://example.com/a.png"}])",
        R"([{"type":"input_image","file_id":"file-1"}])"})
    read(R"("x_trace":1)", state);
}

TEST(SystemOneImages, ErrorsOfTheDeciderNameThePlaceInTheBody) {
  const ParsedWire wire = read(R"("assets":{"img-1":)" + asset(png()) + R"(},"images":[")" + png(2) + R"("])");
  const Error first = wire.in_wire_terms(invalid_argument("images[0]", "images[0] cannot be decoded"));
  EXPECT_EQ(first.field, R"(["body", "assets", "img-1", "data_base64"])");
  EXPECT_EQ(first.message, "assets.img-1.data_base64 cannot be decoded");
  EXPECT_EQ(wire.in_wire_terms(invalid_argument("images[1]", "images[1] is bad")).field, R"(["body", "images", 0])");
}

TEST(SystemOneImages, AModelThatReadsNoneRefusesThemAsBefore) {
  for (const std::string field : {"assets", "images"}) {
    const std::variant<ParsedWire, WireRefusal> wire =
        parse("\"" + field + "\":" + (field == "assets" ? R"({"img-1":)" + asset(png()) + "}" : "[\"" + png() + "\"]"),
              R"("See img-1.")", false);
    const WireRefusal* refused = std::get_if<WireRefusal>(&wire);
    ASSERT_NE(refused, nullptr);
    EXPECT_EQ(refused->status, 400);
    EXPECT_NE(refused->body.find(field + ": the model of this server reads no images"), std::string::npos);
  }
}

}  // namespace
}  // namespace assay::server
