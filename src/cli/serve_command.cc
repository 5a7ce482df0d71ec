#include "cli/serve_command.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>
#include <utility>

#include "assay/build.h"
#include "base/log.h"
#include "cli/multi_model_files.h"
#include "cli/serve_chat.h"
#include "server/http/http_server.h"
#include "server/llama/llama_chat.h"
#include "server/llama/llama_child.h"
#include "server/llama/llama_router.h"
#include "server/metrics.h"
#include "server/no_decider.h"
#include "server/routes.h"
#include "server/shutdown.h"
#include "server/sleeping_decider.h"
#include "server/wires/wire_json.h"

namespace assay::cli {
namespace {

// System One's contract allows this many levels; a server that allows more options than it does allows as many levels.
constexpr std::uint64_t kContractOptionsMax = 255;

server::RouteOptions route_options(const ServeFlags& flags, std::vector<std::string> keys) {
  server::RouteOptions out;
  out.wire.body_bytes_max = flags.body_bytes_max;
  out.wire.options_max = flags.model.options_max;
  out.model_names.insert(out.model_names.end(), flags.aliases.begin(), flags.aliases.end());
  out.api_keys = std::move(keys);
  out.rate_limit_per_minute = static_cast<double>(flags.rate_limit);
  out.system_one_options_max = flags.max_options;
  if (flags.max_options > kContractOptionsMax) out.system_one_levels_max = flags.max_options;
  out.round_digits = flags.round;
  out.sagemaker.sessions.idle_seconds_max = static_cast<double>(flags.session_seconds);
  out.sagemaker.json_lines_all_or_none = flags.json_lines_all_or_none;
  out.vertex.predict_path = flags.predict_path;
  out.vertex.health_path = flags.health_path;
  out.transforms_at_once = static_cast<std::size_t>(flags.http_threads);
  if (flags.log_requests) out.log_requests = server::standard_output_lines();
  return out;
}

server::HttpServerOptions http_options(const ServeFlags& flags) {
  server::HttpServerOptions out;
  out.hosts = hosts_of(flags.host);
  out.port = flags.port;
  out.threads = flags.http_threads;
  out.body_bytes_max = flags.body_bytes_max;
  out.keep_alive_seconds = flags.keep_alive_seconds;
  out.read_timeout_seconds = flags.read_timeout_seconds;
  out.cors_origins = flags.cors_origins;
  out.ssl_certificate_file = flags.ssl_cert_file;
  out.ssl_key_file = flags.ssl_key_file;
  out.path_prefix = flags.path_prefix;
  return out;
}

void log_model(const ModelReport& report) {
  if (!report.decides) return log_line(LogLevel::kWarn, "model " + report.id + ": " + report.determinism);
  log_line(LogLevel::kInfo, "model " + report.id + ": " + report.description + ", " +
                                std::to_string(report.context_tokens) + " tokens a request, readout " +
                                readout_name(report.readout) + " (" + report.readout_source + ")");
  for (const std::string& warning : report.warnings) log_line(LogLevel::kWarn, warning);
}

// Where the model's layers lie.
std::string device_name(const ServeFlags& flags) {
  if (flags.model.gpu_layers == 0) return "CPU";
  for (const std::string& name : build_report().devices) {
    if (name != "CPU") return name;
  }
  return "CPU";
}

// After the grace: for replies to be written and the model to be freed.
constexpr double kExitMarginMs = 3000;
// A router's models have more: llama.cpp kills after 10 s what does not end by itself.
constexpr double kModelsExitMs = 12'000;

// Ends the process from another thread: everything that could be waited for has been.
void leave_behind(bool all_answered) {
  log_line(LogLevel::kWarn, all_answered ? "stopped without waiting for the last connections"
                                         : "stopped although the decider did not drain within its grace");
  std::_Exit(all_answered ? kExitOk : kExitFailed);
}

// What answers, in the order in which it is made; destroyed in the reverse.
struct Answering {
  ComputeGate gate;
  std::unique_ptr<server::LlamaChat> chat;  // owns the weights where there is chat
  bool has_chat = false;
  std::unique_ptr<Decider> decider;
};

// From a signal on: no new work, accepted work is answered, then everything is stopped, at the latest after the grace.
class Ending {
 public:
  explicit Ending(const ServeFlags& flags) : grace_ms_(static_cast<double>(flags.grace_seconds) * 1e3) {}

