#include "cli/model_discovery.h"

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

#include "cli/testing/temp_dir.h"

namespace assay::cli {
namespace {

std::string chosen(std::vector<std::string> files, ModelRule rule = ModelRule::kFirst) {
  const Result<ModelChoice> choice = choose_model(std::move(files), rule);
  return choice.ok() ? choice->model : "error: " + choice.error().message;
}

TEST(ModelDiscovery, TakesTheOneThereIs) {
  const Result<ModelChoice> choice = choose_model({"tokenizer/vocab.txt", "model.gguf"}, ModelRule::kFirst);
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->model, "model.gguf");
  EXPECT_TRUE(choice->warnings.empty());
  EXPECT_TRUE(choice->mmproj.empty());
}

TEST(ModelDiscovery, LooksOneFolderDeepAndNoDeeper) {
  EXPECT_EQ(chosen({"b/model.gguf", "a/readme.txt"}), "b/model.gguf");
  EXPECT_EQ(chosen({"a/first.gguf", "z.gguf"}), "z.gguf") << "the folder itself comes first";
  EXPECT_EQ(chosen({"b/a.gguf", "a/b.gguf"}), "a/b.gguf");
  EXPECT_EQ(choose_model({"a/b/model.gguf"}, ModelRule::kFirst).error().code, ErrorCode::kNotFound);
}

TEST(ModelDiscovery, TheOrderOfTheListingChangesNothing) {
  EXPECT_EQ(chosen({"b.gguf", "a.gguf", "B.gguf"}), "B.gguf");
  EXPECT_EQ(chosen({"B.gguf", "b.gguf", "a.gguf"}), "B.gguf");
}

TEST(ModelDiscovery, AProjectorIsNeverTheModel) {
  const Result<ModelChoice> choice = choose_model({"mmproj-qwen.gguf", "qwen.gguf", "x/a.gguf"}, ModelRule::kFirst);
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->model, "qwen.gguf");
  EXPECT_EQ(choice->mmproj, "mmproj-qwen.gguf");
  EXPECT_EQ(chosen({"Smol.MMPROJ-f16.gguf", "smol.gguf"}), "smol.gguf");
  const Result<ModelChoice> alone = choose_model({"mmproj-qwen.gguf"}, ModelRule::kFirst);
  ASSERT_FALSE(alone.ok());
  EXPECT_NE(alone.error().message.find("mmproj-qwen.gguf"), std::string::npos);
}

TEST(ModelDiscovery, WhatGoesWithAModelIsTakenOnlyWithoutOne) {
  EXPECT_EQ(chosen({"a-lora.gguf", "adapter.gguf", "draft-model.gguf", "ggml-vocab-x.gguf", "model.gguf"}),
            "model.gguf");
  const Result<ModelChoice> choice = choose_model({"draft-model.gguf"}, ModelRule::kFirst);
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->model, "draft-model.gguf");
  EXPECT_EQ(choice->warnings.size(), 1u);
}

TEST(ModelDiscovery, OfShardsTheFirstIsLoaded) {
  EXPECT_EQ(chosen({"m-00003-of-00003.gguf", "m-00001-of-00003.gguf", "m-00002-of-00003.gguf"}),
            "m-00001-of-00003.gguf");
  EXPECT_EQ(chosen({"d/m-00002-of-00002.gguf", "d/m-00001-of-00002.gguf"}, ModelRule::kOnlyOne),
            "d/m-00001-of-00002.gguf");
  EXPECT_EQ(chosen({"-00001-of-00001.gguf"}), "-00001-of-00001.gguf") << "no name before it: no shard";
  EXPECT_EQ(chosen({"m-0000x-of-00002.gguf"}), "m-0000x-of-00002.gguf");
}

TEST(ModelDiscovery, AMissingShardIsNamed) {
  EXPECT_EQ(chosen({"m-00001-of-00003.gguf", "m-00003-of-00003.gguf"}),
            "error: a shard of the model is missing: m-00002-of-00003.gguf");
  EXPECT_EQ(chosen({"m-00002-of-00002.gguf"}), "error: a shard of the model is missing: m-00001-of-00002.gguf");
  EXPECT_EQ(chosen({"m-00001-of-00002.gguf", "m-00002-of-00003.gguf"}),
            "error: a shard of the model is missing: m-00002-of-00002.gguf");
}

TEST(ModelDiscovery, SeveralModelsAreAWarningOrRefused) {
  const Result<ModelChoice> first = choose_model({"b.gguf", "a.gguf"}, ModelRule::kFirst);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->model, "a.gguf");
  ASSERT_EQ(first->warnings.size(), 1u);
  EXPECT_NE(first->warnings[0].find("a.gguf, b.gguf"), std::string::npos);
  const Result<ModelChoice> strict = choose_model({"b.gguf", "d/a.gguf"}, ModelRule::kOnlyOne);
  ASSERT_FALSE(strict.ok());
  EXPECT_EQ(strict.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(strict.error().message.find("b.gguf, d/a.gguf"), std::string::npos);
  EXPECT_EQ(chosen({"mmproj.gguf", "a.gguf"}, ModelRule::kOnlyOne), "a.gguf");
}

TEST(ModelDiscovery, AnotherCaseIsPassedOverAndSaid) {
  const Result<ModelChoice> choice = choose_model({"A.GGUF", "b.gguf"}, ModelRule::kFirst);
  ASSERT_TRUE(choice.ok());
  EXPECT_EQ(choice->model, "b.gguf");
  ASSERT_EQ(choice->warnings.size(), 1u);
  EXPECT_NE(choice->warnings[0].find("A.GGUF"), std::string::npos);
  EXPECT_NE(chosen({"A.GGUF"}).find("A.GGUF"), std::string::npos);
}

TEST(ModelDiscovery, ListsFilesAndLinksToThemTwoLevelsDeep) {
  const TempDir dir;
  std::filesystem::create_directories(dir.path("sub/deeper"));
  std::filesystem::create_directories(dir.path("folder.gguf"));
  dir.write("a.gguf", "x");
  dir.write("sub/b.gguf", "x");
  dir.write("sub/deeper/c.gguf", "x");
  std::filesystem::create_symlink(dir.path("a.gguf"), dir.path("link.gguf"));
  std::filesystem::create_symlink(dir.path("absent"), dir.path("dangling.gguf"));
  std::vector<std::string> files = list_model_files(dir.path("."));
  std::sort(files.begin(), files.end());
  EXPECT_EQ(files, (std::vector<std::string>{"a.gguf", "link.gguf", "sub/b.gguf"}));
  EXPECT_TRUE(list_model_files(dir.path("none")).empty());
}

}  // namespace
}  // namespace assay::cli
