#include "teach/head.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

namespace assay::teach {
namespace {

using Row = std::vector<double>;

// (A)^-1 b by elimination with pivots: nothing of it is shared with what is tested.
Row solve(std::vector<Row> a, Row b) {
  const std::size_t n = b.size();
  for (std::size_t c = 0; c < n; c++) {
    std::size_t pivot = c;
    for (std::size_t r = c + 1; r < n; r++) {
      if (std::abs(a[r][c]) > std::abs(a[pivot][c])) pivot = r;
    }
    std::swap(a[c], a[pivot]);
    std::swap(b[c], b[pivot]);
    for (std::size_t r = c + 1; r < n; r++) {
      const double factor = a[r][c] / a[c][c];
      for (std::size_t k = c; k < n; k++) a[r][k] -= factor * a[c][k];
      b[r] -= factor * b[c];
    }
  }
  for (std::size_t c = n; c-- > 0;) {
    for (std::size_t k = c + 1; k < n; k++) b[c] -= a[c][k] * b[k];
    b[c] /= a[c][c];
  }
  return b;
}

double dot(const Row& a, const Row& b) {
  double sum = 0;
  for (std::size_t d = 0; d < a.size(); d++) sum += a[d] * b[d];
  return sum;
}

struct Problem {
  std::vector<Row> x;
  std::vector<std::size_t> classes;
  std::size_t class_count = 0;

  std::size_t width() const { return x[0].size(); }
  HeadFitter fitter() const {
    std::vector<double> all;
    for (const Row& row : x) all.insert(all.end(), row.begin(), row.end());
    return HeadFitter(all, width(), classes);
  }
  double count(std::size_t k) const { return static_cast<double>(std::count(classes.begin(), classes.end(), k)); }
  Row mean_of(std::size_t k, std::size_t skip) const {
    Row mean(width());
    double rows = 0;
    for (std::size_t i = 0; i < x.size(); i++) {
      if (i == skip || (k < class_count && classes[i] != k)) continue;
      for (std::size_t d = 0; d < width(); d++) mean[d] += x[i][d];
      rows++;
    }
    for (double& value : mean) value /= rows;
    return mean;
  }
  // The within-class scatter.
  std::vector<Row> scatter(std::size_t skip) const {
    std::vector<Row> out(width(), Row(width()));
    for (std::size_t i = 0; i < x.size(); i++) {
      if (i == skip) continue;
      const Row mean = mean_of(classes[i], skip);
      for (std::size_t a = 0; a < width(); a++) {
        for (std::size_t b = 0; b < width(); b++) out[a][b] += (x[i][a] - mean[a]) * (x[i][b] - mean[b]);
      }
    }
    return out;
  }
};

constexpr std::size_t kNone = static_cast<std::size_t>(-1);

Problem random_problem(std::mt19937& random) {
  std::normal_distribution<double> normal;
  Problem out;
  out.class_count = 2 + random() % 3;
  const std::size_t rows = out.class_count + 1 + random() % 12;
  const std::size_t width = 1 + random() % 12;
  for (std::size_t i = 0; i < rows; i++) {
    out.classes.push_back(i < out.class_count ? i : random() % out.class_count);
    Row row;
    for (std::size_t d = 0; d < width; d++) row.push_back(normal(random) + (d == out.classes[i] ? 1 : 0));
    out.x.push_back(row);
  }
  return out;
}

double trace(const std::vector<Row>& a) {
  double sum = 0;
  for (std::size_t d = 0; d < a.size(); d++) sum += a[d][d];
  return sum;
}

// trace(C^-1 S / n) of all rows.
double effective_width(const Problem& problem, double s) {
  const auto n = static_cast<double>(problem.x.size());
  const auto d = static_cast<double>(problem.width());
  const auto scatter = problem.scatter(kNone);
  const double mu = trace(scatter) / (n * d);
  auto c = scatter;
  for (std::size_t a = 0; a < problem.width(); a++) {
    for (std::size_t b = 0; b < problem.width(); b++) c[a][b] = (1 - s) * scatter[a][b] / n + (a == b ? s * mu : 0);
  }
  double sum = 0;
  for (std::size_t a = 0; a < problem.width(); a++) sum += solve(c, scatter[a])[a] / n;
  return sum;
}

// LDA by its definition, without row `skip`; what leave_one_out() holds fixed is of all rows.
Row lda_scores(const Problem& problem, double s, std::size_t skip, const Row& at) {
  const auto n = static_cast<double>(problem.x.size());
  const auto d = static_cast<double>(problem.width());
  const double mu = trace(problem.scatter(kNone)) / (n * d);
  auto c = problem.scatter(skip);
  const double e = effective_width(problem, s);
  for (std::size_t a = 0; a < problem.width(); a++) {
    for (std::size_t b = 0; b < problem.width(); b++) c[a][b] = (1 - s) * c[a][b] / n + (a == b ? s * mu : 0);
  }
  Row scores;
  for (std::size_t k = 0; k < problem.class_count; k++) {
    const Row mean = problem.mean_of(k, skip);
    const Row w = solve(c, mean);
    const double rows = problem.count(k) - (skip != kNone && problem.classes[skip] == k ? 1 : 0);
    scores.push_back(dot(w, at) - dot(w, mean) / 2 + std::log(problem.count(k) / n) + e / (2 * rows));
  }
  return scores;
}

// Ridge by its definition, on x less the mean of all rows and targets less their mean.
Row ridge_scores(const Problem& problem, double regularisation, std::size_t skip, const Row& at) {
  const std::size_t d = problem.width();
  const Row centre = problem.mean_of(kNone, kNone);
  std::vector<Row> a(d, Row(d));
  for (std::size_t p = 0; p < d; p++) a[p][p] = regularisation * static_cast<double>(d);
  std::vector<Row> b(problem.class_count, Row(d));
  for (std::size_t i = 0; i < problem.x.size(); i++) {
    if (i == skip) continue;
    for (std::size_t p = 0; p < d; p++) {
      const double z = problem.x[i][p] - centre[p];
      for (std::size_t q = 0; q < d; q++) a[p][q] += z * (problem.x[i][q] - centre[q]);
      for (std::size_t k = 0; k < problem.class_count; k++) {
        const double share = problem.count(k) / static_cast<double>(problem.x.size());
        b[k][p] += z * ((problem.classes[i] == k ? 1 : 0) - share);
      }
    }
  }
  Row scores;
  for (std::size_t k = 0; k < problem.class_count; k++) {
    const Row w = solve(a, b[k]);
    scores.push_back(problem.count(k) / static_cast<double>(problem.x.size()) + dot(w, at) - dot(w, centre));
  }
  return scores;
}

Row scores_of(const FittedHead& head, const Row& x) {
  Row out;
  for (std::size_t k = 0; k < head.bias.size(); k++) {
    double sum = head.bias[k];
    for (std::size_t d = 0; d < x.size(); d++) sum += head.weights[k * x.size() + d] * x[d];
    out.push_back(sum);
  }
  return out;
}

void expect_near(const Row& a, const Row& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); i++) EXPECT_NEAR(a[i], b[i], 1e-7 * (1 + std::abs(b[i]))) << "class " << i;
}

