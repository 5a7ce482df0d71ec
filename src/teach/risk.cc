// Why the test holds. Fix a threshold t, and let R(t) be how often an answer with a confidence of at least t is wrong.
// Rows are independent draws, so given that n of them have such a confidence, these n are independent draws from the
// answers above t: `wrong` is Bin(n, R(t)) whatever n is. A p-value that is at most d with probability at most d given
// every n is so on the whole, too; so n may be random. The grid is fixed before any row is seen (quantiles of the same
// rows would make t depend on them), and so the first t with R(t) > risk is a fixed one: only if it is rejected can a
// false threshold come out, and that happens with probability at most 1 - level, however the errors lie.
//
// One wrong label among the surest must not end it all, so the sequence has up to three starts, at the first t with
// s, 2 s and 4 s rows above it, and each brings an equal part of 1 - level: what was brought so far is tested with, and
// lost where a test fails (the fallback procedure, Wiens 2003). A false t is then tested with what came since the
// last false one at most, so all of it together is 1 - level. s is as many rows as can pass at all with the first part.
//
// How many starts there are depends on the number of rows alone, but where they lie on the confidences. Where t passes
// over a false hypothesis on account of this, fewer rows than the start asks for are above it, and the first to be
// tested adds rows of lower confidence to them: as long as these are wrong no less often than those above, `wrong` is
// at least as large as a Bin(n, risk), and the level still holds.
//
// The next N. Given the labels the threshold t is fixed, and the next N answers above it are independent draws that are
// wrong with probability R(t). At least k of them are wrong with probability g(R(t)), where g is the distribution
// function of G, the k-th smallest of N uniform numbers. So it is as if G were drawn beforehand, independent of the
// labels, and a threshold with R(t) >= G were the false one. In one sequence it comes out only if the first t with
// R(t) >= G is rejected. With n rows above that one, of which c(n) may be wrong, this has at most the probability
//
//   F_n(G) = P(Bin(n, G) <= c(n)) = P(Q_n > G),   Q_n the (c(n) + 1)-th smallest of n uniform numbers.
//
// For one and the same n its mean over G is P(G < Q_n). Mix the N uniform numbers with the n: the k-th of the N is
// below the (c + 1)-th of the n just where of the c + k smallest at most c are of the n, which has the probability
// next_tail(c, n), at most the level d by the choice of c. But n is not the same for all G: the larger G is, the
// further down lies t, and the more rows are above it. Now neither c(n) nor n - c(n) falls as n grows (next_tail falls
// with a right row more and rises with a wrong one), so the ratio of the densities of Q_n and Q_m, n < m, is a constant
// times G^-a (1 - G)^-b with a, b >= 0, which falls and then rises, and F_m - F_n changes its sign at most once, from
// plus to minus. Let G -> n(G) have a step from n to m. If the step lies above the change of sign, going on with n
// instead of m makes the mean of F no smaller; if below, beginning with m at once does. Step after step goes, until
// one n is left, and its mean is at most d. So one sequence tested at d lets a false threshold out with at most d.
//
// That does not hold for levels that grow on the way, so each start begins a sequence of its own with its part of
// 1 - level, which nothing is added to, and the lowest threshold that any of them reaches is taken: the union bound.

#include "teach/risk.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/assert.h"

namespace assay::teach {
namespace {

// More rows above a threshold than this are not asked for.
constexpr std::size_t kRowsAskedMax = 100000;
constexpr std::size_t kStartsMax = 3;
// The surest answers of which an error rate can be read off at all.
constexpr std::size_t kSurestRows = 10;

// Falling, from nearly 1 to 0: each hundredth, and close to 1, where sure models crowd, finer.
std::vector<double> grid() {
  std::vector<double> values;
  for (const double step : {1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3}) {
    for (const double part : {1.0, 2.0, 5.0}) values.push_back(1 - part * step);
  }
  for (int hundredths = 99; hundredths >= 0; hundredths--) values.push_back(hundredths / 100.0);
  return values;
}

// The answers with a confidence of at least `value`.
struct Group {
  double value = 0;
  std::size_t acted = 0, wrong = 0;
  double error() const { return acted == 0 ? 0 : static_cast<double>(wrong) / static_cast<double>(acted); }
};

// One for each step of the grid that adds rows; so the counts rise.
std::vector<Group> groups_of(std::vector<RiskRow> rows) {
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.confidence > b.confidence; });
  std::vector<Group> groups;
  Group group;
  for (const double value : grid()) {
    const std::size_t before = group.acted;
    for (; group.acted < rows.size() && rows[group.acted].confidence >= value; group.acted++) {
      if (!rows[group.acted].right) group.wrong++;
    }
    group.value = value;
    if (group.acted > before) groups.push_back(group);
  }
  return groups;
}

