#pragma once
// A head that learns one label at a time.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "assay/error.h"
#include "assay/lesson.h"
#include "teach/cross_validate.h"

namespace assay::teach {

// LDA (head.h) kept in a form that takes a row in at the price of a few products with vectors: a label more changes the
// scatter S by one product of a vector with itself, so that P = (S + lambda I)^-1 changes by one too, and with it
// everything that the weights are made of. Exact, not approximate: after any number of rows head() is what HeadFitter
// gives for all of them, with the preparation and lambda held as open() found them (so the shrinkage falls slowly as
// rows come: s = lambda / (lambda + n mu)). These suit the rows less and less, so refit_due() says when to open anew.
//
//   auto teacher = LdaTeacher::open(rows, {0}, 0.7);
//   (*teacher)->add(row);
//   LinearHead head = (*teacher)->head();      // sharpen() it and set its prior weight as choose_head() found them
//
// One thread. Memory: 8 bytes for each of width^2 or, where open() has fewer rows than numbers, (rows + width) * rows.
class LdaTeacher {
 public:
  // REQUIRES: rows that choose_head() takes; cues rising.
  // Errors: kInvalidArgument for a shrinkage outside (0, 1) (kLedoitWolf is taken too), or rows that have no spread
  // within any option: such a head is fitted anew with each label, which costs next to nothing.
  static Result<std::unique_ptr<LdaTeacher>> open(std::span<const TeachingRow> rows, std::vector<std::size_t> cues,
                                                  double shrinkage, bool normalise = true);
  // The same with the standardisation and lambda of a head that was fitted before (LinearHead::lambda), to whatever
  // rows: so head() continues that one. Errors as above, and kInvalidArgument for rows that choose_head() refuses, and
  // (field "lambda") for a lambda that is no finite number above 0 or a head of another width than the rows'.
  static Result<std::unique_ptr<LdaTeacher>> open_like(std::span<const TeachingRow> rows, std::vector<std::size_t> cues,
                                                       const LinearHead& before);
  ~LdaTeacher();
  LdaTeacher(const LdaTeacher&) = delete;
  LdaTeacher& operator=(const LdaTeacher&) = delete;

  // Takes a row in; its option may be new. Errors: kInvalidArgument for numbers that do not fit or are not finite.
  Status add(const TeachingRow& row);
  // The head of all rows so far, its cues left empty, its sharpness 1.
  LinearHead head() const;

  std::size_t row_count() const;
  double shrinkage() const;  // of the rows so far
  // A quarter more rows than open() had.
  bool refit_due() const;
  std::size_t bytes() const;  // of memory that the numbers take

 private:
  class Impl;
  explicit LdaTeacher(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay::teach