// LDA's scores may differ by what all classes have in common.
Row less_first(Row scores) {
  const double first = scores[0];
  for (double& score : scores) score -= first;
  return scores;
}

constexpr unsigned kSeed = 20261130;

// Rows fewer and more than numbers, so that both forms are tried; each row's scores with and without it.
TEST(HeadFitter, IsWhatTheDefinitionsSayWithAndWithoutEachRow) {
  std::mt19937 random(kSeed);
  for (int round = 0; round < 200; round++) {
    SCOPED_TRACE("round " + std::to_string(round) + " of seed " + std::to_string(kSeed));
    const Problem problem = random_problem(random);
    const HeadFitter fitter = problem.fitter();
    ASSERT_EQ(fitter.class_count(), problem.class_count);
    const double s = 0.05 + 0.2 * static_cast<double>(random() % 5);
    const double lambda = 0.01 * std::pow(10.0, static_cast<double>(random() % 4));
    const auto lda = fitter.fit(HeadMethod::kLda, s);
    const auto ridge = fitter.fit(HeadMethod::kRidge, lambda);
    const auto lda_out = fitter.leave_one_out(HeadMethod::kLda, s);
    const auto ridge_out = fitter.leave_one_out(HeadMethod::kRidge, lambda);
    EXPECT_NEAR(lda->effective_width, effective_width(problem, s), 1e-7 * lda->effective_width);
    ASSERT_TRUE(lda.ok() && ridge.ok() && lda_out.ok() && ridge_out.ok());
    for (std::size_t i = 0; i < problem.x.size(); i++) {
      SCOPED_TRACE("row " + std::to_string(i));
      expect_near(less_first(scores_of(*lda, problem.x[i])), less_first(lda_scores(problem, s, kNone, problem.x[i])));
      expect_near(scores_of(*ridge, problem.x[i]), ridge_scores(problem, lambda, kNone, problem.x[i]));
      const auto begin = static_cast<std::ptrdiff_t>(i * problem.class_count);
      const auto end = begin + static_cast<std::ptrdiff_t>(problem.class_count);
      const bool alone = problem.count(problem.classes[i]) < 2;
      const Row zeros(problem.class_count);
      expect_near(less_first(Row(lda_out->begin() + begin, lda_out->begin() + end)),
                  alone ? zeros : less_first(lda_scores(problem, s, i, problem.x[i])));
      expect_near(Row(ridge_out->begin() + begin, ridge_out->begin() + end),
                  alone ? zeros : ridge_scores(problem, lambda, i, problem.x[i]));
    }
    if (HasFailure()) return;
  }
}

