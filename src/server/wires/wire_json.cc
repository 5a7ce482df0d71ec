// The lexer is nlohmann's; what it reports goes straight into Values, so no second tree is built.
// Invariants of ValueBuilder: `open_` is the path of containers that are not closed yet, never longer than
// kJsonDepthMax, so that no recursive function over a Value (its destructor, its comparison) can run out of stack.
#include "server/wires/wire_json.h"

#include <charconv>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"

namespace assay::server {
namespace {

// Numbers are read as long double first: an integer of more than 308 digits would be an infinite double, and the
// lexer refuses those before our code sees the digits. Doubles are then read again, from their text.
using Json = nlohmann::basic_json<std::map, std::vector, std::string, bool, std::int64_t, std::uint64_t, long double>;

// Walks over the text and leaves the lexer's position where our own refusals can read it.
class TrackedIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  TrackedIterator(const char* at, const char** reached) : at_(at), reached_(reached) {}
  reference operator*() const { return *at_; }
  TrackedIterator& operator++() {
    *reached_ = ++at_;
    return *this;
  }
  TrackedIterator operator++(int) {
    const TrackedIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const TrackedIterator& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  const char** reached_;
};

Error refusal(std::size_t byte, const std::string& reason) {
  return invalid_argument("", "not valid JSON near byte " + std::to_string(byte) + ": " + reason);
}

// The part of the library's message that says what is wrong. What it read is left out: it is the caller's own text,
// of any length.
std::string reason_of(const std::string& message) {
  const std::size_t column = message.find("column ");
  const std::size_t start = column == std::string::npos ? std::string::npos : message.find(": ", column);
  std::string reason = start == std::string::npos ? message : message.substr(start + 2);
  return reason.substr(0, reason.find("; last read"));
}

// What a container under construction holds. For an array `key` and `keys` stay empty.
struct Container {
  bool is_object = false;
  Value::Array items;
  Value::Object members;
  std::string key;             // of the member whose value comes next
  std::set<std::string> keys;  // ordered, not hashed: hostile keys cannot collide
};

// Receives the lexer's events. Each returns false to stop; `error` then says why.
class ValueBuilder final : public nlohmann::json_sax<Json> {
 public:
  ValueBuilder(const char* start, const char* const* reached) : start_(start), reached_(reached) {}

  bool null() override { return add(Value()); }
  bool boolean(bool value) override { return add(Value(value)); }
  bool number_integer(std::int64_t value) override { return add(Value(Value::Integer{std::to_string(value)})); }
  bool number_unsigned(std::uint64_t value) override { return add(Value(Value::Integer{std::to_string(value)})); }
  bool string(std::string& value) override { return add(Value(std::move(value))); }
  bool binary(Json::binary_t&) override { return refuse("binary is not JSON"); }

  bool number_float(long double wide, const std::string& text) override {
    if (text.find_first_of(".eE") == std::string::npos) return add_long_integer(text);
    double value = 0;
    const std::from_chars_result read = std::from_chars(text.data(), text.data() + text.size(), value);
    // Out of range on the small side is a zero with the number's sign, as everywhere else.
    if (read.ec == std::errc::result_out_of_range) {
      if (wide > 1 || wide < -1) return refuse("the number does not fit a double");
      value = text.front() == '-' ? -0.0 : 0.0;
    }
    return add(Value(value));
  }

  bool start_object(std::size_t) override { return open(true); }
  bool start_array(std::size_t) override { return open(false); }
  bool end_array() override { return close(); }
  bool end_object() override { return close(); }

  bool key(std::string& value) override {
    Container& object = open_.back();
    if (!object.keys.insert(value).second) return refuse("the key \"" + value.substr(0, 100) + "\" appears twice");
    object.key = std::move(value);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    if (error.id == kNumberOverflow) return refuse("the number is too large");
    error_ = refusal(position, reason_of(error.what()));
    return false;
  }

  Error take_error() { return error_.value_or(refusal(0, "the text could not be read")); }
  Value take_value() { return std::move(root_); }

 private:
  static constexpr int kNumberOverflow = 406;  // the library's number for it

  bool refuse(const std::string& reason) {
    error_ = refusal(static_cast<std::size_t>(*reached_ - start_), reason);
    return false;
  }

  bool add_long_integer(const std::string& text) {
    const std::size_t digits = text.size() - (text.front() == '-' ? 1 : 0);
    if (digits > kJsonDigitsMax) {
      return refuse("an integer has " + std::to_string(digits) + " digits; the limit is " +
                    std::to_string(kJsonDigitsMax));
    }
    return add(Value(Value::Integer{text}));
  }

  bool open(bool is_object) {
    if (open_.size() >= kJsonDepthMax) {
      return refuse("more than " + std::to_string(kJsonDepthMax) + " levels of objects and arrays");
    }
    open_.emplace_back();
    open_.back().is_object = is_object;
    return true;
  }

  bool close() {
    Container done = std::move(open_.back());
    open_.pop_back();
    return add(done.is_object ? Value(std::move(done.members)) : Value(std::move(done.items)));
  }

  bool add(Value value) {
    if (open_.empty()) {
      root_ = std::move(value);
    } else if (open_.back().is_object) {
      open_.back().members.emplace_back(std::move(open_.back().key), std::move(value));
    } else {
      open_.back().items.push_back(std::move(value));
    }
    return true;
  }

  const char* const start_;
  const char* const* const reached_;
  std::vector<Container> open_;
  Value root_;
  std::optional<Error> error_;
};

}  // namespace

Result<Value> parse_json(std::string_view text) {
  // The lexer takes a zero byte for the end of its input; JSON allows it nowhere.
  const std::size_t zero = text.find('\0');
  if (zero != std::string_view::npos) return refusal(zero, "a zero byte");
  const char* const start = text.data();
  const char* reached = start;
  ValueBuilder builder(start, &reached);
  const bool read =
      Json::sax_parse(TrackedIterator(start, &reached), TrackedIterator(start + text.size(), &reached), &builder);
  if (!read) return builder.take_error();
  return builder.take_value();
}

Value text_value(std::string_view text) {
  std::string repaired;
  while (const std::optional<std::size_t> bad = first_invalid_utf8(text)) {
    repaired.append(text.substr(0, *bad)).append("\xEF\xBF\xBD");
    text.remove_prefix(*bad + 1);
  }
  return Value(std::move(repaired.append(text)));
}

Value count_value(std::int64_t count) { return Value(Value::Integer{std::to_string(count)}); }

Value size_value(std::uint64_t size) { return Value(Value::Integer{std::to_string(size)}); }

}  // namespace assay::server
