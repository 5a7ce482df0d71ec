#pragma once
// Another server in this process that answers its own routes on our HTTP layer: llama.cpp's (llama_chat.h), for chat,
// completions, embeddings and all the rest that llama-server has.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/http_message.h"

namespace assay::server {

struct ChatRoute {
  std::string method;  // "GET", "POST" or "DELETE"
  std::string path;    // a segment ":name" stands for any one
};

// Thread-safe.
class ChatServer {
 public:
  virtual ~ChatServer() = default;

  // Fixed from the beginning; what handle() takes is a place in this list.
  virtual const std::vector<ChatRoute>& routes() const = 0;
  // Blocks until the reply is there or, for a stream, begins; lets no exception out. `request` must be for that route.
  // Once the request's client has gone its work is given up.
  virtual HttpReply handle(std::size_t route, const HttpRequest& request) = 0;
  // False when it computes nothing any more although it should.
  virtual bool healthy() const = 0;
  // Requests that it answers now, streams included.
  virtual std::size_t in_flight() const = 0;
  // The most tokens that one of its requests may have, prompt and reply together; 0: not for it to say (a router).
  virtual std::int32_t context_tokens() const { return 0; }
  // Its own Prometheus text, with the headers that go with it; an empty body when it has none.
  virtual HttpReply metrics() = 0;
  // Its model is not in memory; the next request that needs it brings it back.
  virtual bool asleep() const { return false; }
  // It answers what decides and /v1/models, too: such routes of ours are not there.
  virtual bool decides() const { return false; }
};

// What stands in `path` in the place of the pattern's segment ":name" (its first); empty when there is none.
std::string segment_of(const std::string& pattern, std::string_view path);

}  // namespace assay::server
