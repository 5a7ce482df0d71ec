#include "cli/option_spec.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <utility>

namespace assay::cli {
namespace {

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

OptionSpec base_spec(std::string name, std::string value_name, std::string help, OptionKind kind) {
  OptionSpec spec;
  spec.name = std::move(name);
  spec.value_name = std::move(value_name);
  spec.help = std::move(help);
  spec.kind = kind;
  return spec;
}

std::string joined(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : ", ") + item;
  return out;
}

}  // namespace

std::string flag_of(const OptionSpec& option) { return option.positional ? option.name : "--" + option.name; }

std::string env_of(const OptionSpec& option) {
  if (!option.configurable) return "";
  std::string out = "ASSAY_" + option.name;
  std::transform(out.begin(), out.end(), out.begin(), [](char c) {
    if (c == '-') return '_';
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return out;
}

std::string key_of(const OptionSpec& option) {
  if (!option.configurable) return "";
  std::string out = option.name;
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

Result<std::int64_t> parse_whole_number(const std::string& what, const std::string& text, std::int64_t low,
                                        std::int64_t high) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, number);
  if (code != std::errc() || rest != end || number < low || number > high) {
    return invalid_argument(what, what + " takes a whole number from " + std::to_string(low) + " to " +
                                      std::to_string(high) + ", not '" + text + "'");
  }
  return number;
}

Result<double> parse_share(const std::string& what, const std::string& text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, number);
  const bool good = code == std::errc() && rest == end && number > 0 && number < 1;
  if (good) return number;
  return invalid_argument(what, what + " must be a number between 0 and 1, such as 0.05; it is '" + text + "'");
}

Result<bool> parse_switch(const std::string& what, const std::string& text) {
  const std::string word = lower(text);
  if (word == "1" || word == "true" || word == "yes" || word == "on") return true;
  if (word.empty() || word == "0" || word == "false" || word == "no" || word == "off") return false;
  return invalid_argument(what, what + " is a switch: true or false, not '" + text + "'");
}

OptionSpec text_option(std::string name, std::string value_name, std::string help, std::string* target) {
  OptionSpec spec = base_spec(std::move(name), std::move(value_name), std::move(help), OptionKind::kText);
  spec.default_text = *target;
  spec.set = [target](const std::vector<std::string>& values) {
    *target = values.back();
    return Status();
  };
  return spec;
}

OptionSpec text_option(std::string name, std::string value_name, std::string help, std::optional<std::string>* target) {
  OptionSpec spec = base_spec(std::move(name), std::move(value_name), std::move(help), OptionKind::kText);
  spec.set = [target](const std::vector<std::string>& values) {
    *target = values.back();
    return Status();
  };
  return spec;
}

OptionSpec list_option(std::string name, std::string value_name, std::string help, std::vector<std::string>* target) {
  OptionSpec spec = base_spec(std::move(name), std::move(value_name), std::move(help), OptionKind::kText);
  spec.repeats = true;
  spec.set = [target](const std::vector<std::string>& values) {
    *target = values;
    return Status();
  };
  return spec;
}

OptionSpec switch_option(std::string name, std::string help, bool* target) {
  OptionSpec spec = base_spec(std::move(name), "", std::move(help), OptionKind::kSwitch);
  const std::string flag = flag_of(spec);
  spec.set = [target, flag](const std::vector<std::string>& values) -> Status {
    const Result<bool> on = parse_switch(flag, values.back());
    if (!on.ok()) return on.error();
    *target = *on;
    return Status();
  };
  return spec;
}

OptionSpec choice_option(std::string name, std::string help, std::vector<std::string> choices, std::string* target) {
  OptionSpec spec = base_spec(std::move(name), "NAME", std::move(help), OptionKind::kChoice);
  spec.default_text = *target;
  spec.choices = choices;
  const std::string flag = flag_of(spec);
  spec.set = [target, flag, choices = std::move(choices)](const std::vector<std::string>& values) -> Status {
    if (std::find(choices.begin(), choices.end(), values.back()) == choices.end()) {
      return invalid_argument(flag, flag + " takes one of " + joined(choices) + ", not '" + values.back() + "'");
    }
    *target = values.back();
    return Status();
  };
  return spec;
}

OptionSpec with_short_name(OptionSpec spec, std::string short_name) {
  spec.short_name = std::move(short_name);
  return spec;
}

OptionSpec as_file(OptionSpec spec) {
  spec.kind = OptionKind::kFile;
  return spec;
}

OptionSpec as_folder(OptionSpec spec) {
  spec.kind = OptionKind::kFolder;
  return spec;
}

OptionSpec as_positional(OptionSpec spec) {
  spec.positional = true;
  spec.configurable = false;
  return spec;
}

OptionSpec as_request_only(OptionSpec spec) {
  spec.configurable = false;
  return spec;
}

OptionSpec on_off_option(std::string name, std::string help, bool* target) {
  std::string shown = *target ? "on" : "off";
  OptionSpec spec = choice_option(std::move(name), std::move(help), {"on", "off"}, &shown);
  const std::string flag = flag_of(spec);
  spec.set = [target, flag](const std::vector<std::string>& values) -> Status {
    const Result<bool> on = parse_switch(flag, values.back());
    if (!on.ok()) return invalid_argument(flag, flag + " takes on or off, not '" + values.back() + "'");
    *target = *on;
    return Status();
  };
  return spec;
}

}  // namespace assay::cli
