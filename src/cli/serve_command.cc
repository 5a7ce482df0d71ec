#include "cli/serve_command.h"

#include <utility>

#include "base/log.h"
#include "server/http_server.h"
#include "server/metrics.h"
#include "server/routes.h"

namespace assay::cli {
namespace {

server::RouteOptions route_options(const ServeFlags& flags) {
  server::RouteOptions out;
  out.wire.body_bytes_max = flags.body_bytes_max;
  out.wire.options_max = flags.model.options_max;
  return out;
}

void log_model(const ModelReport& report) {
  log_line(LogLevel::kInfo, "model " + report.id + ": " + report.description + ", " +
                                std::to_string(report.context_tokens) + " tokens a request, readout " +
                                readout_name(report.readout) + " (" + report.readout_source + ")");
  for (const std::string& warning : report.warnings) log_line(LogLevel::kWarn, warning);
}

}  // namespace

int run_serve(const ServeFlags& flags, Streams& streams, const Clock& clock, SignalWatcher& signals,
              const OpenDecider& open) {
  ModelFlags model = flags.model;
  if (!flags.positional_model.empty()) model.model = flags.positional_model;
  Result<DeciderOptions> options = decider_options(model);
  if (!options.ok()) return report_error(streams.err, options.error());
  Result<std::vector<std::string>> keys = read_api_keys(flags);
  if (!keys.ok()) return report_error(streams.err, keys.error());

  // Listen before loading, so that probes get an answer.
  server::HttpServerOptions http;
  http.host = flags.host;
  http.port = flags.port;
  http.api_keys = std::move(*keys);
  http.threads = flags.http_threads;
  Result<std::unique_ptr<server::HttpServer>> listener = server::HttpServer::open(http);
  if (!listener.ok()) return report_error(streams.err, listener.error());
  log_line(LogLevel::kInfo, "listening on " + (*listener)->address() + ", loading " + model.model);

  // Load, then answer.
  Result<std::unique_ptr<Decider>> decider = open(std::move(*options));
  if (!decider.ok()) return report_error(streams.err, decider.error());
  log_model((*decider)->report());
  server::Metrics metrics;
  server::Routes routes(**decider, metrics, clock, route_options(flags));
  signals.expect();
  (*listener)->set_ready(routes);
  log_line(LogLevel::kInfo, "ready on " + (*listener)->address());

  // Until a signal comes; then finish what was accepted.
  signals.wait();
  log_line(LogLevel::kInfo, "draining: answering what was accepted");
  routes.set_draining();
  (*listener)->stop();
  (*decider)->drain(Decider::kNoLimit);
  log_line(LogLevel::kInfo, "stopped");
  return kExitOk;
}

}  // namespace assay::cli
