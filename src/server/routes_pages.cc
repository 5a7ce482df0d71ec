// What is only looked at: health, the model, metrics, and the pages for people and tools.
#include <utility>

#include "server/lesson_metrics.h"
#include "server/metric_aliases.h"
#include "server/routes.h"
#include "server/sagemaker/execution_parameters.h"
#include "server/sagemaker/oip.h"
#include "server/web_pages.h"
#include "server/wires/wire_reply.h"

namespace assay::server {

// Our own counts, and the engine's once more by llama-server's names.
HttpReply Routes::metrics_reply() const {
  const EngineStats engine = place_.decider.stats();
  HttpReply reply;
  reply.content_type = kMetricsMediaType;
  // llama-server's names: its own numbers where it tells them, else the decisions' under the same names.
  HttpReply more;
  if (options_.chat != nullptr) more = options_.chat->metrics();
  const std::string asleep = options_.chat != nullptr ? sleeping_text(options_.chat->asleep()) : "";
  const std::string lessons = options_.lessons != nullptr ? lesson_metrics_text(options_.lessons->stats()) : "";
  reply.body =
      place_.metrics.text(engine) + lessons + asleep + (more.body.empty() ? llama_metrics_text(engine) : more.body);
  reply.headers = std::move(more.headers);
  return reply;
}

HttpReply Routes::page(const Route& route, const HttpRequest& request) const {
  HttpReply reply;
  switch (route.kind) {
    case RouteKind::kHealth:
      return health_reply();
    case RouteKind::kPing:
      return ping_reply();
    case RouteKind::kMetrics:
      return metrics_reply();
    case RouteKind::kOip:
      return oip_reply(request.path, status_word() == "ok", settings_.model_names);
    case RouteKind::kExecutionParameters:
      reply.body = execution_parameters_body(settings_.body_bytes_max, options_.transforms_at_once);
      return reply;
    case RouteKind::kPage: {
      const std::optional<WebPage> page = web_page(route.path);
      reply.content_type = page->content_type;
      reply.body = page->body;
      reply.headers = {{"Content-Security-Policy", kWebPolicy}, {"X-Content-Type-Options", "nosniff"}};
      return reply;
    }
    default:
      reply.body = models_body(place_.decider.report(), settings_.model_names);
      return reply;
  }
}

std::string Routes::status_word() const {
  if (draining_.load()) return "draining";
  const bool chat_healthy = options_.chat == nullptr || options_.chat->healthy();
  return place_.decider.healthy() && chat_healthy ? "ok" : "failed";
}

HttpReply Routes::health_reply() const {
  const EngineStats engine = place_.decider.stats();
  const Health health{.status = status_word(),
                      .context_tokens = place_.decider.report().context_tokens,
                      .chat_context_tokens = options_.chat == nullptr ? 0 : options_.chat->context_tokens(),
                      .limits = options_.wire,
                      .in_flight = place_.decider.in_flight(),
                      .queued = engine.queued,
                      .running = engine.running,
                      .asleep = options_.chat != nullptr && options_.chat->asleep()};
  HttpReply reply;
  reply.status = health.status == "ok" ? 200 : 503;
  reply.body = health_body(health);
  return reply;
}

HttpReply Routes::ping_reply() const {
  const std::string status = status_word();
  HttpReply reply;
  reply.status = status == "ok" ? 200 : 503;
  reply.body = ping_body(status);
  return reply;
}

}  // namespace assay::server
