#include "teach/head.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/assert.h"
#include "teach/folds.h"

// Two forms of one computation. X is the n rows less their common mean, R the rows less their class's mean, M the class
// means less the common mean, S = R'R. Of LDA all that is wanted is P = (S + lambda I)^-1 between these vectors:
//
//   primal (width <= rows)   L L' = S + lambda I, width * width:   a'P b = (L^-1 a)'(L^-1 b)
//   dual   (rows < width)    L L' = H = R R' + lambda I, rows * rows, from the products G = X X' alone:
//                            R P R' = I - lambda H^-1,   R P M' = H^-1 N with N = R M',
//                            M P M' = (M M' - N' H^-1 N) / lambda,   P M' = (M' - R' H^-1 N) / lambda
namespace assay::teach {
namespace {

using Matrix = Eigen::MatrixXd;
using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXd;
using Index = Eigen::Index;

constexpr double kNoSpread = 1e-12;  // of the mean within-class variance of standardised numbers
constexpr double kShareMin = 1e-9;   // 1 - s never falls below it, so that s = 1 needs no case of its own
constexpr Index kInverseBlock = 64;

Index index(std::size_t value) { return static_cast<Index>(value); }

// Replaces the lower triangle `lower` by its inverse's, by halves: [A 0; B C]^-1 = [A^-1 0; -C^-1 B A^-1  C^-1].
void invert_lower(Eigen::Ref<Matrix> lower) {
  const Index n = lower.rows();
  if (n <= kInverseBlock) {
    const Matrix inverse = lower.triangularView<Eigen::Lower>().solve(Matrix::Identity(n, n));
    lower.triangularView<Eigen::Lower>() = inverse;
    return;
  }
  const Index half = n / 2;
  auto corner = lower.bottomLeftCorner(n - half, half);
  invert_lower(lower.topLeftCorner(half, half));
  invert_lower(lower.bottomRightCorner(n - half, n - half));
  Matrix middle = lower.bottomRightCorner(n - half, n - half).triangularView<Eigen::Lower>() * corner;
  corner.noalias() = middle * lower.topLeftCorner(half, half).triangularView<Eigen::Lower>();
  corner = -corner;
}

// The diagonal of (L L')^-1.
Vector inverse_diagonal(const Eigen::LLT<Matrix>& factor) {
  Matrix lower = factor.matrixL();
  invert_lower(lower);
  return lower.triangularView<Eigen::Lower>().toDenseMatrix().colwise().squaredNorm();
}

Error too_small() {
  return invalid_argument("regularisation", "regularisation is too small for these rows: the head has no solution");
}

std::vector<double> flat(const Rows& rows) { return {rows.data(), rows.data() + rows.size()}; }

}  // namespace

const char* head_method_name(HeadMethod method) { return method == HeadMethod::kLda ? "lda" : "ridge"; }

class HeadFitter::Impl {
 public:
  Impl(const std::vector<double>& x, std::size_t width, std::vector<std::size_t> classes)
      : classes_(std::move(classes)) {
    ASSAY_ASSERT(width > 0 && !classes_.empty() && x.size() == width * classes_.size());
    n_ = index(classes_.size());
    d_ = index(width);
    x_ = Eigen::Map<const Rows>(x.data(), n_, d_);
    centre_ = x_.colwise().mean();
    x_.rowwise() -= centre_.transpose();
    const auto by_class = rows_by_class(classes_);
    k_ = index(by_class.size());
    counts_ = Vector::Zero(k_);
    means_ = Rows::Zero(k_, d_);
    for (Index i = 0; i < n_; i++) {
      counts_(class_of(i)) += 1;
      means_.row(class_of(i)) += x_.row(i);
    }
    ASSAY_ASSERT(counts_.minCoeff() > 0);
    means_.array().colwise() /= counts_.array();
    make_products();
  }

  Index class_count() const { return k_; }

