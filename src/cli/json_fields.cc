#include "cli/json_fields.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace assay::cli {
namespace {

bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U; }

}  // namespace

Value int_value(std::int64_t number) { return Value(Value::Integer{std::to_string(number)}); }

Result<std::string> text_member(const Value& object, std::string_view key) {
  const Value* const member = object.find(key);
  const std::string name(key);
  if (member == nullptr) return invalid_argument(name, "'" + name + "' is missing");
  if (!member->is_string()) return invalid_argument(name, "'" + name + "' must be a string");
  return *member->string();
}

Result<std::string> text_member_or(const Value& object, std::string_view key, std::string fallback) {
  const Value* const member = object.find(key);
  if (member == nullptr || member->is_null()) return fallback;
  return text_member(object, key);
}

std::string readable_text(std::string_view bytes, std::size_t bytes_max) {
  std::size_t end = std::min(bytes.size(), bytes_max);
  while (end > 0 && end < bytes.size() && is_continuation(bytes[end])) --end;
  std::string_view rest = bytes.substr(0, end);
  std::string out;
  while (const auto bad = first_invalid_utf8(rest)) {
    out.append(rest.substr(0, *bad));
    out += "\xEF\xBF\xBD";
    rest.remove_prefix(*bad + 1);
  }
  out.append(rest);
  return out;
}

}  // namespace assay::cli