TEST(HeadFitter, IsTheNearestMeanWhereClassesHaveNoSpread) {
  const Problem problem{{{1, 0, 0}, {0, 1, 0}}, {0, 1}, 2};
  const auto head = problem.fitter().fit(HeadMethod::kLda, kLedoitWolf);
  ASSERT_TRUE(head.ok());
  const Row scores = scores_of(*head, {0.9, 0.3, 0.5});
  EXPECT_NEAR(scores[0] - scores[1], 0.6, 1e-12);  // (|x - m_1|^2 - |x - m_0|^2) / 2
}

TEST(HeadFitter, HasAnAnswerForFullShrinkage) {
  // Within-class scatter diag(2, 0) over n d = 8: mu = 0.25, so C = I / 4.
  const Problem problem{{{1, 0}, {2, 0}, {0, 3}, {1, 3}}, {0, 0, 1, 1}, 2};
  const auto head = problem.fitter().fit(HeadMethod::kLda, 1);
  ASSERT_TRUE(head.ok());
  const double mu = 1.0 / 8;  // four residuals of 0.5: scatter diag(1, 0)
  const Row scores = scores_of(*head, {0, 0});
  EXPECT_NEAR(scores[0] - scores[1], (-2.25 + 9.25) / 2 / mu, 1e-6);
}

TEST(HeadFitter, FollowsLedoitAndWolf) {
  // Residuals +-(1, 0) twice and +-(0, 1) twice: S / n = I / 2 = mu I, so that there is nothing to tell apart.
  const Problem even{{{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, 0}, {-1, 0}, {0, 1}, {0, -1}}, {0, 0, 0, 0, 1, 1, 1, 1}, 2};
  EXPECT_EQ(even.fitter().formula_shrinkage(), 1);
  // Residuals +-(2, 0) twice, +-(0, 1) twice: S / n = diag(2, 1/2), mu = 5/4.
  // |S/n|^2 = 4.25; sum |r|^4 / n^2 = (4 * 16 + 4) / 64 = 1.0625; spread = 1.0625 - 4.25 / 8 = 0.53125;
  // distance = 4.25 - 2 * 25/16 = 1.125.
  const Problem uneven{
      {{2, 0}, {-2, 0}, {0, 1}, {0, -1}, {2, 0}, {-2, 0}, {0, 1}, {0, -1}}, {0, 0, 0, 0, 1, 1, 1, 1}, 2};
  EXPECT_NEAR(uneven.fitter().formula_shrinkage(), 0.53125 / 1.125, 1e-12);
}

TEST(HeadFitter, RefusesWhatHasNoSolution) {
  std::mt19937 random(1);
  const Problem problem{{{1, 0, 0}, {2, 0, 0}, {0, 3, 0}, {1, 3, 0}}, {0, 0, 1, 1}, 2};
  const HeadFitter fitter = problem.fitter();
  EXPECT_EQ(fitter.fit(HeadMethod::kLda, 0).error().field, "regularisation");
  EXPECT_EQ(fitter.fit(HeadMethod::kLda, 1.5).error().field, "regularisation");
  EXPECT_EQ(fitter.fit(HeadMethod::kRidge, 0).error().field, "regularisation");
  EXPECT_EQ(fitter.leave_one_out(HeadMethod::kRidge, NAN).error().field, "regularisation");
}

// The blocked inverse of the dual form, at a size that has several blocks.
TEST(HeadFitter, HasOneAnswerInBothForms) {
  std::mt19937 random(kSeed);
  std::normal_distribution<double> normal;
  Problem wide;
  wide.class_count = 3;
  for (std::size_t i = 0; i < 200; i++) {
    wide.classes.push_back(i % 3);
    Row row;
    for (std::size_t d = 0; d < 20; d++) row.push_back(normal(random) + (d == i % 3 ? 1 : 0));
    wide.x.push_back(row);
  }
  const auto primal = wide.fitter().leave_one_out(HeadMethod::kLda, 0.4);
  // Numbers that are always 0 change neither the scores nor mu * d; they make the dual form the smaller one.
  for (Row& row : wide.x) row.resize(300);
  const double mu_ratio = 300.0 / 20;
  // lambda = n s mu / (1 - s) is to stay: s / (1 - s) grows as mu falls.
  const double odds = 0.4 / 0.6 * mu_ratio;
  const double s = odds / (1 + odds);
  const auto dual = wide.fitter().leave_one_out(HeadMethod::kLda, s);
  ASSERT_TRUE(primal.ok() && dual.ok());
  const double factor = (1 - s) / 0.6;  // of C^-1 = n / (1 - s) (S + lambda I)^-1; the shares' logarithms are equal
  for (std::size_t i = 0; i < primal->size(); i += 3) {
    EXPECT_NEAR(((*primal)[i] - (*primal)[i + 1]), ((*dual)[i] - (*dual)[i + 1]) * factor, 1e-3);
  }
}

}  // namespace
}  // namespace assay::teach
