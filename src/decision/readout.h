#pragma once
// From numbers that a model produced to probabilities. Everything is computed in double.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "assay/decision.h"
#include "assay/error.h"

namespace assay::decision {

// ln(sum exp(v)), without overflow. Minus infinity for an empty span; a NaN inside gives NaN.
double log_sum_exp(std::span<const double> values);

// softmax(scores / temperature), in the order of the scores. Each is in [0, 1], equal scores get equal probabilities,
// and the sum is 1 within 1e-12. A score that is NaN or infinite gives kNonfiniteLogits, never a number.
// REQUIRES: at least one score; a temperature that is finite and above 0.
Result<std::vector<double>> probabilities(std::span<const double> scores, double temperature);

// The first option with the highest probability: ties go to the option that was declared first.
// REQUIRES: at least one probability.
std::size_t best_option(std::span<const double> probabilities);

// The share of the whole vocabulary's probability that lies on the labels, clamped to [0, 1].
// `vocabulary_log_sum_exp` is log_sum_exp() of all logits, at temperature 1. REQUIRES: no NaN.
double allowed_mass(std::span<const float> label_logits, double vocabulary_log_sum_exp);

// For each option: do its tokens begin the longer tokens of another option? Such an option must be scored with its
// end, or the longer one could never win. Options with equal tokens do not count as longer.
// Takes n log n comparisons of token lists.
std::vector<bool> needs_end(std::span<const std::vector<std::int32_t>> option_tokens);

// How far the highest probability m of n stands above guessing: (n m - 1) / (n - 1), clamped to [0, 1]; 1 for one
// option. REQUIRES: at least one probability.
double peak_confidence(std::span<const double> probabilities);

// How near to the most likely level the others of a scale lie: 1 - sum p_i |i - k| / D, clamped to [0, 1], with k the
// first most likely level and D = sum |i - (n - 1) / 2| / n, which is what guessing has around the middle; 1 for one
// level. The formula is that of the System One wire for scores. REQUIRES: at least one probability.
double distance_confidence(std::span<const double> probabilities);

// Answer::confidence: distance for a scale, peak for all else.
double confidence_of(QuestionType type, std::span<const double> probabilities);

// Fills Answer::confidence and Answer::abstained from the probabilities and the question. REQUIRES: options.
void finish_answer(const Question& question, Answer& answer);

// -sum p ln p in nats, between 0 and ln n. A zero adds nothing.
double entropy(std::span<const double> probabilities);

}  // namespace assay::decision
