#pragma once
// Does this model, on this machine and build, give the same bits wherever rows lie and whatever stands beside them?
// Tried, not assumed: kernels differ by CPU, weight type and version.

#include <cstdint>
#include <string>

#include "assay/error.h"
#include "engine/decoder.h"

namespace assay::engine {

struct BitCheck {
  bool same = false;
  BitRules rules;    // the cheapest of those tried under which it is
  std::string note;  // what was found, in a sentence
};

// Decodes one path several times, a few hundred rows in all: alone, elsewhere in the cells, in two pieces, beside other
// rows, in batches of other sizes; and compares all logits bit for bit. Leaves the decoder empty.
// Errors: those of Decoder::decode().
Result<BitCheck> check_bits(Decoder& decoder);

}  // namespace assay::engine