// What a threshold may be tested with, by how many starts lie above it and how many of these are lost.
class Budget {
 public:
  Budget(std::size_t rows, const Threshold& asked) : whole_(1 - asked.level), adds_up_(asked.horizon == 0) {
    for (count_ = kStartsMax; count_ > 1; count_--) {
      first_ = fewest_rows(asked.risk, 1 - part(), asked.horizon);
      if (rows >= (first_ << (count_ - 1))) return;
    }
    first_ = fewest_rows(asked.risk, asked.level, asked.horizon);
  }
  std::size_t starts(std::size_t acted) const {
    std::size_t reached = 0;
    while (reached < count_ && acted >= (first_ << reached)) reached++;
    return reached;
  }
  // 0 where all starts are lost.
  double left(std::size_t starts, std::size_t lost) const {
    if (starts == lost) return 0;
    if (!adds_up_) return part();
    return lost == 0 ? brought(starts) : brought(starts) - brought(lost);
  }

 private:
  double part() const { return whole_ / static_cast<double>(count_); }
  // By so many starts; all of them bring the whole, with no rounding.
  double brought(std::size_t starts) const { return starts == count_ ? whole_ : static_cast<double>(starts) * part(); }
  double whole_;
  bool adds_up_;  // whether a sequence is tested with what later starts bring, too
  std::size_t count_ = 1;
  std::size_t first_ = 1;
};

// How well chance explains that so few are wrong.
double p_value(std::size_t wrong, std::size_t acted, const Threshold& asked) {
  return asked.horizon == 0 ? binomial_tail(wrong, acted, asked.risk)
                            : next_tail(wrong, acted, asked.risk, asked.horizon);
}

// How many rows there are when `acted` are above the threshold, in proportions as they are.
std::size_t rows_with(const Group& group, std::size_t rows, std::size_t acted) {
  return (acted * rows + group.acted - 1) / group.acted;
}

// The smallest number of rows above a threshold, of at most `limit`, with which an error rate as in `group` passes.
std::optional<std::size_t> rows_to_pass(const Group& group, std::size_t rows, const Threshold& asked,
                                        std::size_t limit) {
  const auto passes = [&](std::size_t acted) {
    const auto wrong = (acted * group.wrong + group.acted - 1) / group.acted;
    const Budget budget(rows_with(group, rows, acted), asked);
    return p_value(wrong, acted, asked) <= budget.left(budget.starts(acted), 0);
  };
  if (limit == 0 || !passes(limit)) return std::nullopt;
  std::size_t fails = 0, enough = limit;
  while (enough - fails > 1) {
    const std::size_t middle = fails + (enough - fails) / 2;
    (passes(middle) ? enough : fails) = middle;
  }
  return enough;
}

// Rows as they are, only more of them: the group that would pass with the fewest.
std::size_t missing_rows(std::span<const Group> groups, std::size_t rows, const Threshold& asked) {
  const std::size_t fewest = fewest_rows(asked.risk, asked.level, asked.horizon);
  const std::size_t lacking = fewest > rows ? fewest - rows : 0;
  std::optional<std::size_t> best;  // rows in all
  double surest_tail = 1;           // how well chance explains the errors of the surest group
  bool surest = true;
  for (const Group& group : groups) {
    if (group.acted < std::min(kSurestRows, rows)) continue;
    if (surest && group.wrong > 0) surest_tail = 1 - binomial_tail(group.wrong - 1, group.acted, asked.risk);
    surest = false;
    if (group.error() >= asked.risk) continue;
    const std::size_t limit = best ? std::min(kRowsAskedMax, *best * group.acted / rows) : kRowsAskedMax;
    const auto acted = rows_to_pass(group, rows, asked, limit);
    if (acted) best = rows_with(group, rows, *acted);
  }
  // A group may be good enough as it is and not have been reached, because surer ones failed: by chance, so that about
  // as many again as the surest ones must be will tell.
  if (best) return *best > rows ? std::max(*best - rows, lacking) : fewest;
  // Too few rows to say that more would not help, unless chance does not explain what there is.
  return surest_tail > 1 - asked.level ? lacking : 0;
}

