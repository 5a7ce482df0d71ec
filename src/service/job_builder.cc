#include "service/job_builder.h"

#include <algorithm>

#include "base/assert.h"

namespace assay::service {

std::int32_t JobBuilder::add_segment(std::int32_t parent, engine::Tokens tokens, engine::Keep keep) {
  for (std::size_t i = 0; i < job_.segments.size(); i++) {
    const engine::Segment& segment = job_.segments[i];
    if (segment.parent == parent && segment.keep == keep && segment.tokens == tokens)
      return static_cast<std::int32_t>(i);
  }
  job_.segments.push_back({.parent = parent, .tokens = std::move(tokens), .keep = keep});
  return static_cast<std::int32_t>(job_.segments.size()) - 1;
}

RowRef JobBuilder::add_prompt(const engine::EncodedPrompt& prompt) {
  ASSAY_ASSERT(prompt.head_tokens <= prompt.shared_tokens && prompt.shared_tokens < std::ssize(prompt.tokens));
  const auto part = [&prompt](std::int32_t from, std::int32_t to) {
    return engine::Tokens(prompt.tokens.begin() + from, prompt.tokens.begin() + to);
  };
  std::int32_t at = engine::Segment::kRoot;
  if (prompt.head_tokens > 0) at = add_segment(at, part(0, prompt.head_tokens), engine::Keep::kAlways);
  const std::int32_t shared = prompt.shared_tokens - prompt.head_tokens;
  const bool cut = shared > 0 && shared >= shared_tokens_min_;
  if (cut) at = add_segment(at, part(prompt.head_tokens, prompt.shared_tokens), engine::Keep::kAlways);
  at = add_segment(
      at, part(cut ? prompt.shared_tokens : prompt.head_tokens, static_cast<std::int32_t>(prompt.tokens.size())),
      engine::Keep::kNever);
  prompts_.push_back({.segment = at, .answers = {}});
  return {.prompt = static_cast<std::int32_t>(prompts_.size()) - 1};
}

RowRef JobBuilder::add_lead(const RowRef& row, const engine::Tokens& tokens) {
  return {.prompt = row.prompt, .row = prompts_[row.prompt].answers.add_path(tokens, row.row)};
}

// The read of a row, made when it is missing.
std::size_t JobBuilder::read_at(RowRef row) {
  if (row.row == engine::TokenTree::kRoot) {
    // The ends of equal prompts are one row.
    const auto same = [&](const Prompt& prompt) { return prompt.segment == prompts_[row.prompt].segment; };
    row.prompt = static_cast<std::int32_t>(std::find_if(prompts_.begin(), prompts_.end(), same) - prompts_.begin());
  }
  const auto [at, is_new] = read_of_row_.try_emplace(row, job_.reads.size());
  if (is_new) {
    job_.reads.push_back({.vocabulary = false});
    read_rows_.push_back(row);
  }
  return at->second;
}

TokenRead JobBuilder::add_target(const RowRef& row, engine::TokenId token, bool vocabulary) {
  const std::size_t read = read_at(row);
  job_.reads[read].vocabulary = job_.reads[read].vocabulary || vocabulary;
  std::vector<engine::TokenId>& targets = job_.reads[read].targets;
  const auto at = std::find(targets.begin(), targets.end(), token);
  const auto target = static_cast<std::size_t>(at - targets.begin());
  if (at == targets.end()) targets.push_back(token);
  return {.read = read, .target = target};
}

std::size_t JobBuilder::add_hidden_state(const RowRef& row) {
  const std::size_t read = read_at(row);
  job_.reads[read].hidden_state = true;
  return read;
}

std::vector<TokenRead> JobBuilder::add_answer(const RowRef& row, const engine::Tokens& tokens, bool vocabulary) {
  std::vector<TokenRead> reads;
  RowRef at = row;
  for (std::size_t i = 0; i < tokens.size(); i++) {
    reads.push_back(add_target(at, tokens[i], vocabulary));
    if (i + 1 < tokens.size()) at = add_lead(at, {tokens[i]});
  }
  return reads;
}

std::int32_t JobBuilder::prompt_tokens() const {
  std::int32_t tokens = 0;
  for (const engine::Segment& segment : job_.segments) tokens += static_cast<std::int32_t>(segment.tokens.size());
  return tokens;
}

// Where each row of a prompt's answers comes to lie: in the run of its parent when it is the only child, else in a new
// one.
std::vector<JobBuilder::Place> JobBuilder::place_answers(const Prompt& prompt) {
  const std::vector<engine::TokenTree::Row>& rows = prompt.answers.rows();
  std::vector<std::int32_t> children(rows.size(), 0);
  for (const engine::TokenTree::Row& row : rows) {
    if (row.parent != engine::TokenTree::kRoot) children[row.parent]++;
  }
  std::vector<Place> places;
  for (const engine::TokenTree::Row& row : rows) {
    const bool below_prompt = row.parent == engine::TokenTree::kRoot;
    std::int32_t segment = below_prompt ? prompt.segment : places[row.parent].segment;
    if (below_prompt || children[row.parent] > 1) {
      job_.segments.push_back({.parent = segment, .tokens = {}, .keep = engine::Keep::kNever});
      segment = static_cast<std::int32_t>(job_.segments.size()) - 1;
    }
    engine::Tokens& tokens = job_.segments[segment].tokens;
    places.push_back({.segment = segment, .offset = static_cast<std::int32_t>(tokens.size())});
    tokens.push_back(row.token);
  }
  return places;
}

engine::Job JobBuilder::take() {
  std::vector<std::vector<Place>> places;
  for (const Prompt& prompt : prompts_) places.push_back(place_answers(prompt));
  for (std::size_t i = 0; i < job_.reads.size(); i++) {
    const RowRef& row = read_rows_[i];
    const std::int32_t end = prompts_[row.prompt].segment;
    const Place place =
        row.row == engine::TokenTree::kRoot
            ? Place{.segment = end, .offset = static_cast<std::int32_t>(job_.segments[end].tokens.size()) - 1}
            : places[row.prompt][row.row];
    job_.reads[i].segment = place.segment;
    job_.reads[i].offset = place.offset;
  }
  return std::move(job_);
}

}  // namespace assay::service
