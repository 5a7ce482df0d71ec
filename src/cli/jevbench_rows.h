#pragma once
// JevBench's question object: {"type": "noul|choice|score", "instructions", "criteria"} beside the record's `labels`.

#include "assay/decision.h"
#include "assay/error.h"
#include "assay/value.h"
#include "cli/rows.h"

namespace assay::cli {

// Fills `question` from a record whose `question` is an object.
//   noul:   yes_no with the options no, yes (the order of its labels); criteria.false and criteria.true describe them
//   choice: choice with one option for each criterion in the asked order; without criteria, one for each label
//   score:  scale with the ids "0".."k-1"; the criteria array's texts describe them
Status read_jevbench_question(const Value& record, OptionOrder order, Question& question);

}  // namespace assay::cli
