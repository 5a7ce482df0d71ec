#pragma once
// How often the answer given is right, by how far its probability stands above guessing.
//
// Of an answer with probability c among k options the evidence is e = ln(c / (1 - c)) + ln(k - 1): 0 where c = 1 / k,
// so that answers with few and many options can be held against each other. Two numbers say what it is worth:
//
//   c' = 1 / (1 + exp(-(slope * e - ln(k - 1) + shift)))
//
// which is Platt scaling (Platt 1999) of the highest probability with guessing as its offset. Slope 1 and shift 0
// change nothing; slope 0 and shift 0 are guessing; a slope of 0 alone is one share of right answers for each k, which
// is all that is to be had from a model whose evidence says nothing. One temperature cannot say that: it flattens an
// answer only together with all that is right in it.

#include <cstddef>
#include <span>

namespace assay::teach {

struct Sureness {
  double slope = 1;  // at least 0, so that more evidence never means less
  double shift = 0;
};

// Evidence beyond this counts as this.
inline constexpr double kEvidenceMax = 30;

// The evidence of the best of these scores, in 0 .. kEvidenceMax. REQUIRES: at least two finite scores.
double evidence_of(std::span<const double> scores);

// c' of this evidence among so many options, within 1 / option_count and 1: an answer that is wrong more often than
// guessing would still be given, so it has no less than guessing has. REQUIRES: option_count > 1.
double sure_probability(const Sureness& sureness, double evidence, std::size_t option_count);

struct SurenessRow {
  double evidence = 0;  // as evidence_of() has it
  std::size_t options = 2;
  bool right = false;
};

// How firmly a fit is held at its parent: so many rows' worth of belief, roughly, in either number.
struct SurenessPrior {
  Sureness parent;
  double slope_weight = 4;  // at least 0
  double shift_weight = 1;  // at least 0
};

// The slope and shift that make
//
//   sum over rows of -ln P(right or wrong as it was)  +  slope_weight / 2 (slope - parent.slope)^2
//                                                     +  shift_weight / 2 (shift - parent.shift)^2
//
// smallest, with slope >= 0: two numbers of a convex function, by Newton's steps, halved where they go too far. Without
// rows it is the parent. Where the weights are 0 and nothing holds the numbers (all right, say), what is reached after
// 100 steps.
Sureness fit_sureness(std::span<const SurenessRow> rows, const SurenessPrior& prior);

}  // namespace assay::teach
