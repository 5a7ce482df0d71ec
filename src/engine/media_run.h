#pragma once
// One job with images, computed alone: a recipe of calls to a MediaDecoder that depends on the job and on nothing else,
// so that the same job has the same bits whenever and beside whatever it is computed.
//
// Images are read and encoded once each, equal files once together. Segments are computed one after another, depth
// first, each in calls of its own: a sequence holds the way from the root to where it stands, a branch goes on in a
// copy of it. Where the sequences do not suffice for every level of branching, the way from the last copy to a leaf is
// computed for each leaf again.

#include <cstdint>
#include <functional>
#include <vector>

#include "assay/error.h"
#include "engine/media.h"

namespace assay::engine {

// Used once, by one thread. Decoder and job outlive it.
class MediaRun {
 public:
  // `between` is called before every piece of the work; its error ends the run.
  MediaRun(MediaDecoder& decoder, const MediaJob& job, std::function<Status()> between);

  // Leaves the decoder empty. Errors: those of check_media_job(); kInvalidArgument with the field "images[i]"; kTooLong
  // with both numbers; kNonfiniteLogits; kInternal; what `between` says.
  Result<MediaResult> run();

 private:
  struct ReadAt {
    std::int32_t offset = 0;
    std::size_t read = 0;
  };

  Status read_images();
  Status check_rows() const;
  Status compute(std::int32_t segment, SequenceId sequence);
  Status compute_leaves(std::int32_t segment, SequenceId from, std::vector<std::int32_t>& way);
  Status append(std::int32_t segment, SequenceId sequence);
  Status append_image(SequenceId sequence, std::size_t image);
  Status append_tokens(SequenceId sequence, std::int32_t segment, std::size_t begin, std::size_t end);
  Status take_reads(std::int32_t segment, std::size_t begin, std::size_t end);
  std::int32_t rows_of(std::int32_t segment) const;

  MediaDecoder& decoder_;
  const MediaJob& job_;
  const std::function<Status()> between_;
  const MediaLimits limits_;
  std::vector<std::vector<std::int32_t>> children_;  // by segment
  std::vector<std::vector<ReadAt>> reads_;           // by segment
  std::vector<std::size_t> same_as_;                 // by image: the first one with the same bytes
  std::vector<bool> encoded_;
  std::vector<bool> done_;  // by read
  MediaResult result_;
};

// kInvalidArgument for a job without segments, an empty segment, a parent that does not stand before its child, a token
// outside the vocabulary, an image that is not there, a read outside its segment or after an image, or of a hidden
// state.
Status check_media_job(const MediaJob& job, const MediaLimits& limits);

}  // namespace assay::engine