// `level` is that of this one test.
Threshold find_one(const std::vector<RiskRow>& rows, const RiskSettings& settings, double level) {
  Threshold threshold{.risk = settings.risk, .level = level, .horizon = settings.horizon, .rows = rows.size()};
  const std::vector<Group> groups = groups_of(rows);
  const Budget budget(rows.size(), threshold);
  std::size_t lost = 0;  // starts whose part is spent
  for (const Group& group : groups) {
    const std::size_t starts = budget.starts(group.acted);
    if (starts == lost) continue;
    if (p_value(group.wrong, group.acted, threshold) > budget.left(starts, lost)) {
      lost = starts;
      continue;
    }
    threshold.value = group.value;
    threshold.coverage = static_cast<double>(group.acted) / static_cast<double>(rows.size());
    threshold.error = group.error();
  }
  if (!threshold.value) threshold.rows_missing = missing_rows(groups, rows.size(), threshold);
  return threshold;
}

Error invalid(std::string field, std::string message) {
  return {.code = ErrorCode::kInvalidArgument, .message = std::move(message), .field = std::move(field)};
}

bool inside(double value) { return value > 0 && value < 1; }  // false for NaN

// The smallest k with k / horizon > risk.
std::size_t too_many(double risk, std::size_t horizon) {
  const auto next = static_cast<double>(horizon);
  auto allowed = static_cast<std::size_t>(risk * next);
  // The product may have been rounded over a whole number.
  while (allowed > 0 && static_cast<double>(allowed) / next > risk) allowed--;
  while (static_cast<double>(allowed + 1) / next <= risk) allowed++;
  return allowed + 1;
}

// ln n!, by Stirling's series from where its fourth term is below 1e-12.
double log_factorial(std::size_t n) {
  constexpr std::size_t kSeriesFrom = 20;
  if (n < kSeriesFrom) {
    double product = 1;
    for (std::size_t i = 2; i <= n; i++) product *= static_cast<double>(i);
    return std::log(product);
  }
  const auto x = static_cast<double>(n);
  const double x2 = x * x;
  constexpr double kHalfLogTwoPi = 0.91893853320467274178;
  return (x + 0.5) * std::log(x) - x + kHalfLogTwoPi + (1.0 / 12 - (1.0 / 360 - 1.0 / (1260 * x2)) / x2) / x;
}

double log_choose(std::size_t n, std::size_t k) { return log_factorial(n) - log_factorial(k) - log_factorial(n - k); }

std::size_t fewest_rows_before(double risk, double level, std::size_t horizon) {
  constexpr std::size_t kMost = 1000000000;  // stands for what no one has
  const auto passes = [&](std::size_t rows) { return next_tail(0, rows, risk, horizon) <= 1 - level; };
  std::size_t enough = 1;
  while (enough < kMost && !passes(enough)) enough *= 2;
  std::size_t fails = enough / 2;  // 0 rows pass nothing
  while (enough - fails > 1) {
    const std::size_t middle = fails + (enough - fails) / 2;
    (passes(middle) ? enough : fails) = middle;
  }
  return std::min(enough, kMost);
}

Status check(std::span<const RiskRow> rows, const RiskSettings& settings) {
  if (!inside(settings.risk)) return invalid("risk", "risk must be above 0 and below 1");
  if (!inside(settings.level)) return invalid("level", "level must be above 0 and below 1");
  if (settings.horizon > kHorizonMax)
    return invalid("horizon", "horizon must be at most " + std::to_string(kHorizonMax));
  if (settings.by_option && settings.options.empty()) return invalid("options", "thresholds by option need options");
  for (std::size_t i = 0; i < rows.size(); i++) {
    const std::string row = "rows[" + std::to_string(i) + "]";
    if (!(rows[i].confidence >= 0 && rows[i].confidence <= 1)) {
      return invalid(row + ".confidence", row + ".confidence must be a number from 0 to 1");
    }
    if (!settings.options.empty() && rows[i].answered >= settings.options.size()) {
      return invalid(row + ".answered",
                     row + ".answered must be below the number of options, " + std::to_string(settings.options.size()));
    }
  }
  return {};
}

}  // namespace