  double formula_shrinkage() const {
    // The formula as scikit-learn states it, for rows R whose mean is known to be 0.
    const auto n = static_cast<double>(n_);
    const auto d = static_cast<double>(d_);
    const double square = within_.squaredNorm() / (n * n);                     // |S / n|^2
    const double spread = (residual_squares_.squaredNorm() / n - square) / n;  // sum |r|^4 / n^2 - |S / n|^2 / n
    const double distance = square - d * mu_ * mu_;                            // |S / n - mu I|^2
    if (!(spread > 0) || !(distance > 0)) return spread > 0 ? 1 : 0;
    return std::min(1.0, spread / distance);
  }

  Result<FittedHead> fit_lda(double shrinkage) const {
    const Scale scale = scale_of(shrinkage);
    Eigen::LLT<Matrix> factor;
    if (!factorise(within_, scale.lambda, factor)) return too_small();
    Matrix solved;  // P M', width * classes
    if (primal_) {
      solved = factor.solve(means_.transpose());
    } else {
      const Matrix inner = factor.solve(residual_means_);
      solved = (means_.transpose() - x_.transpose() * less_class_means(inner)) / scale.lambda;
    }
    solved *= scale.factor;
    const Rows weights = solved.transpose();
    // trace(P S) over the numbers or over the rows: both count what lambda leaves.
    const double kept = static_cast<double>(std::min(n_, d_)) - scale.lambda * inverse_diagonal(factor).sum();
    FittedHead out{flat(weights), {}, shrinkage, effective_width(scale, kept), mu_ < kNoSpread ? 0 : scale.lambda};
    for (Index k = 0; k < k_; k++) {
      // The scores are of x less the common mean.
      const double own = weights.row(k).dot(means_.row(k)) / 2 + weights.row(k).dot(centre_);
      out.bias.push_back(log_share(k) - own + out.effective_width / (2 * counts_(k)));
    }
    return out;
  }

  Result<FittedHead> fit_ridge(double regularisation) const {
    const double lambda = regularisation * static_cast<double>(d_);
    Eigen::LLT<Matrix> factor;
    if (!factorise(total_, lambda, factor)) return too_small();
    Matrix solved;
    if (primal_) {
      solved = factor.solve(class_sums().transpose());
    } else {
      solved = x_.transpose() * factor.solve(centred_targets());
    }
    const Rows weights = solved.transpose();
    FittedHead out{flat(weights), {}, regularisation, 0, 0};
    for (Index k = 0; k < k_; k++) out.bias.push_back(share(k) - weights.row(k).dot(centre_));
    return out;
  }

  Result<std::vector<double>> leave_one_out_lda(double shrinkage) const {
    const Scale scale = scale_of(shrinkage);
    Eigen::LLT<Matrix> factor;
    if (!factorise(within_, scale.lambda, factor)) return too_small();
    Products p;
    if (primal_) {
      Matrix residuals = x_.transpose();
      for (Index i = 0; i < n_; i++) residuals.col(i) -= means_.row(class_of(i)).transpose();
      factor.matrixL().solveInPlace(residuals);
      Matrix means = means_.transpose();
      factor.matrixL().solveInPlace(means);
      p.rr = residuals.colwise().squaredNorm();
      p.rm = residuals.transpose() * means;
      p.mm = means.transpose() * means;
    } else {
      p.rr = Vector::Ones(n_) - scale.lambda * inverse_diagonal(factor);
      p.rm = factor.solve(residual_means_);
      p.mm = (mean_products_ - residual_means_.transpose() * p.rm) / scale.lambda;
    }
    const double e = effective_width(scale, p.rr.sum());
    Rows scores = Rows::Zero(n_, k_);
    for (Index i = 0; i < n_; i++) {
      if (counts_(class_of(i)) > 1) scores.row(i) = without(i, p, scale.factor, e);
    }
    return flat(scores);
  }

