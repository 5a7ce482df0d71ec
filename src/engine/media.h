#pragma once
// Jobs with images, and the seam to what computes them: files in, rows of embeddings between rows of tokens, logits
// out. llama_media.cc is the real one, testing/fake_media.h the one for tests.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "assay/error.h"
#include "engine/decoder.h"
#include "engine/image_token.h"
#include "engine/job.h"

namespace assay::engine {

// A job in whose segments image_token(i) stands for images[i]. Nothing of it is kept, and every read is of the whole
// vocabulary; hidden states cannot be read.
struct MediaJob {
  Job job;
  std::vector<std::shared_ptr<const std::string>> images;  // files; owned with the request that they came with
};

struct MediaResult {
  JobResult job;
  std::vector<std::int32_t> image_rows;  // of each image
};

struct MediaLimits {
  std::int32_t batch_rows_max = 0;   // rows of one append_tokens()
  std::int32_t output_rows_max = 0;  // of those: with output
  std::int32_t path_rows_max = 0;    // longest way from a root to a leaf
  std::int32_t sequences_max = 0;    // at least 2
  std::int32_t vocabulary_tokens = 0;
};

// Not thread-safe: only the media scheduler's thread calls it. After an error
// what it holds is not known: reset(), and where it is a fault of the model or the machine wipe().
class MediaDecoder {
 public:
  virtual ~MediaDecoder() = default;

  virtual MediaLimits limits() const = 0;

  // Decodes a file and cuts it as the model wants it, as image `index`; each index once until reset(). Errors:
  // kInvalidArgument (the file is damaged) and kTooLong, with a message that goes on behind the image's field.
  virtual Status read_image(std::size_t index, const std::string& file) = 0;
  // The rows that an image takes, with the tokens that the model wants around it. REQUIRES: it was read.
  virtual std::int32_t image_rows(std::size_t index) const = 0;
  // Its embeddings, kept until reset(). REQUIRES: it was read.
  virtual Status encode_image(std::size_t index) = 0;

  // Appends an image's rows to a sequence. `go_on` is called between two pieces of the work; its error ends it.
  // REQUIRES: it was encoded.
  virtual Status append_image(SequenceId sequence, std::size_t index, const std::function<Status()>& go_on) = 0;
  // Appends rows to a sequence; outputs[i] is not 0 where the logits after row i will be read.
  virtual Status append_tokens(SequenceId sequence, std::span<const TokenId> tokens,
                               std::span<const std::int8_t> outputs) = 0;
  // After a row of the last append_tokens() that had its output: vocabulary_tokens floats, valid until the next call.
  virtual std::span<const float> logits(std::size_t row) = 0;

  // Makes `to` (empty) a copy of all that `from` holds.
  virtual void fork(SequenceId from, SequenceId to) = 0;
  virtual void release(SequenceId sequence) = 0;
  // Empties every sequence and forgets every image.
  virtual void reset() = 0;
  // The same, and forgets every number that a broken model or a failed call left behind.
  virtual void wipe() = 0;
};

}  // namespace assay::engine
