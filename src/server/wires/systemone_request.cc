// Top down: the body as JSON, its own fields, then each question (systemone_question.cc). What is wrong is collected.
#include "server/wires/systemone_request.h"

#include <utility>

#include "server/wires/systemone_images.h"
#include "server/wires/systemone_question.h"
#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

Value::Array body_loc(const char* field) { return {Value("body"), Value(field)}; }

// The state goes to the model as it came; null is the empty text.
void read_state(const Value& top, DecisionRequest& request, SystemOneFaults& faults) {
  const Value* state = top.find("state");
  if (state == nullptr) return faults.add(body_loc("state"), "Field required", "missing");
  if (state->is_null()) {
    request.state = Value("");
  } else if (state->is_string() || state->is_object() || state->is_array()) {
    request.state = *state;
  } else {
    faults.add(body_loc("state"), "must be a string, an object or an array", "string_type");
  }
}

void read_model(const Value& top, const WireSettings& settings, SystemOneFaults& faults) {
  const Value* model = top.find("model");
  if (model == nullptr) return faults.add(body_loc("model"), "Field required", "missing");
  if (model->string() == nullptr) return faults.add(body_loc("model"), "must be a string", "string_type");
  if (settings.knows_model(*model->string())) return;
  faults.add_usage_error("Unknown model: " + *loc_part(*model->string()).string());
}

// The x_ fields and the timeout, here and in the headers.
QuestionFields read_fields(const Value& top, const WireHeaders& headers, DecisionRequest& request,
                           SystemOneFaults& faults) {
  const auto add = [&faults](const Error& error) {
    faults.add(body_loc(error.field.c_str()), error.message, "value_error");
  };
  if (const Status read = read_wire_headers(headers, request); !read.ok()) {
    add(read.error());
  }
  if (const Status one = check_one_timeout(top); !one.ok()) add(one.error());
  QuestionFields fields;
  for (const Value::Member& member : *top.object()) {
    std::optional<Status> read = read_request_field(member, request);
    if (!read.has_value()) read = read_question_field(member, fields);
    if (read.has_value() && !read->ok()) add(read->error());
  }
  return fields;
}

void read_questions(const Value& top, const WireSettings& settings, const QuestionFields& fields, SystemOneRequest& out,
                    SystemOneFaults& faults) {
  const Value* questions = top.find("questions");
  if (questions == nullptr) return faults.add(body_loc("questions"), "Field required", "missing");
  if (!questions->is_object()) {
    return faults.add(body_loc("questions"), "must be an object: ids and their questions", "dict_type");
  }
  const std::size_t count = questions->object()->size();
  if (count == 0) return faults.add(body_loc("questions"), "has no question; at least 1 is needed", "too_short");
  if (count > settings.questions_max) {
    return faults.add_usage_error(std::to_string(count) + " questions given; the limit is " +
                                  std::to_string(settings.questions_max));
  }
  for (const Value::Member& member : *questions->object()) {
    read_system_one_question(member, settings, fields, out, faults);
  }
}

}  // namespace

std::variant<SystemOneRequest, WireRefusal> parse_system_one(std::string_view body, const WireSettings& settings,
                                                             const WireHeaders& headers) {
  if (body.size() > settings.body_bytes_max) {
    return system_one_refusal(Error{ErrorCode::kTooLong,
                                    "the body has " + std::to_string(body.size()) + " bytes; the limit is " +
                                        std::to_string(settings.body_bytes_max),
                                    ""});
  }
  const Result<Value> top = parse_json(body);
  if (!top.ok()) {
    return system_one_faults({{.loc = {Value("body")}, .msg = top.error().message, .type = "json_invalid"}});
  }
  if (!top->is_object()) {
    return system_one_faults({{.loc = {Value("body")}, .msg = "must be an object", .type = "dict_type"}});
  }
  SystemOneRequest out;
  out.request.allowed_mass = false;  // costs a pass over the vocabulary, and nobody's contract has it
  SystemOneFaults faults;
  read_state(*top, out.request, faults);
  read_model(*top, settings, faults);
  read_system_one_images(*top, settings, out, faults);
  const QuestionFields fields = read_fields(*top, headers, out.request, faults);
  read_questions(*top, settings, fields, out, faults);
  if (!faults.none()) return faults.refusal();
  out.echo.explain = out.request.explain;
  out.echo.hidden_state = out.request.hidden_state;
  return out;
}

}  // namespace assay::server
