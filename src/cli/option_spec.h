#pragma once
// One table for all settings: each option is described once, and its flag, its environment variable, its key in the
// config file, its help and its shell completion all come from that description.
//
//   name "context-tokens"  ->  --context-tokens, ASSAY_CONTEXT_TOKENS, context_tokens = 4096

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "assay/error.h"

namespace assay::cli {

enum class OptionKind { kSwitch, kText, kNumber, kFile, kFolder, kChoice };

struct OptionSpec {
  std::string name;        // without dashes; for a positional argument its name in the help
  std::string short_name;  // one letter or empty
  std::string value_name;  // "TOKENS"; empty for switches
  std::string help;
  std::string default_text;  // shown in the help; empty: no default
  OptionKind kind = OptionKind::kText;
  std::vector<std::string> choices;  // kChoice only
  bool repeats = false;              // every value counts; otherwise the last one does
  bool positional = false;
  bool configurable = true;  // has an environment variable and a config key
  // Checks and stores the values. Called at most once, with one value unless `repeats`.
  std::function<Status(const std::vector<std::string>&)> set;
};

// A flag that is not ours: it and the words behind it are handed on as they are.
struct ForeignFlag {
  std::vector<std::string> names;  // with their dashes
  int values = 0;                  // words that follow it
  std::string value_name;
  std::string environment;  // empty: none
  std::string help;
};

struct CommandSpec {
  std::string name;
  std::string summary;   // one line
  std::string examples;  // shown below the help; may be empty
  std::vector<OptionSpec> options;
  // Flags that another program reads (foreign_words.h), and where their words go. Where a name is ours, too, it is
  // ours.
  std::vector<ForeignFlag> foreign = {};
  std::vector<std::string>* foreign_words = nullptr;
};

std::string flag_of(const OptionSpec& option);  // "--context-tokens"
std::string env_of(const OptionSpec& option);   // "ASSAY_CONTEXT_TOKENS", empty when not configurable
std::string key_of(const OptionSpec& option);   // "context_tokens", empty when not configurable

// Whole numbers, nothing before or after them.
Result<std::int64_t> parse_whole_number(const std::string& what, const std::string& text, std::int64_t low,
                                        std::int64_t high);
// A number above 0 and below 1.
Result<double> parse_share(const std::string& what, const std::string& text);
// "1", "true", "yes", "on" and "0", "false", "no", "off", "" in any case.
Result<bool> parse_switch(const std::string& what, const std::string& text);

// The following make specs that store into *target, whose present value is the default shown. The target must outlive
// the spec.
OptionSpec text_option(std::string name, std::string value_name, std::string help, std::string* target);
// The same where an empty text is another thing than none.
OptionSpec text_option(std::string name, std::string value_name, std::string help, std::optional<std::string>* target);
OptionSpec list_option(std::string name, std::string value_name, std::string help, std::vector<std::string>* target);
OptionSpec switch_option(std::string name, std::string help, bool* target);
// A switch whose default may be on. Every word of a switch is taken (true, 1, …), the help shows on and off.
OptionSpec on_off_option(std::string name, std::string help, bool* target);
OptionSpec choice_option(std::string name, std::string help, std::vector<std::string> choices, std::string* target);

template <typename T>
OptionSpec number_option(std::string name, std::string value_name, std::string help, T* target, std::int64_t low,
                         std::int64_t high) {
  OptionSpec spec;
  spec.name = std::move(name);
  spec.value_name = std::move(value_name);
  spec.help = std::move(help);
  spec.default_text = std::to_string(*target);
  spec.kind = OptionKind::kNumber;
  const std::string flag = flag_of(spec);
  spec.set = [target, flag, low, high](const std::vector<std::string>& values) -> Status {
    const Result<std::int64_t> number = parse_whole_number(flag, values.back(), low, high);
    if (!number.ok()) return number.error();
    *target = static_cast<T>(*number);
    return Status();
  };
  return spec;
}

// Small changes to a spec, to be chained where it is made.
OptionSpec with_short_name(OptionSpec spec, std::string short_name);
OptionSpec as_file(OptionSpec spec);
OptionSpec as_folder(OptionSpec spec);
OptionSpec as_positional(OptionSpec spec);
OptionSpec as_request_only(OptionSpec spec);  // no environment variable, no config key

}  // namespace assay::cli
