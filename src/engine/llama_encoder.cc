#include "engine/llama_encoder.h"

#include <llama.h>

#include <algorithm>

#include "base/assert.h"

// Invariants: every token of a prompt is either a control token whose bytes the template wrote, or comes from plain
// tokenising of the text between two of those; tokenize() checks the second kind and fails rather than let a control
// token through.

namespace assay::engine {
namespace {

constexpr const char* kProbeSystem = "Apply the criterion. Answer with one option.";
constexpr const char* kProbeUser = "{\"evidence\": \"The parcel arrived at noon.\"}\n\nDid it arrive?";
// Cases, digits, accents, scripts, signs and a character of four bytes: what a tokenizer can lose.
constexpr const char* kProbeScripts =
    "Où est le Colis Nº 1234? Ärger, „ёлка“ – 北京, مرحبا: {\"a\": [1, -2.5]} \U0001f6b2";

std::vector<SpecialToken> special_tokens(const llama_vocab* vocabulary) {
  std::vector<SpecialToken> tokens;
  for (TokenId id = 0; id < llama_vocab_n_tokens(vocabulary); id++) {
    const int attributes = llama_vocab_get_attr(vocabulary, id);
    if ((attributes & (LLAMA_TOKEN_ATTR_CONTROL | LLAMA_TOKEN_ATTR_USER_DEFINED | LLAMA_TOKEN_ATTR_UNKNOWN)) == 0)
      continue;
    tokens.push_back({.id = id,
                      .text = llama_vocab_get_text(vocabulary, id),
                      .user_defined = (attributes & LLAMA_TOKEN_ATTR_USER_DEFINED) != 0,
                      .unknown = (attributes & LLAMA_TOKEN_ATTR_UNKNOWN) != 0,
                      .strips_left = (attributes & LLAMA_TOKEN_ATTR_LSTRIP) != 0,
                      .strips_right = (attributes & LLAMA_TOKEN_ATTR_RSTRIP) != 0});
  }
  return tokens;
}

std::string text_of(const llama_vocab* vocabulary, TokenId token) {
  return token == LLAMA_TOKEN_NULL ? std::string() : llama_vocab_get_text(vocabulary, token);
}

Error unsupported(const std::string& message) { return {ErrorCode::kUnsupportedModel, message, "chat_template"}; }

std::string trimmed(const std::string& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

std::string without_white_space(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; });
  return text;
}

std::string content_of(const RenderedChat& chat) {
  std::string content;
  for (std::size_t i = 0; i < chat.text.size(); i++) {
    if (chat.is_content[i]) content.push_back(chat.text[i]);
  }
  return content;
}

}  // namespace

LlamaEncoder::LlamaEncoder(const llama_vocab* vocabulary)
    : vocabulary_(vocabulary), specials_(special_tokens(vocabulary)) {
  is_special_.assign(llama_vocab_n_tokens(vocabulary), false);
  for (const SpecialToken& token : specials_.all()) {
    is_special_[token.id] = !token.unknown && SpecialTokens::is_guarded(token);
  }
}

Result<std::unique_ptr<LlamaEncoder>> LlamaEncoder::open(const llama_vocab* vocabulary,
                                                         const std::string& template_source, bool is_override) {
  if (llama_vocab_type(vocabulary) == LLAMA_VOCAB_TYPE_NONE) {
    return Error{ErrorCode::kUnsupportedModel, "The model has no vocabulary, so it cannot read text.", "model"};
  }
  std::unique_ptr<LlamaEncoder> encoder(new LlamaEncoder(vocabulary));
  if (!template_source.empty()) {
    if (Status status = encoder->open_template(template_source, is_override); !status.ok()) return status.error();
    if (Status status = encoder->check_thinking(); !status.ok()) return status.error();
  }
  if (Status status = encoder->check_tokens(); !status.ok()) return status.error();
  encoder->find_answer_ends();
  encoder->find_longest_piece();
  return encoder;
}

