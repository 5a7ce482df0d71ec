#include "server/sagemaker/event_pieces.h"

#include <utility>

namespace assay::server {
namespace {

// Nothing but lines that begin with a colon.
bool is_comment(std::string_view event) {
  while (!event.empty()) {
    const std::size_t end = event.find('\n');
    const std::string_view line = event.substr(0, end);
    if (!line.empty() && line.front() != ':') return false;
    if (end == std::string_view::npos) return true;
    event.remove_prefix(end + 1);
  }
  return true;
}

}  // namespace

bool EventPieces::add(std::string_view piece) {
  constexpr std::string_view kEnd = "\n\n";
  // An end may lie across two pieces.
  std::size_t from = held_.empty() ? 0 : held_.size() - 1;
  held_ += piece;
  std::size_t begin = 0;
  for (std::size_t end = held_.find(kEnd, from); end != std::string::npos && is_there_; end = held_.find(kEnd, begin)) {
    const std::string_view event = std::string_view(held_).substr(begin, end + kEnd.size() - begin);
    if (!is_comment(event)) is_there_ = write_(event);
    begin = end + kEnd.size();
  }
  held_.erase(0, begin);
  return is_there_;
}

bool EventPieces::finish() {
  if (is_there_ && !held_.empty() && !is_comment(held_)) is_there_ = write_(held_);
  held_.clear();
  return is_there_;
}

HttpReply with_single_events(HttpReply reply) {
  if (!reply.stream || !reply.content_type.starts_with("text/event-stream")) return reply;
  reply.stream = [stream = std::move(reply.stream)](const BodyWriter& write) {
    EventPieces pieces(write);
    const bool is_whole = stream([&pieces](std::string_view piece) { return pieces.add(piece); });
    return pieces.finish() && is_whole;
  };
  return reply;
}

}  // namespace assay::server
