#include "engine/bit_check.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "engine/testing/fake_decoder.h"

namespace assay::engine {
namespace {

using testing::FakeDecoder;

DecoderLimits limits_with(BitRules rules = {}) {
  return {.batch_rows_max = 512,
          .output_rows_max = 64,
          .sequences_max = 16,
          .cells = 4096,
          .path_rows_max = 2048,
          .vocabulary_tokens = 300,
          .hidden_size = 4,
          .rules = rules};
}

// What was found, with a decoder that moves its bits by the rules in `real`; it must be left empty and unharmed.
BitCheck checked(const DecoderLimits& limits, const BitRules& real) {
  FakeDecoder decoder(limits);
  decoder.layout_moves_bits = true;
  decoder.real_rules = real;
  const Result<BitCheck> check = check_bits(decoder);
  EXPECT_TRUE(check.ok());
  EXPECT_TRUE(decoder.empty());
  EXPECT_EQ(decoder.faults(), std::vector<std::string>());
  return check.ok() ? *check : BitCheck{};
}

TEST(BitCheck, TheSameBitsUnderTheRightRules) {
  const BitRules any_rows = {.rows_multiple = 1, .outputs_min = 1, .outputs_multiple = 1, .short_decodes = true};
  const BitCheck check = checked(limits_with(), any_rows);
  EXPECT_TRUE(check.same);
  EXPECT_EQ(check.rules.rows_multiple, 1);
  EXPECT_EQ(check.rules.outputs_min, 1);
  EXPECT_EQ(check.rules.outputs_multiple, 1);
  EXPECT_TRUE(check.rules.short_decodes);
  EXPECT_EQ(check.rules.rows_min, 64);
  EXPECT_FALSE(check.note.empty());
}

// Kernels whose rows know nothing of each other: short decodes are no kind of their own then.
TEST(BitCheck, WhereAnyNumberOfRowsHasTheSameBitsDecodesMayHaveAnyNumber) {
  const BitRules free = {.rows_min = 2, .rows_multiple = 1, .outputs_min = 1, .outputs_multiple = 1};
  const BitCheck check = checked(limits_with(), free);
  EXPECT_TRUE(check.same);
  EXPECT_EQ(check.rules.rows_min, 2);
  EXPECT_EQ(check.rules.rows_multiple, 1);
  EXPECT_FALSE(check.rules.short_decodes);
  // A lone row among them would be found out.
  FakeDecoder decoder(limits_with());
  decoder.layout_moves_bits = true;
  decoder.real_rules = free;
  std::size_t decoded = 0;
  decoder.on_decode = [&](int, std::span<const BatchRow> rows) {
    decoded = rows.size();
    return Status();
  };
  decoder.on_logits = [&](const Tokens&, std::vector<float>& logits) {
    if (decoded < 4) logits[3] += 1;
  };
  const Result<BitCheck> few = check_bits(decoder);
  ASSERT_TRUE(few.ok());
  EXPECT_TRUE(few->same);
  EXPECT_EQ(few->rules.rows_min, BitRules().rows_min);
}

TEST(BitCheck, BitsThatMoveWithTheRowsOfADecodeNeedWholeGroups) {
  const BitCheck check = checked(limits_with(), {.outputs_min = 1, .outputs_multiple = 1});
  EXPECT_TRUE(check.same);
  EXPECT_EQ(check.rules.rows_multiple, BitRules().rows_multiple);
}

TEST(BitCheck, ShortDecodesInWholeGroupsAllHaveOneLength) {
  const BitCheck check = checked(limits_with(), {.outputs_min = 1, .outputs_multiple = 1});
  EXPECT_TRUE(check.same);
  EXPECT_EQ(check.rules.rows_multiple, 32);
  EXPECT_EQ(check.rules.outputs_min, 32);
  EXPECT_TRUE(check.rules.short_decodes);
  EXPECT_EQ(check.rules.short_rows_max(), 32);
}

TEST(BitCheck, ShortDecodesThatMoveWithTheirRowsAreNotUsed) {
  const BitCheck check = checked(limits_with(), {.rows_multiple = 1, .outputs_min = 1, .outputs_multiple = 1});
  EXPECT_TRUE(check.same);  // the full ones hold
  EXPECT_EQ(check.rules.rows_multiple, 1);
  EXPECT_FALSE(check.rules.short_decodes);
  EXPECT_EQ(check.rules.short_rows_max(), 0);
}

// What is found when bits move with the number of rows that are read, except for numbers that are `harmless` in a
// decode of so many rows.
BitCheck checked_outputs(const std::function<bool(int outputs, std::size_t rows)>& harmless) {
  FakeDecoder decoder(limits_with());
  int outputs = 0;
  std::size_t decoded = 0;
  decoder.on_decode = [&](int, std::span<const BatchRow> rows) {
    outputs = static_cast<int>(std::count_if(rows.begin(), rows.end(), [](const BatchRow& row) { return row.output; }));
    decoded = rows.size();
    return Status();
  };
  decoder.on_logits = [&](const Tokens&, std::vector<float>& logits) {
    if (!harmless(outputs, decoded)) logits[5] += static_cast<float>(outputs) / 1024;
  };
  const Result<BitCheck> check = check_bits(decoder);
  EXPECT_TRUE(check.ok());
  EXPECT_EQ(decoder.faults(), std::vector<std::string>());
  return check.ok() ? *check : BitCheck{};
}

TEST(BitCheck, RowsThatAreReadMayNeedCompanyToo) {
  const BitCheck two = checked_outputs([](int outputs, std::size_t) { return outputs > 1; });
  EXPECT_TRUE(two.same);
  EXPECT_EQ(two.rules.outputs_min, 2);
  EXPECT_EQ(two.rules.outputs_multiple, 1);
  EXPECT_EQ(two.rules.rows_multiple, 1);
  const BitCheck groups =
      checked_outputs([](int outputs, std::size_t) { return outputs % BitRules().outputs_multiple == 0; });
  EXPECT_TRUE(groups.same);
  EXPECT_EQ(groups.rules.outputs_min, BitRules().outputs_min);
  EXPECT_EQ(groups.rules.outputs_multiple, BitRules().outputs_multiple);
  EXPECT_TRUE(groups.rules.short_decodes);
  EXPECT_FALSE(checked_outputs([](int, std::size_t) { return false; }).same);
}

TEST(BitCheck, ShortDecodesThatMoveWithTheRowsReadAreNotUsed) {
  const BitCheck check = checked_outputs([](int, std::size_t rows) { return rows >= 64; });
  EXPECT_TRUE(check.same);
  EXPECT_EQ(check.rules.rows_multiple, 1);
  EXPECT_FALSE(check.rules.short_decodes);
}

TEST(BitCheck, ShortDecodesThatMoveAreNotUsedInWholeGroupsEither) {
  FakeDecoder decoder(limits_with());
  decoder.layout_moves_bits = true;
  std::size_t decoded = 0;
  float step = 0;
  decoder.on_decode = [&](int, std::span<const BatchRow> rows) {
    decoded = rows.size();
    return Status();
  };
  decoder.on_logits = [&](const Tokens&, std::vector<float>& logits) {
    if (decoded < 64) logits[3] += step += 1.0F / 1024;
  };
  const Result<BitCheck> check = check_bits(decoder);
  ASSERT_TRUE(check.ok());
  EXPECT_TRUE(check->same);
  EXPECT_EQ(check->rules.rows_multiple, 32);
  EXPECT_FALSE(check->rules.short_decodes);
}

// Full decodes would hold with one row that is read; two are the cheaper rule when they allow few rows.
TEST(BitCheck, TwoRowsAreReadWhereFewRowsWantThem) {
  const BitCheck check = checked_outputs([](int outputs, std::size_t rows) { return rows >= 64 || outputs > 1; });
  EXPECT_TRUE(check.same);
  EXPECT_EQ(check.rules.rows_multiple, 1);
  EXPECT_EQ(check.rules.outputs_min, 2);
  EXPECT_EQ(check.rules.rows_min, 2);
}

TEST(BitCheck, EachRuleThatIsNotKeptIsFound) {
  const std::vector<BitRules> real = {{.tile_cells = 128},   {.page_cells = 32},  {.rows_min = 128},
                                      {.rows_multiple = 64}, {.outputs_min = 64}, {.outputs_multiple = 64}};
  for (std::size_t i = 0; i < real.size(); i++) {
    const BitCheck check = checked(limits_with(), real[i]);
    EXPECT_FALSE(check.same) << i;
    EXPECT_NE(check.note.find("change"), std::string::npos);
  }
}

TEST(BitCheck, BitsThatAlwaysMoveAreNotTheSame) {
  FakeDecoder decoder(limits_with());
  float step = 0;
  decoder.on_logits = [&](const Tokens&, std::vector<float>& logits) { logits.back() += step += 1.0F / 1024; };
  const Result<BitCheck> check = check_bits(decoder);
  ASSERT_TRUE(check.ok());
  EXPECT_FALSE(check->same);
  EXPECT_TRUE(decoder.empty());
}

TEST(BitCheck, OneChangedLogitIsEnough) {
  FakeDecoder decoder(limits_with());
  int reads = 0;
  decoder.on_logits = [&](const Tokens&, std::vector<float>& logits) {
    if (++reads % 3 == 0) logits[17] = std::nextafter(logits[17], 100.0F);
  };
  const Result<BitCheck> check = check_bits(decoder);
  ASSERT_TRUE(check.ok());
  EXPECT_FALSE(check->same);
}

TEST(BitCheck, RecurrentModelsAreTriedInTheStepsThatTheyAreComputedIn) {
  DecoderLimits limits = limits_with();
  limits.whole_sequences_only = true;
  EXPECT_TRUE(checked(limits, {}).same);
  EXPECT_FALSE(checked(limits, {.short_decodes = true}).rules.short_decodes);
  FakeDecoder decoder(limits);
  float step = 0;
  decoder.on_logits = [&](const Tokens&, std::vector<float>& logits) { logits[0] += step += 1.0F / 1024; };
  EXPECT_FALSE(check_bits(decoder)->same);
}

TEST(BitCheck, WithoutAPlaceForRowsNothingIsTried) {
  DecoderLimits limits = limits_with();
  limits.places_rows = false;
  FakeDecoder decoder(limits);
  const Result<BitCheck> check = check_bits(decoder);
  ASSERT_TRUE(check.ok());
  EXPECT_FALSE(check->same);
  EXPECT_NE(check->note.find("llama.cpp itself"), std::string::npos);
  EXPECT_EQ(decoder.decodes(), 0);
}

TEST(BitCheck, AContextThatIsTooSmallIsNotVouchedFor) {
  DecoderLimits limits = limits_with();
  limits.cells = 1024;
  FakeDecoder decoder(limits);
  const Result<BitCheck> check = check_bits(decoder);
  ASSERT_TRUE(check.ok());
  EXPECT_FALSE(check->same);
  EXPECT_EQ(decoder.decodes(), 0);
}

TEST(BitCheck, TheSmallestThatIsTriedKeepsToTheDecodersLimits) {
  DecoderLimits limits = limits_with();
  limits.cells = 2048;
  limits.batch_rows_max = 128;
  limits.output_rows_max = 64;
  limits.sequences_max = 2;
  EXPECT_TRUE(checked(limits, {}).same);
}

TEST(BitCheck, AFailedDecodeIsAnError) {
  FakeDecoder decoder(limits_with());
  decoder.on_decode = [](int number, std::span<const BatchRow>) {
    return number == 3 ? Status(Error{ErrorCode::kInternal, "played", ""}) : Status();
  };
  EXPECT_EQ(check_bits(decoder).error().code, ErrorCode::kInternal);
}

}  // namespace
}  // namespace assay::engine
