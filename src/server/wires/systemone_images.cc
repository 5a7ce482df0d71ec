#include "server/wires/systemone_images.h"

#include <algorithm>
#include <utility>

#include "server/wires/wire_images.h"

namespace assay::server {
namespace {

bool is_empty(const Value& value) {
  return value.is_null() || (value.is_object() && value.object()->empty()) ||
         (value.is_array() && value.array()->empty());
}

// Whether any text of a value has these words in it.
bool speaks_of(const Value* value, std::string_view words) {
  if (value == nullptr) return false;
  if (const std::string* text = value->string()) return text->find(words) != std::string::npos;
  if (const Value::Array* array = value->array())
    return std::any_of(array->begin(), array->end(), [&](const Value& item) { return speaks_of(&item, words); });
  const Value::Object* object = value->object();
  return object != nullptr && std::any_of(object->begin(), object->end(), [&](const Value::Member& member) {
           return member.first.find(words) != std::string::npos || speaks_of(&member.second, words);
         });
}

class ImageReader {
 public:
  ImageReader(const Value& top, SystemOneRequest& out, SystemOneFaults& faults)
      : top_(top), out_(out), faults_(faults) {}

  void read_assets(const Value& assets) {
    if (!assets.is_object())
      return faults_.add({Value("body"), Value("assets")}, "must be an object: references and their images",
                         "dict_type");
    for (const Value::Member& member : *assets.object()) read_asset(member);
  }

  void read_list(const Value& images) {
    if (!images.is_array())
      return faults_.add({Value("body"), Value("images")}, "must be a list of images in base64", "list_type");
    for (std::size_t i = 0; i < images.array()->size(); i++) {
      const Value::Array loc = {Value("body"), Value("images"), Value(Value::Integer{std::to_string(i)})};
      const std::string* text = (*images.array())[i].string();
      if (text == nullptr) {
        faults_.add(loc, "must be a data URL or base64", "string_type");
        continue;
      }
      // Base64 alone has no colon.
      const bool is_url = text->find(':') != std::string::npos;
      take(is_url ? image_of_url(*text) : image_of_base64(*text), "", loc);
    }
  }

 private:
  void read_asset(const Value::Member& member) {
    const auto& [reference, asset] = member;
    Value::Array loc = {Value("body"), Value("assets"), loc_part(reference)};
    const auto at = [&loc](const char* field) {
      Value::Array path = loc;
      path.emplace_back(field);
      return path;
    };
    const auto text_of = [&asset](const char* field) {
      const Value* value = asset.find(field);
      return value == nullptr || value->string() == nullptr ? std::string() : *value->string();
    };
    if (!asset.is_object()) return faults_.add(loc, "must be an object with type, format and data_base64", "dict_type");
    if (text_of("type") != "image") return faults_.add(at("type"), "must be image", "literal_error");
    const std::optional<ImageFormat> format = image_format_of(text_of("format"));
    if (!format) return faults_.add(at("format"), "must be png or jpg", "literal_error");
    const Value* data = asset.find("data_base64");
    if (data == nullptr) return faults_.add(at("data_base64"), "Field required", "missing");
    if (data->string() == nullptr) return faults_.add(at("data_base64"), "must be a string", "string_type");
    if (reference.empty() ||
        (!speaks_of(top_.find("state"), reference) && !speaks_of(top_.find("questions"), reference))) {
      return faults_.add_usage_error(loc_text(loc) +
                                     ": nothing speaks of it; the reference must stand in the state or in a question");
    }
    take(image_of_base64(*data->string(), format), reference, at("data_base64"));
  }

  void take(Result<Image> image, std::string name, const Value::Array& loc) {
    std::vector<Image>& images = out_.request.images;
    if (images.size() == kImagesMax) {
      return faults_.add_usage_error(loc_text(loc) + " is one image too many; at most " + std::to_string(kImagesMax) +
                                     " are allowed");
    }
    if (!image.ok()) return faults_.add_usage_error(loc_text(loc) + " " + image.error().message);
    image->name = std::move(name);
    images.push_back(std::move(image).value());
    out_.echo.image_locs.push_back(loc);
  }

  const Value& top_;
  SystemOneRequest& out_;
  SystemOneFaults& faults_;
};

// The contract has no place for images in a state, an instruction or a criterion: those are data, and a part that shows
// an image to a chat would be read as the letters of its base64.
void refuse_image_parts(const Value& top, const WireSettings& settings, SystemOneFaults& faults) {
  for (const char* field : {"state", "questions"}) {
    const Value* value = top.find(field);
    std::optional<Value::Array> path = value == nullptr ? std::nullopt : find_image_part(*value);
    if (!path) continue;
    path->insert(path->begin(), Value(field));
    faults.add_usage_error(*loc_part(loc_text(*path)).string() +
                           " is a part of a chat that shows an image, and here it "
                           "would be read as text; " +
                           (settings.reads_images
                                ? "give the image in images, or in assets under a reference that stands in its place"
                                : "the model of this server reads no images"));
  }
}

}  // namespace

void read_system_one_images(const Value& top, const WireSettings& settings, SystemOneRequest& out,
                            SystemOneFaults& faults) {
  ImageReader reader(top, out, faults);
  for (const char* field : {"assets", "images"}) {
    const Value* images = top.find(field);
    if (images == nullptr || is_empty(*images)) continue;
    // They would have to be looked at; an answer without that would be a guess.
    if (!settings.reads_images) {
      faults.add_usage_error(std::string(field) + ": the model of this server reads no images");
    } else if (std::string_view(field) == "assets") {
      reader.read_assets(*images);
    } else {
      reader.read_list(*images);
    }
  }
  refuse_image_parts(top, settings, faults);
}

}  // namespace assay::server
