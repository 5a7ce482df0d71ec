#include "server/route_table.h"

#include <gtest/gtest.h>

namespace assay::server {
namespace {

TEST(RouteTable, KnowsWhatStandsBehindAPath) {
  EXPECT_EQ(find_route("/v1/systemone")->kind, RouteKind::kSystemOne);
  EXPECT_EQ(find_route("/api/v1/systemone")->kind, RouteKind::kSystemOne);
  EXPECT_EQ(find_route("/api/alpha/decisions")->kind, RouteKind::kSystemOne);
  EXPECT_EQ(find_route("/v1/decisions")->kind, RouteKind::kDecisions);
  EXPECT_EQ(find_route("/decisions")->kind, RouteKind::kDecisions);
  EXPECT_EQ(find_route("/v1/decide")->kind, RouteKind::kSemif);
  EXPECT_EQ(find_route("/v1/chat/completions")->kind, RouteKind::kChat);
  EXPECT_EQ(find_route("/v1/v1/systemone"), nullptr);
  EXPECT_EQ(find_route(""), nullptr);
}

TEST(IsPathOf, TakesWholeSegments) {
  EXPECT_TRUE(is_path_of("/slots", "/slots"));
  EXPECT_FALSE(is_path_of("/slots", "/slots/"));
  EXPECT_FALSE(is_path_of("/slots", "/slots/1"));
  EXPECT_TRUE(is_path_of("/slots/:id_slot", "/slots/12"));
  EXPECT_FALSE(is_path_of("/slots/:id_slot", "/slots"));
  EXPECT_FALSE(is_path_of("/slots/:id_slot", "/slots/"));
  EXPECT_FALSE(is_path_of("/slots/:id_slot", "/slots/1/2"));
  EXPECT_FALSE(is_path_of("/slots", ""));
}

TEST(RouteTable, HeadGoesWhereGetGoes) {
  EXPECT_TRUE(takes(*find_route("/health"), "HEAD"));
  EXPECT_FALSE(takes(*find_route("/v1/decide"), "HEAD"));
  EXPECT_FALSE(takes(*find_route("/v1/decide"), "GET"));
  EXPECT_EQ(allowed_methods(*find_route("/health")), "GET, HEAD");
  EXPECT_EQ(allowed_methods(*find_route("/v1/systemone")), "POST");
}

TEST(NearestPath, KnowsOtherServersNamesAndSlips) {
  EXPECT_EQ(nearest_path("/v1/systemone/"), "/v1/systemone");
  EXPECT_EQ(nearest_path("/V1/SystemOne"), "/v1/systemone");
  EXPECT_EQ(nearest_path("/v1/v1/systemone"), "/v1/systemone");
  EXPECT_EQ(nearest_path("/systemone"), "/v1/systemone");
  EXPECT_EQ(nearest_path("/openai/v2/decisions"), "/v1/decisions");
  EXPECT_EQ(nearest_path("/v1/decide/"), "/v1/decide");
  EXPECT_EQ(nearest_path("/v1/classify"), "/v1/decide");
  EXPECT_EQ(nearest_path("/chat/completions"), "/v1/chat/completions");
  EXPECT_EQ(nearest_path("/v1/v1/models"), "/v1/models");
  EXPECT_EQ(nearest_path("/invocation"), "/invocations");
  EXPECT_EQ(nearest_path("/healthz"), "/health");
  EXPECT_EQ(nearest_path("/elsewhere"), "");
  EXPECT_EQ(nearest_path(std::string(100000, 'x')), "");
}

TEST(NoRouteText, IsShortAndWhole) {
  EXPECT_EQ(no_route_text("/health2"), "no route /health2; did you mean GET /health?");
  EXPECT_LT(no_route_text(std::string(100000, 'x')).size(), 1500u);
  // A chat server's routes are meant, too, where they are there.
  std::vector<Route> routes = known_routes();
  routes.push_back({.path = "/v1/embeddings", .method = "POST", .kind = RouteKind::kForeign});
  EXPECT_EQ(no_route_text("/v1/embedings", routes), "no route /v1/embedings; did you mean POST /v1/embeddings?");
  EXPECT_EQ(no_route_text("/v1/embedings").find("did you mean"), std::string::npos);
  routes.push_back({.path = "/models", .method = "GET", .kind = RouteKind::kForeign});
  EXPECT_EQ(no_route_text("/model", routes), "no route /model; did you mean GET /v1/models?");
  // The cut falls inside a character, which then goes as a whole.
  const std::string text = no_route_text("/" + std::string(198, 'x') + "\xC3\xA9");
  EXPECT_EQ(text.find('\xC3'), std::string::npos);
}

}  // namespace
}  // namespace assay::server
