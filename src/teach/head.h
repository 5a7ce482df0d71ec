#pragma once
// Linear heads in closed form, and what each row would have got from the head fitted without it.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "assay/error.h"

namespace assay::teach {

// kLda: linear discriminant analysis. With m_k the mean of class k, S the scatter sum (x - m_k)(x - m_k)' within the
// classes, n rows of d numbers, and mu = trace(S) / (n d):
//
//   C = (1 - s) S / n + s mu I,   score_k = m_k' C^-1 x - m_k' C^-1 m_k / 2 + ln(n_k / n) + e / (2 n_k)
//
// with e = trace(C^-1 S / n), the numbers that count: a mean of n_k rows lies farther from a row of its class than the
// true mean does, by e / n_k in squared distance on average, so without the last term classes with few labels would
// hardly ever be chosen (Moran and Murphy 1979 correct two classes so). Where all n_k are equal it changes nothing.
// x and m_k are less the mean of all rows, and s, the shrinkage, lies in [0, 1]; where each class's rows are all equal
// (one row each, say), C is I: the nearest mean.
// kRidge: least squares on one-hot targets, W = (X'X + lambda I)^-1 X'Y with X and Y less their means; lambda is
// `regularisation` times d, so that one number suits all widths.
enum class HeadMethod { kLda, kRidge };
const char* head_method_name(HeadMethod method);  // "lda", "ridge"

// In the place of a shrinkage: Ledoit and Wolf's (2004) formula, on what the rows differ from their classes' means by.
inline constexpr double kLedoitWolf = -1;

struct FittedHead {
  std::vector<double> weights;  // classes * width
  std::vector<double> bias;     // classes
  double regularisation = 0;    // as given, or what the formula gave
  double effective_width = 0;   // e, of kLda
  double lambda = 0;            // n s mu / (1 - s), of kLda where a class has rows that differ; else 0
};

// Fits heads of several kinds to the same rows. What does not depend on the kind is computed once: the scatter
// (width * width) or, where there are fewer rows than numbers, the products of all rows with each other (rows * rows).
// Immutable after construction. Memory: 8 bytes for each of rows * width + min(rows, width)^2, twice while fitting.
class HeadFitter {
 public:
  // `x` holds the prepared numbers row after row (features.h), `classes` a class for each row.
  // REQUIRES: width > 0, rows, finite numbers; classes are 0 .. class_count - 1, each with a row.
  HeadFitter(const std::vector<double>& x, std::size_t width, std::vector<std::size_t> classes);
  ~HeadFitter();
  HeadFitter(const HeadFitter&) = delete;
  HeadFitter& operator=(const HeadFitter&) = delete;

  std::size_t class_count() const;
  // Ledoit and Wolf's shrinkage, in [0, 1].
  double formula_shrinkage() const;

  // Errors: kInvalidArgument for a regularisation outside its range (a shrinkage in [0, 1] or kLedoitWolf, a lambda
  // above 0), or too small for these rows (the system has no solution).
  Result<FittedHead> fit(HeadMethod method, double regularisation) const;

  // rows * class_count scores: row i's are those of the head fitted without row i. Exact and in closed form, at the
  // price of about one fit: leaving a row out changes S (and X'X) by one product of a vector with itself, so the
  // Sherman-Morrison formula gives what it does to the scores (for ridge the hat matrix). Held fixed, as if known
  // before: the preparation and the means over all rows, the class shares n_k / n, and lambda (of LDA: n s mu / (1 -
  // s)). A row that is alone in its class gets zeros: without it the class has no score. Errors as fit().
  Result<std::vector<double>> leave_one_out(HeadMethod method, double regularisation) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::teach
