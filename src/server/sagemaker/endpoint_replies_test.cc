#include "server/sagemaker/endpoint_replies.h"

#include <gtest/gtest.h>

#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

std::string header_of(const HttpReply& reply, std::string_view name) {
  for (const auto& [key, value] : reply.headers) {
    if (key == name) return value;
  }
  return "";
}

HttpRequest asked(std::vector<std::pair<std::string, std::string>> headers) {
  return {.method = "POST",
          .path = "/endpoints/e/invocations",
          .headers = std::move(headers),
          .body = "{}",
          .disconnected = {}};
}

TEST(EndpointReplies, TheContainerSeesAPlainRequest) {
  const HttpRequest inner = as_container_sees_it(asked({{"X-Amzn-SageMaker-Content-Type", "application/jsonlines"},
                                                        {"Content-Type", "application/octet-stream"},
                                                        {"X-Amzn-SageMaker-Accept", "text/event-stream"},
                                                        {"Authorization", "AWS4-HMAC-SHA256 x"},
                                                        {"x-amz-date", "1"}}));
  EXPECT_EQ(inner.path, "/invocations");
  EXPECT_EQ(*find_header(inner, "content-type"), "application/jsonlines");
  EXPECT_EQ(*find_header(inner, "accept"), "text/event-stream");
  EXPECT_EQ(find_header(inner, "authorization"), nullptr);
  EXPECT_NE(find_header(inner, "x-amz-date"), nullptr);
  EXPECT_EQ(*find_header(as_container_sees_it(asked({})), "content-type"), "application/json");
  EXPECT_EQ(*find_header(as_container_sees_it(asked({{"Content-Type", "text/csv"}})), "content-type"), "text/csv");
  EXPECT_NE(find_header(as_container_sees_it(asked({{"authorization", "Bearer k"}})), "authorization"), nullptr);
}

TEST(EndpointReplies, AnErrorIsAModelError) {
  HttpReply reply;
  reply.status = 503;
  reply.body = "{\"error\": \"busy\"}";
  reply.headers = {{"x-request-id", "r"}, {"Retry-After", "1"}};
  const HttpReply seen = as_client_sees_it(reply);
  EXPECT_EQ(seen.status, 424);
  EXPECT_EQ(header_of(seen, "x-amzn-ErrorType"), "ModelError");
  EXPECT_EQ(header_of(seen, "x-request-id"), "r");
  const Result<Value> body = parse_json(seen.body);
  ASSERT_TRUE(body.ok());
  EXPECT_EQ(body->find("OriginalStatusCode")->integer()->digits, "503");
  EXPECT_EQ(*body->find("OriginalMessage")->string(), "{\"error\": \"busy\"}");
  EXPECT_NE(body->find("Message")->string()->find("server error (503)"), std::string::npos);
}

TEST(EndpointReplies, ALongErrorIsCutBetweenCharacters) {
  HttpReply reply;
  reply.status = 400;
  reply.body = std::string(2047, 'x') + "\xC3\xA4" + "yyyy";
  const Result<Value> body = parse_json(as_client_sees_it(reply).body);
  ASSERT_TRUE(body.ok());
  EXPECT_EQ(body->find("OriginalMessage")->string()->size(), 2047u);
}

TEST(EndpointReplies, AStreamIsFramedPieceByPiece) {
  HttpReply reply;
  reply.content_type = "text/event-stream";
  reply.stream = [](const BodyWriter& write) {
    write("data: 1\n\n");
    return write("data: 2\n\n");
  };
  const HttpReply framed = in_frames(reply);
  EXPECT_EQ(framed.content_type, "application/vnd.amazon.eventstream");
  EXPECT_EQ(header_of(framed, "X-Amzn-SageMaker-Content-Type"), "text/event-stream");
  std::vector<std::string> pieces;
  framed.stream([&pieces](std::string_view piece) {
    pieces.emplace_back(piece);
    return true;
  });
  ASSERT_EQ(pieces.size(), 2u);
  EXPECT_NE(pieces[1].find("data: 2\n\n"), std::string::npos);
  EXPECT_EQ(without_stream(reply).body, "data: 1\n\ndata: 2\n\n");
  reply.stream = [](const BodyWriter& write) { return write("data: 1\n\n") && false; };
  EXPECT_EQ(without_stream(reply).status, 503) << "half a reply is none";
  EXPECT_FALSE(in_frames(reply).stream([](std::string_view) { return true; }));
  reply.stream = nullptr;
  reply.body = "{}";
  EXPECT_NE(in_frames(reply).body.find("PayloadPart"), std::string::npos);
  reply.status = 424;
  EXPECT_EQ(in_frames(reply).body, "{}");
}

TEST(EndpointReplies, AnAcceptedCallSaysWhereItsReplyWillBe) {
  HttpRequest request = asked({{"Host", "localhost:8080"}});
  request.path = "/endpoints/e/async-invocations";
  const HttpReply reply = accepted_reply(request, "i1");
  EXPECT_EQ(reply.status, 202);
  EXPECT_EQ(reply.body, "{\"InferenceId\": \"i1\"}");
  EXPECT_EQ(header_of(reply, "X-Amzn-SageMaker-OutputLocation"),
            "http://localhost:8080/endpoints/e/async-invocations/i1");
}

TEST(EndpointReplies, InferenceIds) {
  EXPECT_TRUE(is_inference_id("a-1_B.c"));
  for (const char* bad : {"", "a/b", "a b", "\xC3\xA4"}) EXPECT_FALSE(is_inference_id(bad)) << bad;
  EXPECT_FALSE(is_inference_id(std::string(65, 'a')));
}

}  // namespace
}  // namespace assay::server