  Result<std::vector<double>> leave_one_out_ridge(double regularisation) const {
    const double lambda = regularisation * static_cast<double>(d_);
    Eigen::LLT<Matrix> factor;
    if (!factorise(total_, lambda, factor)) return too_small();
    // What a row misses its target by when it is left out: what it misses it by, over 1 - its own leverage.
    Matrix missed;
    if (primal_) {
      Matrix solved = x_.transpose();
      factor.matrixL().solveInPlace(solved);
      const Vector left = 1 - solved.colwise().squaredNorm().transpose().array();
      missed = centred_targets() - x_ * factor.solve(class_sums().transpose());
      missed.array().colwise() /= left.array();
    } else {
      missed = factor.solve(centred_targets());
      missed.array().colwise() /= inverse_diagonal(factor).array();
    }
    Rows scores = -missed;
    for (Index i = 0; i < n_; i++) {
      scores(i, class_of(i)) += 1;
      if (counts_(class_of(i)) <= 1) scores.row(i).setZero();
    }
    return flat(scores);
  }

 private:
  // C^-1 = factor * (S + lambda I)^-1.
  struct Scale {
    double lambda = 1, factor = 1;
  };
  // r'P r for each row, r'P m for each row and class, m'P m for each two classes.
  struct Products {
    Vector rr;
    Matrix rm, mm;
  };

  Index class_of(Index row) const { return index(classes_[static_cast<std::size_t>(row)]); }
  double share(Index k) const { return counts_(k) / static_cast<double>(n_); }
  // trace(C^-1 S / n), with trace(P S) given.
  double effective_width(const Scale& scale, double kept) const {
    return scale.factor * kept / static_cast<double>(n_);
  }
  double log_share(Index k) const { return std::log(share(k)); }

  Scale scale_of(double shrinkage) const {
    if (mu_ < kNoSpread) return {1, 1};
    const double left = std::max(1 - shrinkage, kShareMin);
    const auto n = static_cast<double>(n_);
    return {n * shrinkage * mu_ / left, n / left};
  }

  static bool factorise(const Matrix& products, double lambda, Eigen::LLT<Matrix>& factor) {
    Matrix system = products;
    system.diagonal().array() += lambda;
    factor.compute(system);
    return factor.info() == Eigen::Success;
  }

  // total_ is X'X or X X', within_ the same of R.
  void make_products() {
    primal_ = d_ <= n_;
    total_ = Matrix::Zero(std::min(n_, d_), std::min(n_, d_));
    if (primal_) {
      total_.selfadjointView<Eigen::Lower>().rankUpdate(x_.transpose());
    } else {
      total_.selfadjointView<Eigen::Lower>().rankUpdate(x_);
    }
    total_.triangularView<Eigen::StrictlyUpper>() = total_.transpose();
    mean_products_ = means_ * means_.transpose();
    residual_squares_.resize(n_);
    for (Index i = 0; i < n_; i++) residual_squares_(i) = (x_.row(i) - means_.row(class_of(i))).squaredNorm();
    mu_ = residual_squares_.sum() / (static_cast<double>(n_) * static_cast<double>(d_));
    within_ = total_;
    if (primal_) {
      const Matrix weighted = class_sums().transpose() * means_;
      within_ -= (weighted + weighted.transpose()) / 2;
      return;
    }
    const Matrix with_means = x_ * means_.transpose();
    residual_means_ = with_means;
    for (Index i = 0; i < n_; i++) residual_means_.row(i) -= mean_products_.row(class_of(i));
    for (Index j = 0; j < n_; j++) {
      for (Index i = 0; i < n_; i++) {
        within_(i, j) +=
            mean_products_(class_of(i), class_of(j)) - with_means(j, class_of(i)) - with_means(i, class_of(j));
      }
    }
  }

  Rows class_sums() const { return counts_.asDiagonal() * means_; }

  Matrix centred_targets() const {
    Matrix targets = Matrix::Zero(n_, k_);
    targets.rowwise() -= counts_.transpose() / static_cast<double>(n_);
    for (Index i = 0; i < n_; i++) targets(i, class_of(i)) += 1;
    return targets;
  }

