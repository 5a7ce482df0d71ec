// `at_` only grows, so the pass is linear in the body whatever it holds; nesting is a count, not a recursion.
#include "server/wires/body_shape.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace assay::server {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

class Skimmer {
 public:
  explicit Skimmer(std::string_view text) : text_(text) {
    if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);
  }

  BodyShape skim() {
    BodyShape shape;
    if (next() != '{') return shape;
    ++at_;
    while (next() == '"') {
      const std::string_view key = string();
      if (next() != ':') break;
      ++at_;
      note(key, next(), shape);
      if (key == "input") shape.input_messages = begins_with_object();
      skip_value();
      if (next() != ',') break;
      ++at_;
    }
    return shape;
  }

 private:
  static void note(std::string_view key, char first, BodyShape& shape) {
    if (key == "state") shape.state = true;
    if (key == "input") shape.input = true;
    if (key == "messages") shape.messages = true;
    if (key == "prompt") shape.prompt = true;
    if (key == "documents") shape.documents = true;
    if (key == "requestType") shape.request_type = true;
    constexpr std::array<std::string_view, 6> kResponses = {
        "instructions", "max_output_tokens", "previous_response_id", "reasoning", "text", "tools"};
    if (std::find(kResponses.begin(), kResponses.end(), key) != kResponses.end()) shape.response_keys = true;
    if (key == "decision" || key == "decisions") shape.decisions = true;
    if (key == "questions") (first == '[' ? shape.questions_list : shape.questions_object) = true;
  }

  // The next character that is no white space, not taken; 0 at the end.
  char next() {
    while (at_ < text_.size() && is_space(text_[at_])) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  // Whether a list with an object at its beginning comes next; nothing is taken.
  bool begins_with_object() const {
    std::size_t at = at_;
    if (at >= text_.size() || text_[at] != '[') return false;
    ++at;
    while (at < text_.size() && is_space(text_[at])) ++at;
    return at < text_.size() && text_[at] == '{';
  }

  // From one quote to the other; takes both. REQUIRES: at a quote.
  std::string_view string() {
    const std::size_t begin = ++at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    const std::size_t end = at_ < text_.size() ? at_ : text_.size();
    at_ = end + 1;
    return text_.substr(begin, end - begin);
  }

  // Up to the comma or brace that ends this member.
  void skip_value() {
    std::size_t depth = 0;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '"') {
        string();
        continue;
      }
      if (depth == 0 && (c == ',' || c == '}' || c == ']')) return;
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
      ++at_;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

BodyShape shape_of_body(std::string_view body) { return Skimmer(body).skim(); }

}  // namespace assay::server
