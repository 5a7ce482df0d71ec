#include "server/will_decide.h"

#include <string>

#include "server/sagemaker/invocations.h"
#include "server/sagemaker/json_lines.h"
#include "server/wires/body_shape.h"

namespace assay::server {
namespace {

bool is_decisions_alone(RouteKind kind) {
  return kind == RouteKind::kSemif || kind == RouteKind::kSystemOne || kind == RouteKind::kDecisions;
}

}  // namespace

bool will_decide(const Route& route, const HttpRequest& request) {
  if (is_decisions_alone(route.kind)) return true;
  if (route.kind != RouteKind::kInvocations) return false;
  const std::string* type = find_header(request, "content-type");
  if (type != nullptr && is_json_lines_media_type(*type)) return false;
  if (find_header(request, "X-Amzn-SageMaker-Session-Id") != nullptr) return false;
  const Result<std::string> path = invocation_path(request);
  if (!path.ok()) return false;
  if (*path != kInvocationsPath) {
    const Route* named = find_route(*path);
    return named != nullptr && is_decisions_alone(named->kind);
  }
  const BodyShape shape = shape_of_body(request.body);
  return !shape.request_type && (shape.decisions || shape.state);
}

}  // namespace assay::server
