#include "server/lesson_bodies.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <string>
#include <system_error>
#include <utility>

#include "server/wires/openai_error.h"
#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

constexpr std::size_t kShownKeyBytesMax = 100;

// What reads one member, and whether it must be there.
struct Member {
  const char* key;
  bool required;
  std::function<Status(const Value& value)> read;
};

// Errors have the key as their field.
Status read_members(const Value& object, const std::vector<Member>& members) {
  if (!object.is_object()) return invalid_argument("", "must be a JSON object");
  for (const Value::Member& given : *object.object()) {
    const auto is_it = [&given](const Member& member) { return given.first == member.key; };
    const auto found = std::find_if(members.begin(), members.end(), is_it);
    if (found == members.end()) {
      std::string known;
      for (const Member& member : members) known += (known.empty() ? "" : ", ") + std::string(member.key);
      return invalid_argument(given.first.substr(0, kShownKeyBytesMax), "is not known here; there are " + known);
    }
    if (Status read = found->read(given.second); !read.ok()) {
      return Error{read.error().code, read.error().message, found->key};
    }
  }
  for (const Member& member : members) {
    if (member.required && object.find(member.key) == nullptr) return invalid_argument(member.key, "is missing");
  }
  return {};
}

Error told(Error error) {
  if (error.field.empty() && error.message.starts_with("must be")) error.message.insert(0, "the body ");
  return with_field_in_message(std::move(error));
}

Status read_text(const Value& value, std::size_t bytes_min, std::size_t bytes_max, std::string& out) {
  if (value.string() == nullptr) return invalid_argument("", "must be a string");
  const std::size_t bytes = value.string()->size();
  if (bytes < bytes_min) return invalid_argument("", "must not be empty");
  if (bytes > bytes_max) {
    return Error{ErrorCode::kTooLong,
                 "has " + std::to_string(bytes) + " bytes; the limit is " + std::to_string(bytes_max), ""};
  }
  out = *value.string();
  return {};
}

Status read_flag(const Value& value, bool& out) {
  if (value.boolean() == nullptr) return invalid_argument("", "must be true or false");
  out = *value.boolean();
  return {};
}

// Above 0 and below 1.
Status read_share(const Value& value, double& out) {
  double number = 0;
  if (value.number() != nullptr) number = *value.number();  // an integer is 0, 1 or out of range
  if (!(number > 0 && number < 1)) return invalid_argument("", "must be a number above 0 and below 1");
  out = number;
  return {};
}

Status read_version(const Value& value, std::int32_t& out) {
  const std::string digits = value.integer() == nullptr ? "" : value.integer()->digits;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
  if (digits.empty() || code != std::errc() || end != digits.data() + digits.size() || out < 1) {
    return invalid_argument("", "must be an integer of at least 1");
  }
  return {};
}

Result<Feedback> read_one_feedback(const Value& value) {
  Feedback out;
  const auto id = [](std::size_t bytes_min, std::string& text) {
    return [bytes_min, &text](const Value& given) { return read_text(given, bytes_min, kFeedbackIdBytesMax, text); };
  };
  const Status read = read_members(value, {{.key = "decision_id", .required = true, .read = id(1, out.decision_id)},
                                           {.key = "question_id", .required = false, .read = id(0, out.question_id)},
                                           {.key = "option", .required = true, .read = id(1, out.option)},
                                           {.key = "note", .required = false, .read = [&out](const Value& given) {
                                              return read_text(given, 0, Feedback::kNoteBytesMax, out.note);
                                            }}});
  if (!read.ok()) return read.error();
  return out;
}

// The members of a body that may be left out altogether.
Status read_object(std::string_view body, const std::vector<Member>& members) {
  if (body.empty()) return {};
  const Result<Value> top = parse_json(body);
  if (!top.ok()) return top.error();
  Status read = read_members(*top, members);
  return read.ok() ? read : told(read.error());
}

}  // namespace

bool is_lesson_name(std::string_view name) {
  const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= kLessonNameBytesMax && is_word(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return is_word(c) || c == '-' || c == '_'; });
}

Result<FeedbackBody> read_feedback_body(std::string_view body) {
  const Result<Value> top = parse_json(body);
  if (!top.ok()) return top.error();
  FeedbackBody out;
  if (top->array() == nullptr) {
    Result<Feedback> one = read_one_feedback(*top);
    if (!one.ok()) return told(one.error());
    out.list.push_back(std::move(*one));
    return out;
  }
  out.single = false;
  const std::size_t count = top->array()->size();
  if (count == 0) return invalid_argument("", "the body is an empty array; it needs at least 1 element");
  if (count > kFeedbackMax) {
    return Error{ErrorCode::kTooLong,
                 "the body has " + std::to_string(count) + " elements; the limit is " + std::to_string(kFeedbackMax),
                 ""};
  }
  for (const Value& value : *top->array()) {
    Result<Feedback> one = read_one_feedback(value);
    if (!one.ok()) {
      const std::string below = one.error().field.empty() ? "" : "." + one.error().field;
      return told({one.error().code, one.error().message, list_element("", out.list.size()) + below});
    }
    out.list.push_back(std::move(*one));
  }
  return out;
}

Result<FitOptions> read_fit_body(std::string_view body) {
  FitOptions out;
  constexpr std::array<std::string_view, 6> kMethods = {"auto", "lda", "ridge", "calibrate", "update", "add"};
  const Status read = read_object(
      body,
      {{.key = "risk", .required = false, .read = [&out](const Value& v) { return read_share(v, out.risk.emplace()); }},
       {.key = "level", .required = false, .read = [&out](const Value& v) { return read_share(v, out.level); }},
       {.key = "method",
        .required = false,
        .read =
            [&out, &kMethods](const Value& v) {
              const std::string name = v.string() == nullptr ? "" : *v.string();
              if (std::find(kMethods.begin(), kMethods.end(), name) == kMethods.end()) {
                return Status(
                    invalid_argument("", R"(must be "auto", "lda", "ridge", "calibrate", "update" or "add")"));
              }
              out.method = name;
              return Status();
            }},
       {.key = "shadow", .required = false, .read = [&out](const Value& v) { return read_flag(v, out.shadow); }},
       {.key = "without_thresholds", .required = false, .read = [&out](const Value& v) {
          return read_flag(v, out.without_thresholds);
        }}});
  if (!read.ok()) return read.error();
  if (out.without_thresholds && out.method != "add")
    return invalid_argument("without_thresholds", "without_thresholds is for the method \"add\"");
  return out;
}

Result<std::int32_t> read_activate_body(std::string_view body) {
  std::int32_t version = 0;
  const Status read = read_object(
      body.empty() ? "{}" : body,
      {{.key = "version", .required = true, .read = [&version](const Value& v) { return read_version(v, version); }}});
  if (!read.ok()) return read.error();
  return version;
}

Result<bool> read_promote_body(std::string_view body) {
  bool force = false;
  const Status read = read_object(
      body, {{.key = "force", .required = false, .read = [&force](const Value& v) { return read_flag(v, force); }}});
  if (!read.ok()) return read.error();
  return force;
}

}  // namespace assay::server
