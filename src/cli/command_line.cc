#include "cli/command_line.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <CLI/CLI.hpp>

#include "cli/config_file.h"
#include "cli/foreign_words.h"
#include "cli/suggest.h"

// CLI11 splits the words, writes the help and nothing else: values stay texts until `set` reads them, and the
// environment and the config file are applied here, because CLI11 lets the file win over the environment.
namespace assay::cli {
namespace {

struct BoundOption {
  const OptionSpec* spec = nullptr;
  CLI::Option* option = nullptr;  // owned by the CLI::App
};

// "TOKENS [512] (ASSAY_BATCH_TOKENS)", as the help shows it behind the flag.
std::string option_text(const OptionSpec& spec) {
  std::string out = spec.value_name;
  if (spec.kind == OptionKind::kChoice) {
    out.clear();
    for (const std::string& choice : spec.choices) out += (out.empty() ? "" : "|") + choice;
  }
  if (!spec.default_text.empty()) out += " [" + spec.default_text + "]";
  if (spec.repeats) out += " ...";
  return out;
}

std::string help_text(const OptionSpec& spec) {
  return spec.configurable ? spec.help + " (" + env_of(spec) + ")" : spec.help;
}

std::string cli_names(const OptionSpec& spec) {
  if (spec.positional) return spec.name;
  return spec.short_name.empty() ? "--" + spec.name : "-" + spec.short_name + ",--" + spec.name;
}

CLI::Option* add_to_app(CLI::App& app, const OptionSpec& spec) {
  const std::string help = help_text(spec);
  if (spec.kind == OptionKind::kSwitch) return app.add_flag(cli_names(spec), help);
  const auto keep = [](const std::vector<std::string>&) { return true; };
  CLI::Option* const option = app.add_option(cli_names(spec), CLI::callback_t(keep), help);
  option->option_text(option_text(spec));
  if (spec.repeats) {
    option->expected(1, CLI::detail::expected_max_vector_size);
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  } else {
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  option->allow_extra_args(spec.positional && spec.repeats);
  return option;
}

std::vector<BoundOption> bind_command(CLI::App& app, const CommandSpec& command) {
  std::vector<BoundOption> bound;
  for (const OptionSpec& spec : command.options) bound.push_back({&spec, add_to_app(app, spec)});
  app.allow_extras();
  std::string footer = command.examples.empty() ? "" : "\n" + command.examples;
  const std::string foreign = foreign_help(command);
  if (!foreign.empty()) footer += "\n\nllama-server's flags, for chat and the rest of its routes:\n" + foreign;
  if (!footer.empty()) app.footer(footer);
  return bound;
}

// The error for words that no option took.
Error unknown_word(const CommandSpec& command, const std::vector<std::string>& words) {
  const auto is_flag = [](const std::string& word) { return word.size() > 1 && word[0] == '-'; };
  const auto flag = std::find_if(words.begin(), words.end(), is_flag);
  if (flag == words.end()) {
    return invalid_argument("", "'" + words.front() + "' is one argument too many for 'assay " + command.name + "'");
  }
  std::vector<std::string> known = {"help", "config"};
  for (const OptionSpec& option : command.options) {
    if (!option.positional) known.push_back(option.name);
  }
  const std::string name = flag->substr(flag->find_first_not_of('-'), flag->find('=') - flag->find_first_not_of('-'));
  const std::string shown = flag->substr(0, flag->find('='));
  return invalid_argument(
      shown, "'assay " + command.name + "' has no flag '" + shown + "'" + suggestion_text(name, known, "--"));
}

Error unknown_command(const std::vector<CommandSpec>& commands, const std::string& word) {
  std::vector<std::string> known;
  for (const CommandSpec& command : commands) known.push_back(command.name);
  const std::string what = word[0] == '-' ? "'assay' has no flag '" : "there is no command '";
  return invalid_argument("", what + word + "'" + suggestion_text(word, known) + " ('assay --help' lists them)");
}

Status check_config_keys(const std::vector<CommandSpec>& commands, const std::vector<ConfigEntry>& entries) {
  for (const ConfigEntry& entry : entries) {
    std::vector<std::string> sections;
    std::vector<std::string> keys;
    for (const CommandSpec& command : commands) {
      sections.push_back(command.name);
      if (!entry.section.empty() && entry.section != command.name) continue;
      for (const OptionSpec& option : command.options) {
        if (option.configurable) keys.push_back(key_of(option));
      }
    }
    if (!entry.section.empty() && std::find(sections.begin(), sections.end(), entry.section) == sections.end()) {
      return invalid_argument("config", "the config file has an unknown section '" + entry.section + "'" +
                                            suggestion_text(entry.section, sections));
    }
    if (std::find(keys.begin(), keys.end(), entry.key) == keys.end()) {
      return invalid_argument(
          "config", "the config file has an unknown key '" + entry.key + "'" + suggestion_text(entry.key, keys));
    }
  }
  return Status();
}

// A key in the command's own section beats the same key at the top.
const ConfigEntry* find_entry(const std::vector<ConfigEntry>& entries, const std::string& section,
                              const std::string& key) {
  const ConfigEntry* found = nullptr;
  for (const ConfigEntry& entry : entries) {
    if (entry.key != key || (!entry.section.empty() && entry.section != section)) continue;
    if (found == nullptr || found->section.empty()) found = &entry;
  }
  return found;
}

using Settings = std::vector<std::pair<std::string, std::string>>;

std::string joined_by_commas(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : ",") + value;
  return text;
}

Status apply_option(const CommandSpec& command, const BoundOption& bound, const ReadEnvironment& environment,
                    const std::vector<ConfigEntry>& entries, Settings& settled) {
  const OptionSpec& spec = *bound.spec;
  const auto set = [&spec, &settled](const std::vector<std::string>& values) {
    if (spec.configurable) settled.emplace_back(env_of(spec), joined_by_commas(values));
    return spec.set(values);
  };
  if (bound.option->count() > 0) {
    std::vector<std::string> values = bound.option->results();
    if (!spec.repeats) values.erase(values.begin(), values.end() - 1);
    return set(values);
  }
  if (!spec.configurable) return Status();
  const auto from = [&spec](const Status& status, const std::string& source) -> Status {
    if (status.ok()) return status;
    return invalid_argument(spec.name, source + ": " + status.error().message);
  };
  if (const std::optional<std::string> text = environment(env_of(spec)); text && !text->empty()) {
    return from(set({*text}), env_of(spec));
  }
  const ConfigEntry* const entry = find_entry(entries, command.name, key_of(spec));
  if (entry == nullptr || entry->values.empty()) return Status();
  if (entry->values.size() > 1 && !spec.repeats) {
    return invalid_argument(spec.name, "the config file's '" + entry->key + "' takes one value, not a list");
  }
  return from(set(entry->values), "the config file's '" + entry->key + "'");
}

Result<std::vector<ConfigEntry>> read_entries(const CLI::Option& flag, const ReadEnvironment& environment) {
  std::string path;
  if (flag.count() > 0) {
    path = flag.results().back();
  } else {
    path = environment("ASSAY_CONFIG").value_or("");
  }
  if (path.empty()) return std::vector<ConfigEntry>();
  return read_config_file(path);
}

struct CommandApp {
  const CommandSpec* command = nullptr;
  CLI::App* app = nullptr;  // owned by the parent CLI::App
  CLI::Option* config = nullptr;
  std::vector<BoundOption> bound;
};

std::vector<CommandApp> add_commands(CLI::App& root, const std::vector<CommandSpec>& commands) {
  std::vector<CommandApp> out;
  for (const CommandSpec& command : commands) {
    CLI::App* const app = root.add_subcommand(command.name, command.summary);
    app->set_help_flag("-h,--help", "Print this help and exit");
    CLI::Option* const config =
        app->add_option("--config", CLI::callback_t([](const std::vector<std::string>&) { return true; }),
                        "Config file, TOML or (by its name) JSON; flags and environment win over it (ASSAY_CONFIG)");
    config->option_text("FILE")->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
    out.push_back({&command, app, config, bind_command(*app, command)});
  }
  return out;
}

Status apply_command(const std::vector<CommandSpec>& commands, const CommandApp& chosen,
                     const ReadEnvironment& environment, Settings& settled) {
  const std::vector<std::string> words = chosen.app->remaining();
  if (!words.empty()) return unknown_word(*chosen.command, words);
  const Result<std::vector<ConfigEntry>> entries = read_entries(*chosen.config, environment);
  if (!entries.ok()) return entries.error();
  if (Status known = check_config_keys(commands, *entries); !known.ok()) return known;
  for (const BoundOption& bound : chosen.bound) {
    if (Status applied = apply_option(*chosen.command, bound, environment, *entries, settled); !applied.ok()) {
      return applied;
    }
  }
  return Status();
}

Settings given_by(const CommandApp& chosen) {
  Settings out;
  if (chosen.config->count() > 0) out.emplace_back("ASSAY_CONFIG", chosen.config->results().back());
  for (const BoundOption& bound : chosen.bound) {
    if (bound.option->count() == 0 || !bound.spec->configurable || bound.spec->positional) continue;
    std::vector<std::string> values = bound.option->results();
    if (!bound.spec->repeats) values.erase(values.begin(), values.end() - 1);
    out.emplace_back(env_of(*bound.spec), joined_by_commas(values));
  }
  return out;
}

// The words without those of foreign flags, which go where the command wants them.
std::vector<std::string> without_foreign(const std::vector<CommandSpec>& commands,
                                         const std::vector<std::string>& words) {
  for (const CommandSpec& command : commands) {
    if (words.empty() || command.name != words.front() || command.foreign_words == nullptr) continue;
    ToldApart apart = tell_apart(command, {words.begin() + 1, words.end()});
    *command.foreign_words = std::move(apart.foreign);
    apart.ours.insert(apart.ours.begin(), words.front());
    return std::move(apart.ours);
  }
  return words;
}

}  // namespace

Result<ParsedCommand> parse_command_line(const std::vector<CommandSpec>& commands,
                                         const std::vector<std::string>& arguments,
                                         const ReadEnvironment& environment) {
  CLI::App root("Assay: probabilities for declared options, out of one forward pass of a GGUF model.", "assay");
  root.set_help_flag("-h,--help", "Print this help and exit");
  bool version = false;
  root.add_flag("--version", version, "Print the version and exit");
  root.require_subcommand(0, 1);
  root.allow_extras();
  root.get_formatter()->column_width(44);
  root.get_formatter()->label("SUBCOMMAND", "COMMAND");
  root.footer("'assay COMMAND --help' lists a command's flags.");
  const std::vector<CommandApp> apps = add_commands(root, commands);
  const std::vector<std::string> ours = without_foreign(commands, arguments);
  try {
    root.parse(std::vector<std::string>(ours.rbegin(), ours.rend()));
  } catch (const CLI::CallForHelp&) {
    return ParsedCommand{"", root.help()};
  } catch (const CLI::ParseError& failure) {
    return invalid_argument("", failure.what());
  }
  const auto chosen =
      std::find_if(apps.begin(), apps.end(), [](const CommandApp& app) { return app.app->count() > 0; });
  const std::vector<std::string> words = root.remaining();
  if (chosen == apps.end()) {
    if (!words.empty()) return unknown_command(commands, words.front());
    if (version) return ParsedCommand{"version", ""};
    return ParsedCommand{"", root.help()};
  }
  if (!words.empty()) return unknown_word(*chosen->command, words);
  Settings settled;
  if (const Status applied = apply_command(commands, *chosen, environment, settled); !applied.ok()) {
    return applied.error();
  }
  return ParsedCommand{chosen->command->name, "", given_by(*chosen), std::move(settled)};
}

}  // namespace assay::cli
