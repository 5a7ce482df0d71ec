#include "server/lesson_routes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "server/lesson_bodies.h"
#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

constexpr std::size_t kDecisionIdBytesMax = 128;

using Answer = Result<std::string>;
using Handler = Answer (*)(LessonDesk& desk, const std::string& name, const HttpRequest& request);

// What stands in the path where the route has a name in braces; empty where it has none.
std::string named_part(std::string_view route_path, std::string_view path) {
  const std::size_t first = route_path.find('{');
  if (first == std::string_view::npos) return "";
  return std::string(path.substr(first, path.find('/', first) - first));
}

// An id as it can stand in a path, a header and a log.
bool is_decision_id(std::string_view id) {
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  return !id.empty() && id.size() <= kDecisionIdBytesMax && std::all_of(id.begin(), id.end(), is_good);
}

const std::string* query_of(const HttpRequest& request, std::string_view key) {
  for (const auto& [name, value] : request.query) {
    if (name == key) return &value;
  }
  return nullptr;
}

Answer text_of(const Result<Value>& value) {
  if (!value.ok()) return value.error();
  return to_json_text(*value);
}

Value result_value(const Feedback& feedback, const Result<FeedbackResult>& result) {
  Value::Object out = {{"decision_id", text_value(feedback.decision_id)}};
  if (!feedback.question_id.empty()) out.emplace_back("question_id", text_value(feedback.question_id));
  if (result.ok()) {
    out.emplace_back("result", Value(feedback_result_name(*result)));
    return Value(std::move(out));
  }
  out.emplace_back("result", Value("refused"));
  Value::Object error = {{"error", text_value(result.error().message)},
                         {"code", Value(error_name(result.error().code))}};
  if (!result.error().field.empty()) error.emplace_back("field", text_value(result.error().field));
  for (Value::Member& member : error) out.push_back(std::move(member));
  return Value(std::move(out));
}

// An error that is no fault of the label's: it holds for all of them, and the same request again can succeed.
bool is_of_desk(const Error& error) {
  return error.code != ErrorCode::kNotFound && error.code != ErrorCode::kInvalidArgument &&
         error.code != ErrorCode::kTooLong;
}

Answer give_feedback(LessonDesk& desk, const std::string&, const HttpRequest& request) {
  const Result<FeedbackBody> body = read_feedback_body(request.body);
  if (!body.ok()) return body.error();
  const std::vector<Result<FeedbackResult>> results = desk.feedback(body->list);
  if (results.size() != body->list.size())
    return Error{ErrorCode::kInternal, "feedback has results of another number", ""};
  std::array<std::size_t, 4> counts{};
  Value::Array list;
  for (std::size_t i = 0; i < results.size(); i++) {
    if (!results[i].ok() && (body->single || is_of_desk(results[i].error()))) return results[i].error();
    ++counts[results[i].ok() ? static_cast<std::size_t>(*results[i]) : counts.size() - 1];
    list.push_back(result_value(body->list[i], results[i]));
  }
  if (body->single) return to_json_text(list.front());
  Value::Object out = {{"results", Value(std::move(list))}};
  for (const FeedbackResult kind : {FeedbackResult::kStored, FeedbackResult::kKnown, FeedbackResult::kCorrected}) {
    out.emplace_back(feedback_result_name(kind), size_value(counts[static_cast<std::size_t>(kind)]));
  }
  out.emplace_back("refused", size_value(counts.back()));
  return to_json_text(Value(std::move(out)));
}

Error no_such_decision() { return {ErrorCode::kNotFound, "no decision of that id is kept", "id"}; }

Answer show_decision(LessonDesk& desk, const std::string& id, const HttpRequest&) {
  return is_decision_id(id) ? desk.decision(id) : no_such_decision();
}

Answer forget_decision(LessonDesk& desk, const std::string& id, const HttpRequest&) {
  if (!is_decision_id(id)) return no_such_decision();
  const Result<bool> forgotten = desk.forget(id);
  if (!forgotten.ok()) return forgotten.error();
  if (!*forgotten) return no_such_decision();
  return to_json_text(Value(Value::Object{{"id", text_value(id)}, {"forgotten", Value(true)}}));
}

Answer list_lessons(LessonDesk& desk, const std::string&, const HttpRequest&) { return to_json_text(desk.list()); }

