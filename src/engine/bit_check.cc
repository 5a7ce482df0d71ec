#include "engine/bit_check.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace assay::engine {
namespace {

constexpr std::int32_t kPrefixRows = 50;
constexpr std::int32_t kShortPrefixRows = 21;  // with the tail a short decode under the strictest rules
constexpr std::int32_t kTailRows = 11;
constexpr SequenceId kPath = 0;
constexpr SequenceId kOthers = 1;

// Where the path's two segments lie and what stands beside them.
struct Trial {
  std::int32_t prefix_tile = 1;
  std::int32_t tail_tile = 2;
  std::int32_t tail_page = 0;
  bool in_two = false;             // the prefix in a decode of its own
  std::int32_t others_before = 0;  // rows in front of the path's in the batch
  std::int32_t more_rows = 0;      // above the least number that a batch has
  std::int32_t more_outputs = 0;   // rows that are read besides the path's last one, half of them before it
  bool is_short = false;           // in short decodes
  bool last_alone = false;         // the path's last row in a decode of its own
};

class Trials {
 public:
  explicit Trials(Decoder& decoder) : decoder_(decoder), limits_(decoder.limits()) {}

  // The bits of all logits after the path's last row.
  Result<std::vector<std::uint32_t>> run(const Trial& trial, const BitRules& rules) {
    decoder_.reset();
    batch_.clear();
    others_ = 0;
    read_ = static_cast<std::size_t>(-1);
    add_others(trial.others_before);
    const std::int32_t prefix = trial.is_short ? kShortPrefixRows : kPrefixRows;
    add_path(0, prefix, trial.prefix_tile * rules.tile_cells);
    if (trial.in_two) {
      if (Status status = decode(trial, rules); !status.ok()) return status.error();
      add_others(trial.others_before);
    }
    const Cell tail = trial.tail_tile * rules.tile_cells + trial.tail_page * rules.page_cells;
    add_path(prefix, kTailRows - 1, tail);
    if (trial.last_alone) {
      if (Status status = decode(trial, rules); !status.ok()) return status.error();
    }
    add_path(prefix + kTailRows - 1, 1, tail + kTailRows - 1);
    read_ = batch_.size() - 1;
    const std::size_t read = read_;
    if (Status status = decode(trial, rules); !status.ok()) return status.error();
    std::vector<std::uint32_t> bits;
    for (const float logit : decoder_.logits(read)) bits.push_back(std::bit_cast<std::uint32_t>(logit));
    return bits;
  }

 private:
  TokenId token(std::int32_t number) const {
    return static_cast<TokenId>((number * 7919 + 13) % limits_.vocabulary_tokens);
  }

  void add_path(std::int32_t from, std::int32_t rows, Cell cell) {
    for (std::int32_t i = 0; i < rows; i++)
      batch_.push_back({.token = token(from + i), .position = from + i, .cell = cell + i, .sequences = {kPath}});
  }
  // A sequence of its own in the last tiles.
  void add_others(std::int32_t rows) {
    for (std::int32_t i = 0; i < rows; i++, others_++) {
      batch_.push_back({.token = token(5000 + others_),
                        .position = others_,
                        .cell = limits_.cells - 1024 + others_,
                        .sequences = {kOthers}});
    }
  }
  static std::int32_t rounded(std::int32_t count, std::int32_t least, std::int32_t multiple) {
    return (std::max(count, least) + multiple - 1) / multiple * multiple;
  }

  Status decode(const Trial& trial, const BitRules& rules) {
    if (!limits_.whole_sequences_only) {
      const auto rows = static_cast<std::int32_t>(batch_.size());
      const std::int32_t least = trial.is_short ? std::max(2, rules.outputs_min) : rules.rows_min;
      const std::int32_t wanted = rounded(rows + trial.more_rows, least, rules.rows_multiple);
      add_others((trial.is_short ? std::max(rows, std::min(wanted, rules.short_rows_max())) : wanted) - rows);
    }
    if (read_ < batch_.size()) mark_outputs(trial, rules);
    Status status = decoder_.decode(batch_, {});
    batch_.clear();
    return status;
  }

  void mark_outputs(const Trial& trial, const BitRules& rules) {
    batch_[read_].output = true;
    if (limits_.whole_sequences_only) return;
    std::int32_t left = rounded(1 + trial.more_outputs, rules.outputs_min, rules.outputs_multiple) - 1;
    if (trial.is_short) left = std::min(left, rules.short_rows_max() - 1);
    const auto mark = [&](std::size_t from, std::size_t to, std::int32_t most) {
      for (std::size_t i = from; i < to && left > 0 && most > 0; i++) {
        if (batch_[i].output) continue;
        batch_[i].output = true;
        left--;
        most--;
      }
    };
    mark(0, read_, trial.more_outputs / 2);
    mark(read_ + 1, batch_.size(), left);
    mark(0, read_, left);
  }

