#pragma once
// A decoder that keeps real books and invents logits: each row's logits are a pure function of the tokens of its
// sequence, so a plan that puts a row behind the wrong ancestors gives other numbers. It checks every rule that a
// decoder REQUIRES.

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/decoder.h"

namespace assay::engine::testing {

class FakeDecoder final : public Decoder {
 public:
  explicit FakeDecoder(DecoderLimits limits) : limits_(limits), held_(limits.sequences_max) {}

  // Faults to play: called before each decode with its number (from 0); an error is returned as the decode's own.
  std::function<Status(int)> on_decode;
  // Changes a row's logits before they are read.
  std::function<void(const Tokens&, std::vector<float>&)> on_logits;

  // The logits that a row with these tokens up to and including itself gets. In [-4, 4).
  static std::vector<float> logits_of(const Tokens& path, std::int32_t vocabulary_tokens) {
    std::uint64_t seed = 1469598103934665603ULL;
    for (const TokenId token : path) seed = (seed ^ static_cast<std::uint64_t>(token + 1)) * 1099511628211ULL;
    std::vector<float> logits(vocabulary_tokens);
    for (std::size_t i = 0; i < logits.size(); i++) {
      std::uint64_t x = seed + 0x9E3779B97F4A7C15ULL * (i + 1);
      x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
      x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
      logits[i] = static_cast<float>((x >> 40) & 0xFFFF) / 8192.0F - 4.0F;
    }
    return logits;
  }

  DecoderLimits limits() const override { return limits_; }

  Status decode(std::span<const BatchRow> rows, bool hidden_states) override {
    if (on_decode) {
      if (Status status = on_decode(decodes_++); !status.ok()) return status;
    } else {
      decodes_++;
    }
    outputs_.clear();
    hidden_states_ = hidden_states;
    fault_if(rows.empty() || std::ssize(rows) > limits_.batch_rows_max, "rows");
    for (std::size_t i = 0; i < rows.size(); i++) append(i, rows[i]);
    fault_if(static_cast<std::int32_t>(outputs_.size()) > limits_.output_rows_max, "outputs");
    std::set<Tokens> cells;
    for (const Tokens& sequence : held_) {
      for (std::size_t n = 1; n <= sequence.size(); n++)
        cells.insert(Tokens(sequence.begin(), sequence.begin() + static_cast<std::ptrdiff_t>(n)));
    }
    fault_if(static_cast<std::int32_t>(cells.size()) > limits_.cells_max, "cells");
    rows_decoded_ += static_cast<std::int32_t>(rows.size());
    return {};
  }

  std::span<const float> logits(std::size_t row) override {
    fault_if(!outputs_.contains(row), "logits of a row without output");
    current_ = logits_of(outputs_[row], limits_.vocabulary_tokens);
    if (on_logits) on_logits(outputs_[row], current_);
    return current_;
  }

  std::span<const float> hidden_state(std::size_t row) override {
    fault_if(!hidden_states_ || !outputs_.contains(row), "hidden state that was not asked for");
    hidden_ = logits_of(outputs_[row], limits_.hidden_size);
    return hidden_;
  }

  void fork(SequenceId from, SequenceId to) override {
    fault_if(!held_.at(to).empty(), "fork into a sequence that holds rows");
    held_.at(to) = held_.at(from);
  }
  void release(SequenceId sequence) override { held_.at(sequence).clear(); }

  // Rules that were broken, in words; empty when all went well.
  const std::vector<std::string>& faults() const { return faults_; }
  bool empty() const {
    for (const Tokens& sequence : held_) {
      if (!sequence.empty()) return false;
    }
    return true;
  }
  int decodes() const { return decodes_; }
  std::int32_t rows_decoded() const { return rows_decoded_; }

 private:
  void append(std::size_t index, const BatchRow& row) {
    fault_if(row.sequences.empty(), "a row without a sequence");
    fault_if(limits_.whole_sequences_only && row.sequences.size() != 1, "a shared row on a recurrent model");
    fault_if(row.token < 0 || row.token >= limits_.vocabulary_tokens, "token");
    const Tokens before = held_.at(row.sequences.front());
    for (const SequenceId sequence : row.sequences) {
      fault_if(held_.at(sequence) != before, "a shared row behind different rows");
      fault_if(static_cast<std::int32_t>(held_.at(sequence).size()) != row.position, "position");
      held_.at(sequence).push_back(row.token);
    }
    if (row.output) outputs_[index] = held_.at(row.sequences.front());
  }

  void fault_if(bool broken, const char* what) {
    if (broken) faults_.emplace_back(what);
  }

  const DecoderLimits limits_;
  std::vector<Tokens> held_;  // by sequence
  std::map<std::size_t, Tokens> outputs_;
  std::vector<float> current_;
  std::vector<float> hidden_;
  std::vector<std::string> faults_;
  bool hidden_states_ = false;
  int decodes_ = 0;
  std::int32_t rows_decoded_ = 0;
};

}  // namespace assay::engine::testing
