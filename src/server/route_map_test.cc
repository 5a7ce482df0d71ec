#include "server/route_map.h"

#include <gtest/gtest.h>

#include "server/testing/fake_chat_server.h"

namespace assay::server {
namespace {

TEST(RouteMap, OursComesFirst) {
  const FakeChatServer chat;
  const RouteMap map(&chat);
  EXPECT_EQ(map.find("/health", "GET")->kind, RouteKind::kHealth);
  EXPECT_EQ(map.find("/v1/chat/completions", "POST")->kind, RouteKind::kChat);
  EXPECT_EQ(map.find_foreign("/v1/chat/completions", "POST")->foreign, 3u);
  EXPECT_EQ(map.find_foreign("/v1/decide", "POST"), nullptr);
}

TEST(RouteMap, FindsByPathAndMethod) {
  const FakeChatServer chat;
  const RouteMap map(&chat);
  EXPECT_EQ(map.find("/props", "GET")->foreign, 1u);
  EXPECT_EQ(map.find("/props", "HEAD")->foreign, 1u);
  EXPECT_EQ(map.find("/props", "POST")->foreign, 2u);
  EXPECT_EQ(map.find("/slots/3", "POST")->foreign, 5u);
  EXPECT_EQ(map.find("/nowhere", "GET"), nullptr);
  const Route* wrong = map.find("/v1/embeddings", "GET");  // the path is known, the method is not its
  ASSERT_NE(wrong, nullptr);
  EXPECT_FALSE(takes(*wrong, "GET"));
  EXPECT_EQ(map.allowed_methods("/props"), "GET, HEAD, POST");
  EXPECT_EQ(map.allowed_methods("/v1/embeddings"), "POST");
}

TEST(RouteMap, GivesWayToAServerThatDecidesItself) {
  FakeChatServer chat;
  chat.is_router = true;
  const RouteMap map(&chat);
  EXPECT_EQ(map.find("/v1/chat/completions", "POST")->kind, RouteKind::kForeign);
  EXPECT_EQ(map.find("/v1/models", "GET")->kind, RouteKind::kForeign);
  EXPECT_EQ(map.find("/v1/decide", "POST"), nullptr);  // it says itself what it has
  EXPECT_EQ(map.find("/health", "GET")->kind, RouteKind::kHealth);
  EXPECT_EQ(map.find("/metrics", "GET")->kind, RouteKind::kMetrics);
  EXPECT_EQ(map.find("/docs", "GET")->kind, RouteKind::kPage);
}

TEST(RouteMap, WithoutAChatServerItHasOursAlone) {
  const RouteMap map(nullptr);
  EXPECT_EQ(map.find("/props", "GET"), nullptr);
  EXPECT_EQ(map.find("/v1/decide", "POST")->kind, RouteKind::kSemif);
}

}  // namespace
}  // namespace assay::server
