#include "server/wires/systemone_wire.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/wires/systemone_error.h"
#include "server/wires/systemone_reply.h"
#include "server/wires/systemone_request.h"

namespace assay::server {
namespace {

const char* tag_of(QuestionType type) {
  switch (type) {
    case QuestionType::kYesNo:
      return "noul";
    case QuestionType::kScale:
      return "score";
    case QuestionType::kChoice:
      break;
  }
  return "choice";
}

// The number in "name[12]", where `path` begins with "name[".
std::optional<std::size_t> index_after(const std::string& path, const std::string& name) {
  if (!path.starts_with(name + "[")) return std::nullopt;
  return static_cast<std::size_t>(std::strtoull(path.c_str() + name.size() + 1, nullptr, 10));
}

// "questions[1].options[2].id" as the caller wrote it; nothing for a path that is none of ours.
std::optional<Value::Array> loc_of(const SystemOneEcho& echo, const std::string& field) {
  Value::Array loc = {Value("body")};
  if (field == "state" || field.starts_with("state.") || field.starts_with("state[")) {
    loc.emplace_back("state");
    return loc;
  }
  for (const char* setting :
       {"readout", "layout", "hidden_state", "receipt", "allowed_mass", "priority", "lesson", "explain"}) {
    if (field != setting) continue;
    loc.emplace_back(std::string("x_") + setting);
    return loc;
  }
  if (field == "questions") {
    loc.emplace_back(field);
    return loc;
  }
  if (const std::optional<std::size_t> image = index_after(field, "images")) {
    if (*image < echo.image_locs.size()) return echo.image_locs[*image];
    return std::nullopt;
  }
  const std::optional<std::size_t> index = index_after(field, "questions");
  if (!index.has_value() || *index >= echo.questions.size()) return std::nullopt;
  const SystemOneQuestion& question = echo.questions[*index];
  loc.insert(loc.end(), {Value("questions"), loc_part(question.id), Value(tag_of(question.type))});
  const std::string rest = field.substr(std::min(field.find("].") + 2, field.size()));
  if (rest == "text") loc.emplace_back("instructions");
  if (rest == "permute" || rest == "min_confidence") loc.emplace_back("x_" + rest);
  if (!rest.starts_with("options")) return loc;
  loc.emplace_back("criteria");
  const std::optional<std::size_t> option = index_after(rest, "options");
  if (!option.has_value()) return loc;
  if (question.type == QuestionType::kYesNo) loc.emplace_back(*option == 0 ? "true" : "false");
  if (question.type == QuestionType::kScale) loc.emplace_back(Value::Integer{std::to_string(*option)});
  if (*option < question.names.size()) loc.push_back(loc_part(question.names[*option]));
  return loc;
}

// The error with its field as a `loc` in JSON, and its text, which may begin with the field, in the caller's words.
Error in_callers_terms(const SystemOneEcho& echo, Error error) {
  const std::optional<Value::Array> loc = loc_of(echo, error.field);
  if (!loc.has_value()) return error;
  if (error.message.starts_with(error.field)) {
    error.message.replace(0, error.field.size(), loc_text(*loc));
  } else if (error.code == ErrorCode::kTooLong) {
    error.message.insert(0, loc_text(*loc) + ": ");  // its body has no place for a loc
  }
  error.field = to_json_text(Value(*loc));
  return error;
}

}  // namespace

std::variant<ParsedWire, WireRefusal> SystemOneWire::parse(const HttpRequest& request) const {
  std::variant<SystemOneRequest, WireRefusal> read = parse_system_one(request.body, settings_, wire_headers(request));
  if (WireRefusal* refused = std::get_if<WireRefusal>(&read)) return std::move(*refused);
  SystemOneRequest& parsed = std::get<SystemOneRequest>(read);
  // Owned by the three functions below, whichever of them is dropped last.
  const auto echo = std::make_shared<const SystemOneEcho>(std::move(parsed.echo));
  const SystemOneStyle style{.model_id = settings_.model_id(), .round_digits = settings_.round_digits};
  ParsedWire wire;
  wire.request = std::move(parsed.request);
  wire.write_reply = [echo, style](const DecisionReply& reply) { return system_one_reply(*echo, style, reply); };
  wire.write_answer = [echo, style](std::size_t question, const Answer& answer) {
    return system_one_answer(*echo, style, question, answer);
  };
  wire.in_wire_terms = [echo](Error error) { return in_callers_terms(*echo, std::move(error)); };
  return wire;
}

WireRefusal SystemOneWire::refuse(const Error& error) const { return system_one_refusal(error); }

}  // namespace assay::server
