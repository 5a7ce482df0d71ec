#include "cli/completion.h"

#include "cli/suggest.h"

namespace assay::cli {
namespace {

const std::vector<std::string>& shells() {
  static const std::vector<std::string> kShells = {"bash", "zsh", "fish"};
  return kShells;
}

std::string joined(const std::vector<std::string>& items, const std::string& separator) {
  std::string out;
  for (const std::string& item : items) out += (out.empty() ? "" : separator) + item;
  return out;
}

// The text with every character of `special` behind a backslash.
std::string escaped(const std::string& text, const std::string& special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string::npos) out += '\\';
    out += c;
  }
  return out;
}

// Within single quotes, for a POSIX shell.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

OptionSpec config_spec() {
  OptionSpec spec;
  spec.name = "config";
  spec.value_name = "FILE";
  spec.help = "Config file";
  spec.kind = OptionKind::kFile;
  return spec;
}

OptionSpec help_spec() {
  OptionSpec spec;
  spec.name = "help";
  spec.short_name = "h";
  spec.help = "Print help";
  spec.kind = OptionKind::kSwitch;
  return spec;
}

// A command's flags, the common ones included, without positional arguments.
std::vector<OptionSpec> flags_of(const CommandSpec& command) {
  std::vector<OptionSpec> out = {help_spec(), config_spec()};
  for (const OptionSpec& option : command.options) {
    if (!option.positional) out.push_back(option);
  }
  return out;
}

std::vector<std::string> positional_words(const CommandSpec& command) {
  for (const OptionSpec& option : command.options) {
    if (option.positional) return option.choices;
  }
  return {};
}

// "command:--flag|command:-f" for a bash case.
std::string bash_pattern(const CommandSpec& command, const OptionSpec& option) {
  std::string out = command.name + ":--" + option.name;
  if (!option.short_name.empty()) out += "|" + command.name + ":-" + option.short_name;
  return out;
}

std::string bash_value_cases(const CommandSpec& command) {
  std::string out;
  for (const OptionSpec& option : flags_of(command)) {
    if (option.kind == OptionKind::kSwitch) continue;
    out += "    " + bash_pattern(command, option) + ") ";
    if (option.kind == OptionKind::kChoice) {
      out += "COMPREPLY=($(compgen -W \"" + joined(option.choices, " ") + "\" -- \"$cur\"))";
    } else if (option.kind == OptionKind::kFile) {
      out += "compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")";
    } else if (option.kind == OptionKind::kFolder) {
      out += "compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- \"$cur\")";
    } else {
      out += "COMPREPLY=()";
    }
    out += "; return ;;\n";
  }
  return out;
}

std::string bash_command_case(const CommandSpec& command) {
  std::vector<std::string> flags;
  for (const OptionSpec& option : flags_of(command)) flags.push_back("--" + option.name);
  std::string out = "    " + command.name + ")\n      if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W \"" +
                    joined(flags, " ") + "\" -- \"$cur\"))\n";
  const std::vector<std::string> words = positional_words(command);
  if (!words.empty()) {
    out += "      else COMPREPLY=($(compgen -W \"" + joined(words, " ") + "\" -- \"$cur\"))\n";
  } else {
    out += "      else compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n";
  }
  return out + "      fi ;;\n";
}

// What zsh shows as a value's name and how it completes it: ":GGUF:_files".
std::string zsh_value(const OptionSpec& option) {
  if (option.kind == OptionKind::kSwitch) return "";
  const std::string name = ":" + escaped(option.value_name.empty() ? "value" : option.value_name, ":[]\\");
  if (option.kind == OptionKind::kChoice) return name + ":(" + joined(option.choices, " ") + ")";
  if (option.kind == OptionKind::kFile) return name + ":_files";
  if (option.kind == OptionKind::kFolder) return name + ":_files -/";
  return name + ": ";
}

std::string zsh_arguments(const CommandSpec& command) {
  std::string out;
  for (const OptionSpec& option : flags_of(command)) {
    const std::string tail = "[" + escaped(option.help, ":[]\\") + "]" + zsh_value(option);
    const std::string repeat = option.repeats ? "*" : "";
    out += "        " + quoted(repeat + "--" + option.name + tail) + " \\\n";
    if (!option.short_name.empty()) out += "        " + quoted(repeat + "-" + option.short_name + tail) + " \\\n";
  }
  const std::vector<std::string> words = positional_words(command);
  out += "        " + quoted(words.empty() ? "*:file:_files" : "1:name:(" + joined(words, " ") + ")") + " ;;\n";
  return out;
}

std::string fish_quoted(const std::string& text) { return "'" + escaped(text, "'\\") + "'"; }

