#include "engine/media_run.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/logits.h"

// Invariants: sequence s + 1 is empty when compute(…, s) begins and when it ends; what a sequence holds is exactly the
// segments from the root down to the one that was appended last.

namespace assay::engine {
namespace {

Error broken(const std::string& what) { return invalid_argument("job", "The job with images " + what + "."); }

Error in_image(Error error, std::size_t image) {
  error.field = "images[" + std::to_string(image) + "]";
  error.message = error.field + " " + error.message;
  return error;
}

}  // namespace

Status check_media_job(const MediaJob& job, const MediaLimits& limits) {
  const std::vector<Segment>& segments = job.job.segments;
  if (segments.empty()) return broken("has no tokens");
  for (std::size_t s = 0; s < segments.size(); s++) {
    if (segments[s].tokens.empty()) return broken("has an empty segment");
    if (segments[s].parent < Segment::kRoot || segments[s].parent >= static_cast<std::int32_t>(s))
      return broken("has a segment before its parent");
    for (const TokenId token : segments[s].tokens) {
      const bool good = is_image_token(token) ? image_of_token(token) < job.images.size()
                                              : token >= 0 && token < limits.vocabulary_tokens;
      if (!good) return broken("has a token that is neither in the vocabulary nor an image");
    }
  }
  for (const Read& read : job.job.reads) {
    if (read.segment < 0 || read.segment >= std::ssize(segments) || read.offset < 0 ||
        read.offset >= std::ssize(segments[static_cast<std::size_t>(read.segment)].tokens)) {
      return broken("reads outside of a segment");
    }
    if (is_image_token(segments[static_cast<std::size_t>(read.segment)].tokens[static_cast<std::size_t>(read.offset)]))
      return broken("reads after an image");
    if (read.hidden_state) return invalid_argument("hidden_state", "Requests with images give no hidden state.");
  }
  return {};
}

MediaRun::MediaRun(MediaDecoder& decoder, const MediaJob& job, std::function<Status()> between)
    : decoder_(decoder), job_(job), between_(std::move(between)), limits_(decoder.limits()) {}

Result<MediaResult> MediaRun::run() {
  if (Status good = check_media_job(job_, limits_); !good.ok()) return good.error();
  const std::vector<Segment>& segments = job_.job.segments;
  children_.resize(segments.size());
  reads_.resize(segments.size());
  std::vector<std::int32_t> roots;
  for (std::size_t s = 0; s < segments.size(); s++) {
    std::vector<std::int32_t>& list = segments[s].parent == Segment::kRoot ? roots : children_[segments[s].parent];
    list.push_back(static_cast<std::int32_t>(s));
  }
  for (std::size_t r = 0; r < job_.job.reads.size(); r++)
    reads_[job_.job.reads[r].segment].push_back({.offset = job_.job.reads[r].offset, .read = r});
  result_.job.reads.resize(job_.job.reads.size());
  done_.assign(job_.job.reads.size(), false);
  decoder_.reset();
  Status status = read_images();
  if (status.ok()) status = check_rows();
  for (std::size_t i = 0; i < roots.size() && status.ok(); i++) {
    status = compute(roots[i], 0);
    decoder_.release(0);
  }
  const bool broken_numbers = !status.ok() && (status.error().code == ErrorCode::kInternal ||
                                               status.error().code == ErrorCode::kNonfiniteLogits);
  if (broken_numbers) {
    decoder_.wipe();
  } else {
    decoder_.reset();
  }
  if (!status.ok()) return status.error();
  return std::move(result_);
}

Status MediaRun::read_images() {
  const auto& images = job_.images;
  encoded_.assign(images.size(), false);
  for (std::size_t i = 0; i < images.size(); i++) {
    const auto equal = [&](std::size_t other) { return *images[other] == *images[i]; };
    std::size_t first = 0;
    while (first < i && !equal(first)) first++;
    same_as_.push_back(first);
    if (first == i) {
      if (Status status = between_(); !status.ok()) return status;
      if (Status status = decoder_.read_image(i, *images[i]); !status.ok()) return in_image(status.error(), i);
    }
    result_.image_rows.push_back(decoder_.image_rows(first));
  }
  return {};
}

std::int32_t MediaRun::rows_of(std::int32_t segment) const {
  std::int32_t rows = 0;
  for (const TokenId token : job_.job.segments[segment].tokens)
    rows += is_image_token(token) ? result_.image_rows[image_of_token(token)] : 1;
  return rows;
}

// Before anything is computed: does every way from a root to a leaf fit?
Status MediaRun::check_rows() const {
  std::vector<std::int32_t> ends;
  for (std::size_t s = 0; s < job_.job.segments.size(); s++) {
    const std::int32_t parent = job_.job.segments[s].parent;
    ends.push_back(rows_of(static_cast<std::int32_t>(s)) + (parent == Segment::kRoot ? 0 : ends[parent]));
  }
  const std::int32_t longest = *std::max_element(ends.begin(), ends.end());
  if (longest <= limits_.path_rows_max) return {};
  return Error{ErrorCode::kTooLong,
               "The prompt with its images and options has " + std::to_string(longest) + " tokens; at most " +
                   std::to_string(limits_.path_rows_max) + " are allowed (context_tokens).",
               "state"};
}

Status MediaRun::compute(std::int32_t segment, SequenceId sequence) {
  if (Status status = append(segment, sequence); !status.ok()) return status;
  const std::vector<std::int32_t>& children = children_[segment];
  if (children.size() == 1) return compute(children.front(), sequence);
  const SequenceId next = sequence + 1;
  for (const std::int32_t child : children) {
    if (next + 1 >= limits_.sequences_max) {
      std::vector<std::int32_t> way;
      if (Status status = compute_leaves(child, sequence, way); !status.ok()) return status;
      continue;
    }
    decoder_.fork(sequence, next);
    if (Status status = compute(child, next); !status.ok()) return status;
    decoder_.release(next);
  }
  return {};
}

// Every leaf below and including `segment`, each in a copy of `from` behind the segments of `way`.
Status MediaRun::compute_leaves(std::int32_t segment, SequenceId from, std::vector<std::int32_t>& way) {
  way.push_back(segment);
  for (const std::int32_t child : children_[segment]) {
    if (Status status = compute_leaves(child, from, way); !status.ok()) return status;
  }
  if (children_[segment].empty()) {
    decoder_.fork(from, from + 1);
    for (const std::int32_t step : way) {
      if (Status status = append(step, from + 1); !status.ok()) return status;
    }
    decoder_.release(from + 1);
  }
  way.pop_back();
  return {};
}

Status MediaRun::append(std::int32_t segment, SequenceId sequence) {
  const Tokens& tokens = job_.job.segments[segment].tokens;
  std::size_t begin = 0;
  while (begin < tokens.size()) {
    if (is_image_token(tokens[begin])) {
      if (Status status = append_image(sequence, image_of_token(tokens[begin])); !status.ok()) return status;
      begin++;
      continue;
    }
    std::size_t end = begin;
    while (end < tokens.size() && !is_image_token(tokens[end])) end++;
    if (Status status = append_tokens(sequence, segment, begin, end); !status.ok()) return status;
    begin = end;
  }
  return {};
}

Status MediaRun::append_image(SequenceId sequence, std::size_t image) {
  const std::size_t first = same_as_[image];
  if (!encoded_[first]) {
    if (Status status = between_(); !status.ok()) return status;
    if (Status status = decoder_.encode_image(first); !status.ok()) return status;
    encoded_[first] = true;
  }
  if (Status status = between_(); !status.ok()) return status;
  result_.job.computed_rows += result_.image_rows[image];
  return decoder_.append_image(sequence, first, between_);
}

// The tokens begin … end of a segment, as many at once as the limits allow, counted from `begin`.
Status MediaRun::append_tokens(SequenceId sequence, std::int32_t segment, std::size_t begin, std::size_t end) {
  const Tokens& tokens = job_.job.segments[segment].tokens;
  const auto is_read = [&](std::size_t row) {
    return std::any_of(reads_[segment].begin(), reads_[segment].end(),
                       [row](const ReadAt& at) { return static_cast<std::size_t>(at.offset) == row; });
  };
  while (begin < end) {
    std::vector<std::int8_t> outputs;
    std::int32_t count = 0;
    for (std::size_t row = begin; row < end && std::ssize(outputs) < limits_.batch_rows_max; row++) {
      const bool output = is_read(row);
      if (output && count == limits_.output_rows_max) break;
      count += output ? 1 : 0;
      outputs.push_back(output ? 1 : 0);
    }
    if (Status status = between_(); !status.ok()) return status;
    const std::span<const TokenId> rows = std::span(tokens).subspan(begin, outputs.size());
    if (Status status = decoder_.append_tokens(sequence, rows, outputs); !status.ok()) return status;
    result_.job.computed_rows += static_cast<std::int32_t>(rows.size());
    if (Status status = take_reads(segment, begin, begin + rows.size()); !status.ok()) return status;
    begin += rows.size();
  }
  return {};
}

// What is read of the rows begin … end of a segment, which were appended last. A way to a leaf that is computed again
// gives the numbers that are there already.
Status MediaRun::take_reads(std::int32_t segment, std::size_t begin, std::size_t end) {
  for (const ReadAt& at : reads_[segment]) {
    const auto row = static_cast<std::size_t>(at.offset);
    if (row < begin || row >= end || done_[at.read]) continue;
    Result<ReadResult> read = read_logits(decoder_.logits(row - begin), job_.job.reads[at.read].targets);
    if (!read.ok()) return read.error();
    result_.job.reads[at.read] = std::move(read).value();
    done_[at.read] = true;
  }
  return {};
}

}  // namespace assay::engine
