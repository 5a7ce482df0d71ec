#include "server/sagemaker/multi_model.h"

#include <gtest/gtest.h>

#include <future>
#include <set>
#include <vector>

#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

// Loads at once; a name that begins with "big" finds no memory, one with "bad" is no model, one with "slow" waits.
class FakeHost final : public ModelHost {
 public:
  Status start(const std::string& name, const ModelFiles& files, const std::function<bool()>& /*cancelled*/) override {
    if (name.starts_with("big")) return Error{ErrorCode::kOutOfMemory, "8 MiB are free", "model"};
    if (name.starts_with("bad")) return Error{ErrorCode::kUnsupportedModel, "no GGUF", "model"};
    if (name.starts_with("slow")) {
      started.set_value();
      go_on.get_future().wait();
    }
    running.insert(name + " " + files.model);
    return {};
  }
  void stop(const std::string& name) override {
    std::erase_if(running, [&name](const std::string& one) { return one.starts_with(name + " "); });
    stopped.push_back(name);
    if (name.starts_with("slow") && stopped.size() == 1) go_on.set_value();
  }

  std::set<std::string> running;
  std::vector<std::string> stopped;
  std::promise<void> started;
  std::promise<void> go_on;
};

std::string order(const std::string& name, const std::string& url = "/opt/ml/models/m/model") {
  return R"({"model_name": ")" + name + R"(", "url": ")" + url + R"("})";
}

class MultiModelTest : public ::testing::Test {
 protected:
  static Result<ModelFiles> find(const std::string& url) {
    if (url.ends_with("empty")) return Error{ErrorCode::kNotFound, url + ": no model", "url"};
    return ModelFiles{.model = url + "/model.gguf"};
  }

  int load(const std::string& name) { return models_.load(order(name), {}).status; }

  FakeHost host_;
  MultiModel models_{host_, find, 2};
};

TEST_F(MultiModelTest, AModelIsLoadedListedAskedAndUnloaded) {
  const ModelReply loaded = models_.load(order("a", "/opt/ml/models/a/model"), {});
  EXPECT_EQ(loaded.status, 200) << loaded.body;
  EXPECT_EQ(host_.running, std::set<std::string>{"a /opt/ml/models/a/model/model.gguf"});
  EXPECT_EQ(models_.get("a").body, R"({"modelName": "a", "modelUrl": "/opt/ml/models/a/model"})");
  EXPECT_EQ(models_.list("").body, R"({"models": [{"modelName": "a", "modelUrl": "/opt/ml/models/a/model"}]})");
  EXPECT_FALSE(models_.refusal_for("a").has_value());
  EXPECT_EQ(models_.unload("a").status, 200);
  EXPECT_TRUE(host_.running.empty());
  EXPECT_EQ(models_.get("a").status, 404);
  EXPECT_EQ(models_.refusal_for("a")->status, 404);
  EXPECT_EQ(models_.unload("a").status, 404);
  EXPECT_EQ(models_.list("").body, R"({"models": []})");
}

TEST_F(MultiModelTest, AModelThatIsLoadedIsAConflict) {
  EXPECT_EQ(load("a"), 200);
  EXPECT_EQ(load("a"), 409);
  EXPECT_EQ(models_.unload("a").status, 200);
  EXPECT_EQ(load("a"), 200);
}

TEST_F(MultiModelTest, WantOfMemoryIs507AndLeavesNothing) {
  const ModelReply reply = models_.load(order("big"), {});
  EXPECT_EQ(reply.status, 507);
  EXPECT_NE(reply.body.find("8 MiB are free"), std::string::npos) << reply.body;
  EXPECT_EQ(models_.get("big").status, 404);
  EXPECT_EQ(load("big"), 507);  // and no 409
}

TEST_F(MultiModelTest, WhatIsNoModelIsTheCallersFault) {
  EXPECT_EQ(load("bad"), 400);
  EXPECT_EQ(models_.load(order("a", "/opt/ml/models/empty"), {}).status, 400);
  EXPECT_EQ(models_.get("a").status, 404);
  EXPECT_EQ(models_.list("").body, R"({"models": []})");
}

TEST_F(MultiModelTest, ABadBodyNamesItsField) {
  const std::vector<std::pair<std::string, std::string>> all = {{order(""), "model_name"},
                                                                {order("../a"), "model_name"},
                                                                {order("-m"), "model_name"},
                                                                {order(std::string(257, 'a')), "model_name"},
                                                                {R"({"model_name": 1, "url": "/m"})", "model_name"},
                                                                {order("a", "models/a"), "url"},
                                                                {order("a", "/m\\u0000"), "url"},
                                                                {R"({"model_name": "a"})", "url"},
                                                                {"[]", "model_name"},
                                                                {"{", "JSON"}};
  for (const auto& [body, field] : all) {
    const ModelReply reply = models_.load(body, {});
    EXPECT_EQ(reply.status, 400) << body;
    EXPECT_NE(reply.body.find(field), std::string::npos) << body << " " << reply.body;
  }
  EXPECT_TRUE(host_.running.empty());
}

TEST_F(MultiModelTest, AListComesInPages) {
  for (const char* name : {"c", "a", "e", "b", "d"}) EXPECT_EQ(load(name), 200);
  std::vector<std::string> seen;
  std::string token;
  std::size_t pages = 0;
  do {
    const Result<Value> page = parse_json(models_.list(token).body);
    ASSERT_TRUE(page.ok());
    for (const Value& one : *page->find("models")->array()) seen.push_back(*one.find("modelName")->string());
    const Value* next = page->find("nextPageToken");
    token = next == nullptr ? "" : *next->string();
  } while (++pages < 5 && !token.empty());
  EXPECT_EQ(pages, 3u);
  EXPECT_EQ(seen, (std::vector<std::string>{"a", "b", "c", "d", "e"}));
  EXPECT_EQ(models_.list("no token/").status, 400);
}

TEST_F(MultiModelTest, AFullLastPageHasNoToken) {
  EXPECT_EQ(load("a"), 200);
  EXPECT_EQ(load("b"), 200);
  EXPECT_EQ(models_.list("").body.find("nextPageToken"), std::string::npos);
}

TEST_F(MultiModelTest, AModelThatLoadsIsNotThereYetAndCanBeGivenUp) {
  auto loading = std::async(std::launch::async, [this] { return models_.load(order("slow"), {}); });
  host_.started.get_future().wait();
  EXPECT_EQ(load("slow"), 409);
  EXPECT_EQ(models_.get("slow").status, 404);
  EXPECT_EQ(models_.list("").body, R"({"models": []})");
  EXPECT_EQ(models_.unload("slow").status, 200);
  EXPECT_EQ(loading.get().status, 409);
  EXPECT_TRUE(host_.running.empty());
  EXPECT_EQ(models_.unload("slow").status, 404);
}

}  // namespace
}  // namespace assay::server
