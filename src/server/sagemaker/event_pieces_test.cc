#include "server/sagemaker/event_pieces.h"

#include <vector>

#include <gtest/gtest.h>

namespace assay::server {
namespace {

using Pieces = std::vector<std::string>;

Pieces sent(const Pieces& pieces) {
  Pieces out;
  EventPieces events([&out](std::string_view piece) {
    out.emplace_back(piece);
    return true;
  });
  for (const std::string& piece : pieces) events.add(piece);
  events.finish();
  return out;
}

TEST(EventPieces, EachEventIsAPiece) {
  EXPECT_EQ(sent({"data: 1\n\ndata: 2\n\n", "data: 3\n\n"}), (Pieces{"data: 1\n\n", "data: 2\n\n", "data: 3\n\n"}));
  EXPECT_EQ(sent({"da", "ta: 1\n", "\ndata: 2", "\n\n"}), (Pieces{"data: 1\n\n", "data: 2\n\n"}));
  EXPECT_EQ(sent({"event: a\ndata: 1\n\n"}), Pieces{"event: a\ndata: 1\n\n"});
  EXPECT_EQ(sent({"data: 1\n\nrest"}), (Pieces{"data: 1\n\n", "rest"}));
}

TEST(EventPieces, CommentsAreLeftOut) {
  EXPECT_EQ(sent({": ping\n\n", "data: 1\n\n", ":\n\n:\n\n"}), Pieces{"data: 1\n\n"});
  EXPECT_EQ(sent({": note\ndata: 1\n\n"}), Pieces{": note\ndata: 1\n\n"});
}

TEST(EventPieces, StopsWhenTheClientHasGone) {
  int written = 0;
  EventPieces events([&written](std::string_view) {
    ++written;
    return false;
  });
  EXPECT_FALSE(events.add("data: 1\n\ndata: 2\n\n"));
  EXPECT_FALSE(events.add("data: 3\n\n"));
  EXPECT_FALSE(events.finish());
  EXPECT_EQ(written, 1);
}

TEST(EventPieces, OnlyStreamsOfEventsAreTouched) {
  HttpReply reply;
  reply.content_type = "application/octet-stream";
  reply.stream = [](const BodyWriter& write) { return write("data: 1\n\ndata: 2\n\n"); };
  int pieces = 0;
  const BodyWriter count = [&pieces](std::string_view) {
    ++pieces;
    return true;
  };
  with_single_events(reply).stream(count);
  EXPECT_EQ(pieces, 1);
  reply.content_type = "text/event-stream; charset=utf-8";
  with_single_events(reply).stream(count);
  EXPECT_EQ(pieces, 3);
  EXPECT_FALSE(with_single_events(HttpReply()).stream);
  reply.stream = [](const BodyWriter& write) { return write("data: 1\n\n") && false; };
  EXPECT_FALSE(with_single_events(reply).stream(count)) << "what is not whole stays so";
}

}  // namespace
}  // namespace assay::server
