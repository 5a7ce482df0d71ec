#include "teach/lda_teacher.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "teach/features.h"
#include "teach/teaching_rows.h"

// With u what a new row is away from the mean of its class's n rows, S grows by v v', v = u sqrt(n / (n + 1)); so with
// q = P v and g = 1 / (1 + v'q), P becomes P - g q q' (Sherman and Morrison), and
//
//   P m_j  becomes  P m_j - g (q'm_j) q   for every class, and for the row's own, whose mean moves by u / (n + 1),
//          another  g q / (sqrt(n / (n + 1)) (n + 1))  more, because P u is then g q / sqrt(n / (n + 1)).
//
// P itself is kept where the numbers are fewer than the rows. Else what is kept is Z with S = Z'Z, a row for each
// label, and H^-1 = (Z Z' + lambda I)^-1, which grow by a row: P v = (v - Z' H^-1 Z v) / lambda.
namespace assay::teach {
namespace {

using Matrix = Eigen::MatrixXd;
using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXd;
using Index = Eigen::Index;

constexpr double kNoSpread = 1e-12;

// P, applied to vectors and updated.
class Inverse {
 public:
  // Of S + lambda I with S = R'R.
  bool compute(const Rows& residuals, double lambda) {
    lambda_ = lambda;
    primal_ = residuals.cols() <= residuals.rows();
    const Index size = primal_ ? residuals.cols() : residuals.rows();
    Matrix system = Matrix::Zero(size, size);
    if (primal_) {
      system.selfadjointView<Eigen::Lower>().rankUpdate(residuals.transpose());
    } else {
      system.selfadjointView<Eigen::Lower>().rankUpdate(residuals);
      z_ = residuals;
      count_ = size;
    }
    system.diagonal().array() += lambda;
    const Eigen::LLT<Matrix> factor(system);
    if (factor.info() != Eigen::Success) return false;
    inverse_ = factor.solve(Matrix::Identity(size, size));
    // trace P: over the rows it counts what they span, 1 / lambda each for the rest.
    trace_ = inverse_.trace();
    if (!primal_) trace_ += static_cast<double>(residuals.cols() - size) / lambda;
    return true;
  }

  double trace() const { return trace_; }
  std::size_t number_count() const { return static_cast<std::size_t>(inverse_.size() + z_.size()); }

  Vector times(const Vector& v) const {
    if (primal_) return inverse_.selfadjointView<Eigen::Lower>() * v;
    return over(v, inner_of(z_.topRows(count_) * v));
  }

  // S becomes S + v v'. Gives q = P v of before.
  Vector add(const Vector& v) {
    Vector q;
    if (primal_) {
      q = times(v);
    } else {
      const Vector zv = z_.topRows(count_) * v;
      const Vector inner = inner_of(zv);
      q = over(v, inner);
      append(v, inner, v.squaredNorm() + lambda_ - zv.dot(inner));
    }
    const double g = 1 / (1 + v.dot(q));
    if (primal_) inverse_.selfadjointView<Eigen::Lower>().rankUpdate(q, -g);
    trace_ -= g * q.squaredNorm();
    return q;
  }

 private:
  Vector inner_of(const Vector& zv) const {
    return inverse_.topLeftCorner(count_, count_).selfadjointView<Eigen::Lower>() * zv;
  }
  Vector over(const Vector& v, const Vector& inner) const {
    return (v - z_.topRows(count_).transpose() * inner) / lambda_;
  }

  // H grows by a row and a column, of which `schur` is what is new: the inverse of a bordered matrix.
  void append(const Vector& v, const Vector& inner, double schur) {
    if (count_ == z_.rows()) {
      const Index room = count_ + count_ / 4 + 16;
      z_.conservativeResize(room, Eigen::NoChange);
      inverse_.conservativeResize(room, room);
    }
    inverse_.topLeftCorner(count_, count_).selfadjointView<Eigen::Lower>().rankUpdate(inner, 1 / schur);
    inverse_.row(count_).head(count_) = -inner.transpose() / schur;
    inverse_(count_, count_) = 1 / schur;
    z_.row(count_) = v.transpose();
    count_++;
  }

  bool primal_ = true;
  double lambda_ = 1, trace_ = 0;
  Matrix inverse_;  // P or H^-1, lower triangle
  Rows z_;          // the first count_ rows, in the dual form
  Index count_ = 0;
};

}  // namespace

class LdaTeacher::Impl {
 public:
  explicit Impl(std::vector<std::size_t> cues) : cues_(std::move(cues)) {}

