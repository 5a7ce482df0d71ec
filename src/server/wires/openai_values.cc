// Ids are given in two rounds: first to what keeps its own text, then to the strings that have to make room.
#include "server/wires/openai_values.h"

#include <map>
#include <set>
#include <utility>

#include "server/wires/openai_error.h"

namespace assay::server {
namespace {

constexpr std::size_t kIdBytesMax = 4096;  // RequestLimits::id_bytes_max

Status check_values(const std::vector<DeclaredValue>& values) {
  std::map<std::string, std::size_t> first_of;  // by JSON text, which differs where type or value does
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string field = list_element("", i);
    const std::string* text = values[i].value.string();
    if (text != nullptr && text->empty()) return invalid_argument(field, "must not be an empty string");
    const auto [first, is_new] = first_of.emplace(to_json_text(values[i].value), i);
    if (!is_new) return invalid_argument(field, "repeats the value of " + list_element("", first->second));
  }
  return {};
}

}  // namespace

Result<std::vector<Option>> options_of_values(const std::vector<DeclaredValue>& values) {
  const Status checked = check_values(values);
  if (!checked.ok()) return checked.error();
  std::set<std::string> not_strings;
  for (const DeclaredValue& declared : values) {
    if (!declared.value.is_string()) not_strings.insert(to_json_text(declared.value));
  }
  std::set<std::string> taken = not_strings;
  for (const DeclaredValue& declared : values) {
    if (declared.value.is_string()) taken.insert(*declared.value.string());
  }
  std::vector<Option> options;
  options.reserve(values.size());
  for (const DeclaredValue& declared : values) {
    std::string id = to_display_text(declared.value);
    if (declared.value.is_string() && not_strings.contains(id)) {
      while (taken.contains(id)) id = to_json_text(Value(id));
      taken.insert(id);
    }
    Option option{.id = std::move(id), .description = declared.description};
    if (option.id.size() > kIdBytesMax) {
      // Too long for an id, but not for a model, which reads it all the same.
      if (!option.description.has_value()) option.description = option.id;
      for (option.id = "value " + std::to_string(options.size()); taken.contains(option.id);) option.id += '\'';
      taken.insert(option.id);
    }
    options.push_back(std::move(option));
  }
  return options;
}

bool are_true_and_false(const std::vector<DeclaredValue>& values) {
  return values.size() == 2 && values[0].value.boolean() != nullptr && values[1].value.boolean() != nullptr &&
         *values[0].value.boolean() != *values[1].value.boolean();
}

}  // namespace assay::server
