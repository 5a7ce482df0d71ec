#pragma once
// A media decoder whose logits depend on all that its sequence holds, in order, and whose books refuse wrong use. A
// file's text is its image: "broken" cannot be read, and any other takes as many rows as it has bytes.

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "engine/media.h"

namespace assay::engine::testing {

// One thread at a time; tests look at it while nothing is at work.
class FakeMedia final : public MediaDecoder {
 public:
  MediaLimits given = {
      .batch_rows_max = 4, .output_rows_max = 2, .path_rows_max = 100, .sequences_max = 4, .vocabulary_tokens = 1000};
  std::vector<std::string> log;               // "read 0", "encode 0", "image 0 -> 1", "tokens 3 -> 0", "fork 0 1", …
  std::function<void()> before_each = [] {};  // of encoding and appending
  bool fails = false;                         // every append does
  bool nan = false;

  MediaLimits limits() const override { return given; }

  Status read_image(std::size_t index, const std::string& file) override {
    log.push_back("read " + std::to_string(index));
    if (file == "broken") return invalid_argument("", "cannot be decoded: it is broken");
    EXPECT_TRUE(files_.emplace(index, file).second);
    return {};
  }
  std::int32_t image_rows(std::size_t index) const override {
    return static_cast<std::int32_t>(files_.at(index).size());
  }
  Status encode_image(std::size_t index) override {
    before_each();
    log.push_back("encode " + std::to_string(index));
    EXPECT_FALSE(encoded_[index]);
    encoded_[index] = true;
    return {};
  }
  Status append_image(SequenceId sequence, std::size_t index, const std::function<Status()>& go_on) override {
    before_each();
    log.push_back("image " + std::to_string(index) + " -> " + std::to_string(sequence));
    EXPECT_TRUE(encoded_[index]);
    sequences_[sequence] += "[" + files_.at(index) + "]";
    return go_on();
  }
  Status append_tokens(SequenceId sequence, std::span<const TokenId> tokens,
                       std::span<const std::int8_t> outputs) override {
    before_each();
    log.push_back("tokens " + std::to_string(tokens.size()) + " -> " + std::to_string(sequence));
    if (fails) return Error{ErrorCode::kInternal, "a decode failed", ""};
    EXPECT_LE(std::ssize(tokens), given.batch_rows_max);
    std::int32_t count = 0;
    rows_.clear();
    for (std::size_t i = 0; i < tokens.size(); i++) {
      sequences_[sequence] += " " + std::to_string(tokens[i]);
      count += outputs[i];
      rows_.push_back(outputs[i] != 0 ? sequences_[sequence] : "");
    }
    EXPECT_LE(count, given.output_rows_max);
    return {};
  }
  std::span<const float> logits(std::size_t row) override {
    EXPECT_FALSE(rows_.at(row).empty());
    logits_.assign(static_cast<std::size_t>(given.vocabulary_tokens), 0);
    std::uint64_t hash = 1469598103934665603ULL;
    for (const char byte : rows_[row]) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
    for (std::size_t token = 0; token < logits_.size(); token++) {
      hash = hash * 6364136223846793005ULL + 1442695040888963407ULL;
      logits_[token] = static_cast<float>(hash >> 40U) / static_cast<float>(1U << 22U);
    }
    if (nan) logits_[0] = std::numeric_limits<float>::quiet_NaN();
    return logits_;
  }
  void fork(SequenceId from, SequenceId to) override {
    EXPECT_LT(to, given.sequences_max);
    log.push_back("fork " + std::to_string(from) + " " + std::to_string(to));
    EXPECT_TRUE(sequences_[to].empty());
    sequences_[to] = sequences_[from];
  }
  void release(SequenceId sequence) override { sequences_[sequence].clear(); }
  void reset() override {
    sequences_.clear();
    files_.clear();
    encoded_.clear();
    rows_.clear();
  }
  void wipe() override {
    log.emplace_back("wipe");
    reset();
  }
  bool is_empty() const { return sequences_.empty() && files_.empty(); }

 private:
  std::map<SequenceId, std::string> sequences_;
  std::map<std::size_t, std::string> files_;
  std::map<std::size_t, bool> encoded_;
  std::vector<std::string> rows_;
  std::vector<float> logits_;
};

}  // namespace assay::engine::testing
