// What tests/teach/reference_test.py compares with scikit-learn: numbers in on stdin, numbers out on stdout.
//
//   lda ROWS WIDTH CLASSES SHRINKAGE, then ROWS * WIDTH numbers and ROWS classes
//     -> the shrinkage by formula, e, CLASSES * WIDTH weights, CLASSES biases, ROWS * CLASSES scores left out
//   ridge ROWS WIDTH CLASSES REGULARISATION, the same -> CLASSES * WIDTH weights, CLASSES biases, scores left out
//   prepare ROWS WIDTH, ROWS * WIDTH numbers -> the same, standardised
//   isotonic POINTS QUERIES, POINTS times x y weight, QUERIES times x -> the map at each query
//   metrics ROWS OPTIONS, ROWS times (probabilities, expected) -> log-loss, Brier score, calibration error
//   temperature ROWS OPTIONS PRIOR CENTRE, ROWS times (scores, expected) -> temperature, log-loss at it
//   sureness ROWS SLOPE_WEIGHT SHIFT_WEIGHT SLOPE SHIFT, ROWS times (evidence, options, right) -> slope, shift
//   tails COUNT, COUNT times (wrong, acted, risk, horizon; 0: the long run) -> the p-value of each

#include <cmath>
#include <iomanip>
#include <iostream>
#include <string>
#include <vector>

#include "assay/evaluation.h"
#include "decision/readout.h"
#include "teach/features.h"
#include "teach/head.h"
#include "teach/isotonic.h"
#include "teach/risk.h"
#include "teach/sureness.h"
#include "teach/temperature.h"

namespace {

using namespace assay::teach;  // NOLINT(google-build-using-namespace): a test program of this one room

template <typename T>
T read() {
  T value{};
  if (!(std::cin >> value)) {
    std::cerr << "reference_tool: the input ends too early or is no number\n";
    std::exit(2);
  }
  return value;
}

template <typename T>
std::vector<T> read_many(std::size_t count) {
  std::vector<T> out;
  for (std::size_t i = 0; i < count; i++) out.push_back(read<T>());
  return out;
}

void write(double value) { std::cout << std::setprecision(17) << value << "\n"; }

template <typename T>
void write_all(const std::vector<T>& values) {
  for (const T value : values) write(static_cast<double>(value));
}

void head(HeadMethod method) {
  const auto rows = read<std::size_t>();
  const auto width = read<std::size_t>();
  read<std::size_t>();  // the classes say themselves how many they are
  const auto regularisation = read<double>();
  const auto x = read_many<double>(rows * width);
  const HeadFitter fitter(x, width, read_many<std::size_t>(rows));
  const auto fitted = fitter.fit(method, regularisation);
  const auto left_out = fitter.leave_one_out(method, regularisation);
  if (!fitted || !left_out) {
    std::cerr << "reference_tool: " << (fitted ? left_out.error() : fitted.error()).message << "\n";
    std::exit(1);
  }
  if (method == HeadMethod::kLda) {
    write(fitter.formula_shrinkage());
    write(fitted->effective_width);
  }
  write_all(fitted->weights);
  write_all(fitted->bias);
  write_all(*left_out);
}

void prepare() {
  const auto rows = read<std::size_t>();
  const auto width = read<std::size_t>();
  const auto x = read_many<float>(rows * width);
  write_all(prepared(x, standardisation(x, width, false)));
}

void isotonic() {
  const auto count = read<std::size_t>();
  const auto queries = read<std::size_t>();
  std::vector<WeightedPoint> points(count);
  for (WeightedPoint& point : points) {
    point.x = read<double>();
    point.y = read<double>();
    point.weight = read<double>();
  }
  const Knots knots = fit_isotonic(points);
  for (std::size_t i = 0; i < queries; i++) write(interpolate(knots, read<double>()));
}

void metrics() {
  const auto rows = read<std::size_t>();
  const auto options = read<std::size_t>();
  std::vector<assay::Outcome> outcomes(rows);
  for (assay::Outcome& outcome : outcomes) {
    outcome.probabilities = read_many<double>(options);
    outcome.expected = read<std::size_t>();
    outcome.predicted = assay::decision::best_option(outcome.probabilities);
  }
  write(assay::log_loss(outcomes));
  write(assay::brier_score(outcomes));
  write(assay::expected_calibration_error(outcomes));
}

void temperature() {
  const auto rows = read<std::size_t>();
  const auto options = read<std::size_t>();
  const auto prior = read<double>();
  const auto centre = read<double>();
  std::vector<std::vector<double>> scores(rows);
  std::vector<ScoredLabel> labels(rows);
  for (std::size_t i = 0; i < rows; i++) {
    scores[i] = read_many<double>(options);
    labels[i] = {scores[i], read<std::size_t>()};
  }
  const double found = fit_temperature(labels, prior, centre);
  write(found);
  write(log_loss_at(labels, found));
}

void sureness() {
  const auto count = read<std::size_t>();
  SurenessPrior prior;
  prior.slope_weight = read<double>();
  prior.shift_weight = read<double>();
  prior.parent.slope = read<double>();
  prior.parent.shift = read<double>();
  std::vector<SurenessRow> rows(count);
  for (SurenessRow& row : rows) {
    row.evidence = read<double>();
    row.options = read<std::size_t>();
    row.right = read<int>() != 0;
  }
  const Sureness found = fit_sureness(rows, prior);
  write(found.slope);
  write(found.shift);
}

void tails() {
  for (auto left = read<std::size_t>(); left > 0; left--) {
    const auto wrong = read<std::size_t>();
    const auto acted = read<std::size_t>();
    const auto risk = read<double>();
    const auto horizon = read<std::size_t>();
    write(horizon == 0 ? binomial_tail(wrong, acted, risk) : next_tail(wrong, acted, risk, horizon));
  }
}

}  // namespace

int main() {
  const auto command = read<std::string>();
  if (command == "lda") {
    head(HeadMethod::kLda);
  } else if (command == "ridge") {
    head(HeadMethod::kRidge);
  } else if (command == "prepare") {
    prepare();
  } else if (command == "isotonic") {
    isotonic();
  } else if (command == "metrics") {
    metrics();
  } else if (command == "temperature") {
    temperature();
  } else if (command == "sureness") {
    sureness();
  } else if (command == "tails") {
    tails();
  } else {
    std::cerr << "reference_tool: unknown command " << command << "\n";
    return 2;
  }
  return 0;
}
