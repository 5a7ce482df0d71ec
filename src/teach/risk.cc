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

// Of `rows`, `acted` are above a threshold: what it may be tested with if no test before has failed; 0: no start yet.
class Budget {
 public:
  Budget(std::size_t rows, double risk, double level) : whole_(1 - level) {
    for (count_ = kStartsMax; count_ > 1; count_--) {
      first_ = fewest_rows(risk, 1 - part());
      if (rows >= (first_ << (count_ - 1))) return;
    }
    first_ = fewest_rows(risk, level);
  }
  std::size_t starts(std::size_t acted) const {
    std::size_t reached = 0;
    while (reached < count_ && acted >= (first_ << reached)) reached++;
    return reached;
  }
  // Of so many starts; all of them bring the whole, with no rounding.
  double brought(std::size_t starts) const { return starts == count_ ? whole_ : static_cast<double>(starts) * part(); }

 private:
  double part() const { return whole_ / static_cast<double>(count_); }
  double whole_;
  std::size_t count_ = 1;
  std::size_t first_ = 1;
};

// How many rows there are when `acted` are above the threshold, in proportions as they are.
std::size_t rows_with(const Group& group, std::size_t rows, std::size_t acted) {
  return (acted * rows + group.acted - 1) / group.acted;
}

// The smallest number of rows above a threshold, of at most `limit`, with which an error rate as in `group` passes.
std::optional<std::size_t> rows_to_pass(const Group& group, std::size_t rows, const Threshold& asked,
                                        std::size_t limit) {
  const auto passes = [&](std::size_t acted) {
    const auto wrong = (acted * group.wrong + group.acted - 1) / group.acted;
    const Budget budget(rows_with(group, rows, acted), asked.risk, asked.level);
    return binomial_tail(wrong, acted, asked.risk) <= budget.brought(budget.starts(acted));
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
  const std::size_t fewest = fewest_rows(asked.risk, asked.level);
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
Threshold find_one(const std::vector<RiskRow>& rows, double risk, double level) {
  Threshold threshold{.risk = risk, .level = level, .rows = rows.size()};
  const std::vector<Group> groups = groups_of(rows);
  const Budget budget(rows.size(), risk, level);
  std::size_t lost = 0;  // starts whose part is spent
  for (const Group& group : groups) {
    const std::size_t starts = budget.starts(group.acted);
    if (starts == lost) continue;
    const double left = lost == 0 ? budget.brought(starts) : budget.brought(starts) - budget.brought(lost);
    if (binomial_tail(group.wrong, group.acted, risk) > left) {
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

Status check(std::span<const RiskRow> rows, const RiskSettings& settings) {
  if (!inside(settings.risk)) return invalid("risk", "risk must be above 0 and below 1");
  if (!inside(settings.level)) return invalid("level", "level must be above 0 and below 1");
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

std::size_t fewest_rows(double risk, double level) {
  ASSAY_ASSERT(inside(risk) && inside(level));
  // A billion stands for what no one has; below that the rounding of the quotient is settled by the test itself.
  const double rows = std::ceil(std::log1p(-level) / std::log1p(-risk));
  auto fewest = static_cast<std::size_t>(std::clamp(rows, 1.0, 1e9));
  while (fewest < 1000000000 && binomial_tail(0, fewest, risk) > 1 - level) fewest++;
  return fewest;
}

Result<std::vector<Threshold>> find_thresholds(std::span<const RiskRow> rows, const RiskSettings& settings) {
  if (Status status = check(rows, settings); !status) return status.error();
  if (!settings.by_option) {
    return std::vector<Threshold>{find_one({rows.begin(), rows.end()}, settings.risk, settings.level)};
  }
  const double level = 1 - (1 - settings.level) / static_cast<double>(settings.options.size());
  std::vector<std::vector<RiskRow>> by_option(settings.options.size());
  for (const RiskRow& row : rows) by_option[row.answered].push_back(row);
  std::vector<Threshold> thresholds;
  for (std::size_t option = 0; option < by_option.size(); option++) {
    Threshold threshold = find_one(by_option[option], settings.risk, level);
    threshold.option = settings.options[option];
    threshold.level = settings.level;
    thresholds.push_back(std::move(threshold));
  }
  return thresholds;
}

}  // namespace assay::teach
