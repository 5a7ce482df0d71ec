#pragma once
// A chat server that tells what it was asked.

#include <string>
#include <vector>

#include "server/llama/chat_server.h"

namespace assay::server {

class FakeChatServer final : public ChatServer {
 public:
  const std::vector<ChatRoute>& routes() const override { return routes_; }
  HttpReply handle(std::size_t route, const HttpRequest& request) override {
    asked.push_back(routes_[route].method + " " + routes_[route].path + " " + request.body);
    return reply;
  }
  bool healthy() const override { return is_healthy; }
  std::size_t in_flight() const override { return 0; }
  std::int32_t context_tokens() const override { return slot_tokens; }
  HttpReply metrics() override {
    HttpReply text;
    text.headers = {{"Process-Start-Time-Unix", "7"}};
    text.body = "llamacpp:n_decode_total 3\n";
    return text;
  }

  bool asleep() const override { return is_asleep; }
  bool decides() const override { return is_router; }

  HttpReply reply;
  std::int32_t slot_tokens = 0;
  bool is_asleep = false;
  bool is_router = false;  // before the routes are made
  bool is_healthy = true;
  std::vector<std::string> asked;

 private:
  const std::vector<ChatRoute> routes_ = {
      {"GET", "/health"},         {"GET", "/props"},           {"POST", "/props"},  {"POST", "/v1/chat/completions"},
      {"POST", "/v1/embeddings"}, {"POST", "/slots/:id_slot"}, {"GET", "/metrics"}, {"GET", "/v1/models"}};
};

}  // namespace assay::server
