#include "server/http/form_body.h"

#include <algorithm>

#include "assay/value.h"
#include "server/wires/wire_json.h"

namespace assay::server {

void FormBody::begin(std::string name, std::string file_name, std::string content_type) {
  in_file_ = !file_name.empty();
  if (in_file_) {
    files_.push_back({std::move(name), std::move(file_name), std::move(content_type), ""});
  } else {
    texts_.emplace_back(std::move(name), "");
  }
}

void FormBody::add(std::string_view bytes) { (in_file_ ? files_.back().content : texts_.back().second).append(bytes); }

void FormBody::finish(HttpRequest& request) && {
  // In the order in which the names came first.
  std::vector<std::pair<std::string, Value::Array>> fields;
  for (const auto& [name, text] : texts_) {
    const auto found = std::find_if(fields.begin(), fields.end(), [&](const auto& one) { return one.first == name; });
    Value::Array& values = found == fields.end() ? fields.emplace_back(name, Value::Array{}).second : found->second;
    values.push_back(text_value(text));
  }
  Value::Object object;
  for (auto& [name, values] : fields) {
    const Value key = text_value(name);
    object.emplace_back(*key.string(), values.size() == 1 ? values.front() : Value(std::move(values)));
  }
  request.body = to_json_text(Value(std::move(object)));
  request.files = std::move(files_);
}

}  // namespace assay::server
