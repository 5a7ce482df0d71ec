#pragma once
// Which head, over which cues: what answers best the rows that it was not fitted on.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "assay/error.h"
#include "assay/lesson.h"

namespace assay::teach {

// A labelled state: its hidden states by cue.
struct HeadRow {
  std::size_t option = 0;
  // The option's own words in the place of a state: always trained on, never tested.
  bool words = false;
  std::vector<std::vector<float>> by_cue;
};

// A head as it did on rows left out.
struct HeadTrial {
  std::string method;
  double regularisation = 0;
  std::vector<std::size_t> cues;  // indexes, rising
  bool normalised = false;
  double accuracy = 0;
};

struct HeadChoice {
  LinearHead head;                          // fitted on all rows; `cues` is the caller's to fill
  std::vector<std::size_t> cues;            // that it is over
  std::vector<std::vector<double>> scores;  // by row, of the head fitted without it; empty for words
  double accuracy = 0;                      // of these
  std::vector<HeadTrial> tried;             // the best first
};

struct ChoiceSettings {
  std::string method = "auto";  // "auto", "lda", "ridge"
  bool pairs = true;            // two cues joined are tried, too
};

// Tries each cue alone and then the best one joined with each other, with both methods and several regularisations,
// each by leaving out one row after another (head.h: closed form). The most accurate wins, of equals the narrower, then
// the one tried first. Errors: kInvalidArgument for rows that do not fit each other, an option without any row, or no
// row that can be tested.
Result<HeadChoice> choose_head(std::span<const HeadRow> rows, std::size_t option_count, const ChoiceSettings& settings);

// The one that a trial names, fitted on all rows. Errors: as of choose_head().
Result<LinearHead> fit_head(std::span<const HeadRow> rows, std::size_t option_count, const HeadTrial& trial);

}  // namespace assay::teach
