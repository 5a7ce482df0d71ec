#pragma once
// A tree of tokens: what a job asks the model to read. Paths that begin alike share their rows, so a state that several
// questions share, a question that its options share, and options that begin alike are each computed once.
//
//   row 0 "State"          add_path({State, :, red})   -> 2
//   row 1   ":"            add_path({State, :, blue})  -> 3      rows 0 and 1 are shared
//   row 2     "red"
//   row 3     "blue"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace assay::engine {

using TokenId = std::int32_t;
using Tokens = std::vector<TokenId>;

// A value. Rows are in topological order: a parent stands before its children.
class TokenTree {
 public:
  static constexpr std::int32_t kRoot = -1;

  struct Row {
    TokenId token = 0;
    std::int32_t parent = kRoot;
    std::int32_t position = 0;  // distance from the root: 0 for a first token
  };

  // Adds what is missing of `tokens` below `parent` and returns the row of its last token (`parent` itself when empty).
  std::int32_t add_path(std::span<const TokenId> tokens, std::int32_t parent = kRoot);

  const std::vector<Row>& rows() const { return rows_; }
  std::size_t size() const { return rows_.size(); }
  // Children of a row (or of kRoot), in the order added.
  std::vector<std::int32_t> children(std::int32_t row) const;
  // The tokens from the root to `row`.
  Tokens path(std::int32_t row) const;

 private:
  std::int32_t find_child(std::int32_t parent, TokenId token) const;

  std::vector<Row> rows_;
  std::vector<std::int32_t> first_child_;   // by row; -1: none
  std::vector<std::int32_t> next_sibling_;  // by row
  std::vector<std::int32_t> last_child_;
  std::int32_t root_first_ = -1;
  std::int32_t root_last_ = -1;
};

}  // namespace assay::engine
