#include "server/wires/wire_images.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/base64.h"

namespace assay::server {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return out;
}

Error refused(std::string message) { return invalid_argument("", std::move(message)); }

// The bytes themselves, as a data: URL; an address is words like others.
bool is_inline(const Value* url) {
  if (url != nullptr && url->is_object()) url = url->find("url");
  return url != nullptr && url->string() != nullptr && lower(url->string()->substr(0, 5)) == "data:";
}

// OpenAI's chat, OpenAI's responses and decisions, Anthropic's messages.
bool is_image_part(const Value& value) {
  const Value* type = value.find("type");
  if (type == nullptr || type->string() == nullptr) return false;
  if (*type->string() == "image_url" || *type->string() == "input_image") return is_inline(value.find("image_url"));
  const Value* source = *type->string() == "image" ? value.find("source") : nullptr;
  return source != nullptr && source->is_object() && source->find("data") != nullptr;
}

// Where a part was found, `path` gets the way to it from `value`, its end first.
bool find_part(const Value& value, Value::Array& path) {
  if (is_image_part(value)) return true;
  if (const Value::Array* array = value.array()) {
    for (std::size_t i = 0; i < array->size(); i++) {
      if (!find_part((*array)[i], path)) continue;
      path.emplace_back(Value::Integer{std::to_string(i)});
      return true;
    }
  }
  if (const Value::Object* object = value.object()) {
    for (const Value::Member& member : *object) {
      if (!find_part(member.second, path)) continue;
      path.emplace_back(member.first);
      return true;
    }
  }
  return false;
}

}  // namespace

std::optional<Value::Array> find_image_part(const Value& value) {
  Value::Array path;
  if (!find_part(value, path)) return std::nullopt;
  std::reverse(path.begin(), path.end());
  return path;
}

std::optional<ImageFormat> image_format_of(std::string_view name) {
  const std::string format = lower(name);
  if (format == "png") return ImageFormat::kPng;
  if (format == "jpg" || format == "jpeg") return ImageFormat::kJpeg;
  return std::nullopt;
}

Result<Image> image_of_base64(std::string_view base64, std::optional<ImageFormat> declared) {
  if (base64.empty()) return refused("is empty; it must be an image in base64");
  // Before memory is taken for it: four digits are three bytes.
  if (base64.size() / 4 * 3 > kImageBytesMax + 3) {
    return refused("has more than " + std::to_string(kImageBytesMax) +
                   " bytes, which is the most that one image may have");
  }
  std::optional<std::string> file = base64_bytes(base64);
  if (!file) return refused("is no base64");
  const Result<ImageFacts> facts = check_image(*file);
  if (!facts.ok()) return facts.error();
  if (declared && *declared != facts->format) {
    return refused(std::string("is a ") + image_format_name(facts->format) + " and not the " +
                   image_format_name(*declared) + " that it is said to be");
  }
  return Image{.file = std::make_shared<const std::string>(std::move(*file)), .name = {}};
}

Result<Image> image_of_url(std::string_view url) {
  constexpr std::string_view kScheme = "data:";
  constexpr std::string_view kEncoding = ";base64";
  if (lower(url.substr(0, kScheme.size())) != kScheme) {
    const bool is_address = lower(url.substr(0, 4)) == "http";
    return refused(is_address
                       ? "is an address, and nothing is fetched from outside; send the image itself as a data: URL"
                       : "must be a data: URL (data:image/png;base64,… or data:image/jpeg;base64,…)");
  }
  const std::size_t comma = url.find(',');
  const std::string head =
      lower(url.substr(kScheme.size(), comma == std::string_view::npos ? 0 : comma - kScheme.size()));
  if (comma == std::string_view::npos || !head.ends_with(kEncoding))
    return refused("must be a data: URL in base64 (data:image/png;base64,…)");
  const std::string media_type = head.substr(0, head.find(';'));
  const std::string_view image = "image/";
  const std::optional<ImageFormat> format =
      media_type.starts_with(image) ? image_format_of(media_type.substr(image.size())) : std::nullopt;
  if (!format) return refused("must be an image/png or image/jpeg");
  return image_of_base64(url.substr(comma + 1), format);
}

Result<std::string> ImageList::add(std::string_view url) {
  if (images_.size() == kImagesMax)
    return refused("is one image too many; at most " + std::to_string(kImagesMax) + " are allowed");
  Result<Image> image = image_of_url(url);
  if (!image.ok()) return image.error();
  image->name = lone_ ? "" : "image " + std::to_string(images_.size() + 1);
  images_.push_back(std::move(image).value());
  return images_.back().name;
}

Error image_error_in(const std::string& field, Error error) {
  constexpr std::string_view kList = "images[";
  if (!error.field.starts_with(kList)) return error;
  std::size_t index = 0;
  std::from_chars(error.field.data() + kList.size(), error.field.data() + error.field.size(), index);
  std::string rest =
      error.message.starts_with(error.field) ? error.message.substr(error.field.size()) : " " + error.message;
  error.message = field + ": image " + std::to_string(index + 1) + rest;
  error.field = field;
  return error;
}

}  // namespace assay::server
