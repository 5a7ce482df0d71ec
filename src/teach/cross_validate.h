#pragma once
// Which head, on which cues, for these labels: chosen by what each row gets from the head fitted without it.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "assay/error.h"
#include "assay/lesson.h"
#include "teach/head.h"

namespace assay::teach {

struct TeachingRow {
  std::size_t option = 0;     // the right one
  bool always_train = false;  // an option's own words, say: every head is fitted with it, none tested on it
  std::vector<std::vector<float>> by_cue;   // hidden states: cue c has the same width in all rows
  std::vector<double> zero_shot_log_probs;  // one for each option; empty in all rows, or in always_train rows only
};

struct ChoiceSettings {
  std::optional<HeadMethod> method;      // absent: both are tried
  std::optional<double> regularisation;  // absent: a grid; REQUIRES method
  std::optional<double> prior_weight;    // absent: 0, 0.25, 0.5 and 1 are tried
  bool join_cues = true;                 // try each two cues together
  bool normalise = true;                 // LinearHead::normalised
  std::uint64_t seed = 1;                // of the sample that is searched where there are more rows
  std::size_t search_rows_max = 2000;
  std::size_t threads = 1;  // so many heads are tried at once; the result is the same with any number
};

// A head that was tried, with what its left-out rows got.
struct TriedHead {
  std::vector<std::size_t> cues;
  HeadMethod method = HeadMethod::kLda;
  double regularisation = 0;  // what LinearHead has, the formula's shrinkage already put in
  double accuracy = 0;
  double log_loss = 0;  // at the temperature that suits it best
};

struct HeadChoice {
  // Fitted to all rows, and sharpened so that softmax makes probabilities of its scores, as far as the rows left out
  // tell; its cues are left empty.
  LinearHead head;
  std::vector<std::size_t> cues;  // which of the rows' cues it is on: one or two, rising
  // False: too few rows could be tested (below 10), so the head is the default: the first cue, lda with shrinkage 0.7
  // where a class has two rows, else ridge with 1, prior weight 0.25 where there are zero-shot probabilities.
  bool measured = false;
  std::vector<TriedHead> tried;
  // For each row what head_scores() would give it with the head fitted without it. Empty: the row cannot be tested,
  // because it is always_train or its option has no other row.
  std::vector<std::vector<double>> scores;
  std::size_t rows_tested = 0;
  double accuracy = -1;            // of the rows tested; -1: none
  double accuracy_error = 0;       // standard error of it: sqrt(a (1 - a) / rows)
  double accuracy_zero_shot = -1;  // of the same rows; -1: none, or no zero-shot probabilities
};

// Tries the heads on each cue and on each two cues joined, and takes the one with the smallest log-loss over the rows
// left out one by one (HeadFitter::leave_one_out; nothing of it is drawn by chance). What costs more at each answer
// must earn it: a pair of cues replaces the best single one, and a prior weight other than 0 (which needs the zero-shot
// readout too) is taken, only where it lowers the log-loss by more than two standard errors of the difference and does
// not lower the accuracy. With fewer than three rows to an option on average, lda alone is tried, with a shrinkage of
// 0.7 and 0.9 and a prior weight of at most 0.25, and another cue than the first has to earn it, too. With more than
// search_rows_max rows, a sample of them stratified by option is searched, and the chosen head's scores are of all
// rows.
//
// The same rows and settings give the same result, with any number of threads.
// Options without any row get what head_scores() gives them.
// Errors: kInvalidArgument naming the row ("rows[3].option") or the setting: rows that do not fit each other, numbers
// that are not finite, labels for fewer than two options, options without rows and no zero-shot probabilities.
Result<HeadChoice> choose_head(std::span<const TeachingRow> rows, std::size_t option_count,
                               const ChoiceSettings& settings = {});

// The head on these cues fitted to all rows, its cues left empty. REQUIRES: rows that choose_head() takes; cues rising.
// Errors: as HeadFitter::fit().
Result<LinearHead> fit_head(std::span<const TeachingRow> rows, const std::vector<std::size_t>& cues, HeadMethod method,
                            double regularisation, double prior_weight, bool normalise = true);

// The largest prior weight that is tried with so many rows: 0.25 with fewer than three to an option on average, else 1.
double prior_weight_max(std::span<const TeachingRow> rows);

// Multiplies the head's weights and biases, and with them its sharpness.
void sharpen(LinearHead& head, double factor);

}  // namespace assay::teach
