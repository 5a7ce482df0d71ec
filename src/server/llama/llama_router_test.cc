// What an upgrade of llama.cpp may change under its router mode, and whom decisions are for. No process is started.
#include "server/llama/llama_router.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>

#include "server/route_table.h"
#include "server/testing/upstream_routes.h"

namespace assay::server {
namespace {

using Names = std::set<std::string>;

// A folder of files that are named like models; the router looks at names, and into the files only for hints.
class LlamaRouterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::create_directories(dir_);
    setenv("LLAMA_CACHE", (dir_ + "/cache").c_str(), 1);
  }
  void TearDown() override { std::filesystem::remove_all(dir_); }

  std::unique_ptr<LlamaRouter> with_models(const std::vector<std::string>& names) {
    for (const std::string& name : names) std::ofstream(dir_ + "/" + name + ".gguf") << "no model";
    Result<std::unique_ptr<LlamaRouter>> router = LlamaRouter::open({"--models-dir", dir_, "--no-models-autoload"});
    EXPECT_TRUE(router.ok());
    return std::move(router).value();
  }

  static HttpReply post(LlamaRouter& router, const std::string& path, const std::string& body,
                        const std::string& header = "") {
    for (std::size_t i = 0; i < router.routes().size(); ++i) {
      if (router.routes()[i].method != "POST" || router.routes()[i].path != path) continue;
      HttpRequest request{.method = "POST", .path = path};
      request.body = body;
      if (!header.empty()) request.headers = {{"X-Assay-Model", header}};
      return router.handle(i, request);
    }
    ADD_FAILURE() << "no route POST " << path;
    return {};
  }

  const std::string dir_ = ::testing::TempDir() + "assay_router_test";
};

TEST_F(LlamaRouterTest, WithTheMultiModelContractItHasThatsRoutesBelowModels) {
  const auto find = [](const std::string& url) -> Result<ModelFiles> {
    return Error{ErrorCode::kNotFound, url + " is not there", "url"};
  };
  Result<std::unique_ptr<LlamaRouter>> router = LlamaRouter::open({}, {.find_files = find});
  ASSERT_TRUE(router.ok());
  Names below;
  for (const ChatRoute& route : (*router)->routes()) {
    if (route.path.starts_with("/models")) below.insert(route.method + " " + route.path);
  }
  EXPECT_EQ(below, (Names{"GET /models", "POST /models", "GET /models/:name", "DELETE /models/:name",
                          "POST /models/:name/invoke"}));
  EXPECT_EQ(post(**router, "/models", R"({"model_name": "a", "url": "/nowhere"})").status, 400);
  EXPECT_EQ(post(**router, "/models", R"({"model_name": "a"})").status, 400);
}

TEST_F(LlamaRouterTest, HasTheRoutesOfLlamaServerAndThoseThatDecide) {
  const auto router = with_models({});
  Names ours;
  for (const ChatRoute& route : router->routes()) ours.insert(route.method + " " + route.path);
  Names wanted = upstream_routes(true);
  ASSERT_GT(wanted.size(), 45u);
  for (const Route& route : known_routes()) {
    if (is_for_decisions(route.kind)) wanted.insert(std::string(route.method) + " " + route.path);
  }
  EXPECT_EQ(ours, wanted);
}

TEST_F(LlamaRouterTest, FindsModelsInAFolder) {
  const auto router = with_models({"one", "two"});
  EXPECT_EQ(router->model_names(), (std::vector<std::string>{"one", "two"}));
  EXPECT_TRUE(router->start().ok());
}

TEST_F(LlamaRouterTest, ADecisionForNoModelIsRefusedWithTheNames) {
  const auto router = with_models({"one", "two"});
  for (const char* path : {"/v1/decide", "/v1/systemone", "/v1/decisions", "/invocations"}) {
    for (const char* body : {"{}", R"({"model": "three"})", R"({"model": 3})", "[", "", "3"}) {
      const HttpReply reply = post(*router, path, body);
      EXPECT_EQ(reply.status, 400);
      EXPECT_NE(reply.body.find("one, two"), std::string::npos) << path << " " << body << " " << reply.body;
    }
  }
  EXPECT_NE(post(*router, "/v1/decide", R"({"model": "one"})", "three").body.find("no model 'three'"),
            std::string::npos);  // the header wins
}

TEST_F(LlamaRouterTest, TheModelIsTheNamedOneOrTheOnlyOne) {
  const auto two = with_models({"one", "two"});
  EXPECT_NE(post(*two, "/v1/decide", R"({"model": "two"})").body.find("two is not loaded"), std::string::npos);
  EXPECT_NE(post(*two, "/v1/decide", R"({"model": "one"})", "two").body.find("two is not loaded"), std::string::npos);
  std::filesystem::remove(dir_ + "/two.gguf");
  const auto one = with_models({});
  EXPECT_NE(post(*one, "/v1/decide", "{}").body.find("one is not loaded"), std::string::npos);
  EXPECT_NE(post(*one, "/v1/systemone", R"({"model": "jev-latest"})").body.find("one is not loaded"),
            std::string::npos);
}

TEST_F(LlamaRouterTest, AFolderThatIsNotThereIsAnError) {
  EXPECT_FALSE(LlamaRouter::open({"--models-dir", dir_ + "/nowhere"}).ok());
}

TEST_F(LlamaRouterTest, StoppedItAnswersNothingMore) {
  const auto router = with_models({"one"});
  router->stop(0);
  EXPECT_EQ(post(*router, "/v1/decide", "{}").status, 503);
}

}  // namespace
}  // namespace assay::server
