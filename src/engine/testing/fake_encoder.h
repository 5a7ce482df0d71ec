#pragma once
// An encoder whose tokens can be worked out by hand: a byte is a token, and so is a pair of capital letters. Its
// template writes "<|bos|>" once, "<|system|>", "<|user|>" and "<|assistant|>" in front of what is theirs, and
// "<|end|>" behind each turn.
//
//   id 0..4        the five control tokens above, in the order bos, system, user, assistant, end
//   id 5..260      the bytes 0..255, so "A" is 5 + 65 = 70
//   id 261..936    "AA", "AB", ... "ZZ"; fewer when the options say so
//
// "refund" is six tokens, "A" one, "AB" one, "ABC" two ("AB", "C"). "A\0B" is three: nothing is trimmed.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/encoder.h"

namespace assay::engine::testing {

struct FakeEncoderOptions {
  std::int32_t letter_pairs = 676;  // how many of "AA", "AB", ... are one token
  bool has_template = true;         // false: a base model; the prompt is bos, system text, user text, cue
};

// Immutable, so thread-safe.
class FakeEncoder final : public Encoder {
 public:
  static constexpr TokenId kBegin = 0, kSystem = 1, kUser = 2, kAssistant = 3, kEnd = 4;
  static constexpr TokenId kFirstByte = 5;
  static constexpr TokenId kFirstPair = kFirstByte + 256;
  // For DecoderLimits::vocabulary_tokens.
  static constexpr std::int32_t kVocabularyTokens = kFirstPair + 26 * 26;
  static constexpr std::array<std::string_view, 5> kControls = {"<|bos|>", "<|system|>", "<|user|>", "<|assistant|>",
                                                                "<|end|>"};

  FakeEncoder() = default;
  explicit FakeEncoder(FakeEncoderOptions options) : options_(options) {}

  std::size_t tokens_min(std::size_t bytes) const override { return (bytes + 1) / 2; }

  Result<EncodedPrompt> encode_prompt(const PromptText& prompt) const override {
    EncodedPrompt encoded;
    if (!options_.has_template || prompt.plain) {
      encoded.tokens.push_back(kBegin);  // a vocabulary adds it; it is no part of the text
      add_content(prompt.system, encoded);
      if (!prompt.system.empty()) add_content("\n\n", encoded);
      const std::size_t start = encoded.text.size();
      add_user(prompt, encoded);
      add_content(prompt.base_cue, encoded);
      add_cuts(prompt, start + kControls[0].size(), encoded);
      return encoded;
    }
    add_control(kBegin, encoded);
    if (!prompt.system.empty()) add_turn(kSystem, prompt.system, encoded);
    const std::size_t start = encoded.text.size() + kControls[kUser].size();
    add_control(kUser, encoded);
    add_user(prompt, encoded);
    add_control(kEnd, encoded);
    add_control(kAssistant, encoded);
    add_cuts(prompt, start, encoded);
    return encoded;
  }

  Result<Tokens> encode_answer(std::string_view text) const override { return tokens_of(text); }

  bool has_chat_template() const override { return options_.has_template; }

  TokenId end_of_answer() const override { return kEnd; }

  std::string piece(TokenId token) const override {
    if (is_image_token(token)) return "";
    if (token < kFirstByte) return std::string(kControls.at(static_cast<std::size_t>(token)));
    if (token < kFirstPair) return std::string(1, static_cast<char>(token - kFirstByte));
    const TokenId pair = token - kFirstPair;
    return {static_cast<char>('A' + pair / 26), static_cast<char>('A' + pair % 26)};
  }

  std::optional<std::string> find_special(std::string_view text) const override {
    std::optional<std::string> found;
    std::size_t first = std::string_view::npos;
    for (const std::string_view control : kControls) {
      const std::size_t at = text.find(control);
      if (at >= first) continue;
      first = at;
      found = std::string(control);
    }
    return found;
  }

  // Content alone; what spells a control token is bytes like any other text.
  Tokens tokens_of(std::string_view text) const {
    Tokens tokens;
    for (std::size_t i = 0; i < text.size(); i++) {
      const std::int32_t pair = i + 1 < text.size() ? pair_at(text[i], text[i + 1]) : -1;
      if (pair >= 0 && pair < options_.letter_pairs) {
        tokens.push_back(kFirstPair + pair);
        i++;
      } else {
        tokens.push_back(kFirstByte + static_cast<std::uint8_t>(text[i]));
      }
    }
    return tokens;
  }

 private:
  static bool is_capital(char byte) { return byte >= 'A' && byte <= 'Z'; }
  // The number of a pair of capital letters, -1 for any other two bytes.
  static std::int32_t pair_at(char first, char second) {
    return is_capital(first) && is_capital(second) ? (first - 'A') * 26 + (second - 'A') : -1;
  }

  // `start`: where the user text begins, counted in bytes of pieces.
  void add_cuts(const PromptText& prompt, std::size_t start, EncodedPrompt& encoded) const {
    const auto bytes = [this](TokenId token) { return piece(token).size(); };
    encoded.head_tokens = tokens_within(encoded.tokens, start + prompt.fixed_bytes, bytes);
    encoded.shared_tokens = tokens_within(encoded.tokens, start + prompt.shared_bytes, bytes);
  }

  static void add_control(TokenId token, EncodedPrompt& encoded) {
    encoded.text += kControls.at(static_cast<std::size_t>(token));
    encoded.tokens.push_back(token);
  }
  void add_content(std::string_view text, EncodedPrompt& encoded) const {
    encoded.text += text;
    const Tokens tokens = tokens_of(text);
    encoded.tokens.insert(encoded.tokens.end(), tokens.begin(), tokens.end());
  }
  // The user text with its images.
  void add_user(const PromptText& prompt, EncodedPrompt& encoded) const {
    std::size_t at = 0;
    for (std::size_t i = 0; i < prompt.image_slots.size(); i++) {
      add_content(std::string_view(prompt.user).substr(at, prompt.image_slots[i] - at), encoded);
      encoded.text += kImageText;
      encoded.tokens.push_back(image_token(i));
      at = prompt.image_slots[i];
    }
    add_content(std::string_view(prompt.user).substr(at), encoded);
  }
  void add_turn(TokenId role, std::string_view text, EncodedPrompt& encoded) const {
    add_control(role, encoded);
    add_content(text, encoded);
    add_control(kEnd, encoded);
  }

  const FakeEncoderOptions options_;
};

}  // namespace assay::engine::testing
