#pragma once
// What one sequence of the fake decoder holds, and what that does to the last bits of its rows.

#include <cstdint>
#include <vector>

#include "engine/decoder.h"

namespace assay::engine::testing {

struct FakeSequence {
  struct Held {
    TokenId token = 0;
    Cell cell = 0;
    std::uint64_t bits = 0;  // of the shape of the decode that computed it
  };
  std::vector<Held> rows;
  std::uint64_t sum = 0;  // of tokens and cells: equal for equal rows

  void push(const Held& held) {
    rows.push_back(held);
    sum = (sum ^ static_cast<std::uint64_t>(held.token + 1)) * 1099511628211ULL;
    sum = (sum ^ static_cast<std::uint64_t>(held.cell + 1)) * 1099511628211ULL;
  }
  Tokens path() const {
    Tokens tokens;
    for (const Held& held : rows) tokens.push_back(held.token);
    return tokens;
  }
  bool rises() const {
    for (std::size_t i = 1; i < rows.size(); i++) {
      if (rows[i].cell <= rows[i - 1].cell) return false;
    }
    return true;
  }
  // How the cells fall into tiles and pages, and how the rows were computed.
  std::uint64_t layout(const BitRules& rules) const {
    std::uint64_t layout = 0;
    Cell last = -1;
    for (const Held& held : rows) {
      const bool same_tile = last >= 0 && last / rules.tile_cells == held.cell / rules.tile_cells;
      layout = (layout ^ (same_tile ? 1U : 2U) ^ (held.bits << 8U)) * 1099511628211ULL;
      layout = (layout ^ static_cast<std::uint64_t>(held.cell % rules.page_cells)) * 16777619ULL;
      last = held.cell;
    }
    return layout ^ layout >> 29U;
  }
};

// The logits that a row with these tokens up to and including itself gets. In [-4, 4).
inline std::vector<float> fake_logits(const Tokens& path, std::int32_t vocabulary_tokens) {
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

}  // namespace assay::engine::testing
