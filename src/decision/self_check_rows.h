#pragma once
// A few dozen tiny decisions with known answers: what the check at load asks a model (docs/readouts.md).

#include <cstddef>
#include <span>
#include <vector>

#include "assay/decision.h"

namespace assay::decision {

struct SelfCheckRow {
  const char* state;
  QuestionType type;
  const char* question;
  std::vector<Option> options;
  std::size_t expected;  // index into options
};

// The built-in check's rows: written for this purpose, answers known, gold positions balanced.
std::span<const SelfCheckRow> self_check_rows();

}  // namespace assay::decision
