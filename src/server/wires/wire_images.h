#pragma once
// Images in JSON bodies: data URLs and base64 to files, checked as far as that goes without decoding them.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/error.h"
#include "assay/image.h"
#include "assay/value.h"

namespace assay::server {

// A PNG or JPEG out of base64. `declared`: the format that the body calls it, if any. Errors: kInvalidArgument without
// a field, whose message goes on behind one; those of check_image() among them.
Result<Image> image_of_base64(std::string_view base64, std::optional<ImageFormat> declared = {});

// "data:image/png;base64,…" or "data:image/jpeg;base64,…". Any other URL is refused: nothing is fetched from outside.
// Errors: as image_of_base64().
Result<Image> image_of_url(std::string_view url);

// "png", "jpg" or "jpeg", in any case.
std::optional<ImageFormat> image_format_of(std::string_view name);

// Where a value holds an image's bytes as the parts of chat messages do: the keys and indices that lead to the first
// such part, {"type": "image_url" or "input_image", "image_url": a data: URL} or {"type": "image", "source": {"data":
// …}}. On a wire where a state is data, such bytes would be read as words. A part that names an address or a file is
// words.
std::optional<Value::Array> find_image_part(const Value& value);

// The images of a request on a wire where they stand between texts. Each gets a name, "image 1", "image 2" and so on,
// which stands in its place in the text; a lone image, which everything else is about, has none.
class ImageList {
 public:
  // `lone`: there will be one image, and it needs no name.
  void set_lone(bool lone) { lone_ = lone; }
  // Reads a URL and gives the image's name. Errors: as image_of_url(), and for more than kImagesMax.
  Result<std::string> add(std::string_view url);
  std::vector<Image> take() { return std::move(images_); }

 private:
  bool lone_ = false;
  std::vector<Image> images_;
};

// A decider's error in the terms of a wire whose images stand below `field`: "images[1] is damaged" becomes
// "input: image 2 is damaged". Any other error stays.
Error image_error_in(const std::string& field, Error error);

}  // namespace assay::server
