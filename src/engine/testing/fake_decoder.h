#pragma once
// A decoder that keeps real books and invents logits: each row's logits are a pure function of the tokens of its
// sequence, so a plan that puts a row behind the wrong ancestors gives other numbers. It checks every rule that a
// decoder REQUIRES. With `layout_moves_bits` its last bits depend on what real kernels' depend on: how the cells of a
// row's sequence fall into tiles and pages, and how many rows the decodes had that computed them; in short ones
// (BitRules) they have other bits than in full ones.

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/decoder.h"
#include "engine/testing/fake_sequence.h"

namespace assay::engine::testing {

class FakeDecoder final : public Decoder {
 public:
  explicit FakeDecoder(DecoderLimits limits)
      : real_rules(limits.rules), limits_(limits), held_(static_cast<std::size_t>(limits.sequences_max)) {}

  bool layout_moves_bits = false;
  BitRules real_rules;  // what the bits depend on; limits() tells the engine limits.rules
  // Faults to play: called before each decode with its number (from 0) and rows; an error is the decode's own.
  std::function<Status(int, std::span<const BatchRow>)> on_decode;
  // Changes a row's logits before they are read.
  std::function<void(const Tokens&, std::vector<float>&)> on_logits;

  DecoderLimits limits() const override { return limits_; }

  Status decode(std::span<const BatchRow> rows, const DecodeWants& wants) override {
    const int number = decodes_++;
    outputs_.clear();
    wants_ = wants;
    fault_if(rows.empty() || std::ssize(rows) > limits_.batch_rows_max, "rows");
    if (on_decode) {
      if (Status status = on_decode(number, rows); !status.ok()) return status;
    }
    std::vector<bool> taken(static_cast<std::size_t>(limits_.cells), false);
    for (const FakeSequence& sequence : held_) {
      for (const FakeSequence::Held& held : sequence.rows) taken[held.cell] = true;
    }
    const std::uint64_t shape = shape_of(rows);
    for (std::size_t i = 0; i < rows.size(); i++) {
      const bool outside = rows[i].cell < 0 || rows[i].cell >= limits_.cells;
      fault_if(outside, "cell out of range");
      if (outside) continue;
      fault_if(taken[rows[i].cell], "a cell that is taken");
      taken[rows[i].cell] = true;
      append(i, rows[i], shape);
    }
    fault_if(static_cast<std::int32_t>(outputs_.size()) > limits_.output_rows_max, "outputs");
    // Rows that are read go through the last layer and the head alone; what is kept does not depend on it.
    const auto outputs = static_cast<std::int32_t>(outputs_.size());
    const bool outputs_kept = outputs >= real_rules.outputs_min && outputs % real_rules.outputs_multiple == 0;
    if (!limits_.whole_sequences_only && !outputs_kept) {
      for (auto& [row, output] : outputs_) output.layout += 1000003ULL * static_cast<std::uint64_t>(outputs);
    }
    if (outputs > 0 && !wants.logits) decodes_without_logits_++;
    rows_decoded_ += static_cast<std::int32_t>(rows.size());
    return {};
  }

  std::span<const float> logits(std::size_t row) override {
    fault_if(!wants_.logits || !outputs_.contains(row), "logits of a row without output");
    current_ = fake_logits(outputs_[row].path, limits_.vocabulary_tokens);
    if (layout_moves_bits) {
      // Each by its own amount: what all have in common would cancel in a softmax.
      std::uint64_t moved = outputs_[row].layout | 1U;
      for (float& logit : current_) {
        moved *= 6364136223846793005ULL;
        logit += static_cast<float>(moved >> 54U) / (1 << 18);
      }
    }
    if (on_logits) on_logits(outputs_[row].path, current_);
    return current_;
  }

  std::span<const float> hidden_state(std::size_t row) override {
    fault_if(!wants_.hidden_states || !outputs_.contains(row), "hidden state that was not asked for");
    hidden_ = fake_logits(outputs_[row].path, limits_.hidden_size);
    return hidden_;
  }

  // A little off the whole head's, so that it shows which one was asked.
  float option_logit(std::size_t row, TokenId token) override {
    fault_if(!limits_.option_head || !wants_.hidden_states || !outputs_.contains(row), "an option's logit");
    return fake_logits(outputs_[row].path, limits_.vocabulary_tokens)[token] + kOptionHeadError;
  }
  static constexpr float kOptionHeadError = 1.0F / 1024;

