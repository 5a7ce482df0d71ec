#pragma once
// From which confidence on a machine may act, with a guarantee that holds for the number of labels that there are.
//
// Learn then Test (Angelopoulos, Bates, Candès, Jordan and Lei 2021, arXiv 2110.01052) with fixed-sequence testing.
// "The answers with a confidence of at least t are wrong more often than `risk`" is a hypothesis for each threshold t
// of a grid; they are tested from high to low at 1 - level, each only if the one before was rejected, and the last that
// is rejected is the threshold. The p-value is the exact binomial tail P(Bin(acted, risk) <= wrong), the one behind
// Clopper and Pearson's (1934) upper limit. The top of risk.cc says why this holds though `acted` is random.
//
// That speaks of the long run: of how often such answers are wrong, not of how many of the next hundred will be, which
// chance has a part in as well. With a horizon N it is the next N answers acted on that are spoken of: with probability
// `level` over the labels and those answers together, at most risk * N of them are wrong. The p-value is then the exact
// tail of their number, next_tail(): labels and answers to come in random order, a finite population. The threshold is
// higher, the more so the smaller N is. The top of risk.cc has the proof.
//
// What it takes: the rows are a random sample of what will be asked, the confidences were made without their own
// labels (out of fold), and the truth stays what it was; drift.h watches the last. Pure functions: any thread.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "assay/error.h"
#include "assay/lesson.h"

namespace assay::teach {

// A labelled answer.
struct RiskRow {
  double confidence = 0;     // in [0, 1]
  std::size_t answered = 0;  // the option that it chose, an index into RiskSettings::options
  bool right = false;
};

struct RiskSettings {
  double risk = 0.05;      // in (0, 1): of the answers acted on, so many may be wrong
  double level = 0.9;      // in (0, 1): with what probability over the labels
  bool by_option = false;  // a threshold for each option, of the answers that chose it; else one for all answers
  std::vector<std::string> options;  // ids; may be empty unless by_option
  std::size_t horizon = 0;           // at most kHorizonMax; 0: the long run; N: the next N answers acted on
};

// More answers to come than this are the long run.
inline constexpr std::size_t kHorizonMax = 1000000;

// One threshold, or one for each option in their order. By option, each of K is tested at 1 - (1 - level) / K
// (Bonferroni), so all of them hold together with probability `level`, which is what Threshold::level says; `coverage`
// and `rows` are then of the answers that chose the option. Where nothing was rejected, `value` is absent, coverage and
// error are 0, and rows_missing is about how many more rows like these would let a threshold pass; 0 says that more
// would not help, as even the surest answers (10 at least, where there are so many) are wrong more often than `risk`.
// A threshold is a number of the grid, a round one; rows equal to it are acted on.
// With a horizon and by_option, N are the next N answers acted on that chose the option.
// Errors: kInvalidArgument for risk or level outside (0, 1) (field "risk", "level"), a horizon above kHorizonMax
// ("horizon"), by_option without options ("options"), an option outside of them ("rows[i].answered"), a confidence that
// is NaN or outside [0, 1]
// ("rows[i].confidence").
Result<std::vector<Threshold>> find_thresholds(std::span<const RiskRow> rows, const RiskSettings& settings);

// P(Bin(count, probability) <= successes), to a relative 1e-9 or an absolute 1e-12. REQUIRES: probability in (0, 1).
double binomial_tail(std::size_t successes, std::size_t count, double probability);

// `wrong` of `acted` labelled answers are wrong, and of the next `horizon` answers one more than are allowed would be,
// k of them: the smallest k with k / horizon > risk. Were these wrong + k errors spread over acted + horizon answers by
// chance, this is how likely it is that at most `wrong` of them fall on the labelled ones:
//
//   P(H <= wrong),  H hypergeometric: of acted + horizon answers wrong + k are wrong, and `acted` are drawn.
//
// It is the same number as P(B >= k) with B beta-binomial of (horizon, wrong + 1, acted - wrong), rises with `wrong`,
// falls with `acted`, and becomes binomial_tail(wrong, acted, risk) as the horizon grows. To a relative 1e-7 or an
// absolute 1e-10. REQUIRES: wrong <= acted, risk in (0, 1), horizon in 1 .. kHorizonMax.
double next_tail(std::size_t wrong, std::size_t acted, double risk, std::size_t horizon);

// With fewer rows than this not even an unbroken row of right answers passes: ln(1 - level) / ln(1 - risk), rounded up;
// with a horizon, what next_tail() asks for. REQUIRES: both in (0, 1), horizon <= kHorizonMax.
std::size_t fewest_rows(double risk, double level, std::size_t horizon = 0);

}  // namespace assay::teach
