#include "cli/receipt_json.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "cli/json_fields.h"
#include "server/wires/wire.h"
#include "server/wires/wire_json.h"

namespace assay::cli {
namespace {

constexpr std::size_t kHexDigits = 64;

using ReceiptMember = std::pair<const char*, std::string Receipt::*>;
constexpr std::array<ReceiptMember, 5> kMembers = {{{"model", &Receipt::model},
                                                    {"build", &Receipt::build},
                                                    {"settings", &Receipt::settings},
                                                    {"tokens", &Receipt::tokens},
                                                    {"scores", &Receipt::scores}}};

bool is_sha256(const std::string& text) {
  return text.size() == kHexDigits &&
         std::all_of(text.begin(), text.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool is_empty(const Value& state) {
  return (state.is_string() && state.string()->empty()) || (state.is_array() && state.array()->empty()) ||
         (state.is_object() && state.object()->empty());
}

const char* const kPutAside = "-";  // stands for an empty state while the rest is read

// A decision with something in the place of an empty state.
Value with_state(const Value& decision) {
  if (!decision.is_object()) return decision;
  Value::Object filled = *decision.object();
  for (Value::Member& member : filled) {
    if (member.first == "state" && is_empty(member.second)) member.second = Value(kPutAside);
  }
  return Value(std::move(filled));
}

// The state of the first decision, if it is an empty one.
const Value* empty_state(const Value& body) {
  const Value* decision = body.find("decision");
  const Value* const list = body.find("decisions");
  if (decision == nullptr && list != nullptr && list->is_array() && !list->array()->empty()) {
    decision = &list->array()->front();
  }
  const Value* const state = decision == nullptr ? nullptr : decision->find("state");
  return state != nullptr && is_empty(*state) ? state : nullptr;
}

// SemIf's wire refuses an empty state, rows and other wires may have one. It is put aside while the rest is read.
Result<DecisionRequest> request_from_value(const Value& body) {
  const server::WireOptions limits{.body_bytes_max = std::numeric_limits<std::size_t>::max(),
                                   .options_min = 1,
                                   .options_max = std::numeric_limits<std::size_t>::max(),
                                   .questions_max = std::numeric_limits<std::size_t>::max()};
  const Value* const empty = empty_state(body);
  Value filled = body;
  if (empty != nullptr) {
    Value::Object top = *body.object();
    for (Value::Member& member : top) {
      if (member.first == "decision") member.second = with_state(member.second);
      if (member.first != "decisions" || !member.second.is_array()) continue;
      Value::Array list;
      for (const Value& decision : *member.second.array()) list.push_back(with_state(decision));
      member.second = Value(std::move(list));
    }
    filled = Value(std::move(top));
  }
  Result<server::WireRequest> wire = server::parse_semif_request(to_json_text(filled), limits);
  if (!wire.ok()) return wire.error();
  if (empty != nullptr) wire->request.state = *empty;
  return std::move(wire->request);
}

Error below(const std::string& root, Error error) {
  error.field = error.field.empty() ? root : root + "." + error.field;
  error.message = "'" + root + "': " + error.message;
  return error;
}

}  // namespace

Value receipt_value(const Receipt& receipt) {
  Value::Object out;
  for (const auto& [name, member] : kMembers) out.push_back({name, Value(receipt.*member)});
  return Value(std::move(out));
}

Result<Receipt> receipt_from_value(const Value& value) {
  if (!value.is_object()) return invalid_argument("", "a receipt is a JSON object");
  Receipt out;
  for (const auto& [name, member] : kMembers) {
    Result<std::string> text = text_member(value, name);
    if (!text.ok()) return text.error();
    if (!is_sha256(*text)) {
      return invalid_argument(name, std::string("'") + name + "' is no SHA-256 of 64 lower-case hex digits");
    }
    out.*member = std::move(*text);
  }
  return out;
}

Value semif_body(const Row& row, const Answer& answer) {
  Value::Array options;
  for (const Option& option : row.question.options) {
    Value::Object members = {{"id", Value(option.id)}};
    if (option.description) members.push_back({"description", Value(*option.description)});
    options.push_back(Value(std::move(members)));
  }
  const std::string id = row.id_text();
  Value decision(Value::Object{{"id", Value(id.empty() ? "q" : id)},
                               {"state", row.state},
                               {"question", Value(row.question.text)},
                               {"type", Value(question_type_name(row.question.type))},
                               {"options", Value(std::move(options))}});
  // A decision head answers where nothing was asked for by name.
  const bool can_be_asked = answer.readout != Readout::kHead && answer.readout != Readout::kTaught;
  const Readout readout = !can_be_asked ? Readout::kAuto : answer.readout;
  return Value(Value::Object{{"decision", std::move(decision)},
                             {"x_readout", Value(readout_name(readout))},
                             {"x_layout", Value(layout_name(answer.layout))}});
}

std::string receipt_line(const Row& row, const Answer& answer, const Receipt& receipt) {
  return to_json_text(Value(Value::Object{{"request", semif_body(row, answer)}, {"receipt", receipt_value(receipt)}})) +
         "\n";
}

Error no_receipt_error() { return invalid_argument("", "this model's answers come without a receipt"); }

Result<ReceiptLine> receipt_line_from_json(const std::string& line) {
  const Result<Value> value = server::parse_json(line);
  if (!value.ok()) return value.error();
  const Value* const request = value->find("request");
  const Value* const receipt = value->find("receipt");
  if (request == nullptr) return invalid_argument("request", "'request' is missing");
  if (receipt == nullptr) return invalid_argument("receipt", "'receipt' is missing");
  Result<DecisionRequest> read_request = request_from_value(*request);
  if (!read_request.ok()) return below("request", read_request.error());
  Result<Receipt> read_receipt = receipt_from_value(*receipt);
  if (!read_receipt.ok()) return below("receipt", read_receipt.error());
  ReceiptLine out{.request = std::move(*read_request), .receipt = std::move(*read_receipt)};
  out.request.receipt = true;
  out.request.timeout_ms = 0;  // nobody waits for it any more
  return out;
}

}  // namespace assay::cli