  Status open(std::span<const TeachingRow> rows, double shrinkage, bool normalise) {
    const RowSet set(rows);
    const std::vector<float> x = numbers_of(rows);
    how_ = standardisation(x, x.size() / rows.size(), normalise);
    const Rows residuals = take_rows(set, x);
    if (mu() < kNoSpread) return no_spread();
    if (shrinkage == kLedoitWolf) {
      shrinkage = std::clamp(set.fitter(cues_, normalise).formula_shrinkage(), kShrinkageMin, 1 - kShrinkageMin);
    }
    if (!(shrinkage > 0 && shrinkage < 1)) {
      return invalid_argument("regularisation", "the shrinkage of a head that learns must lie between 0 and 1");
    }
    return solve(residuals, static_cast<double>(rows_) * mu() * shrinkage / (1 - shrinkage));
  }

  Status open_like(std::span<const TeachingRow> rows, const LinearHead& before) {
    if (Status whole = check_rows(rows, std::numeric_limits<std::size_t>::max()); !whole) return whole;
    const RowSet set(rows);
    const std::vector<float> x = numbers_of(rows);
    if (x.size() != before.mean.size() * rows.size() || before.scale.size() != before.mean.size()) {
      return invalid_argument("lambda", "the rows are of another width than the head before");
    }
    if (!(before.lambda > 0 && std::isfinite(before.lambda))) {
      return invalid_argument("lambda", "lambda must be a finite number above 0");
    }
    how_ = {.mean = before.mean, .scale = before.scale, .normalised = before.normalised};
    const Rows residuals = take_rows(set, x);
    if (mu() < kNoSpread) return no_spread();
    return solve(residuals, before.lambda);
  }

  Status add(const TeachingRow& row) {
    std::vector<float> x;
    if (Status status = check(row); !status) return status;
    append_numbers(row, x);
    const std::vector<double> z = prepared(x, how_);
    const Vector at = Eigen::Map<const Vector>(z.data(), static_cast<Index>(z.size())) - centre_;
    rows_++;
    const auto place = std::lower_bound(options_.begin(), options_.end(), row.option);
    const auto k = static_cast<Index>(place - options_.begin());
    if (place == options_.end() || *place != row.option) {
      options_.insert(place, row.option);
      insert_class(k, at);
      return {};
    }
    const double n = counts_(k);
    const Vector u = at - means_.row(k).transpose();
    const double share = std::sqrt(n / (n + 1));
    const Vector v = share * u;
    const Vector q = inverse_.add(v);
    const double g = 1 / (1 + v.dot(q));
    solved_ -= (means_ * q) * (g * q.transpose());
    solved_.row(k) += q.transpose() * (g / (share * (n + 1)));
    means_.row(k) += u.transpose() / (n + 1);
    counts_(k) = n + 1;
    scatter_ += v.squaredNorm();
    return {};
  }

  LinearHead head() const {
    LinearHead out;
    out.method = head_method_name(HeadMethod::kLda);
    out.regularisation = shrinkage();
    out.width = how_.mean.size();
    out.mean = how_.mean;
    out.scale = how_.scale;
    out.normalised = how_.normalised;
    out.options = options_;
    out.lambda = lambda_;
    const auto n = static_cast<double>(rows_);
    const double factor = n + lambda_ / mu();  // n / (1 - s)
    const double kept = static_cast<double>(means_.cols()) - lambda_ * inverse_.trace();
    const double effective_width = factor * kept / n;
    const Rows weights = factor * solved_;
    for (Index i = 0; i < weights.size(); i++) out.weights.push_back(static_cast<float>(weights.data()[i]));
    for (Index k = 0; k < means_.rows(); k++) {
      const double own = weights.row(k).dot(means_.row(k)) / 2 + weights.row(k).dot(centre_);
      out.bias.push_back(static_cast<float>(std::log(counts_(k) / n) - own + effective_width / (2 * counts_(k))));
    }
    return out;
  }

  std::size_t row_count() const { return rows_; }
  double shrinkage() const { return lambda_ / (lambda_ + static_cast<double>(rows_) * mu()); }
  bool refit_due() const { return 4 * (rows_ - rows_at_open_) >= rows_at_open_; }
  std::size_t bytes() const {
    return sizeof(double) * (inverse_.number_count() + static_cast<std::size_t>(means_.size() + solved_.size()));
  }

 private:
  std::vector<float> numbers_of(std::span<const TeachingRow> rows) const {
    std::vector<float> x;
    for (const TeachingRow& row : rows) append_numbers(row, x);
    return x;
  }

