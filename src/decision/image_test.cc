#include "assay/image.h"

#include <gtest/gtest.h>

#include "assay/decision.h"
#include "base/testing/png_file.h"

namespace assay {
namespace {

using testing::jpeg_file;
using testing::png_chunk;
using testing::png_file;

std::string refusal(std::string_view file) {
  const Result<ImageFacts> facts = check_image(file);
  return facts.ok() ? "" : facts.error().message;
}

TEST(Image, ReadsFormatAndSizeOfBothFormats) {
  const Result<ImageFacts> png = inspect_image(png_file(20, 30));
  ASSERT_TRUE(png.ok()) << png.error().message;
  EXPECT_EQ(png->format, ImageFormat::kPng);
  EXPECT_EQ(png->width, 20U);
  EXPECT_EQ(png->height, 30U);
  for (const char frame : {'\xc0', '\xc1', '\xc2'}) {
    const Result<ImageFacts> jpeg = inspect_image(jpeg_file(640, 480, frame));
    ASSERT_TRUE(jpeg.ok()) << jpeg.error().message;
    EXPECT_EQ(jpeg->format, ImageFormat::kJpeg);
    EXPECT_EQ(jpeg->width, 640U);
    EXPECT_EQ(jpeg->height, 480U);
  }
}

TEST(Image, EveryCutFileIsRefused) {
  for (const std::string& file : {png_file(16, 16), jpeg_file(16, 16)}) {
    for (std::size_t bytes = 0; bytes < file.size(); bytes++)
      EXPECT_FALSE(inspect_image(std::string_view(file).substr(0, bytes)).ok()) << bytes;
    EXPECT_TRUE(inspect_image(file + "trailing bytes").ok());
  }
}

TEST(Image, EveryFlippedByteOfAPngIsRefused) {
  const std::string file = png_file(16, 16);
  for (std::size_t at = 0; at < file.size(); at++) {
    std::string flipped = file;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    EXPECT_FALSE(inspect_image(flipped).ok()) << at;
  }
}

TEST(Image, OtherFilesAreRefusedByWhatTheyLack) {
  EXPECT_EQ(refusal(""), "is no PNG or JPEG file");
  EXPECT_EQ(refusal("GIF89a"), "is no PNG or JPEG file");
  EXPECT_NE(refusal(jpeg_file(64, 64, '\xc9')).find("of a kind"), std::string::npos);
  const std::string signature = "\x89PNG\r\n\x1a\n";
  EXPECT_NE(refusal(signature + png_chunk("IDAT", "x") + png_chunk("IEND", "")).find("no header"), std::string::npos);
  EXPECT_NE(refusal(signature + png_chunk("IHDR", std::string(13, '\1')) + png_chunk("IEND", "")).find("no pixels"),
            std::string::npos);
}

TEST(Image, SidesAndPixelsHaveLimits) {
  EXPECT_EQ(refusal(png_file(16, 16)), "");
  EXPECT_NE(refusal(png_file(15, 16)).find("15 x 16"), std::string::npos);
  EXPECT_NE(refusal(jpeg_file(0, 16)).find("16 to 8192"), std::string::npos);
  EXPECT_EQ(refusal(jpeg_file(4096, 8192)), "");
  EXPECT_NE(refusal(jpeg_file(4097, 8192)).find("pixels are allowed"), std::string::npos);
  EXPECT_NE(refusal(jpeg_file(8193, 16)).find("16 to 8192"), std::string::npos);
  EXPECT_NE(refusal(jpeg_file(16, 800)).find("50 times"), std::string::npos);
  EXPECT_EQ(refusal(jpeg_file(16, 799)), "");
}

TEST(Image, ARequestsImagesAreCheckedByTheirPlace) {
  DecisionRequest request{.state = Value("s"), .questions = {{.id = "q", .text = "why", .options = {{"a", {}}}}}};
  const auto file = [](std::string bytes) { return std::make_shared<const std::string>(std::move(bytes)); };
  request.images = {{.file = file(png_file(16, 16)), .name = "a"}, {.file = file("no image"), .name = ""}};
  Status status = validate_request(request, {});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().field, "images[1]");
  EXPECT_EQ(status.error().message, "images[1] is no PNG or JPEG file");
  request.images[1].file = nullptr;
  EXPECT_EQ(validate_request(request, {}).error().field, "images[1]");
  request.images[1] = request.images[0];
  EXPECT_TRUE(validate_request(request, {}).ok());
  request.images[0].name = "\xff";
  EXPECT_EQ(validate_request(request, {}).error().field, "images[0].name");
  request.images.assign(kImagesMax + 1, request.images[1]);
  EXPECT_EQ(validate_request(request, {}).error().field, "images");
}

}  // namespace
}  // namespace assay
