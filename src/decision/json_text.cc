// How a value looks to a model. The text is part of every prompt, so it may never change: it is what Python's
// json.dumps(value, ensure_ascii=False) writes, to the byte.

#include <array>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

#include "assay/value.h"
#include "base/assert.h"

namespace assay {
namespace {

void append_string(std::string& out, std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\b':
        out += "\\b";
        break;
      default: {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20) {
          out += "\\u00";
          out += kHex[byte >> 4U];
          out += kHex[byte & 0xFU];
        } else {
          out += c;  // 0x7f and all of UTF-8 stay as they are
        }
      }
    }
  }
  out += '"';
}

// `digits` holds the significant digits d1 d2 d3 ... of d1.d2d3... x 10^exponent. Writes them without an exponent:
//   exponent -2, "15"  -> 0.015       exponent 1, "15" -> 15.0      exponent 0, "15" -> 1.5
void append_fixed(std::string& out, std::string_view digits, int exponent) {
  if (exponent < 0) {
    out += "0.";
    out.append(static_cast<std::size_t>(-exponent - 1), '0');
    out += digits;
    return;
  }
  const auto whole = static_cast<std::size_t>(exponent) + 1;  // digits before the point
  if (digits.size() <= whole) {
    out += digits;
    out.append(whole - digits.size(), '0');
    out += ".0";
    return;
  }
  out += digits.substr(0, whole);
  out += '.';
  out += digits.substr(whole);
}

// Python's repr(): the shortest digits that read back as the same double, with an exponent below 1e-4 and from 1e16 on.
// to_chars finds the same digits; its scientific layout ("1e-05", "1.5e+22") is the one that repr() uses as well.
void append_number(std::string& out, double number) {
  ASSAY_ASSERT(std::isfinite(number));
  std::array<char, 32> buffer{};  // the longest is 24: "-2.2250738585072014e-308"
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, std::chars_format::scientific);
  std::string_view text(buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data()));
  if (text.front() == '-') {
    out += '-';
    text.remove_prefix(1);
  }
  const std::size_t e = text.find('e');
  const std::size_t magnitude_at = e + 2;  // behind 'e' and the sign
  int exponent = 0;
  std::from_chars(text.data() + magnitude_at, text.data() + text.size(), exponent);
  if (text[e + 1] == '-') exponent = -exponent;
  if (exponent < -4 || exponent >= 16) {
    out += text;
    return;
  }
  std::string digits(text.substr(0, 1));
  if (e > 2) digits += text.substr(2, e - 2);
  append_fixed(out, digits, exponent);
}

void append_value(std::string& out, const Value& value);

void append_array(std::string& out, const Value::Array& items) {
  out += '[';
  bool first = true;
  for (const Value& item : items) {
    if (!first) out += ", ";
    first = false;
    append_value(out, item);
  }
  out += ']';
}

void append_object(std::string& out, const Value::Object& members) {
  out += '{';
  bool first = true;
  for (const auto& [key, member] : members) {
    if (!first) out += ", ";
    first = false;
    append_string(out, key);
    out += ": ";
    append_value(out, member);
  }
  out += '}';
}

void append_value(std::string& out, const Value& value) {
  if (const std::string* text = value.string()) {
    append_string(out, *text);
  } else if (const Value::Object* members = value.object()) {
    append_object(out, *members);
  } else if (const Value::Array* items = value.array()) {
    append_array(out, *items);
  } else if (const Value::Integer* integer = value.integer()) {
    out += integer->digits;
  } else if (const double* number = value.number()) {
    append_number(out, *number);
  } else if (const bool* truth = value.boolean()) {
    out += *truth ? "true" : "false";
  } else {
    out += "null";
  }
}

}  // namespace

std::string to_json_text(const Value& value) {
  std::string out;
  append_value(out, value);
  return out;
}

std::string to_display_text(const Value& value) {
  const std::string* text = value.string();
  return text != nullptr ? *text : to_json_text(value);
}

}  // namespace assay
