#include "cli/config_file.h"

#include <algorithm>
#include <exception>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include <CLI/CLI.hpp>

#include "assay/value.h"
#include "server/wires/wire_json.h"

namespace assay::cli {
namespace {

std::string key_name(std::string key) {
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

Error config_error(const std::string& path, const std::string& what) {
  return invalid_argument("config", "config file '" + path + "': " + what);
}

// A scalar or a list of scalars as texts; anything else is not a setting.
Result<std::vector<std::string>> setting_values(const std::string& path, const std::string& key, const Value& value) {
  std::vector<std::string> out;
  if (const Value::Array* const items = value.array()) {
    for (const Value& item : *items) {
      if (item.is_array() || item.is_object() || item.is_null())
        return config_error(path, "'" + key + "' holds no plain values");
      out.push_back(to_display_text(item));
    }
    return out;
  }
  if (value.is_object() || value.is_null()) return config_error(path, "'" + key + "' is not a plain value");
  out.push_back(to_display_text(value));
  return out;
}

Result<std::vector<ConfigEntry>> read_json(const std::string& path, const std::string& text) {
  const Result<Value> root = server::parse_json(text);
  if (!root.ok()) return config_error(path, root.error().message);
  const Value::Object* const members = root->object();
  if (members == nullptr) return config_error(path, "the top of a JSON config is an object");
  std::vector<ConfigEntry> entries;
  const auto add = [&](const std::string& section, const Value::Member& member) -> Status {
    Result<std::vector<std::string>> values = setting_values(path, member.first, member.second);
    if (!values.ok()) return values.error();
    entries.push_back({section, key_name(member.first), std::move(*values)});
    return Status();
  };
  for (const Value::Member& member : *members) {
    if (const Value::Object* const section = member.second.object()) {
      for (const Value::Member& inner : *section) {
        if (const Status added = add(member.first, inner); !added.ok()) return added.error();
      }
      continue;
    }
    if (const Status added = add("", member); !added.ok()) return added.error();
  }
  return entries;
}

Result<std::vector<ConfigEntry>> read_toml(const std::string& path, const std::string& text) {
  try {
    std::istringstream stream(text);
    std::vector<ConfigEntry> entries;
    for (const CLI::ConfigItem& item : CLI::ConfigTOML().from_config(stream)) {
      if (item.name == "++" || item.name == "--") continue;  // CLI11's marks for a section's begin and end
      if (item.parents.size() > 1) return config_error(path, "'" + item.fullname() + "' lies deeper than one section");
      entries.push_back({item.parents.empty() ? "" : item.parents[0], key_name(item.name), item.inputs});
    }
    return entries;
  } catch (const std::exception& failure) {
    return config_error(path, failure.what());
  }
}

}  // namespace

Result<std::vector<ConfigEntry>> read_config_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::kNotFound, "config file '" + path + "' cannot be read", "config"};
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return path.ends_with(".json") ? read_json(path, text) : read_toml(path, text);
}

}  // namespace assay::cli