  void fork(SequenceId from, SequenceId to) override {
    fault_if(!held_.at(to).rows.empty(), "fork into a sequence that holds rows");
    held_.at(to) = held_.at(from);
  }
  void release(SequenceId sequence) override { held_.at(sequence) = {}; }
  void reset() override {
    for (FakeSequence& sequence : held_) sequence = {};
    resets_++;
  }

  std::string save(SequenceId sequence, std::int32_t from_position) override {
    std::string saved = "fake";
    const std::vector<FakeSequence::Held>& held = held_.at(sequence).rows;
    fault_if(limits_.whole_sequences_only && from_position != 0, "a part of a recurrent sequence");
    for (std::size_t i = static_cast<std::size_t>(from_position); i < held.size(); i++)
      saved += " " + std::to_string(held[i].token) + ":" + std::to_string(held[i].bits);
    return saved;
  }
  bool restore(SequenceId sequence, std::span<const Cell> cells, const std::string& saved) override {
    if (!saved.starts_with("fake ")) {
      held_.at(sequence) = {};
      return false;
    }
    std::size_t at = 4;
    for (const Cell cell : cells) {
      fault_if(at == std::string::npos, "fewer saved rows than cells");
      const std::size_t bits = saved.find(':', at) + 1;
      held_.at(sequence).push(
          {.token = std::stoi(saved.substr(at + 1)), .cell = cell, .bits = std::stoull(saved.substr(bits))});
      at = saved.find(' ', at + 1);
    }
    fault_if(at != std::string::npos, "more saved rows than cells");
    restores_++;
    return true;
  }

  // Rules that were broken, in words; empty when all went well.
  const std::vector<std::string>& faults() const { return faults_; }
  bool empty() const {
    for (const FakeSequence& sequence : held_) {
      if (!sequence.rows.empty()) return false;
    }
    return true;
  }
  int decodes() const { return decodes_; }
  // Decodes with rows that are read, none of which needed the whole vocabulary.
  int decodes_without_logits() const { return decodes_without_logits_; }
  int resets() const { return resets_; }
  int restores() const { return restores_; }
  std::int32_t rows_decoded() const { return rows_decoded_; }

 private:
  static constexpr std::uint64_t kShortShape = 1'000'003;  // no number of rows

  struct Output {
    Tokens path;
    std::uint64_t layout = 0;
  };

  // What the number of rows does to the bits: nothing while the rules are kept, except that short decodes have bits of
  // their own; with recurrent layers it always counts.
  std::uint64_t shape_of(std::span<const BatchRow> rows) const {
    if (limits_.whole_sequences_only) return rows.size();
    const bool whole = std::ssize(rows) % real_rules.rows_multiple == 0;
    if (whole && std::ssize(rows) >= real_rules.rows_min) return 0;
    if (whole && rows.size() >= 2 && real_rules.short_decodes) return kShortShape;
    return rows.size();
  }

  void append(std::size_t index, const BatchRow& row, std::uint64_t shape) {
    fault_if(row.sequences.empty(), "a row without a sequence");
    fault_if(limits_.whole_sequences_only && row.sequences.size() != 1, "a shared row on a recurrent model");
    fault_if(row.token < 0 || row.token >= limits_.vocabulary_tokens, "token");
    const std::uint64_t before = held_.at(row.sequences.front()).sum;
    for (const SequenceId sequence : row.sequences) {
      fault_if(held_.at(sequence).sum != before, "a shared row behind different rows");
      fault_if(std::ssize(held_.at(sequence).rows) != row.position, "position");
      held_.at(sequence).push({.token = row.token, .cell = row.cell, .bits = shape});
    }
    if (!row.output) return;
    const FakeSequence& sequence = held_.at(row.sequences.front());
    fault_if(!sequence.rises(), "a row below one before it");
    outputs_[index] = {.path = sequence.path(), .layout = sequence.layout(real_rules)};
  }

  void fault_if(bool broken, const char* what) {
    if (broken) faults_.emplace_back(what);
  }

  const DecoderLimits limits_;
  std::vector<FakeSequence> held_;
  std::map<std::size_t, Output> outputs_;
  std::vector<float> current_;
  std::vector<float> hidden_;
  std::vector<std::string> faults_;
  DecodeWants wants_;
  int decodes_ = 0;
  int decodes_without_logits_ = 0;
  int resets_ = 0;
  int restores_ = 0;
  std::int32_t rows_decoded_ = 0;
};

}  // namespace assay::engine::testing
