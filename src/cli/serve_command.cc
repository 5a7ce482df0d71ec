#include "cli/serve_command.h"

#include <atomic>
#include <cstdlib>
#include <utility>

#include "assay/build.h"
#include "base/log.h"
#include "server/http_server.h"
#include "server/metrics.h"
#include "server/routes.h"
#include "server/shutdown.h"

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
  out.transforms_at_once = static_cast<std::size_t>(flags.http_threads);
  if (flags.log_requests) out.log_requests = server::standard_output_lines();
  return out;
}

server::HttpServerOptions http_options(const ServeFlags& flags) {
  server::HttpServerOptions out;
  out.host = flags.host;
  out.port = flags.port;
  out.threads = flags.http_threads;
  out.body_bytes_max = flags.body_bytes_max;
  out.keep_alive_seconds = flags.keep_alive_seconds;
  out.read_timeout_seconds = flags.read_timeout_seconds;
  out.cors_origins = flags.cors_origins;
  out.ssl_certificate_file = flags.ssl_cert_file;
  out.ssl_key_file = flags.ssl_key_file;
  return out;
}

void log_model(const ModelReport& report) {
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

// Ends the process from another thread: everything that could be waited for has been.
void leave_behind(bool all_answered) {
  log_line(LogLevel::kWarn, all_answered ? "stopped without waiting for the last connections"
                                         : "stopped although the decider did not drain within its grace");
  std::_Exit(all_answered ? kExitOk : kExitFailed);
}

}  // namespace

int run_serve(const ServeFlags& flags, Streams& streams, const Clock& clock, SignalWatcher& signals,
              const OpenDecider& open) {
  Result<DeciderOptions> options = serve_decider_options(flags);
  if (!options.ok()) return report_error(streams.err, options.error());
  Result<std::vector<std::string>> keys = read_api_keys(flags);
  if (!keys.ok()) return report_error(streams.err, keys.error());

  // Destroyed last, so that it bounds the end of everything below.
  std::atomic<bool> all_answered{false};
  server::ExitLimit exit_limit([&all_answered] { leave_behind(all_answered.load()); });

  // Listen before loading, so that probes get an answer.
  Result<std::unique_ptr<server::HttpServer>> listener = server::HttpServer::open(http_options(flags));
  if (!listener.ok()) return report_error(streams.err, listener.error());
  log_line(LogLevel::kInfo, "listening on " + (*listener)->address() + ", loading " + options->model.path);

  // Load, then answer.
  Result<std::unique_ptr<Decider>> decider = open(std::move(*options));
  if (!decider.ok()) return report_error(streams.err, decider.error());
  log_model((*decider)->report());
  server::Metrics metrics;
  server::Routes routes(**decider, metrics, clock, route_options(flags, std::move(*keys)));
  signals.expect();
  (*listener)->set_ready(routes);
  log_line(LogLevel::kInfo, "ready on " + (*listener)->address());
  if (flags.log_requests) {
    server::standard_output_lines()(
        server::ready_line((*decider)->report(), device_name(flags), (*listener)->address()));
  }

  // Until a signal comes; then finish what was accepted.
  signals.wait();
  log_line(LogLevel::kInfo, "draining: answering what was accepted");
  const double grace_ms = static_cast<double>(flags.grace_seconds) * 1e3;
  exit_limit.start(grace_ms + kExitMarginMs);
  const auto stop_listener = [&] {
    all_answered.store(true);
    (*listener)->stop();
  };
  server::shut_down(routes, **decider, stop_listener, grace_ms);
  log_line(LogLevel::kInfo, "stopped");
  return kExitOk;
}

}  // namespace assay::cli