Status LlamaEncoder::open_template(const std::string& source, bool is_override) {
  Result<std::unique_ptr<LlamaTemplate>> parsed = LlamaTemplate::parse(
      source, text_of(vocabulary_, llama_vocab_bos(vocabulary_)), text_of(vocabulary_, llama_vocab_eos(vocabulary_)));
  if (!parsed.ok()) return parsed.error();
  template_ = std::move(parsed).value();
  facts_.source = is_override ? "override" : "model";
  // A system role counts only when its text comes through: some templates raise, some drop it without a word.
  const Result<RenderedChat> with_system = template_->render({{"system", kProbeSystem}, {"user", kProbeUser}}, {});
  facts_.system_role = with_system.ok() && content_of(*with_system) == std::string(kProbeSystem) + kProbeUser;
  const Result<RenderedChat> folded = render({.system = kProbeSystem, .user = kProbeUser, .base_cue = {}});
  if (!folded.ok()) return folded.error();
  const std::string content = content_of(*folded);
  if (content.find(kProbeUser) == std::string::npos || content.find(kProbeSystem) == std::string::npos) {
    return unsupported(
        "The chat template changes the text of a message, so what the model reads could not be vouched for.");
  }
  return {};
}

Status LlamaEncoder::check_thinking() {
  const PromptText probe = {.system = kProbeSystem, .user = kProbeUser, .base_cue = {}};
  const Result<RenderedChat> chat = render(probe);
  if (!chat.ok()) return chat.error();
  switch (thinking_after_content(*chat)) {
    case Thinking::kOpen:
      return unsupported(
          "The model always thinks before it answers: its chat template leaves a thinking block open also with "
          "thinking switched off.");
    case Thinking::kClosed:
      facts_.thinking = "closed by the template";
      return {};
    case Thinking::kNone:
      break;
  }
  const std::string& source = template_->source();
  if (source.find("<|channel|>analysis") != std::string::npos && source.find("<|channel|>final") != std::string::npos) {
    return unsupported(
        "The model always thinks before it answers: its chat template opens an analysis channel and has no switch for "
        "it.");
  }
  const bool mentions_thinking = source.find("think") != std::string::npos || source.find("THINK") != std::string::npos;
  const Result<RenderedChat> thinking =
      template_->render({{"user", kProbeUser}}, {.generation_prompt = true, .thinking = true});
  const Result<RenderedChat> plain = template_->render({{"user", kProbeUser}}, {});
  const bool has_switch = thinking.ok() && plain.ok() && thinking->text != plain->text;
  if (!mentions_thinking) return {};
  facts_.thinking = has_switch ? "closed by the template" : "not controlled by the template";
  if (has_switch) return {};
  facts_.warnings.emplace_back(
      "The chat template speaks of thinking and has no switch for it. If this model thinks before it answers, its "
      "numbers mean little: look at the built-in check (assay inspect).");
  return {};
}

Status LlamaEncoder::check_tokens() {
  const Result<RenderedChat> chat = render({.system = kProbeSystem, .user = kProbeUser, .base_cue = "\nAnswer:"});
  if (!chat.ok()) return chat.error();
  const Result<Tokens> ours = tokenize(*chat);
  if (!ours.ok()) return ours.error();
  check_begin_of_text(*chat);
  check_round_trip();
  Tokens ordinary = tokenize_plain(chat->text, true);
  add_begin_of_text(ordinary);
  if (*ours == ordinary) return {};
  const auto controls = [this](const Tokens& tokens) {
    return std::count_if(tokens.begin(), tokens.end(),
                         [this](TokenId token) { return llama_vocab_is_control(vocabulary_, token); });
  };
  if (controls(*ours) < controls(ordinary)) {
    return unsupported(
        "The chat template builds control tokens out of message text, so the caller's text could forge them.");
  }
  facts_.warnings.emplace_back("The prompt's tokens differ from those of plain tokenising (no control token does).");
  return {};
}

