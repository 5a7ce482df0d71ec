// Fuzzes the JSON wires: any bytes as the body of a decision, on every wire. What is accepted must keep the promises of
// the domain, its state must survive being written and read again, and its answer must be JSON; what is refused must be
// the caller's fault, said in JSON.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "assay/decision.h"
#include "assay/value.h"
#include "base/assert.h"
#include "server/wires/body_shape.h"
#include "server/wires/chat_decide.h"
#include "server/wires/openai_decisions.h"
#include "server/wires/systemone_wire.h"
#include "server/wires/wire.h"
#include "server/wires/wire_json.h"
#include "server/wires/wire_reply.h"

namespace {

using assay::server::parse_json;

// Every option as likely as the others.
assay::DecisionReply equal_chances(const assay::DecisionRequest& request) {
  assay::DecisionReply reply;
  for (const assay::Question& question : request.questions) {
    assay::Answer answer{.question_id = question.id, .options = {}};
    for (const assay::Option& option : question.options) {
      answer.options.push_back({.id = option.id, .probability = 1.0 / static_cast<double>(question.options.size())});
    }
    answer.abstained = question.min_confidence > 0;
    answer.orders = question.permute;
    reply.answers.push_back(answer);
  }
  return reply;
}

void check_request(const assay::DecisionRequest& request, std::size_t id_bytes_max) {
  const assay::Status valid = assay::validate_request(request, {.questions_max = 400, .id_bytes_max = id_bytes_max});
  ASSAY_ASSERT(valid.ok());
  ASSAY_ASSERT(request.timeout_ms >= 0 && request.timeout_ms <= assay::server::kTimeoutMsMax);
  ASSAY_ASSERT(request.client.empty() && !request.cancelled && !request.on_answer);
  for (const assay::Question& question : request.questions) {
    ASSAY_ASSERT(question.min_confidence >= 0 && question.min_confidence <= 1);
    ASSAY_ASSERT(question.permute >= 1 && static_cast<std::size_t>(question.permute) <= question.options.size());
  }
  const assay::Result<assay::Value> again = parse_json(assay::to_json_text(request.state));
  ASSAY_ASSERT(again.ok() && again.value() == request.state);
}

// SemIf's reader, which the command line uses as well.
void fuzz_semif(std::string_view body) {
  const assay::Result<assay::server::WireRequest> wire = assay::server::parse_semif_request(body, {});
  if (!wire.ok()) {
    ASSAY_ASSERT(assay::server::semif_status(wire.error().code) == 400);
    ASSAY_ASSERT(parse_json(assay::server::error_body(wire.error())).ok());
    return;
  }
  // The wire knows no limit on an id's length; the domain does.
  check_request(wire.value().request, body.size() + 100);
}

void fuzz_wire(const assay::server::Wire& wire, std::string_view body, std::size_t id_bytes_max) {
  const assay::server::HttpRequest request{.method = "POST", .path = "/", .headers = {}, .body = std::string(body)};
  const std::variant<assay::server::ParsedWire, assay::server::WireRefusal> read = wire.parse(request);
  if (const auto* refused = std::get_if<assay::server::WireRefusal>(&read)) {
    ASSAY_ASSERT(refused->status >= 400 && refused->status < 500);
    ASSAY_ASSERT(parse_json(refused->body).ok());
    return;
  }
  const auto& parsed = std::get<assay::server::ParsedWire>(read);
  check_request(parsed.request, id_bytes_max);
  const assay::DecisionReply reply = equal_chances(parsed.request);
  const assay::Result<std::string> text = parsed.write_reply(reply);
  ASSAY_ASSERT(text.ok());
  if (parsed.content_type == "application/json") ASSAY_ASSERT(parse_json(*text).ok());
  if (!parsed.write_answer) return;
  for (std::size_t i = 0; i < reply.answers.size(); ++i) {
    const assay::Result<std::string> event = parsed.write_answer(i, reply.answers[i]);
    ASSAY_ASSERT(event.ok() && event->find('\n') == std::string::npos && parse_json(*event).ok());
  }
}

// The wires of a server, with or without a projector.
struct WireSet {
  explicit WireSet(bool reads_images)
      : settings{.reads_images = reads_images},
        system_one(settings),
        decisions(settings),
        chat(settings, [] { return std::int64_t{0}; }) {}

  void fuzz(std::string_view body) const {
    // System One's names are any text, so the wire itself makes ids of them that the domain takes.
    fuzz_wire(system_one, body, assay::RequestLimits{}.id_bytes_max);
    fuzz_wire(decisions, body, body.size() + 100);
    fuzz_wire(chat, body, body.size() + 100);
  }

  const assay::server::WireSettings settings;
  const assay::server::SystemOneWire system_one;
  const assay::server::OpenAiDecisionsWire decisions;
  const assay::server::ChatDecideWire chat;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const WireSet blind(false);
  static const WireSet seeing(true);
  const std::string_view body(reinterpret_cast<const char*>(bytes), size);
  fuzz_semif(body);
  blind.fuzz(body);
  seeing.fuzz(body);
  // The keys that tell the wires apart are those that a whole reading finds, but for escapes.
  const assay::server::BodyShape shape = assay::server::shape_of_body(body);
  const assay::Result<assay::Value> top = parse_json(body);
  if (!top.ok() || body.find('\\') != std::string_view::npos) return 0;
  ASSAY_ASSERT(shape.state == (top->find("state") != nullptr));
  ASSAY_ASSERT(shape.input == (top->find("input") != nullptr));
  ASSAY_ASSERT((shape.questions_list || shape.questions_object) == (top->find("questions") != nullptr));
  return 0;
}
