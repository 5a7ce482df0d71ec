#pragma once
// What a read takes from one row of logits.

#include <span>

#include "assay/error.h"
#include "engine/decoder.h"
#include "engine/job.h"

namespace assay::engine {

// Targets' logits, log-sum-exp over the row (relative error below 1e-6) and argmax (lowest id on ties).
// kNonfiniteLogits when the row holds a NaN or +infinity, when a target is not finite, or when every entry is
// -infinity. Single entries of -infinity that are no target are taken as probability 0: some models suppress tokens so.
// The same row gives the same bits on every call.
Result<ReadResult> read_logits(std::span<const float> row, std::span<const TokenId> targets);

// The same of the targets alone (Decoder::option_logit); ReadResult::vocabulary is false. kNonfiniteLogits when one is
// not finite.
Result<ReadResult> read_options(Decoder& decoder, std::size_t row, std::span<const TokenId> targets);

}  // namespace assay::engine