// Twice at the beginning is nothing that a model has learnt, and it comes about easily: templates write it, and
// tokenizers add it. add_begin_of_text() sees to it that it stands once; here it is found out who writes it.
void LlamaEncoder::check_begin_of_text(const RenderedChat& chat) {
  const TokenId begin = llama_vocab_bos(vocabulary_);
  const Result<Tokens> written = tokenize_part(chat);
  if (begin == LLAMA_TOKEN_NULL || !written.ok()) return;
  const bool adds = llama_vocab_get_add_bos(vocabulary_);
  const auto first_other = std::find_if(written->begin(), written->end(), [=](TokenId id) { return id != begin; });
  const auto count = first_other - written->begin();
  if (count == 0) {
    facts_.begin_of_text = adds ? "added" : "none";
    return;
  }
  facts_.begin_of_text = adds ? "written by the template and not added again" : "written by the template";
  if (count == 1) return;
  facts_.warnings.push_back("The chat template writes the beginning of text " + std::to_string(count) +
                            " times; prompts have it once.");
}

// A vocabulary whose pieces do not give a text back makes the model read something else than was sent: characters that
// a broken conversion has lost, or a tokenizer that changes letters. White space may come or go at the ends of pieces.
void LlamaEncoder::check_round_trip() {
  std::string text;
  for (const TokenId token : tokenize_plain(kProbeScripts, false)) text += piece(token);
  if (without_white_space(std::move(text)) == without_white_space(kProbeScripts)) return;
  facts_.warnings.emplace_back(
      "The tokenizer does not give a text back as it was: the model may read other characters than were sent.");
}

void LlamaEncoder::find_answer_ends() {
  const TokenId end_of_turn = llama_vocab_eot(vocabulary_);
  end_of_answer_ = end_of_turn != LLAMA_TOKEN_NULL ? end_of_turn : llama_vocab_eos(vocabulary_);
  if (end_of_answer_ == LLAMA_TOKEN_NULL) end_of_answer_ = llama_vocab_nl(vocabulary_);
  if (end_of_answer_ == LLAMA_TOKEN_NULL) end_of_answer_ = 0;
  const Result<RenderedChat> chat = render({.system = kProbeSystem, .user = kProbeUser, .base_cue = "\nAnswer:"});
  ASSAY_ASSERT(chat.ok());
  if (!template_) {
    answer_lead_ = "Answer:";
    answer_space_ = " ";
    return;
  }
  // What the template writes behind an assistant's words begins with the token that closes them.
  const Result<RenderedChat> closed =
      template_->render({{"user", kProbeUser}, {"assistant", "Yes"}}, {.generation_prompt = false, .thinking = false});
  if (closed.ok()) {
    const std::size_t last = static_cast<std::size_t>(
        std::find(closed->is_content.rbegin(), closed->is_content.rend(), true) - closed->is_content.rbegin());
    const std::string tail = closed->text.substr(closed->text.size() - last);
    for (const Fragment& fragment : cut_fragments(tail, std::vector<bool>(tail.size(), false), specials_)) {
      if (fragment.special == nullptr) continue;
      end_of_answer_ = fragment.special->id;
      break;
    }
  }
  const std::size_t tail_bytes = static_cast<std::size_t>(
      std::find(chat->is_content.rbegin(), chat->is_content.rend(), true) - chat->is_content.rbegin());
  const std::string tail = chat->text.substr(chat->text.size() - tail_bytes);
  const std::vector<Fragment> fragments = cut_fragments(tail, std::vector<bool>(tail.size(), false), specials_);
  if (!fragments.empty() && fragments.back().special == nullptr) answer_lead_ = fragments.back().text;
}

Result<RenderedChat> LlamaEncoder::render(const PromptText& prompt) const {
  if (!template_ || prompt.plain) {
    const std::string text = (prompt.system.empty() ? "" : prompt.system + "\n\n") + prompt.user + prompt.base_cue;
    return RenderedChat{.text = text, .is_content = std::vector<bool>(text.size(), true)};
  }
  if (prompt.system.empty()) return template_->render({{"user", prompt.user}}, {});
  if (facts_.system_role) return template_->render({{"system", prompt.system}, {"user", prompt.user}}, {});
  return template_->render({{"user", prompt.system + "\n\n" + prompt.user}}, {});
}