  // Options, centre, means, counts and scatter, with how_ known. Gives each row less its class's mean.
  Rows take_rows(const RowSet& set, const std::vector<float>& x) {
    options_ = set.options();
    rows_ = set.row_count();
    rows_at_open_ = rows_;
    const std::vector<double> z = prepared(x, how_);
    Rows all = Eigen::Map<const Rows>(z.data(), static_cast<Index>(rows_), static_cast<Index>(how_.mean.size()));
    const auto class_of = [&set](Index i) { return static_cast<Index>(set.classes()[static_cast<std::size_t>(i)]); };
    centre_ = all.colwise().mean();
    all.rowwise() -= centre_.transpose();
    means_ = Rows::Zero(static_cast<Index>(options_.size()), all.cols());
    counts_ = Vector::Zero(means_.rows());
    for (Index i = 0; i < all.rows(); i++) {
      counts_(class_of(i)) += 1;
      means_.row(class_of(i)) += all.row(i);
    }
    means_.array().colwise() /= counts_.array();
    for (Index i = 0; i < all.rows(); i++) all.row(i) -= means_.row(class_of(i));
    scatter_ = all.squaredNorm();
    return all;
  }

  static Error no_spread() {
    return invalid_argument("rows", "no option has two labels that differ, so there is no spread to go by");
  }

  Status solve(const Rows& residuals, double lambda) {
    lambda_ = lambda;
    if (!inverse_.compute(residuals, lambda_)) {
      return invalid_argument("regularisation", "regularisation is too small for these rows: the head has no solution");
    }
    solved_.resize(means_.rows(), means_.cols());
    for (Index k = 0; k < means_.rows(); k++) solved_.row(k) = inverse_.times(means_.row(k).transpose()).transpose();
    return {};
  }

  double mu() const { return scatter_ / (static_cast<double>(rows_) * static_cast<double>(how_.mean.size())); }

  void append_numbers(const TeachingRow& row, std::vector<float>& x) const {
    for (const std::size_t cue : cues_) x.insert(x.end(), row.by_cue[cue].begin(), row.by_cue[cue].end());
  }

  Status check(const TeachingRow& row) const {
    std::size_t width = 0;
    for (const std::size_t cue : cues_) {
      if (cue >= row.by_cue.size()) return invalid_argument("by_cue", "by_cue lacks a cue that the head is on");
      width += row.by_cue[cue].size();
      for (const float value : row.by_cue[cue]) {
        if (!std::isfinite(value)) return invalid_argument("by_cue", "by_cue has a number that is not finite");
      }
    }
    if (width == how_.mean.size()) return {};
    return invalid_argument("by_cue", "by_cue has " + std::to_string(width) + " numbers; the head takes " +
                                          std::to_string(how_.mean.size()));
  }

  // A class of one row: its mean is the row, and S is as it was.
  void insert_class(Index k, const Vector& at) {
    const Index below = means_.rows() - k;
    for (Rows* rows : {&means_, &solved_}) {
      rows->conservativeResize(rows->rows() + 1, Eigen::NoChange);
      rows->bottomRows(below) = rows->middleRows(k, below).eval();
    }
    counts_.conservativeResize(counts_.size() + 1);
    counts_.tail(below) = counts_.segment(k, below).eval();
    means_.row(k) = at.transpose();
    solved_.row(k) = inverse_.times(at).transpose();
    counts_(k) = 1;
  }

  std::vector<std::size_t> cues_;
  Standardisation how_;
  std::vector<std::size_t> options_;  // of each class, rising
  std::size_t rows_ = 0, rows_at_open_ = 0;
  double lambda_ = 0, scatter_ = 0;  // lambda; trace S
  Vector centre_, counts_;
  Rows means_, solved_;  // m_k and P m_k
  Inverse inverse_;
};

LdaTeacher::LdaTeacher(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LdaTeacher::~LdaTeacher() = default;

Result<std::unique_ptr<LdaTeacher>> LdaTeacher::open(std::span<const TeachingRow> rows, std::vector<std::size_t> cues,
                                                     double shrinkage, bool normalise) {
  auto impl = std::make_unique<Impl>(std::move(cues));
  if (Status status = impl->open(rows, shrinkage, normalise); !status) return status.error();
  return std::unique_ptr<LdaTeacher>(new LdaTeacher(std::move(impl)));
}

Result<std::unique_ptr<LdaTeacher>> LdaTeacher::open_like(std::span<const TeachingRow> rows,
                                                          std::vector<std::size_t> cues, const LinearHead& before) {
  auto impl = std::make_unique<Impl>(std::move(cues));
  if (Status status = impl->open_like(rows, before); !status) return status.error();
  return std::unique_ptr<LdaTeacher>(new LdaTeacher(std::move(impl)));
}

Status LdaTeacher::add(const TeachingRow& row) { return impl_->add(row); }
LinearHead LdaTeacher::head() const { return impl_->head(); }
std::size_t LdaTeacher::row_count() const { return impl_->row_count(); }
double LdaTeacher::shrinkage() const { return impl_->shrinkage(); }
bool LdaTeacher::refit_due() const { return impl_->refit_due(); }
std::size_t LdaTeacher::bytes() const { return impl_->bytes(); }

}  // namespace assay::teach