  Decoder& decoder_;
  const DecoderLimits limits_;
  std::vector<BatchRow> batch_;
  std::size_t read_ = static_cast<std::size_t>(-1);  // the path's last row in the batch
  std::int32_t others_ = 0;
};

// Recurrent models are computed job by job in steps of their own, so only the place may change.
std::vector<Trial> trials_for(const DecoderLimits& limits) {
  if (limits.whole_sequences_only) {
    return {{.in_two = true},
            {.prefix_tile = 2, .tail_tile = 3, .in_two = true},
            {.prefix_tile = 3, .tail_tile = 5, .in_two = true}};
  }
  return {{},
          {.prefix_tile = 2, .tail_tile = 4, .in_two = true, .others_before = 9, .more_rows = 1, .more_outputs = 1},
          {.prefix_tile = 2,
           .tail_tile = 3,
           .tail_page = 1,
           .in_two = true,
           .others_before = 54,
           .more_rows = 1,
           .more_outputs = 40},
          {.prefix_tile = 3, .tail_tile = 4, .others_before = 5, .more_rows = 3, .more_outputs = 6},
          {.prefix_tile = 1, .tail_tile = 5, .others_before = 38, .more_rows = 0, .more_outputs = 2}};
}

// The same for short decodes; under the strictest rules each is as long as such a one can be.
std::vector<Trial> short_trials() {
  return {{.is_short = true},
          {.prefix_tile = 2, .tail_tile = 4, .in_two = true, .more_outputs = 1, .is_short = true},
          {.prefix_tile = 2, .tail_tile = 3, .tail_page = 1, .in_two = true, .more_rows = 9, .is_short = true},
          {.prefix_tile = 3, .tail_tile = 6, .more_rows = 30, .more_outputs = 20, .is_short = true}};
}

// Full decodes of few rows and of many, for rules under which any number will do.
std::vector<Trial> any_rows_trials(const DecoderLimits& limits) {
  std::vector<Trial> trials = trials_for(limits);
  trials.push_back({.prefix_tile = 2, .tail_tile = 4, .last_alone = true});
  trials.push_back({.prefix_tile = 3, .tail_tile = 6, .in_two = true, .more_outputs = 1, .last_alone = true});
  trials.push_back({.others_before = std::min(limits.batch_rows_max, 512) - kPrefixRows - kTailRows});
  return trials;
}

// From cheap to dear: none; two rows at least where one row has a kernel of its own; whole groups where kernels take
// rows in groups. llama.cpp's K-quant kernels take windows of 256 rows and go another way when a window has 16 or
// fewer, packed ones take rows in fours: a multiple of 32 keeps both on one way.
std::vector<BitRules> rules_to_try(const BitRules& rules) {
  BitRules none = rules;
  none.rows_multiple = 1;
  none.outputs_min = 1;
  none.outputs_multiple = 1;
  BitRules two = none;
  two.outputs_min = 2;
  BitRules groups = rules;
  groups.rows_multiple = 32;
  groups.outputs_min = 32;
  groups.outputs_multiple = 32;
  return {none, two, groups};
}

Result<bool> same_bits(Trials& trials, const std::vector<Trial>& list, const BitRules& rules) {
  std::vector<std::uint32_t> first;
  for (const Trial& trial : list) {
    const Result<std::vector<std::uint32_t>> bits = trials.run(trial, rules);
    if (!bits.ok()) return bits.error();
    if (first.empty()) first = *bits;
    if (*bits != first) return false;
  }
  return true;
}

}  // namespace

Result<BitCheck> check_bits(Decoder& decoder) {
  Trials trials(decoder);
  const DecoderLimits limits = decoder.limits();
  BitCheck check;
  if (!limits.places_rows) {
    check.note = "llama.cpp itself decides where the rows of this kind of model lie";
    return check;
  }
  if (limits.cells < 2048 || limits.batch_rows_max < 128) {
    check.note = "the context is too small to try";
    return check;
  }
  for (BitRules rules : rules_to_try(limits.rules)) {
    const Result<bool> full = same_bits(trials, trials_for(limits), rules);
    if (!full.ok()) return full.error();
    check.same = *full;
    if (check.same && !limits.whole_sequences_only) {
      rules.short_decodes = true;
      const Result<bool> in_short = same_bits(trials, short_trials(), rules);
      if (!in_short.ok()) return in_short.error();
      rules.short_decodes = *in_short;
      // Cheaper rules without short decodes are dearer than the next ones with them.
      if (!*in_short && rules.outputs_min == 1) continue;
    }
    if (check.same && !limits.whole_sequences_only && rules.rows_multiple == 1) {
      BitRules any = rules;
      any.rows_min = 2;  // one row alone has kernels of its own
      any.short_decodes = false;
      const Result<bool> any_rows = same_bits(trials, any_rows_trials(limits), any);
      if (!any_rows.ok()) return any_rows.error();
      if (*any_rows) rules = any;
    }
    check.rules = rules;
    if (check.same) break;
  }
  decoder.reset();
  check.note = check.same ? "tried at start: the same bits alone, moved, in pieces and beside other rows"
                          : "tried at start: bits change with what stands beside a row on this machine";
  return check;
}

}  // namespace assay::engine
