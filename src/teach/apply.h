#pragma once
// How a lesson answers: plain loops in double, in a fixed order, so that a lesson and a request give the same bits
// whatever the machine's vector units are. Everything that a fit needs Eigen for is elsewhere in this room.
//
//   scores = head_scores(head, hidden states, options, zero-shot log probabilities)
//   probabilities = calibrated(calibration, scores)
//
// Immutable functions: any thread may call them.

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "assay/error.h"
#include "assay/lesson.h"

namespace assay::teach {

// A log probability below this counts as this, so that an option that the model all but excludes keeps a finite score.
inline constexpr double kLogProbabilityMin = -700;

// Is the head whole? Sizes that agree, finite numbers, options rising and below `option_count`, a prior weight in
// [0, 1]. Otherwise kInvalidArgument whose field names the part, such as "head.weights". Whoever reads a head from
// outside calls it once; head_scores() looks at the sizes only.
Status check_head(const LinearHead& head, std::size_t option_count);
// The same for a calibration: a finite temperature above 0, a finite slope of at least 0, a finite shift, knots that
// rise in x, do not fall in y, and lie in [0, 1].
Status check_calibration(const Calibration& calibration);

// Log probabilities, one for each option, whose exponentials sum to 1. With L the options that have labels, U the
// others, s the head's scores (assay/lesson.h), z the zero-shot log probabilities (normalised here to sum to 1),
// w = head.prior_weight and lse the log of a sum of exponentials:
//
//   h_k = s_k - lse_L(s)                        the head, over L
//   g_k = h_k + w z_k - lse_L(h + w z)          the head and the zero-shot readout together, over L
//   score_k = g_k + lse_L(z)   for k in L       L shares the probability that zero-shot gives to L,
//   score_u = z_u              for u in U       and an option without labels keeps what zero-shot gives it.
//
// So for w = 1 each part of the evidence counts as if the other said nothing about it (naive Bayes), for w = 0 the head
// alone decides within L, and whether it is L at all is always the zero-shot readout's to say: the head has seen no
// text of U. `zero_shot_log_probs` may be empty where w = 0 and U is empty; the scores are then h.
// Errors: kInvalidArgument for sizes that do not fit or missing zero-shot probabilities; kNonfiniteLogits for a NaN or
// an infinity in x or in what comes of it, and for a NaN in the zero-shot probabilities.
Result<std::vector<double>> head_scores(const LinearHead& head, std::span<const float> x, std::size_t option_count,
                                        std::span<const double> zero_shot_log_probs);

// The second half of head_scores(): `scores` are the head's, one for each of `options` (rising). With a prior weight of
// 0 and labels for all options it is the log-softmax of the scores. REQUIRES: at least one option, finite scores, an
// option's zero-shot log probability for each option of the question. Errors: kNonfiniteLogits for a NaN or plus
// infinity in the zero-shot log probabilities.
Result<std::vector<double>> joined_scores(std::span<const std::size_t> options, std::span<const double> scores,
                                          double prior_weight, std::span<const double> zero_shot_log_probs);

// Probabilities in the order of the scores: p = softmax(scores / temperature). With k the best option, c = p_k and n
// options, a slope other than 1 or a shift other than 0 then makes it
//
//   c' = sure_probability() of the evidence (sureness.h), and behind that max(1 / n, isotonic(c')) where there are
//   knots p_k = c',   p_j -> p_j (1 - c') / (1 - c)            for j != k, where c' >= c: the others shrink alike p ->
//   (1 - m) p + m / n with m = (c - c') / (c - 1/n)  where c' < c: all move towards guessing alike
//
// which keeps the order of the options. With slope 1, shift 0 and knots it is
//
//   p_k = c' = max(isotonic(c), q / (1 + q)),   p_j = (1 - c') q_j   for j != k,
//
// where q_j is j's share of what the others have (softmax of their scores), and q the largest of these. The bound
// q / (1 + q) is where the second would overtake. The best option is that of softmax(scores), ties going to the one
// that was declared first, and it stays the best_option() of what comes out. Each is in [0, 1]; the sum is 1 within
// 1e-12; a single option has 1. Errors: kInvalidArgument for no scores or a calibration that is not whole;
// kNonfiniteLogits for NaN or infinity.
Result<std::vector<double>> calibrated(const Calibration& calibration, std::span<const double> scores);

// The calibration for a question of this kind: readout and type equal, option_count within its bucket; of several the
// narrowest bucket, of equals the first. Null: there is none.
const Calibration* find_calibration(std::span<const Calibration> calibrations, std::string_view readout,
                                    std::string_view type, std::size_t option_count);

// The threshold that an answer is held against: the one of its best option, else the one for any. Null: neither is
// there. One whose `value` is absent is found, too: nothing is acted on then.
const Threshold* threshold_for(std::span<const Threshold> thresholds, std::string_view best_option_id);

}  // namespace assay::teach
