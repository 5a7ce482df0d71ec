#include "cli/foreign_words.h"

#include <algorithm>
#include <map>

namespace assay::cli {
namespace {

constexpr std::size_t kHelpColumn = 44;

// A flag's name as it is looked up, without "=value".
std::string name_of(const std::string& word) {
  std::string name = word.substr(0, word.find('='));
  if (name.rfind("--", 0) == 0) std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

// Our flags, and how many words follow each.
std::map<std::string, int> our_flags(const CommandSpec& command) {
  std::map<std::string, int> flags = {{"--help", 0}, {"-h", 0}, {"--config", 1}};
  for (const OptionSpec& option : command.options) {
    if (option.positional) continue;
    const int values = option.kind == OptionKind::kSwitch ? 0 : 1;
    flags[flag_of(option)] = values;
    if (!option.short_name.empty()) flags["-" + option.short_name] = values;
  }
  return flags;
}

}  // namespace

ToldApart tell_apart(const CommandSpec& command, const std::vector<std::string>& words) {
  const std::map<std::string, int> ours = our_flags(command);
  std::map<std::string, int> theirs;
  for (const ForeignFlag& flag : command.foreign) {
    for (const std::string& name : flag.names) theirs.emplace(name, flag.values);
  }
  ToldApart out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string name = name_of(words[i]);
    const bool has_value = name.size() < words[i].size();
    const auto our = ours.find(words[i].substr(0, name.size()));
    const auto their = theirs.find(name);
    const bool is_foreign = our == ours.end() && their != theirs.end();
    std::vector<std::string>& to = is_foreign ? out.foreign : out.ours;
    int more = is_foreign ? their->second : our != ours.end() ? our->second : 0;
    if (is_foreign && has_value) {
      to.push_back(name);
      to.push_back(words[i].substr(name.size() + 1));
    } else {
      to.push_back(words[i]);
    }
    if (has_value) more = std::max(0, more - 1);
    for (; more > 0 && i + 1 < words.size(); --more) to.push_back(words[++i]);
  }
  return out;
}

std::string foreign_help(const CommandSpec& command) {
  std::string text;
  for (const ForeignFlag& flag : command.foreign) {
    std::string line = "  ";
    for (const std::string& name : flag.names) line += (line.size() > 2 ? "," : "") + name;
    if (!flag.value_name.empty()) line += " " + flag.value_name;
    if (line.size() + 2 > kHelpColumn) line += '\n';
    const std::size_t last_line = line.rfind('\n') == std::string::npos ? line.size() : 0;
    line += std::string(kHelpColumn - last_line, ' ') + flag.help;
    if (!flag.environment.empty()) line += " (" + flag.environment + ")";
    text += line + "\n";
  }
  return text;
}

}  // namespace assay::cli