Result<EncodedPrompt> LlamaEncoder::encode_prompt(const PromptText& prompt) const {
  if (!prompt.image_slots.empty()) return encode_with_images(prompt);
  Result<RenderedChat> chat = render(prompt);
  if (!chat.ok()) return chat.error();
  if (!holds_user_text(*chat, prompt.user)) {
    return Error{ErrorCode::kInternal, "The chat template changed the text of the request.", "state"};
  }
  Result<Tokens> tokens = tokenize(*chat);
  if (!tokens.ok()) return tokens.error();
  EncodedPrompt encoded{.text = {}, .tokens = std::move(tokens).value()};
  add_cuts(prompt, *chat, encoded);
  encoded.text = std::move(chat->text);
  return encoded;
}

bool LlamaEncoder::holds_user_text(const RenderedChat& chat, const std::string& user) {
  return content_of(chat).find(trimmed(user)) != std::string::npos;
}

void LlamaEncoder::add_cuts(const PromptText& prompt, const RenderedChat& chat, EncodedPrompt& encoded) const {
  // Where the user text stands in the rendered one: the last content that reads so.
  const std::string user = trimmed(prompt.user);
  const std::string content = content_of(chat);
  const std::size_t in_content = content.rfind(user);
  std::size_t start = 0;
  for (std::size_t seen = 0; start < chat.text.size(); start++) {
    if (chat.is_content[start] && seen++ == in_content) break;
  }
  const std::size_t cut_off = prompt.user.find(user);  // the template may have trimmed the front
  const auto kept = [&](std::size_t bytes) { return std::min(user.size(), bytes > cut_off ? bytes - cut_off : 0); };
  const bool added_begin = !encoded.tokens.empty() && encoded.tokens.front() == llama_vocab_bos(vocabulary_) &&
                           !chat.text.starts_with(piece(encoded.tokens.front()));
  const std::size_t before = added_begin ? piece(encoded.tokens.front()).size() : 0;
  const auto bytes = [this](TokenId token) {
    if (is_image_token(token)) return std::size_t{0};
    const std::int32_t length = llama_token_to_piece(vocabulary_, token, nullptr, 0, 0, true);
    return static_cast<std::size_t>(length < 0 ? -length : length);
  };
  encoded.head_tokens = tokens_within(encoded.tokens, before + start + kept(prompt.fixed_bytes), bytes);
  encoded.shared_tokens = tokens_within(encoded.tokens, before + start + kept(prompt.shared_bytes), bytes);
}

Result<Tokens> LlamaEncoder::tokenize(const RenderedChat& chat) const {
  Result<Tokens> tokens = tokenize_part(chat);
  if (tokens.ok()) add_begin_of_text(*tokens);
  return tokens;
}

// A chat, or a piece of one that images bound: nothing is added to it.
Result<Tokens> LlamaEncoder::tokenize_part(const RenderedChat& chat) const {
  Tokens tokens;
  for (const Fragment& fragment : cut_fragments(chat.text, chat.is_content, specials_)) {
    if (fragment.special != nullptr) {
      tokens.push_back(fragment.special->id);
      continue;
    }
    const Result<Tokens> content = tokenize_content(fragment.text);
    if (!content.ok()) return content.error();
    tokens.insert(tokens.end(), content->begin(), content->end());
  }
  return tokens;
}

void LlamaEncoder::add_begin_of_text(Tokens& tokens) const {
  const TokenId begin = llama_vocab_bos(vocabulary_);
  if (begin == LLAMA_TOKEN_NULL) return;
  if (llama_vocab_get_add_bos(vocabulary_) && (tokens.empty() || tokens.front() != begin))
    tokens.insert(tokens.begin(), begin);
  while (tokens.size() > 1 && tokens[0] == begin && tokens[1] == begin) tokens.erase(tokens.begin());
}

