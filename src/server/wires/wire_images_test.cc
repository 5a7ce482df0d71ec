#include "server/wires/wire_images.h"

#include <gtest/gtest.h>

#include "base/base64.h"
#include "base/testing/png_file.h"
#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

using assay::testing::jpeg_file;
using assay::testing::png_file;

std::string refusal(const Result<Image>& image) { return image.ok() ? "" : image.error().message; }

TEST(WireImages, ReadsBase64AndDataUrls) {
  const std::string file = png_file(16, 16);
  const std::string base64 = base64_text(file);
  for (const Result<Image>& image :
       {image_of_base64(base64), image_of_base64(base64, ImageFormat::kPng),
        image_of_url("data:image/png;base64," + base64), image_of_url("DATA:image/PNG;name=a.png;BASE64," + base64)}) {
    ASSERT_TRUE(image.ok()) << image.error().message;
    EXPECT_EQ(*image->file, file);
  }
  EXPECT_TRUE(image_of_url("data:image/jpg;base64," + base64_text(jpeg_file(16, 16))).ok());
}

TEST(WireImages, EveryRefusalSaysWhy) {
  const std::string base64 = base64_text(png_file(16, 16));
  EXPECT_NE(refusal(image_of_base64("")).find("empty"), std::string::npos);
  EXPECT_EQ(refusal(image_of_base64("no base64!")), "is no base64");
  EXPECT_EQ(refusal(image_of_base64("QUJD")), "is no PNG or JPEG file");
  EXPECT_NE(refusal(image_of_base64(base64, ImageFormat::kJpeg)).find("is a PNG and not the JPEG"), std::string::npos);
  EXPECT_NE(refusal(image_of_base64(base64_text(png_file(8, 8)))).find("8 x 8"), std::string::npos);
  EXPECT_NE(refusal(image_of_url("https://example.com/a.png")).find("nothing is fetched"), std::string::npos);
  EXPECT_NE(refusal(image_of_url("file:///etc/passwd")).find("must be a data: URL"), std::string::npos);
  EXPECT_NE(refusal(image_of_url("data:image/png," + base64)).find("in base64"), std::string::npos);
  EXPECT_NE(refusal(image_of_url("data:image/png;base64")).find("in base64"), std::string::npos);
  EXPECT_NE(refusal(image_of_url("data:image/gif;base64," + base64)).find("image/png or image/jpeg"),
            std::string::npos);
  EXPECT_NE(refusal(image_of_url("data:;base64," + base64)).find("image/png or image/jpeg"), std::string::npos);
}

TEST(WireImages, FindsAnImageThatStandsInAValueAsInAChat) {
  const auto path_in = [](const char* json) -> std::string {
    const std::optional<Value::Array> path = find_image_part(parse_json(json).value());
    return path ? to_json_text(Value(*path)) : "none";
  };
  EXPECT_EQ(path_in(R"({"type":"image_url","image_url":{"url":"data:,"}})"), "[]");
  EXPECT_EQ(path_in(R"([1,{"a":{"b":[{"type":"input_image","image_url":"Data:x"}]}}])"), R"([1, "a", "b", 0])");
  EXPECT_EQ(path_in(R"({"m":[{"type":"text"},{"type":"image","source":{"data":"QUJD"}}]})"), R"(["m", 1])");
  EXPECT_EQ(path_in(R"({"type":"image","source":{"url":"https://example.com/a.png"}})"), "none");
  EXPECT_EQ(path_in(R"({"type":"image_url","image_url":{"url":"https://example.com/a.png"}})"), "none");
  EXPECT_EQ(path_in(R"({"type":"input_image","file_id":"f"})"), "none");
  EXPECT_EQ(path_in(R"({"type":"image","source":"a page"})"), "none");
  EXPECT_EQ(path_in(R"({"type":["image_url"],"image_url":"data:,"})"), "none");
  EXPECT_EQ(path_in(R"("image_url")"), "none");
}

TEST(WireImages, WhatIsTooLargeIsRefusedBeforeItIsDecoded) {
  const std::string text(kImageBytesMax / 3 * 4 + 64, '!');
  EXPECT_NE(refusal(image_of_base64(text)).find(std::to_string(kImageBytesMax)), std::string::npos);
}

TEST(WireImages, AListNamesItsImagesAndALoneOneHasNoName) {
  const std::string url = "data:image/png;base64," + base64_text(png_file(16, 16));
  ImageList list;
  for (std::size_t i = 1; i <= kImagesMax; i++) EXPECT_EQ(list.add(url).value(), "image " + std::to_string(i));
  EXPECT_NE(list.add(url).error().message.find("at most 8"), std::string::npos);
  const std::vector<Image> images = list.take();
  ASSERT_EQ(images.size(), kImagesMax);
  EXPECT_EQ(images[1].name, "image 2");
  ImageList lone;
  lone.set_lone(true);
  EXPECT_EQ(lone.add(url).value(), "");
  EXPECT_EQ(lone.take().front().name, "");
}

TEST(WireImages, ErrorsOfTheDeciderComeInTheWiresTerms) {
  const Error error = image_error_in("input", invalid_argument("images[1]", "images[1] is damaged"));
  EXPECT_EQ(error.field, "input");
  EXPECT_EQ(error.message, "input: image 2 is damaged");
  EXPECT_EQ(image_error_in("input", invalid_argument("state", "state is bad")).field, "state");
}

}  // namespace
}  // namespace assay::server
