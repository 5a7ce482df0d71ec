// The rules that a request must keep before any model sees it. Every message says where, how much and how much is
// allowed; it never repeats the caller's text, which may be long or not even text.

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "assay/decision.h"
#include "base/utf8.h"

namespace assay {
namespace {

constexpr std::size_t kStateLevelsMax = 256;  // arrays and objects inside each other

Error too_long(std::string field, std::string message) {
  return Error{ErrorCode::kTooLong, std::move(message), std::move(field)};
}

std::string indexed(const std::string& field, std::size_t index) { return field + "[" + std::to_string(index) + "]"; }

Status check_utf8(const std::string& field, std::string_view text) {
  const std::optional<std::size_t> bad = first_invalid_utf8(text);
  if (!bad.has_value()) return {};
  return invalid_argument(field, field + " is not valid UTF-8 at byte " + std::to_string(*bad));
}

Status check_id(const std::string& field, std::string_view id, const RequestLimits& limits) {
  if (id.empty()) return invalid_argument(field, field + " is empty; it needs at least 1 byte");
  if (id.size() > limits.id_bytes_max) {
    return too_long(field, field + " has " + std::to_string(id.size()) + " bytes; at most " +
                               std::to_string(limits.id_bytes_max) + " are allowed");
  }
  return check_utf8(field, id);
}

// Remembers where each id was first used. Ids are compared byte for byte.
class UniqueIds {
 public:
  Status add(std::string_view id, std::size_t index, const std::string& field, const std::string& list) {
    const auto [first, is_new] = first_index_.emplace(id, index);
    if (is_new) return {};
    return invalid_argument(field,
                            field + " repeats the id of " + indexed(list, first->second) + "; ids must be unique");
  }

 private:
  std::unordered_map<std::string_view, std::size_t> first_index_;
};

// The state, level by level. A Value can be made by hand, so its promises (finite, unique keys) are checked as well.
class StateCheck {
 public:
  Status check(const Value& state) {
    if (!state.is_string() && !state.is_object() && !state.is_array()) {
      return fail("must be a string, an object or an array");
    }
    return visit(state, 1);
  }

 private:
  static Error fail(const std::string& what) { return invalid_argument("state", "state " + what); }

  static Status text(std::string_view text, const char* what) {
    const std::optional<std::size_t> bad = first_invalid_utf8(text);
    if (!bad.has_value()) return {};
    return fail(std::string("holds a ") + what + " that is not valid UTF-8 at byte " + std::to_string(*bad));
  }

  static bool is_decimal(std::string_view digits) {
    if (digits.starts_with('-')) {
      digits.remove_prefix(1);
      if (digits == "0") return false;
    }
    if (digits.empty() || (digits.size() > 1 && digits[0] == '0')) return false;
    return digits.find_first_not_of("0123456789") == std::string_view::npos;
  }

  // `level` counts the arrays and objects down to and including this value, were it one.
  Status visit(const Value& value, std::size_t level) {
    if (const std::string* string = value.string()) return text(*string, "string");
    if (const double* number = value.number(); number != nullptr && !std::isfinite(*number)) {
      return fail("holds a number that is not finite");
    }
    if (const Value::Integer* integer = value.integer(); integer != nullptr && !is_decimal(integer->digits)) {
      return fail("holds an integer that is not written in plain decimal digits");
    }
    const Value::Array* array = value.array();
    const Value::Object* object = value.object();
    if (array == nullptr && object == nullptr) return {};
    if (level > kStateLevelsMax) {
      return fail("has more than " + std::to_string(kStateLevelsMax) + " levels of arrays and objects");
    }
    return array != nullptr ? visit_array(*array, level) : visit_object(*object, level);
  }

  Status visit_array(const Value::Array& items, std::size_t level) {
    for (const Value& item : items) {
      if (Status status = visit(item, level + 1); !status.ok()) return status;
    }
    return {};
  }

  Status visit_object(const Value::Object& members, std::size_t level) {
    std::unordered_set<std::string_view> keys;
    for (const auto& [key, member] : members) {
      if (Status status = text(key, "key"); !status.ok()) return status;
      if (!keys.insert(key).second) return fail("holds an object that has a key twice; keys must be unique");
      if (Status status = visit(member, level + 1); !status.ok()) return status;
    }
    return {};
  }
};

Status check_options(const std::string& field, const std::vector<Option>& options, const RequestLimits& limits) {
  if (options.empty()) return invalid_argument(field, field + " is empty; at least 1 option is needed");
  if (options.size() > limits.options_max) {
    return too_long(field, field + " has " + std::to_string(options.size()) + " options; at most " +
                               std::to_string(limits.options_max) + " are allowed");
  }
  UniqueIds ids;
  for (std::size_t i = 0; i < options.size(); i++) {
    const std::string here = indexed(field, i);
    if (Status status = check_id(here + ".id", options[i].id, limits); !status.ok()) return status;
    if (Status status = ids.add(options[i].id, i, here + ".id", field); !status.ok()) return status;
    if (!options[i].description.has_value()) continue;
    if (Status status = check_utf8(here + ".description", *options[i].description); !status.ok()) return status;
  }
  return {};
}

Status check_question(const std::string& field, const Question& question, const RequestLimits& limits) {
  if (Status status = check_id(field + ".id", question.id, limits); !status.ok()) return status;
  const std::string text_field = field + ".text";
  if (question.text.empty()) return invalid_argument(text_field, text_field + " is empty; it needs at least 1 byte");
  if (Status status = check_utf8(text_field, question.text); !status.ok()) return status;
  if (!(question.min_confidence >= 0 && question.min_confidence <= 1))
    return invalid_argument(field + ".min_confidence", field + ".min_confidence must be in 0..1");
  if (Status status = check_options(field + ".options", question.options, limits); !status.ok()) return status;
  if (question.permute >= 1 && static_cast<std::size_t>(question.permute) <= question.options.size()) return {};
  return invalid_argument(field + ".permute", field + ".permute must be in 1.." +
                                                  std::to_string(question.options.size()) + ", the number of options");
}

Status check_images(const std::vector<Image>& images) {
  if (images.size() > kImagesMax) {
    return invalid_argument("images", "images has " + std::to_string(images.size()) + " images; at most " +
                                          std::to_string(kImagesMax) + " are allowed");
  }
  for (std::size_t i = 0; i < images.size(); i++) {
    const std::string here = indexed("images", i);
    if (images[i].file == nullptr) return invalid_argument(here, here + " has no file");
    if (const Result<ImageFacts> facts = check_image(*images[i].file); !facts.ok())
      return invalid_argument(here, here + " " + facts.error().message);
    if (Status status = check_utf8(here + ".name", images[i].name); !status.ok()) return status;
  }
  return {};
}

}  // namespace

Status validate_request(const DecisionRequest& request, const RequestLimits& limits) {
  if (Status status = StateCheck().check(request.state); !status.ok()) return status;
  const std::string list = "questions";
  if (request.questions.empty()) return invalid_argument(list, "questions is empty; at least 1 question is needed");
  if (request.questions.size() > limits.questions_max) {
    return too_long(list, "questions has " + std::to_string(request.questions.size()) + " questions; at most " +
                              std::to_string(limits.questions_max) + " are allowed");
  }
  UniqueIds ids;
  for (std::size_t i = 0; i < request.questions.size(); i++) {
    const std::string here = indexed(list, i);
    if (Status status = check_question(here, request.questions[i], limits); !status.ok()) return status;
    if (Status status = ids.add(request.questions[i].id, i, here + ".id", list); !status.ok()) return status;
  }
  return check_images(request.images);
}

}  // namespace assay
