#pragma once
// The seam to the model's arithmetic: rows in, logits out. llama_decoder.cc is the real one, testing/fake_decoder.h the
// one for tests. Not thread-safe: only the engine thread calls it.

#include <cstdint>
#include <span>
#include <vector>

#include "assay/error.h"
#include "engine/token_tree.h"

namespace assay::engine {

using SequenceId = std::int32_t;

// What a decoder can hold; fixed for its life.
struct DecoderLimits {
  std::int32_t batch_rows_max = 0;   // rows of one decode
  std::int32_t output_rows_max = 0;  // rows with `output` in one decode
  std::int32_t sequences_max = 0;    // sequence ids are 0 .. sequences_max - 1
  std::int32_t cells_max = 0;        // rows held at once, shared ones counted once
  std::int32_t vocabulary_tokens = 0;
  std::int32_t hidden_size = 0;
  bool whole_sequences_only = false;  // recurrent layers: a row belongs to one sequence, a fork copies a whole one
};

// One token at one place. A row that several sequences share carries all their ids.
struct BatchRow {
  TokenId token = 0;
  std::int32_t position = 0;
  std::vector<SequenceId> sequences;
  bool output = false;  // logits (and the hidden state when asked for) will be read
};

class Decoder {
 public:
  virtual ~Decoder() = default;

  virtual DecoderLimits limits() const = 0;

  // Computes the rows and keeps them in their sequences. REQUIRES: 0 < rows <= batch_rows_max, outputs <=
  // output_rows_max, tokens in the vocabulary, positions that continue each sequence. After an error every sequence of
  // the rows is released.
  virtual Status decode(std::span<const BatchRow> rows, bool hidden_states) = 0;

  // The logits after a row of the last decode that had `output`: vocabulary_tokens floats, valid until the next decode.
  // They may hold NaN or infinity; the scheduler checks.
  virtual std::span<const float> logits(std::size_t row) = 0;
  // The hidden state of such a row: hidden_size floats. REQUIRES: the last decode asked for hidden states.
  virtual std::span<const float> hidden_state(std::size_t row) = 0;

  // Makes `to` (empty) a copy of all that `from` holds.
  virtual void fork(SequenceId from, SequenceId to) = 0;
  // Empties a sequence. Rows that other sequences share stay.
  virtual void release(SequenceId sequence) = 0;
};

}  // namespace assay::engine