  // R' v = X' (v less its mean over each class).
  Matrix less_class_means(Matrix v) const {
    Matrix means = Matrix::Zero(k_, v.cols());
    for (Index i = 0; i < n_; i++) means.row(class_of(i)) += v.row(i);
    means.array().colwise() /= counts_.array();
    for (Index i = 0; i < n_; i++) v.row(i) -= means.row(class_of(i));
    return v;
  }

  // With r what row i is away from its class's mean, leaving it out takes c r r' from S, c = n_k / (n_k - 1), and moves
  // that mean by -r / (n_k - 1). So P becomes P + g P r r' P with g = c / (1 - c r'P r).
  Eigen::RowVectorXd without(Index i, const Products& p, double factor, double effective_width) const {
    const Index k = class_of(i);
    const double c = counts_(k) / (counts_(k) - 1);
    const double step = 1 / (counts_(k) - 1);
    const double rr = p.rr(i);
    const double g = c / std::max(1 - c * rr, kShareMin);
    const double xr = rr + p.rm(i, k);  // x'P r, x = r + m_k
    Eigen::RowVectorXd scores(k_);
    for (Index j = 0; j < k_; j++) {
      double rm = p.rm(i, j);
      double xm = rm + p.mm(k, j);
      double mm = p.mm(j, j);
      if (j == k) {
        mm += step * (step * rr - 2 * rm);
        xm -= step * xr;
        rm -= step * rr;
      }
      const double rows = counts_(j) - (j == k ? 1 : 0);
      scores(j) = factor * (xm + g * xr * rm - (mm + g * rm * rm) / 2) + log_share(j) + effective_width / (2 * rows);
    }
    return scores;
  }

  std::vector<std::size_t> classes_;
  Index n_ = 0, d_ = 0, k_ = 0;
  bool primal_ = true;
  Rows x_, means_;
  Vector centre_, counts_, residual_squares_;
  double mu_ = 0;
  Matrix total_, within_, mean_products_;
  Matrix residual_means_;  // R M', in the dual form
};

HeadFitter::HeadFitter(const std::vector<double>& x, std::size_t width, std::vector<std::size_t> classes)
    : impl_(std::make_unique<Impl>(x, width, std::move(classes))) {}
HeadFitter::~HeadFitter() = default;

std::size_t HeadFitter::class_count() const { return static_cast<std::size_t>(impl_->class_count()); }

double HeadFitter::formula_shrinkage() const { return impl_->formula_shrinkage(); }

namespace {

Status check_regularisation(HeadMethod method, double value) {
  if (method == HeadMethod::kLda && !(value >= 0 && value <= 1)) {
    return invalid_argument("regularisation", "regularisation of lda must lie in 0..1");
  }
  if (method == HeadMethod::kRidge && !(value > 0 && std::isfinite(value))) {
    return invalid_argument("regularisation", "regularisation of ridge must be a finite number above 0");
  }
  return {};
}

}  // namespace

Result<FittedHead> HeadFitter::fit(HeadMethod method, double regularisation) const {
  if (method == HeadMethod::kLda && regularisation == kLedoitWolf) regularisation = formula_shrinkage();
  if (Status status = check_regularisation(method, regularisation); !status) return status.error();
  return method == HeadMethod::kLda ? impl_->fit_lda(regularisation) : impl_->fit_ridge(regularisation);
}

Result<std::vector<double>> HeadFitter::leave_one_out(HeadMethod method, double regularisation) const {
  if (method == HeadMethod::kLda && regularisation == kLedoitWolf) regularisation = formula_shrinkage();
  if (Status status = check_regularisation(method, regularisation); !status) return status.error();
  return method == HeadMethod::kLda ? impl_->leave_one_out_lda(regularisation)
                                    : impl_->leave_one_out_ridge(regularisation);
}

}  // namespace assay::teach
