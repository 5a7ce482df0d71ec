#include "server/wires/chat_decide_grammar.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/utf8.h"

namespace assay::server {
namespace {

constexpr std::size_t kGrammarBytesMax = 1024 * 1024;
constexpr const char* kAccepted =
    "must be one rule that is a plain alternation of literals: root ::= \"a\" | \"b\"; anything more has to be "
    "generated";

void append_utf8(std::uint32_t point, std::string& text) {
  const auto put = [&text](std::uint32_t byte) { text += static_cast<char>(byte); };
  const auto tail = [&put, point](int shift) { put(0x80u | ((point >> shift) & 0x3Fu)); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0u | (point >> 6));
    tail(0);
  } else if (point < 0x10000) {
    put(0xE0u | (point >> 12));
    tail(6);
    tail(0);
  } else {
    put(0xF0u | (point >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

// Reads from the front of the text that is left.
class GrammarReader {
 public:
  explicit GrammarReader(std::string_view text) : rest_(text) {}

  // Nothing: it is not such a grammar.
  std::optional<std::vector<std::string>> read() {
    skip_blank();
    if (!take("root")) return std::nullopt;
    skip_blank();
    if (!take("::=")) return std::nullopt;
    std::size_t open = 0;
    for (skip_blank(); take("("); skip_blank()) ++open;
    std::vector<std::string> literals;
    do {
      skip_blank();
      std::optional<std::string> literal = read_literal();
      if (!literal.has_value()) return std::nullopt;
      literals.push_back(std::move(*literal));
      skip_blank();
    } while (take("|"));
    for (; take(")"); skip_blank()) {
      if (open-- == 0) return std::nullopt;
    }
    if (open != 0 || !rest_.empty()) return std::nullopt;
    return literals;
  }

 private:
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }

  void skip_blank() {
    while (!rest_.empty()) {
      if (rest_.front() == '#') {
        rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
      } else if (std::string_view(" \t\r\n").find(rest_.front()) != std::string_view::npos) {
        rest_.remove_prefix(1);
      } else {
        return;
      }
    }
  }

  std::optional<std::string> read_literal() {
    if (!take("\"")) return std::nullopt;
    std::string text;
    while (!rest_.empty()) {
      const char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '"') return text;
      if (c == '\n') return std::nullopt;
      if (c != '\\') {
        text += c;
      } else if (!read_escape(text)) {
        return std::nullopt;
      }
    }
    return std::nullopt;
  }

  bool read_escape(std::string& text) {
    if (rest_.empty()) return false;
    const char c = rest_.front();
    rest_.remove_prefix(1);
    switch (c) {
      case 'n':
        text += '\n';
        return true;
      case 'r':
        text += '\r';
        return true;
      case 't':
        text += '\t';
        return true;
      case '"':
      case '\\':
      case '[':
      case ']':
        text += c;
        return true;
      case 'x':
        return read_point(2, text);
      case 'u':
        return read_point(4, text);
      case 'U':
        return read_point(8, text);
      default:
        return false;
    }
  }

  bool read_point(std::size_t digits, std::string& text) {
    if (rest_.size() < digits) return false;
    std::uint32_t point = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + digits, point, 16);
    if (error != std::errc() || end != rest_.data() + digits || point > 0x10FFFF) return false;
    rest_.remove_prefix(digits);
    append_utf8(point, text);
    return true;
  }

  std::string_view rest_;
};

}  // namespace

Result<std::vector<std::string>> read_choice_grammar(std::string_view grammar) {
  if (grammar.size() > kGrammarBytesMax) return invalid_argument("", "is longer than 1 MiB");
  std::optional<std::vector<std::string>> literals = GrammarReader(grammar).read();
  if (!literals.has_value()) return invalid_argument("", kAccepted);
  for (const std::string& literal : *literals) {
    if (first_invalid_utf8(literal).has_value()) return invalid_argument("", "has a literal that is not valid UTF-8");
  }
  return std::move(*literals);
}

}  // namespace assay::server
