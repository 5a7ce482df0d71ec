#pragma once
// A JSON value that keeps what a prompt depends on: the order of object keys and every digit of an integer.

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace assay {

class Value {
 public:
  struct Null {
    bool operator==(const Null&) const = default;
  };
  // An integer of any size as its decimal text: "-12", "0", "123456789012345678901234567890". Never "-0", never leading
  // zeros.
  struct Integer {
    std::string digits;
    bool operator==(const Integer&) const = default;
  };
  using Array = std::vector<Value>;
  using Member = std::pair<std::string, Value>;
  using Object = std::vector<Member>;  // in the order received; keys are unique (the wire refuses duplicates)

  Value() : data_(Null{}) {}
  explicit Value(bool value) : data_(value) {}
  explicit Value(double value) : data_(value) {}  // REQUIRES: finite
  explicit Value(Integer value) : data_(std::move(value)) {}
  explicit Value(std::string value) : data_(std::move(value)) {}
  explicit Value(std::string_view value) : data_(std::string(value)) {}
  explicit Value(const char* value) : data_(std::string(value)) {}
  explicit Value(Array value) : data_(std::move(value)) {}
  explicit Value(Object value) : data_(std::move(value)) {}

  bool is_null() const { return std::holds_alternative<Null>(data_); }
  bool is_string() const { return std::holds_alternative<std::string>(data_); }
  bool is_array() const { return std::holds_alternative<Array>(data_); }
  bool is_object() const { return std::holds_alternative<Object>(data_); }
  const std::string* string() const { return std::get_if<std::string>(&data_); }
  const Array* array() const { return std::get_if<Array>(&data_); }
  const Object* object() const { return std::get_if<Object>(&data_); }
  const bool* boolean() const { return std::get_if<bool>(&data_); }
  const double* number() const { return std::get_if<double>(&data_); }
  const Integer* integer() const { return std::get_if<Integer>(&data_); }
  // The member of an object with this key, or nullptr (also when this is not an object).
  const Value* find(std::string_view key) const;

  bool operator==(const Value&) const = default;

 private:
  std::variant<Null, bool, Integer, double, std::string, Array, Object> data_;
};

// The text that Python's json.dumps(value, ensure_ascii=False) writes with its default separators (", " and ": "):
// floats as repr() writes them, control characters escaped, everything else as UTF-8. REQUIRES: strings are UTF-8.
std::string to_json_text(const Value& value);
// A string's text itself, or to_json_text() of anything else: how structured instructions are shown to a model.
std::string to_display_text(const Value& value);

}  // namespace assay
