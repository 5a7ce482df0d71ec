// assay: the program. Reads the command line, builds the parts, runs one command.

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include <unistd.h>

#include "assay/build.h"
#include "assay/decider.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/machine_facts.h"
#include "cli/sagemaker_command.h"
#include "cli/serve_command.h"
#include "cli/signals.h"
#include "cli/streams.h"
#include "cli/thread_wait.h"
#include "server/llama/llama_flags.h"
#include "service/open_decider.h"

namespace assay::cli {
namespace {

std::optional<std::string> read_environment(const std::string& name) {
  const char* const text = std::getenv(name.c_str());
  if (text == nullptr) return std::nullopt;
  return std::string(text);
}

std::vector<EnvironmentEntry> whole_environment() {
  std::vector<EnvironmentEntry> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t name_end = text.find('=');
    if (name_end != std::string::npos) out.push_back({text.substr(0, name_end), text.substr(name_end + 1)});
  }
  return out;
}

bool has_gpu() {
  const std::vector<std::string> devices = build_report().devices;
  return std::any_of(devices.begin(), devices.end(), [](const std::string& name) { return name != "CPU"; });
}

LogLevel log_level(const std::string& name) {
  if (name == "debug") return LogLevel::kDebug;
  if (name == "info") return LogLevel::kInfo;
  if (name == "error") return LogLevel::kError;
  return name == "off" ? LogLevel::kOff : LogLevel::kWarn;
}

// llama-server's own variable for the key holds for `assay serve`, as in its image for plain machines. In a SageMaker
// container nobody can send a key, so there it does not.
std::optional<std::string> read_serve_environment(const std::string& name) {
  std::optional<std::string> text = read_environment(name);
  if (name == "ASSAY_API_KEY" && text.value_or("").empty()) return read_environment("LLAMA_API_KEY");
  return text;
}

Streams standard_streams() {
  Streams streams{.in = std::cin, .out = std::cout, .err = std::cerr};
  streams.in_is_terminal = isatty(STDIN_FILENO) == 1;
  streams.out_is_terminal = isatty(STDOUT_FILENO) == 1;
  streams.err_is_terminal = isatty(STDERR_FILENO) == 1;
  streams.colours = streams.out_is_terminal && read_environment("NO_COLOR").value_or("").empty();
  return streams;
}

MachinePaths machine_paths() {
  MachinePaths paths;
  paths.cache_home = read_environment("XDG_CACHE_HOME").value_or("");
  if (paths.cache_home.empty()) paths.cache_home = read_environment("HOME").value_or("") + "/.cache";
  return paths;
}

int print_completion(const CommandFlags& flags, const std::vector<CommandSpec>& commands, Streams& streams) {
  const Result<std::string> script = completion_script(flags.completion, commands);
  if (!script.ok()) return report_error(streams.err, script.error());
  streams.out << *script << std::flush;
  return kExitOk;
}

// Commands that need no model.
int run_small_command(const std::string& name, const CommandFlags& flags, const std::vector<CommandSpec>& commands,
                      Streams& streams) {
  if (name == "version") return run_version(flags.version, build_report(), streams);
  if (name == "decisions") return run_decisions(flags.decisions, streams);
  if (name == "completion") return print_completion(flags, commands, streams);
  return run_doctor(flags.doctor,
                    read_machine_facts(build_report(), flags.doctor.model, flags.doctor.port, machine_paths()),
                    streams);
}

ServeParts serve_parts(const OpenDecider& open) {
  const auto open_on = [](DeciderOptions options, llama_model* model, const LoadPlan& plan, ComputeGate* gate) {
    return service::open_decider(std::move(options), {.model = model, .plan = plan, .gate = gate});
  };
  return {.open = open, .plan = service::plan_load, .open_on = open_on, .environment = {}};
}

// The same, and a first decision is made before they are handed out.
ServeParts warmed(ServeParts parts) {
  parts.open = opened_warm(std::move(parts.open));
  parts.warms_chat = true;
  parts.open_on = [open_on = std::move(parts.open_on)](DeciderOptions options, llama_model* model, const LoadPlan& plan,
                                                       ComputeGate* gate) {
    const OpenDecider open = [&](DeciderOptions same) { return open_on(std::move(same), model, plan, gate); };
    return opened_warm(open)(std::move(options));
  };
  return parts;
}

std::vector<ForeignFlag> foreign_flags() {
  std::vector<ForeignFlag> out;
  for (server::LlamaFlag& flag : server::llama_server_flags()) {
    out.push_back({.names = std::move(flag.names),
                   .values = flag.values,
                   .value_name = std::move(flag.value_name),
                   .environment = std::move(flag.environment),
                   .help = std::move(flag.help)});
  }
  return out;
}

int run_command(const std::string& name, const CommandFlags& flags, const std::vector<CommandSpec>& commands,
                Streams& streams) {
  if (name == "version" || name == "completion" || name == "doctor" || name == "decisions") {
    return run_small_command(name, flags, commands, streams);
  }
  Result<std::unique_ptr<SignalWatcher>> signals = SignalWatcher::open();
  if (!signals.ok()) return report_error(streams.err, signals.error());
  const SteadyClock clock;
  const OpenDecider open = [](DeciderOptions options) { return Decider::open(std::move(options)); };
  if (name == "decide") return run_decide(flags.decide, streams, open);
  if (name == "inspect") return run_inspect(flags.inspect, streams, open);
  if (name == "serve") {
    ServeParts parts = serve_parts(open);
    parts.environment = read_environment;
    return run_serve(flags.serve, streams, clock, **signals, parts);
  }
  if (name == "sagemaker") {
    const Result<ServeFlags> serve = serve_flags_of(flags.sagemaker, has_gpu());
    if (!serve.ok()) return report_error(streams.err, serve.error());
    return run_serve(*serve, streams, clock, **signals, warmed(serve_parts(open)));
  }
  // Rows are stopped between two of them; while the model loads a signal ends the process at once.
  const OpenDecider open_then_expect = [&](DeciderOptions options) {
    Result<std::unique_ptr<Decider>> decider = Decider::open(std::move(options));
    (*signals)->expect();
    return decider;
  };
  const RunContext context{.clock = clock, .stop = (*signals)->stopped()};
  if (name == "pack") {
    (*signals)->expect();
    return run_pack(flags.pack, streams, context);
  }
  if (name == "verify") return run_verify(flags.verify, streams, context, open_then_expect);
  if (name == "warm") return run_warm(flags.warm, streams, context, open_then_expect);
  if (name == "score") return run_score(flags.score, streams, context, open_then_expect);
  if (name == "calibrate") return run_calibrate(flags.calibrate, streams, context, open_then_expect);
  if (name == "teach") return run_teach(flags.teach, streams, context, open_then_expect);
  return run_eval(flags.eval, streams, context, open_then_expect);
}

int run(const std::vector<std::string>& arguments) {
  Streams streams = standard_streams();
  CommandFlags flags;
  if (!arguments.empty() && arguments.front() == "sagemaker") {
    const Status read =
        read_sagemaker_environment(flags.sagemaker, arguments, read_environment, whole_environment(), foreign_flags());
    if (!read.ok()) {
      report_error(streams.err, read.error());
      return kExitUsage;
    }
  }
  std::vector<CommandSpec> commands = all_commands(flags);
  for (CommandSpec& command : commands) {
    if (command.foreign_words != nullptr && !arguments.empty() && arguments.front() == command.name) {
      command.foreign = foreign_flags();
    }
  }
  const bool is_serve = !arguments.empty() && arguments.front() == "serve";
  const Result<ParsedCommand> parsed =
      parse_command_line(commands, arguments, is_serve ? read_serve_environment : read_environment);
  if (!parsed.ok()) {
    report_error(streams.err, parsed.error());
    return kExitUsage;
  }
  if (parsed->name.empty()) {
    streams.out << parsed->help_text << std::flush;
    return kExitOk;
  }
  set_log_level(log_level(log_level_name(parsed->name, flags)));
  flags.serve.given = parsed->given;
  flags.sagemaker.serve.given = parsed->settled;
  return run_command(parsed->name, flags, commands, streams);
}

}  // namespace
}  // namespace assay::cli

int main(int argc, char** argv) {
  assay::cli::wait_with_short_spins(argv);
  try {
    return assay::cli::run(std::vector<std::string>(argv + 1, argv + argc));
  } catch (const std::exception& failure) {
    std::cerr << "assay: internal error: " << failure.what() << "\n";
  } catch (...) {
    std::cerr << "assay: internal error\n";
  }
  return 1;
}
