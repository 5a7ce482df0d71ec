#include "server/http/layer_replies.h"

#include <gtest/gtest.h>

#include "server/testing/socket_pair.h"

namespace assay::server {
namespace {

HttpRequest request_to(const std::string& path) {
  return HttpRequest{.method = "POST", .path = path, .headers = {}, .body = "", .disconnected = {}};
}

std::string header(const HttpReply& reply, const std::string& name) {
  for (const auto& [key, value] : reply.headers) {
    if (key == name) return value;
  }
  return "";
}

TEST(LayerReplies, EachHasAnIdAndUnavailableOnesSayWhenToComeBack) {
  const Error busy{ErrorCode::kOverloaded, "busy", ""};
  const HttpReply reply = layer_refusal(request_to("/v1/decide"), 503, busy);
  EXPECT_EQ(reply.status, 503);
  EXPECT_EQ(reply.body, R"({"error": "busy", "code": "overloaded", "retryable": true})");
  EXPECT_EQ(header(reply, "Retry-After"), "1");
  EXPECT_EQ(header(reply, "x-request-id").size(), 16u);
  EXPECT_EQ(header(reply, "x-request-id"), header(reply, "x-typesafe-request-id"));
  EXPECT_NE(header(reply, "x-request-id"), header(layer_refusal(request_to("/"), 503, busy), "x-request-id"));
  EXPECT_EQ(header(layer_refusal(request_to("/"), 413, too_large(7)), "Retry-After"), "");
}

TEST(LayerReplies, TheClientsOwnIdComesBackWhenItIsSane) {
  HttpRequest request = request_to("/");
  request.headers = {{"X-Request-Id", "order-7"}};
  EXPECT_EQ(header(layer_refusal(request, 400, too_large(7)), "x-request-id"), "order-7");
  for (const std::string& odd : {std::string(), std::string(129, 'a'), std::string("a b"), std::string("a\nb")}) {
    request.headers = {{"X-Request-Id", odd}};
    EXPECT_EQ(header(layer_refusal(request, 400, too_large(7)), "x-request-id").size(), 16u) << odd;
  }
}

TEST(LayerReplies, ErrorsAreInTheFormOfThePath) {
  const Error error = too_large(7);
  EXPECT_EQ(layer_refusal(request_to("/v1/decide"), 413, error).body.find(R"({"error": "the body)"), 0u);
  EXPECT_EQ(layer_refusal(request_to("/v1/systemone"), 413, error).body.find(R"({"detail": )"), 0u);
  EXPECT_EQ(layer_refusal(request_to("/v1/decisions"), 413, error).body.find(R"({"error": {"message")"), 0u);
  EXPECT_EQ(layer_refusal(request_to("/v1/lessons"), 413, error).body.find(R"({"error": "the body)"), 0u);
  // What has no body, llama-server's paths, and what is none.
  for (const char* path : {"/v1/models", "/metrics", "/docs", "/v1/completions", "/v1/messages", "/no/such"}) {
    const std::string body = loading_reply(request_to(path)).body;
    EXPECT_EQ(body.find(R"({"detail": {"error_type": "overloaded")"), 0u) << path;
    EXPECT_NE(body.find(R"("error": {"code": 503, "message": "the model is still loading"})"), std::string::npos);
  }
}

TEST(LayerReplies, TheStatusInASystemOneBodyIsTheReplysOwn) {
  for (const int status : {400, 408, 413, 414, 415, 417, 431, 503}) {
    const std::string body = layer_refusal(request_to("/v1/systemone"), status, slow_request()).body;
    EXPECT_NE(body.find(R"("error": {"code": )" + std::to_string(status) + ","), std::string::npos) << body;
  }
}

TEST(LayerReplies, ProbesGetTheStateWhileTheModelLoads) {
  for (const char* path : {"/health", "/v1/health", "/ping"}) {
    const HttpReply reply = loading_reply(request_to(path));
    EXPECT_EQ(reply.status, 503);
    EXPECT_EQ(reply.body.find(R"({"status": "loading")"), 0u);
    EXPECT_EQ(header(reply, "Retry-After"), "1");
  }
  EXPECT_NE(loading_reply(request_to("/health")).body.find(R"("error": {"code": 503, "message": "Loading model")"),
            std::string::npos);
  EXPECT_EQ(loading_reply(request_to("/v2/health/live")).status, 200);
  EXPECT_EQ(loading_reply(request_to("/v2/health/ready")).status, 503);
  const HttpReply reply = loading_reply(request_to("/v1/decide"));
  EXPECT_EQ(reply.status, 503);
  EXPECT_NE(reply.body.find(R"("code": "unavailable", "retryable": true)"), std::string::npos) << reply.body;
}

class LibraryStatus : public ::testing::Test {
 protected:
  LibraryStatus() : socket_(sockets_.take_server()), connection_(socket_, plain_transport(socket_), kLimits, open_) {}

  int status_of(int status) { return reply_for_status(request_to("/"), status, connection_).status; }
  // Lets the connection read so many bytes, and then wait.
  void receive(std::size_t size) {
    sockets_.send(std::string(size, 'x'));
    connection_.begin_head();
    char byte = 0;
    for (std::size_t i = 0; i < size; ++i) EXPECT_EQ(connection_.read(&byte, 1), 1);
  }

  static constexpr ConnectionLimits kLimits{.read_seconds = 0.01, .write_seconds = 1};
  SocketPair sockets_;
  std::atomic<std::size_t> open_{0};
  const int socket_;
  Connection connection_;
};

TEST_F(LibraryStatus, IsOursWhereWeKnowMore) {
  EXPECT_EQ(status_of(400), 400);
  EXPECT_EQ(status_of(414), 414);
  EXPECT_EQ(status_of(416), 400);
  EXPECT_EQ(status_of(500), 500);
  receive(8 * 1024 + 1);
  EXPECT_EQ(status_of(400), 431);
  EXPECT_EQ(status_of(500), 500);
}

TEST_F(LibraryStatus, OfTooManyHeadersIs431HoweverShortTheyAre) {
  HttpRequest request = request_to("/");
  request.headers.resize(99);
  EXPECT_EQ(reply_for_status(request, 400, connection_).status, 400);
  request.headers.resize(100);
  EXPECT_EQ(reply_for_status(request, 400, connection_).status, 431);
}

TEST_F(LibraryStatus, OfASlowClientIs408) {
  receive(3);
  char byte = 0;
  EXPECT_EQ(connection_.read(&byte, 1), -1);
  EXPECT_EQ(status_of(400), 408);
}

TEST(LayerReplies, BytesAreAWholeReply) {
  const std::string bytes = bytes_of_refusal(503, {ErrorCode::kOverloaded, "no thread is free", ""});
  EXPECT_EQ(bytes.find("HTTP/1.1 503 \r\n"), 0u);
  const std::size_t body = bytes.find("\r\n\r\n") + 4;
  EXPECT_NE(bytes.find("Content-Length: " + std::to_string(bytes.size() - body) + "\r\n"), std::string::npos);
  EXPECT_NE(bytes.find("Retry-After: 1\r\n"), std::string::npos);
  EXPECT_NE(bytes.find("Connection: close\r\n"), std::string::npos);
  EXPECT_NE(bytes.find(R"("code": "overloaded", "retryable": true})"), std::string::npos);
}

}  // namespace
}  // namespace assay::server
