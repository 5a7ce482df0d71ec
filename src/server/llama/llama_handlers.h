#pragma once
// Handlers of llama.cpp's server, called with our requests and answered with our replies: what its HTTP layer does
// there is done here. For the two servers of it that are mounted: one model (llama_chat.h), many (llama_router.h).

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/llama/chat_calls.h"
#include "server/llama/chat_server.h"

struct server_http_req;  // NOLINT(readability-identifier-naming): their name
struct server_http_res;  // NOLINT(readability-identifier-naming): their name

namespace assay::server {

using LlamaHandler = std::function<std::unique_ptr<server_http_res>(const server_http_req&)>;

// First routes are added, by one thread; then handle() is thread-safe.
class LlamaHandlers {
 public:
  LlamaHandlers();
  ~LlamaHandlers();
  LlamaHandlers(const LlamaHandlers&) = delete;
  LlamaHandlers& operator=(const LlamaHandlers&) = delete;

  void add(const char* method, const char* path, LlamaHandler handler);
  // REQUIRES: such a route was added.
  void replace(const char* method, const char* path, const LlamaHandler& handler);
  // Handlers see paths with this in front, as their own HTTP layer gives them.
  void set_path_prefix(std::string prefix) { path_prefix_ = std::move(prefix); }

  const std::vector<ChatRoute>& routes() const { return routes_; }
  // As ChatServer::handle(): 503 once the calls are closed.
  HttpReply handle(std::size_t route, const HttpRequest& request);
  // Requests that are answered now.
  ChatCalls& calls() { return calls_; }
  const ChatCalls& calls() const { return calls_; }

 private:
  std::vector<ChatRoute> routes_;
  std::vector<LlamaHandler> handlers_;
  std::string path_prefix_;
  ChatCalls calls_;
};

// The reply of llama.cpp's that tells an error: an OpenAI error object with this message. Thread-safe.
std::unique_ptr<server_http_res> invalid_request_reply(const std::string& message);

}  // namespace assay::server
