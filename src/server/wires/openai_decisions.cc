#include "server/wires/openai_decisions.h"

#include <utility>

#include "server/wires/openai_decisions_reply.h"
#include "server/wires/openai_error.h"
#include "server/wires/wire_images.h"
#include "server/wires/wire_json.h"

namespace assay::server {

OpenAiDecisionsWire::OpenAiDecisionsWire(WireSettings settings) : settings_(std::move(settings)) {}

std::variant<ParsedWire, WireRefusal> OpenAiDecisionsWire::parse(const HttpRequest& request) const {
  const Status fits = check_body_bytes(request, settings_);
  if (!fits.ok()) return openai_refusal(fits.error());
  const Result<Value> top = parse_json(request.body);
  if (!top.ok()) return openai_refusal(top.error());
  Result<OpenAiDecisions> decisions = read_openai_decisions(top.value(), wire_headers(request), settings_);
  if (!decisions.ok()) return openai_refusal(decisions.error());
  OpenAiReplyForm form{.questions = std::move(decisions->questions),
                       .model_id = settings_.model_id(),
                       .round_digits = settings_.round_digits,
                       .explain = decisions->request.explain,
                       .hidden_state = decisions->request.hidden_state};
  ParsedWire parsed;
  parsed.request = std::move(decisions->request);
  parsed.in_wire_terms = [questions = form.questions](const Error& error) {
    if (error.field.starts_with("images[")) return image_error_in("input", error);
    return renamed_field(error, openai_decisions_field(error.field, questions));
  };
  parsed.write_answer = [form](std::size_t question, const Answer& answer) {
    return openai_decisions_event(form, question, answer);
  };
  parsed.write_reply = [form = std::move(form)](const DecisionReply& reply) {
    return openai_decisions_reply(form, reply);
  };
  return parsed;
}

WireRefusal OpenAiDecisionsWire::refuse(const Error& error) const { return openai_refusal(error); }

}  // namespace assay::server
