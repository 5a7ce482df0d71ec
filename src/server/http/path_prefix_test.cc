#include "server/http/path_prefix.h"

#include <gtest/gtest.h>

namespace assay::server {
namespace {

TEST(BehindPrefix, IsTheRestOfThePath) {
  EXPECT_EQ(behind_prefix("/x/health", "/x"), "/health");
  EXPECT_EQ(behind_prefix("/a/b/v1/decide", "/a/b"), "/v1/decide");
  EXPECT_EQ(behind_prefix("/x", "/x"), "/");
  EXPECT_EQ(behind_prefix("/x/", "/x"), "/");
  EXPECT_EQ(behind_prefix("/x/x/health", "/x"), "/x/health");
}

TEST(BehindPrefix, IsNothingElsewhere) {
  EXPECT_EQ(behind_prefix("/health", "/x"), std::nullopt);
  EXPECT_EQ(behind_prefix("/xy/health", "/x"), std::nullopt);
  EXPECT_EQ(behind_prefix("/X/health", "/x"), std::nullopt);
  EXPECT_EQ(behind_prefix("", "/x"), std::nullopt);
}

TEST(BehindPrefix, NoPrefixChangesNothing) {
  EXPECT_EQ(behind_prefix("/health", ""), "/health");
  EXPECT_EQ(behind_prefix("*", ""), "*");
}

TEST(PathOfTarget, LeavesOutSchemeAndHost) {
  EXPECT_EQ(path_of_target("http://localhost:8080/v1/decide"), "/v1/decide");
  EXPECT_EQ(path_of_target("HTTPS://[::1]/"), "/");
  EXPECT_EQ(path_of_target("http://localhost"), "/");
  for (const char* path : {"/", "/v1/decide", "/a://b/c", "*", "", "http:/x"}) EXPECT_EQ(path_of_target(path), path);
}

TEST(IsPathPrefix, BeginsWithASlashAndEndsWithNone) {
  for (const char* good : {"", "/x", "/a/b.c-d_e"}) EXPECT_TRUE(is_path_prefix(good)) << good;
  for (const char* bad : {"x", "/", "/x/", "/a b", "/a?b", "/a%20"}) EXPECT_FALSE(is_path_prefix(bad)) << bad;
}

}  // namespace
}  // namespace assay::server
