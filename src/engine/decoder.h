#pragma once
// The seam to the model's arithmetic: rows in, logits out. llama_decoder.cc is the real one, testing/fake_decoder.h the
// one for tests. Not thread-safe: only the engine thread calls it.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "assay/error.h"
#include "engine/token_tree.h"

namespace assay::engine {

using SequenceId = std::int32_t;
using Cell = std::int32_t;

// What keeps a row's bits the same whatever else is computed (docs/determinism.md). Planner and engine keep to them.
struct BitRules {
  std::int32_t tile_cells = 64;     // attention sums over cells in tiles of this many; a segment shares none with those
                                    // before it
  std::int32_t page_cells = 16;     // inside a tile a short segment starts at a multiple of this
  std::int32_t rows_min = 64;       // a decode has at least this many rows; 2 where any number has the same bits
  std::int32_t rows_multiple = 32;  // and a multiple of this many
  std::int32_t outputs_min = 32;    // the same for rows with `output`, which alone go through the last layer and the
  std::int32_t outputs_multiple = 32;  // head; a decode may also have none
  // Decodes of fewer than rows_min rows (two at least) take another way through attention, with other bits, but the
  // same among themselves. Then segments shorter than rows_min can be computed in such ones, without padding.
  bool short_decodes = false;

  // Fewer rows than so many take about as long as so many, whatever the bits need.
  std::int32_t few_rows() const { return rows_min > 2 ? rows_min : 64; }
  // The most rows of such a decode; 0: there are none.
  std::int32_t short_rows_max() const {
    const std::int32_t rows = (rows_min - 1) / rows_multiple * rows_multiple;
    return short_decodes && rows >= 2 && rows >= outputs_min ? rows : 0;
  }
};

// What a decoder can hold; fixed for its life.
struct DecoderLimits {
  std::int32_t batch_rows_max = 0;   // rows of one decode
  std::int32_t output_rows_max = 0;  // rows with `output` in one decode
  std::int32_t sequences_max = 0;    // sequence ids are 0 .. sequences_max - 1
  std::int32_t cells = 0;            // places for rows, numbered from 0
  std::int32_t path_rows_max = 0;    // longest way from a root to a leaf
  std::int32_t vocabulary_tokens = 0;
  std::int32_t hidden_size = 0;
  bool whole_sequences_only = false;  // recurrent layers: a row belongs to one sequence, a fork copies a whole one
  bool option_head = false;           // option_logit() can be asked
  bool places_rows = true;            // BatchRow::cell is where a row lies; else it lies anywhere and bits may move
  BitRules rules = {};
};

// One token at one place. A row that several sequences share carries all their ids.
struct BatchRow {
  TokenId token = 0;
  std::int32_t position = 0;
  Cell cell = 0;  // free until now
  std::vector<SequenceId> sequences;
  bool output = false;  // logits (and the hidden state when asked for) will be read
};

// What the caller will ask about the rows with `output`.
struct DecodeWants {
  bool logits = true;          // of the whole vocabulary
  bool hidden_states = false;  // also for option_logit()
};

class Decoder {
 public:
  virtual ~Decoder() = default;

  virtual DecoderLimits limits() const = 0;

  // Computes the rows and keeps them in their sequences. REQUIRES: 0 < rows <= batch_rows_max, outputs <=
  // output_rows_max, tokens in the vocabulary, positions that continue each sequence, free cells, all different. After
  // an error what the sequences of the rows hold is not known: reset().
  virtual Status decode(std::span<const BatchRow> rows, const DecodeWants& wants) = 0;

  // The logits after a row of the last decode that had `output`: vocabulary_tokens floats, valid until the next decode.
  // They may hold NaN or infinity; the scheduler checks. REQUIRES: the last decode wanted logits.
  virtual std::span<const float> logits(std::size_t row) = 0;
  // The hidden state of such a row: hidden_size floats; empty when the model's graph does not give them. REQUIRES:
  // the last decode wanted hidden states.
  virtual std::span<const float> hidden_state(std::size_t row) = 0;
  // One token's logit after such a row, from its hidden state and the token's row of the head: what logits() has but
  // for the rounding of the head's inputs. Depends on nothing else. REQUIRES: option_head, hidden states.
  virtual float option_logit(std::size_t row, TokenId token) = 0;

  // Makes `to` (empty) a copy of all that `from` holds, in the same cells.
  virtual void fork(SequenceId from, SequenceId to) = 0;
  // Empties a sequence. Rows that other sequences share stay; cells of rows that none has are free.
  virtual void release(SequenceId sequence) = 0;
  // Empties everything and forgets every number, also those that a broken model left behind.
  virtual void reset() = 0;

  // What a sequence holds from a position on, as bytes that restore() of a decoder of the same model, build and
  // settings takes; for whole_sequences_only `from_position` is 0. Empty when it cannot be had.
  virtual std::string save(SequenceId sequence, std::int32_t from_position) = 0;
  // Appends saved rows to a sequence that holds just what stood before them, into free cells by position. False when
  // the bytes are not such ones; then the sequence is empty.
  virtual bool restore(SequenceId sequence, std::span<const Cell> cells, const std::string& saved) = 0;
};

}  // namespace assay::engine
