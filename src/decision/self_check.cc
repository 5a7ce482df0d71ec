#include "decision/self_check.h"

#include <algorithm>

#include "base/assert.h"
#include "decision/self_check_rows.h"

namespace assay::decision {
namespace {

CheckScore score_type(Readout readout, QuestionType type, std::span<const std::size_t> picked) {
  const std::span<const SelfCheckRow> rows = self_check_rows();
  CheckScore score{.readout = readout, .type = type};
  std::vector<double> chances;
  double chance_sum = 0;
  for (std::size_t i = 0; i < rows.size(); i++) {
    if (rows[i].type != type) continue;
    score.rows++;
    if (picked[i] == rows[i].expected) score.right++;
    chances.push_back(1.0 / static_cast<double>(rows[i].options.size()));
    chance_sum += chances.back();
  }
  if (score.rows == 0) return score;
  score.chance = chance_sum / score.rows;
  score.p_value = chance_tail(chances, score.right);
  score.reliable = score.p_value < kGuessingChanceMax;
  return score;
}

int right_in_total(std::span<const CheckScore> scores) {
  int right = 0;
  for (const CheckScore& score : scores) right += score.right;
  return right;
}

}  // namespace

double chance_tail(std::span<const double> chances, int right) {
  if (right <= 0) return 1;
  if (static_cast<std::size_t>(right) > chances.size()) return 0;
  // exactly[k]: the chance of k successes in the rows seen so far. A new row moves its share from k - 1 to k.
  std::vector<double> exactly(chances.size() + 1, 0.0);
  exactly[0] = 1;
  std::size_t seen = 0;
  for (const double chance : chances) {
    seen++;
    for (std::size_t k = seen; k > 0; k--) exactly[k] = exactly[k] * (1 - chance) + exactly[k - 1] * chance;
    exactly[0] *= 1 - chance;
  }
  double tail = 0;  // from the far end, so that small terms are added first
  for (std::size_t k = chances.size(); k >= static_cast<std::size_t>(right); k--) tail += exactly[k];
  return std::min(tail, 1.0);
}

std::vector<CheckScore> score_check(Readout readout, std::span<const std::size_t> picked) {
  ASSAY_ASSERT(picked.size() == self_check_rows().size());
  std::vector<CheckScore> scores;
  for (const QuestionType type : {QuestionType::kChoice, QuestionType::kYesNo, QuestionType::kScale}) {
    scores.push_back(score_type(readout, type, picked));
  }
  return scores;
}

ReadoutChoice choose_readout(std::span<const CheckScore> letters, std::span<const CheckScore> text) {
  ReadoutChoice choice;
  choice.readout = right_in_total(text) > right_in_total(letters) ? Readout::kText : Readout::kLetters;
  choice.scores.assign(letters.begin(), letters.end());
  choice.scores.insert(choice.scores.end(), text.begin(), text.end());
  return choice;
}

Reliability reliability_of(std::span<const CheckScore> scores, Readout readout, QuestionType type) {
  for (const CheckScore& score : scores) {
    if (score.readout != readout || score.type != type || score.rows == 0) continue;
    return score.reliable ? Reliability::kReliable : Reliability::kUnreliable;
  }
  return Reliability::kUnknown;
}

}  // namespace assay::decision
