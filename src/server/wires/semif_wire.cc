#include "server/wires/semif_wire.h"

#include <utility>

#include "server/wires/wire_reply.h"

namespace assay::server {

SemifWire::SemifWire(const WireSettings& settings, const ModelReport& model)
    : limits_{.body_bytes_max = settings.body_bytes_max,
              .options_min = settings.options_min,
              .options_max = settings.options_max,
              .questions_max = settings.questions_max},
      model_(model) {}

std::variant<ParsedWire, WireRefusal> SemifWire::parse(const HttpRequest& request) const {
  Result<WireRequest> wire = parse_semif_request(request.body, limits_, wire_headers(request));
  if (!wire.ok()) return refuse(wire.error());
  const SemifReply shape = semif_reply_shape(*wire);
  const ModelReport* model = &model_;
  ParsedWire parsed;
  parsed.write_reply = [shape, model](const DecisionReply& reply) { return semif_reply(shape, reply, *model); };
  parsed.write_answer = [shape, model](std::size_t, const Answer& answer) {
    return semif_answer(shape, answer, *model);
  };
  parsed.in_wire_terms = [single = wire->single](Error error) { return semif_error(single, std::move(error)); };
  parsed.request = std::move(wire->request);
  return parsed;
}

WireRefusal SemifWire::refuse(const Error& error) const {
  return {.status = semif_status(error.code),
          .body = error_body(error),
          .code = error.code,
          .retry_after_seconds = error.retry_after_seconds};
}

}  // namespace assay::server
