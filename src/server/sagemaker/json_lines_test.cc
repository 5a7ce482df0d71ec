#include "server/sagemaker/json_lines.h"

#include <condition_variable>
#include <mutex>

#include <gtest/gtest.h>

namespace assay::server {
namespace {

using Lines = std::vector<std::string_view>;

HttpReply reply_of(int status, std::string body) {
  HttpReply reply;
  reply.status = status;
  reply.body = std::move(body);
  return reply;
}

TEST(JsonLines, MediaTypes) {
  EXPECT_TRUE(is_json_lines_media_type("application/jsonlines"));
  EXPECT_TRUE(is_json_lines_media_type(" Application/X-JSONLines ; charset=utf-8"));
  EXPECT_FALSE(is_json_lines_media_type("application/json"));
  EXPECT_FALSE(is_json_lines_media_type(""));
}

TEST(JsonLines, TheLastLineNeedsNoEndAndEmptyOnesCount) {
  EXPECT_EQ(json_lines_of("a\nb"), (Lines{"a", "b"}));
  EXPECT_EQ(json_lines_of("a\r\nb\n"), (Lines{"a", "b"}));
  EXPECT_EQ(json_lines_of("a\n\nb\n\n"), (Lines{"a", "", "b", ""}));
  EXPECT_TRUE(json_lines_of("").empty());
  EXPECT_EQ(json_lines_of("\n"), (Lines{""}));
}

TEST(JsonLines, RepliesStandInTheOrderOfTheLines) {
  const JsonLinesReply reply = answer_json_lines({"1", "2", "3", "4", "5"}, 3, [](std::string_view line) {
    return reply_of(line == "2" || line == "4" ? 400 : 200, "{\n\"a\": " + std::string(line) + "}\r");
  });
  EXPECT_EQ(reply.body, "{ \"a\": 1} \n{ \"a\": 2} \n{ \"a\": 3} \n{ \"a\": 4} \n{ \"a\": 5} \n");
  EXPECT_EQ(reply.failed, 2u);
  EXPECT_EQ(reply.first_failed, 2u);
  EXPECT_EQ(reply.first_failed_status, 400);
}

TEST(JsonLines, AStreamIsAnErrorOfItsLine) {
  const JsonLinesReply reply = answer_json_lines({"1"}, 1, [](std::string_view) {
    HttpReply streamed;
    streamed.stream = [](const BodyWriter&) { return true; };
    return streamed;
  });
  EXPECT_EQ(reply.failed, 1u);
  EXPECT_NE(reply.body.find("\"field\": \"stream\""), std::string::npos) << reply.body;
}

// Would wait for ever if the lines came one behind the other.
TEST(JsonLines, LinesAreAnsweredAtTheSameTime) {
  std::mutex mutex;
  std::condition_variable changed;
  int waiting = 0;
  const JsonLinesReply reply = answer_json_lines({"1", "2"}, 2, [&](std::string_view) {
    std::unique_lock<std::mutex> lock(mutex);
    ++waiting;
    changed.notify_all();
    changed.wait(lock, [&] { return waiting == 2; });
    return reply_of(200, "{}");
  });
  EXPECT_EQ(reply.failed, 0u);
}

TEST(JsonLines, NoLinesNoReplies) {
  EXPECT_EQ(answer_json_lines({}, 4, [](std::string_view) { return reply_of(200, ""); }).body, "");
}

}  // namespace
}  // namespace assay::server