double binomial_tail(std::size_t successes, std::size_t count, double probability) {
  ASSAY_ASSERT(inside(probability));
  if (successes >= count) return 1;
  const auto n = static_cast<double>(count);
  const double odds = probability / (1 - probability);
  // Below the mean the terms from `successes` down, above it 1 less those from `successes` + 1 up: both fall all along.
  const bool below = static_cast<double>(successes) < n * probability;
  const std::size_t first = below ? successes : successes + 1;
  double log_term = n * std::log1p(-probability) + static_cast<double>(first) * std::log(odds);
  for (std::size_t k = 0; k < first; k++)
    log_term += std::log(static_cast<double>(count - k)) - std::log(static_cast<double>(k) + 1);
  double term = std::exp(log_term);
  double sum = 0;
  for (std::size_t k = first; term > sum * 1e-17;) {
    sum += term;
    if (k == (below ? 0 : count)) break;
    const auto at = static_cast<double>(k);
    term *= below ? at / ((n - at + 1) * odds) : (n - at) * odds / (at + 1);
    k = below ? k - 1 : k + 1;
  }
  return std::clamp(below ? sum : 1 - sum, 0.0, 1.0);
}

double next_tail(std::size_t wrong, std::size_t acted, double risk, std::size_t horizon) {
  ASSAY_ASSERT(inside(risk) && wrong <= acted && horizon > 0 && horizon <= kHorizonMax);
  if (wrong == acted) return 1;
  const std::size_t errors = wrong + too_many(risk, horizon);
  const auto n = static_cast<double>(acted);
  const auto next = static_cast<double>(horizon);
  const auto s = static_cast<double>(errors);
  // Term j: j of the errors fall on the labelled answers, the others on those to come. Summed where they fall all
  // along.
  const bool below = static_cast<double>(wrong) < s * n / (n + next);
  const std::size_t first = below ? wrong : wrong + 1;
  const std::size_t least = errors > horizon ? errors - horizon : 0;
  const std::size_t most = std::min(acted, errors);
  double term =
      std::exp(log_choose(acted, first) + log_choose(horizon, errors - first) - log_choose(acted + horizon, errors));
  double sum = 0;
  for (std::size_t j = first; term > sum * 1e-17;) {
    sum += term;
    if (j == (below ? least : most)) break;
    const auto at = static_cast<double>(j);
    term *= below ? at * (next - s + at) / ((n - at + 1) * (s - at + 1))
                  : (n - at) * (s - at) / ((at + 1) * (next - s + at + 1));
    j = below ? j - 1 : j + 1;
  }
  return std::clamp(below ? sum : 1 - sum, 0.0, 1.0);
}

std::size_t fewest_rows(double risk, double level, std::size_t horizon) {
  ASSAY_ASSERT(inside(risk) && inside(level) && horizon <= kHorizonMax);
  if (horizon > 0) return fewest_rows_before(risk, level, horizon);
  // A billion stands for what no one has; below that the rounding of the quotient is settled by the test itself.
  const double rows = std::ceil(std::log1p(-level) / std::log1p(-risk));
  auto fewest = static_cast<std::size_t>(std::clamp(rows, 1.0, 1e9));
  while (fewest < 1000000000 && binomial_tail(0, fewest, risk) > 1 - level) fewest++;
  return fewest;
}

Result<std::vector<Threshold>> find_thresholds(std::span<const RiskRow> rows, const RiskSettings& settings) {
  if (Status status = check(rows, settings); !status) return status.error();
  if (!settings.by_option) {
    return std::vector<Threshold>{find_one({rows.begin(), rows.end()}, settings, settings.level)};
  }
  const double level = 1 - (1 - settings.level) / static_cast<double>(settings.options.size());
  std::vector<std::vector<RiskRow>> by_option(settings.options.size());
  for (const RiskRow& row : rows) by_option[row.answered].push_back(row);
  std::vector<Threshold> thresholds;
  for (std::size_t option = 0; option < by_option.size(); option++) {
    Threshold threshold = find_one(by_option[option], settings, level);
    threshold.option = settings.options[option];
    threshold.level = settings.level;
    thresholds.push_back(std::move(threshold));
  }
  return thresholds;
}

}  // namespace assay::teach
