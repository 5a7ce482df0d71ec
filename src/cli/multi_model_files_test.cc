#include "cli/multi_model_files.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "cli/testing/temp_dir.h"

namespace assay::cli {
namespace {

class MultiModelFilesTest : public ::testing::Test {
 protected:
  std::string put(const std::string& name) {
    const std::string path = dir_.path(name);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << "x";
    return path;
  }

  TempDir dir_;
};

TEST_F(MultiModelFilesTest, AFolderIsLookedThroughAndAProjectorComesAlong) {
  const std::string model = put("m/model.gguf");
  const std::string mmproj = put("m/mmproj-model.gguf");
  for (const std::string& url : {dir_.path("m"), dir_.path("m") + "/"}) {
    const Result<server::ModelFiles> files = find_multi_model_files(url);
    ASSERT_TRUE(files.ok()) << files.error().message;
    EXPECT_EQ(files->model, model);
    EXPECT_EQ(files->mmproj, mmproj);
  }
}

TEST_F(MultiModelFilesTest, AFileIsTheModel) {
  const std::string model = put("m/any.bin");
  const Result<server::ModelFiles> files = find_multi_model_files(model);
  ASSERT_TRUE(files.ok());
  EXPECT_EQ(files->model, model);
  EXPECT_EQ(files->mmproj, "");
}

TEST_F(MultiModelFilesTest, WhereNoModelIsTheUrlIsNamed) {
  put("m/readme.txt");
  for (const std::string& url : {dir_.path("m"), dir_.path("nowhere")}) {
    const Result<server::ModelFiles> files = find_multi_model_files(url);
    ASSERT_FALSE(files.ok());
    EXPECT_EQ(files.error().code, ErrorCode::kNotFound);
    EXPECT_EQ(files.error().field, "url");
    EXPECT_NE(files.error().message.find(url), std::string::npos);
  }
}

}  // namespace
}  // namespace assay::cli
