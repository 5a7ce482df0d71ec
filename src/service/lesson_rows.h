#pragma once
// What a lesson can be learnt from: rows that `assay teach` left in the folder, and kept decisions that somebody has
// labelled.

#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "assay/teaching.h"
#include "store/decision_store.h"

namespace assay::service {

// Where rows come from. Refers to what it is given.
struct RowSources {
  const std::string& rows_path;  // lesson_rows_path(); the file may be missing
  store::DecisionStore& store;
  const std::function<Result<Value>(const std::string&)>& parse_json;
};

// Each state once.
struct LabelledRows {
  std::vector<LabelledQuestion> rows;
  std::size_t without_text = 0;          // of them: hidden states are all that there is
  std::size_t left_out = 0;              // labelled decisions of which there is neither
  std::set<std::string> questions = {};  // what the store calls the question, by the orders in which it was labelled
};

// All rows of the lesson's question, whichever order its options were asked in. Where a state's text is not kept, its
// hidden states behind these cues must be. Of two words on one state the later counts, and feedback is later than what
// a lesson began with. Errors: kInvalidArgument, with file and line, for a row that is none or whose label is no
// option; the store's.
Result<LabelledRows> labelled_rows(const RowSources& from, const Question& question,
                                   const std::vector<std::string>& cues, const HiddenStates& kept_states);

// One labelled answer as a row. Nothing: it has no label, or neither text nor hidden states.
std::optional<LabelledQuestion> row_of(const store::AnswerRow& answer, const Question& question,
                                       const std::vector<std::string>& cues, const HiddenStates& kept_states,
                                       const std::function<Result<Value>(const std::string&)>& parse_json);

// What the store calls this question when its options stand in this order; nothing: these are other options. The
// question's words need not be kept there.
std::optional<std::string> stored_fingerprint(const Question& question, const std::vector<Option>& order);

}  // namespace assay::service
