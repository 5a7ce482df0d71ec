#include "server/sagemaker/session_body.h"

#include <utility>

#include "server/wires/body_shape.h"
#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

bool lacks_state(const Value& value) { return value.object() != nullptr && value.find("state") == nullptr; }

// The state comes first, where a prompt tells it too.
Value put_first(const Value& object, const Value& state) {
  Value::Object out{{"state", state}};
  out.insert(out.end(), object.object()->begin(), object.object()->end());
  return Value(std::move(out));
}

Value filled(const Value& value, const Value& state) { return lacks_state(value) ? put_first(value, state) : value; }

Value filled_list(const Value& list, const Value& state) {
  if (list.array() == nullptr) return list;
  Value::Array out;
  for (const Value& element : *list.array()) out.push_back(filled(element, state));
  return Value(std::move(out));
}

}  // namespace

Result<std::optional<SessionOrder>> session_order(std::string_view body) {
  if (!shape_of_body(body).request_type) return std::optional<SessionOrder>();
  const Result<Value> top = parse_json(body);
  if (!top.ok()) return std::optional<SessionOrder>();
  const Value* type = top->find("requestType");
  if (type == nullptr) return std::optional<SessionOrder>();
  const std::string* word = type->string();
  if (word == nullptr || (*word != "NEW_SESSION" && *word != "CLOSE")) {
    return invalid_argument("requestType", "requestType: NEW_SESSION or CLOSE");
  }
  SessionOrder order{.opens = *word == "NEW_SESSION", .state = Value()};
  for (const auto& [key, value] : *top->object()) {
    if (key == "requestType") continue;
    if (key != "state" || !order.opens) {
      return invalid_argument(key, key + ": does not belong beside requestType " + *word);
    }
    if (!value.is_null() && !value.is_string() && !value.is_array() && !value.is_object()) {
      return invalid_argument("state", "state: a string, an object or an array");
    }
    order.state = value;
  }
  return std::optional<SessionOrder>(std::move(order));
}

Value state_of_body(std::string_view body) {
  const Result<Value> top = parse_json(body);
  if (!top.ok()) return {};
  const auto state_in = [](const Value* value) {
    const Value* state = value == nullptr ? nullptr : value->find("state");
    return state == nullptr ? Value() : *state;
  };
  if (top->find("state") != nullptr) return state_in(&*top);
  if (const Value* decision = top->find("decision"); decision != nullptr) return state_in(decision);
  const Value* decisions = top->find("decisions");
  if (decisions == nullptr || decisions->array() == nullptr || decisions->array()->empty()) return {};
  return state_in(&decisions->array()->front());
}

std::string with_state(std::string_view body, const Value& state) {
  const BodyShape shape = shape_of_body(body);
  const bool is_ours = shape.decisions || shape.questions_object || shape.questions_list;
  if (state.is_null() || shape.state || !is_ours) return std::string(body);
  const Result<Value> top = parse_json(body);
  if (!top.ok() || top->object() == nullptr) return std::string(body);
  if (!shape.decisions) return shape.input ? std::string(body) : to_json_text(put_first(*top, state));
  Value::Object out;
  for (const auto& [key, value] : *top->object()) {
    if (key == "decision") {
      out.emplace_back(key, filled(value, state));
    } else if (key == "decisions") {
      out.emplace_back(key, filled_list(value, state));
    } else {
      out.emplace_back(key, value);
    }
  }
  return to_json_text(Value(std::move(out)));
}

}  // namespace assay::server
