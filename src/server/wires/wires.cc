#include "server/wires/wires.h"

#include "server/wires/body_shape.h"

namespace assay::server {

Wires::Wires(const WireSettings& settings, const ModelReport& model)
    : semif_(settings, model), system_one_(settings), decisions_(settings), chat_(settings) {}

const Wire& Wires::of_route(RouteKind kind) const {
  switch (kind) {
    case RouteKind::kSemif:
    case RouteKind::kInvocations:
    case RouteKind::kEndpoint:
    case RouteKind::kAsyncReply:
    case RouteKind::kLessons:
    case RouteKind::kExport:
      return semif_;
    case RouteKind::kDecisions:
      return decisions_;
    case RouteKind::kChat:
      return chat_;
    default:
      return system_one_;
  }
}

const Wire* Wires::of_body(RouteKind kind, std::string_view body) const {
  if (kind != RouteKind::kInvocations && kind != RouteKind::kDecisions) return &of_route(kind);
  const BodyShape shape = shape_of_body(body);
  if (kind == RouteKind::kDecisions) {
    if (shape.state) return &system_one_;
    return &decisions_;
  }
  if (shape.decisions) return &semif_;
  if (shape.state && shape.questions_object) return &system_one_;
  if (shape.input && shape.questions_list) return &decisions_;
  return nullptr;
}

}  // namespace assay::server