Result<Tokens> LlamaEncoder::tokenize_content(std::string_view text) const {
  // Splitting moves merges at the seam, so text that spells no user-defined token is not touched; only if a control
  // token still comes out (some vocabularies can merge to one) is the text split inside every special it spells.
  for (const SplitAt which : {SplitAt::kUserDefined, SplitAt::kAnySpecial}) {
    Tokens tokens;
    for (const std::string_view piece : split_specials(text, specials_, which)) {
      const Tokens next = tokenize_plain(piece, false);
      tokens.insert(tokens.end(), next.begin(), next.end());
    }
    if (std::none_of(tokens.begin(), tokens.end(), [this](TokenId token) { return is_special_[token]; })) return tokens;
  }
  return invalid_argument(
      "state", "The text spells a control token of this model in a way that cannot be tokenised as plain text.");
}

Result<Tokens> LlamaEncoder::encode_answer(std::string_view text) const {
  if (text.empty()) return Tokens{};
  const std::string answer = answer_space_ + std::string(text);
  // In context: the lead and the answer together, less the lead's own tokens. Where a merge crosses the border, the
  // answer alone.
  const Result<Tokens> lead = tokenize_content(answer_lead_);
  if (!lead.ok()) return lead.error();
  const Result<Tokens> joined = tokenize_content(answer_lead_ + answer);
  if (!joined.ok()) return joined.error();
  if (joined->size() > lead->size() && std::equal(lead->begin(), lead->end(), joined->begin())) {
    return Tokens(joined->begin() + std::ssize(*lead), joined->end());
  }
  return tokenize_content(answer);
}

Tokens LlamaEncoder::tokenize_plain(std::string_view text, bool parse_special) const {
  Tokens tokens(text.size() + 8);
  const auto bytes = static_cast<std::int32_t>(text.size());
  std::int32_t count = llama_tokenize(vocabulary_, text.data(), bytes, tokens.data(),
                                      static_cast<std::int32_t>(tokens.size()), false, parse_special);
  if (count < 0) {
    tokens.resize(static_cast<std::size_t>(-count));
    count = llama_tokenize(vocabulary_, text.data(), bytes, tokens.data(), -count, false, parse_special);
  }
  ASSAY_ASSERT(count >= 0);
  tokens.resize(static_cast<std::size_t>(count));
  return tokens;
}

// Only where every byte of a text comes out in some token: other kinds leave white space out, or have one token for a
// word that they do not know.
void LlamaEncoder::find_longest_piece() {
  const enum llama_vocab_type type = llama_vocab_type(vocabulary_);
  if (type != LLAMA_VOCAB_TYPE_BPE && type != LLAMA_VOCAB_TYPE_SPM) return;
  for (TokenId id = 0; id < llama_vocab_n_tokens(vocabulary_); id++)
    piece_bytes_max_ = std::max(piece_bytes_max_, piece(id).size());
}

std::size_t LlamaEncoder::tokens_min(std::size_t bytes) const {
  return piece_bytes_max_ == 0 ? 0 : (bytes + piece_bytes_max_ - 1) / piece_bytes_max_;
}

std::string LlamaEncoder::piece(TokenId token) const {
  std::string text(64, '\0');
  std::int32_t length =
      llama_token_to_piece(vocabulary_, token, text.data(), static_cast<std::int32_t>(text.size()), 0, true);
  if (length < 0) {
    text.resize(static_cast<std::size_t>(-length));
    length = llama_token_to_piece(vocabulary_, token, text.data(), -length, 0, true);
  }
  text.resize(static_cast<std::size_t>(std::max(0, length)));
  return text;
}

std::optional<std::string> LlamaEncoder::find_special(std::string_view text) const {
  const SpecialToken* special = first_special(text, specials_);
  if (special == nullptr) return std::nullopt;
  return special->text;
}

}  // namespace assay::engine