Answer import_lesson(LessonDesk& desk, const std::string&, const HttpRequest& request) {
  const std::string* shadow = query_of(request, "shadow");
  if (shadow != nullptr && *shadow != "true" && *shadow != "false") {
    return invalid_argument("shadow", "shadow must be true or false");
  }
  return text_of(desk.import_lesson(request.body, shadow != nullptr && *shadow == "true"));
}

Answer export_lesson(LessonDesk& desk, const std::string& name, const HttpRequest& request) {
  const std::string* text = query_of(request, "version");
  if (text == nullptr) return desk.export_lesson(name, std::nullopt);
  std::int32_t version = 0;
  const char* const end = text->data() + text->size();
  const auto [rest, code] = std::from_chars(text->data(), end, version);
  if (code != std::errc() || rest != end || version < 1) {
    return invalid_argument("version", "version must be an integer of at least 1");
  }
  return desk.export_lesson(name, version);
}

Answer fit_lesson(LessonDesk& desk, const std::string& name, const HttpRequest& request) {
  const Result<FitOptions> options = read_fit_body(request.body);
  return options.ok() ? text_of(desk.fit(name, *options)) : Answer(options.error());
}

Answer activate_lesson(LessonDesk& desk, const std::string& name, const HttpRequest& request) {
  const Result<std::int32_t> version = read_activate_body(request.body);
  return version.ok() ? text_of(desk.activate(name, *version)) : Answer(version.error());
}

Answer promote_shadow(LessonDesk& desk, const std::string& name, const HttpRequest& request) {
  const Result<bool> force = read_promote_body(request.body);
  return force.ok() ? text_of(desk.promote(name, *force)) : Answer(force.error());
}

Answer drop_shadow(LessonDesk& desk, const std::string& name, const HttpRequest&) {
  const Status dropped = desk.drop_shadow(name);
  if (!dropped.ok()) return dropped.error();
  return to_json_text(Value(Value::Object{{"name", text_value(name)}, {"shadow", Value()}}));
}

Answer show_health(LessonDesk& desk, const std::string& name, const HttpRequest&) { return text_of(desk.health(name)); }

struct LessonRoute {
  std::string_view method;
  std::string_view path;
  Handler handle;
};

constexpr std::array<LessonRoute, 11> kRoutes = {{{"POST", "/v1/feedback", give_feedback},
                                                  {"GET", "/v1/decisions/{id}", show_decision},
                                                  {"DELETE", "/v1/decisions/{id}", forget_decision},
                                                  {"GET", "/v1/lessons", list_lessons},
                                                  {"POST", "/v1/lessons", import_lesson},
                                                  {"GET", "/v1/lessons/{name}", export_lesson},
                                                  {"POST", "/v1/lessons/{name}/fit", fit_lesson},
                                                  {"POST", "/v1/lessons/{name}/activate", activate_lesson},
                                                  {"POST", "/v1/lessons/{name}/promote", promote_shadow},
                                                  {"DELETE", "/v1/lessons/{name}/shadow", drop_shadow},
                                                  {"GET", "/v1/lessons/{name}/health", show_health}}};

}  // namespace

Error no_lessons() {
  return {ErrorCode::kNotFound, "lessons are off on this server; `assay serve --lessons DIR` turns them on", ""};
}

Result<std::string> answer_lessons(LessonDesk* desk, const Route& route, const HttpRequest& request) {
  if (desk == nullptr) return no_lessons();
  // A body without a type was let pass, because there may be none.
  if (!request.body.empty() && find_header(request, "content-type") == nullptr) {
    return Error{ErrorCode::kMediaType, "the body must be application/json; say so in the Content-Type header", ""};
  }
  const std::string name = named_part(route.path, request.path);
  if (std::string_view(route.path).find("{name}") != std::string_view::npos && !is_lesson_name(name)) {
    return Error{ErrorCode::kNotFound,
                 "there is no lesson of that name; a name is 1 to 64 of a-z, 0-9, - and _, and begins with a letter or "
                 "digit",
                 "name"};
  }
  for (const LessonRoute& known : kRoutes) {
    if (known.path == route.path && known.method == route.method) return known.handle(*desk, name, request);
  }
  return Error{ErrorCode::kInternal, std::string("nothing answers ") + route.method + " " + route.path, ""};
}

}  // namespace assay::server