  // `stop` gets what is left of the grace.
  void wait(SignalWatcher& signals, const Clock& clock, server::Routes& routes, Decider& decider,
            server::HttpServer& listener, const std::function<void(double)>& stop, double more_ms) {
    signals.wait();
    log_line(LogLevel::kInfo, "draining: answering what was accepted");
    const std::int64_t began_ns = clock.now_ns();
    limit_.start(grace_ms_ + kExitMarginMs + more_ms);
    const auto stop_listener = [&] {
      stop(std::max(0.0, grace_ms_ - clock.ms_since(began_ns)));
      all_answered_.store(true);
      listener.stop();
    };
    server::shut_down(routes, decider, stop_listener, grace_ms_);
    log_line(LogLevel::kInfo, "stopped");
  }

 private:
  const double grace_ms_;
  std::atomic<bool> all_answered_{false};
  server::ExitLimit limit_{[this] { leave_behind(all_answered_.load()); }};
};

// The files that llama-server's words ask for are fetched, the model too where none is named.
Status find_model(ServeFlags& flags, server::LlamaChat& chat) {
  const bool is_named = !flags.model.model.empty() || !flags.positional_model.empty();
  const std::string& download = chat.settings().download;
  if (is_named ? !flags.chat : download.empty()) return {};
  if (!is_named) log_line(LogLevel::kInfo, "fetching " + download);
  Result<std::string> path = chat.fetch_files(is_named ? server::ModelFile::kIsHere : server::ModelFile::kToFetch);
  if (!path.ok()) return path.error();
  if (!is_named) flags.model.model = std::move(path).value();
  if (flags.model.mmproj.empty()) flags.model.mmproj = chat.settings().mmproj;
  return {};
}

// System One's contract allows bodies of this size where there are images.
constexpr std::uint64_t kImageBodyBytesMax = std::uint64_t{32} * 1024 * 1024;

// Where decisions see, bodies may be larger unless the caller has said how large.
void allow_image_bodies(ServeFlags& flags) {
  if (!flags.model.mmproj.empty() && flags.body_bytes_max == ServeFlags{}.body_bytes_max)
    flags.body_bytes_max = kImageBodyBytesMax;
}

// The decider goes with the weights, and comes back with them.
void follow_sleep(const DeciderOptions& options, const LoadPlan& plan, const ServeParts& parts, Answering& answering) {
  server::LlamaChat& chat = *answering.chat;
  auto decider = std::make_unique<server::SleepingDecider>(
      std::move(answering.decider),
      server::SleepHooks{.wake = [&chat] { return chat.wake(); }, .touch = [&chat] { chat.touch(); }});
  server::SleepingDecider& sleeping = *decider;
  answering.decider = std::move(decider);
  const auto open = [options, plan, &parts, &answering](llama_model* model) -> Result<std::unique_ptr<Decider>> {
    try {
      return parts.open_on(options, model, plan, &answering.gate);
    } catch (const std::exception& failure) {
      return Error{ErrorCode::kOutOfMemory, std::string("the model could not be woken: ") + failure.what(), "model"};
    }
  };
  chat.watch_sleep({.before_free = [&sleeping] { sleeping.fall_asleep(); },
                    .after_load = [&sleeping, open](llama_model* model) { sleeping.wake_up(open(model)); }});
}

// For a model that embeds or ranks: llama-server's routes serve it, and what asks for a decision hears why not.
std::unique_ptr<Decider> decider_of_none(const std::string& model_path, const LoadPlan& plan) {
  ModelReport report;
  report.id = std::filesystem::path(model_path).stem().string();
  report.path = model_path;
  report.threads = plan.threads;
  report.context_tokens = plan.context_tokens;
  report.memory_needed_bytes = plan.memory_needed_bytes;
  report.memory_free_bytes = plan.memory_free_bytes;
  report.readout_source = "none";
  report.decides = false;
  report.determinism = "it makes no decisions: " + plan.cannot_decide;
  report.warnings = {report.determinism};
  Error refusal = invalid_argument("model", "the model " + report.id + " makes no decisions: " + plan.cannot_decide);
  return std::make_unique<server::NoDecider>(std::move(report), std::move(refusal));
}

// Tells a router the model's states; nothing where there is none.
std::function<void(const std::string&, const std::string&)> teller(server::LlamaChild* child) {
  if (child == nullptr) return {};
  return [child](const std::string& state, const std::string& payload) { child->tell(state, payload); };
}

// Says why a model could not be served, to a router as well.
int report_load_error(std::ostream& err, const Error& error, const server::LlamaChild* child) {
  const int code = report_error(err, error);
  if (child == nullptr) return code;
  if (error.code == ErrorCode::kOutOfMemory) return server::kChildOutOfMemory;
  const bool is_model = error.code == ErrorCode::kUnsupportedModel || error.code == ErrorCode::kNotFound;
  return is_model ? server::kChildBadModel : code;
}

// Loads: weights, chat's context, decisions' context.
Status load(const ServeFlags& flags, DeciderOptions options, const ServeParts& parts, server::LlamaChild* child,
            Answering& out) {
  std::unique_ptr<Decider>& decider = out.decider;
  const auto keep = [&decider](Result<std::unique_ptr<Decider>> opened) -> Status {
    if (!opened.ok()) return opened.error();
    decider = std::move(opened).value();
    return {};
  };
  if (!flags.chat) return keep(parts.open(std::move(options)));
  Result<LoadPlan> plan = parts.plan(options);
  if (!plan.ok()) return plan.error();
  if (plan->has_head) {
    log_line(LogLevel::kInfo, "this model decides and does not chat: llama-server's routes are not there");
    return keep(parts.open(std::move(options)));
  }
  const server::LlamaLoad load = {.model_path = options.model.path,
                                  .model_name = std::filesystem::path(options.model.path).stem().string(),
                                  .plan = *plan,
                                  .check_memory = options.model.check_memory,
                                  .default_context_tokens = plan->context_tokens,
                                  .stuck_seconds = options.stuck_seconds,
                                  .on_state = teller(child),
                                  .free_bytes = [] { return build_report().memory_free_bytes; }};
  if (Status loaded = out.chat->load(load, out.gate); !loaded.ok()) {
    Error error = loaded.error();
    if (!plan->cannot_decide.empty()) error.message += "; " + plan->cannot_decide;
    return error;
  }
  out.has_chat = true;
  if (!plan->cannot_decide.empty()) {
    decider = decider_of_none(options.model.path, *plan);
    out.chat->start();
    return {};
  }
  if (Status opened = keep(parts.open_on(options, out.chat->model(), *plan, &out.gate)); !opened.ok()) return opened;
  plan->packed.reset();
  if (out.chat->settings().sleep_idle_seconds >= 0) follow_sleep(options, *plan, parts, out);
  out.chat->start();
  return parts.warms_chat ? out.chat->warm_up() : Status();
}

// Lessons on top of the decider, where they are asked for; nullptr: they are not.
Result<LessonDesk*> put_on_lessons(const ServeFlags& flags, Answering& answering) {
  Result<std::optional<LessonOptions>> asked = serve_lesson_options(flags);
  if (!asked.ok()) return asked.error();
  if (!*asked) return static_cast<LessonDesk*>(nullptr);
  LessonOptions& options = **asked;
  options.parse_json = [](const std::string& text) { return server::parse_json(text); };
  Result<std::unique_ptr<TaughtDecider>> taught = TaughtDecider::open(std::move(answering.decider), options);
  if (!taught.ok()) return taught.error();
  LessonDesk* const desk = &(*taught)->desk();
  answering.decider = std::move(taught).value();
  return desk;
}

void log_models(const std::vector<std::string>& names) {
  if (names.empty()) {
    log_line(LogLevel::kWarn,
             "no model is named and none was found: name a GGUF with --model, or a folder of them with --models-dir");
    return;
  }
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  log_line(LogLevel::kInfo, "no model is named; each of these gets a process when it is asked for: " + list);
}

void log_ready(const server::HttpServer& listener) {
  const std::vector<std::string> all = listener.addresses();
  for (std::size_t i = 1; i < all.size(); ++i) log_line(LogLevel::kInfo, "also on " + all[i]);
  log_line(LogLevel::kInfo, "ready on " + all.front());
}

// Serves many models, each in a process of its own.
int run_router(const ServeFlags& flags, Streams& streams, const Clock& clock, SignalWatcher& signals) {
  Result<std::vector<std::string>> keys = read_api_keys(flags);
  if (!keys.ok()) return report_error(streams.err, keys.error());
  for (const auto& [name, value] : flags.given) setenv(name.c_str(), value.c_str(), 1);
  server::RouterOptions models;
  if (flags.multi_model) models.find_files = find_multi_model_files;
  Result<std::unique_ptr<server::LlamaRouter>> router =
      server::LlamaRouter::open(words_for_llama(flags), std::move(models));
  if (!router.ok()) return report_error(streams.err, router.error());

  // Destroyed last, so that it bounds the end of everything below.
  Ending ending(flags);
  Result<std::unique_ptr<server::HttpServer>> listener = server::HttpServer::open(http_options(flags));
  if (!listener.ok()) return report_error(streams.err, listener.error());
  server::NoDecider decider;
  server::Metrics metrics;
  server::RouteOptions route = route_options(flags, std::move(*keys));
  route.chat = router->get();
  server::Routes routes(decider, metrics, clock, route);
  signals.expect();
  (*listener)->set_ready(routes);
  if (!flags.multi_model) log_models((*router)->model_names());
  log_ready(**listener);
  if (Status started = (*router)->start(); !started.ok()) {
    (*router)->stop(0);
    (*listener)->stop();
    return report_error(streams.err, started.error());
  }
  ending.wait(
      signals, clock, routes, decider, **listener, [&](double left_ms) { (*router)->stop(left_ms); }, kModelsExitMs);
  return kExitOk;
}

// Serves one model until a signal comes, or the router that started this process ends it.
int run_model(const ServeFlags& flags, Streams& streams, const Clock& clock, SignalWatcher& signals,
              const ServeParts& parts, server::LlamaChild* child, Answering& answering) {
  Result<DeciderOptions> options = serve_decider_options(flags);
  if (!options.ok()) return report_error(streams.err, options.error());
  Result<std::vector<std::string>> keys = read_api_keys(flags);
  if (!keys.ok()) return report_error(streams.err, keys.error());

  // Destroyed last, so that it bounds the end of everything below.
  Ending ending(flags);

  // Listen before loading, so that probes get an answer.
  Result<std::unique_ptr<server::HttpServer>> listener = server::HttpServer::open(http_options(flags));
  if (!listener.ok()) return report_error(streams.err, listener.error());
  log_line(LogLevel::kInfo, "listening on " + (*listener)->address() + ", loading " + options->model.path);

  // Load, then answer.
  if (Status loaded = load(flags, std::move(*options), parts, child, answering); !loaded.ok()) {
    return report_load_error(streams.err, loaded.error(), child);
  }
  Result<LessonDesk*> lessons = put_on_lessons(flags, answering);
  if (!lessons.ok()) return report_error(streams.err, lessons.error());
  log_model(answering.decider->report());
  server::Metrics metrics;
  server::RouteOptions route = route_options(flags, std::move(*keys));
  route.chat = answering.has_chat ? answering.chat.get() : nullptr;
  route.lessons = *lessons;
  server::Routes routes(*answering.decider, metrics, clock, route);
  signals.expect();
  (*listener)->set_ready(routes);
  log_ready(**listener);
  if (flags.log_requests) {
    server::standard_output_lines()(
        server::ready_line(answering.decider->report(), device_name(flags), (*listener)->address()));
  }
  if (child != nullptr) {
    child->watch([] { kill(getpid(), SIGTERM); });
    child->tell("ready", answering.has_chat ? answering.chat->model_info() : "{}");
  }

  // Until a signal comes; then finish what was accepted.
  ending.wait(
      signals, clock, routes, *answering.decider, **listener, [&](double left_ms) { answering.chat->stop(left_ms); },
      0);
  return kExitOk;
}

}  // namespace

int run_serve(const ServeFlags& given, Streams& streams, const Clock& clock, SignalWatcher& signals,
              const ServeParts& parts) {
  const std::unique_ptr<server::LlamaChild> child = server::LlamaChild::attach();
  const std::vector<std::string> words = words_for_llama(given);
  if (child != nullptr && child->only_downloads()) return child->download(words);
  Answering answering;
  Result<std::unique_ptr<server::LlamaChat>> chat = server::LlamaChat::parse(words);
  if (!chat.ok()) return report_error(streams.err, chat.error());
  answering.chat = std::move(chat).value();
  Result<ServeFlags> flags = with_llama_settings(given, answering.chat->settings());
  if (!flags.ok()) return report_error(streams.err, flags.error());
  if (child == nullptr && parts.environment) flags = with_vertex_settings(std::move(*flags), parts.environment);
  if (!flags.ok()) return report_error(streams.err, flags.error());
  if (flags->multi_model || is_for_many_models(*flags, answering.chat->settings()))
    return run_router(*flags, streams, clock, signals);
  if (child != nullptr) flags = behind_router(std::move(*flags));
  if (Status found = find_model(*flags, *answering.chat); !found.ok()) return report_error(streams.err, found.error());
  allow_image_bodies(*flags);
  return run_model(*flags, streams, clock, signals, parts, child.get(), answering);
}

}  // namespace assay::cli