std::string fish_option(const CommandSpec& command, const OptionSpec& option) {
  std::string out = "complete -c assay -n '__fish_seen_subcommand_from " + command.name + "' -l " + option.name;
  if (!option.short_name.empty()) out += " -s " + option.short_name;
  if (option.kind == OptionKind::kChoice) out += " -x -a " + fish_quoted(joined(option.choices, " "));
  if (option.kind == OptionKind::kFile) out += " -r -F";
  if (option.kind == OptionKind::kFolder) out += " -x -a '(__fish_complete_directories)'";
  if (option.kind == OptionKind::kText || option.kind == OptionKind::kNumber) out += " -x";
  return out + " -d " + fish_quoted(option.help) + "\n";
}

}  // namespace

CommandSpec completion_command(CompletionFlags& flags) {
  OptionSpec shell = as_positional(text_option("SHELL", "", "bash, zsh or fish", &flags.shell));
  shell.choices = shells();
  return {.name = "completion",
          .summary = "Print a completion script for a shell",
          .examples =
              "Examples:\n  source <(assay completion bash)\n"
              "  assay completion zsh > ~/.zfunc/_assay      (a folder of $fpath)\n"
              "  assay completion fish > ~/.config/fish/completions/assay.fish",
          .options = {shell}};
}

std::string bash_completion(const std::vector<CommandSpec>& commands) {
  std::vector<std::string> names;
  std::string values;
  std::string cases;
  for (const CommandSpec& command : commands) {
    names.push_back(command.name);
    values += bash_value_cases(command);
    cases += bash_command_case(command);
  }
  return "# Completion of assay for bash: source <(assay completion bash)\n"
         "_assay() {\n"
         "  local cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\" command= i\n"
         "  COMPREPLY=()\n"
         "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
         "    case \"${COMP_WORDS[i]}\" in " +
         joined(names, "|") +
         ") command=\"${COMP_WORDS[i]}\"; break ;; esac\n"
         "  done\n"
         "  case \"$command:$prev\" in\n" +
         values +
         "  esac\n"
         "  case \"$command\" in\n"
         "    '') COMPREPLY=($(compgen -W \"" +
         joined(names, " ") + " --help --version\" -- \"$cur\")) ;;\n" + cases +
         "  esac\n"
         "}\n"
         "complete -F _assay assay\n";
}

std::string zsh_completion(const std::vector<CommandSpec>& commands) {
  std::string described;
  std::string cases;
  for (const CommandSpec& command : commands) {
    described += "        " + quoted(command.name + ":" + command.summary) + "\n";
    cases += "      " + command.name + ") _arguments -s \\\n" + zsh_arguments(command);
  }
  return "#compdef assay\n"
         "# Completion of assay for zsh: put this in a folder of $fpath as _assay\n"
         "_assay() {\n"
         "  local curcontext=\"$curcontext\" state line\n"
         "  local -a commands\n"
         "  _arguments -C '1:command:->command' '*::argument:->argument'\n"
         "  case $state in\n"
         "    command)\n"
         "      commands=(\n" +
         described +
         "      )\n"
         "      _describe command commands ;;\n"
         "    argument)\n"
         "      case $line[1] in\n" +
         cases +
         "      esac ;;\n"
         "  esac\n"
         "}\n"
         "_assay \"$@\"\n";
}

std::string fish_completion(const std::vector<CommandSpec>& commands) {
  std::string out = "# Completion of assay for fish\n";
  for (const CommandSpec& command : commands) {
    out += "complete -c assay -n __fish_use_subcommand -f -a " + command.name + " -d " + fish_quoted(command.summary) +
           "\n";
    for (const OptionSpec& option : flags_of(command)) out += fish_option(command, option);
    const std::vector<std::string> words = positional_words(command);
    if (!words.empty()) {
      out += "complete -c assay -n '__fish_seen_subcommand_from " + command.name + "' -f -a " +
             fish_quoted(joined(words, " ")) + "\n";
    }
  }
  return out;
}

Result<std::string> completion_script(const CompletionFlags& flags, const std::vector<CommandSpec>& commands) {
  if (flags.shell == "bash") return bash_completion(commands);
  if (flags.shell == "zsh") return zsh_completion(commands);
  if (flags.shell == "fish") return fish_completion(commands);
  if (flags.shell.empty()) return invalid_argument("SHELL", "name the shell: bash, zsh or fish");
  return invalid_argument("SHELL", "there is no completion for '" + flags.shell + "', only for bash, zsh and fish" +
                                       suggestion_text(flags.shell, shells()));
}

}  // namespace assay::cli
