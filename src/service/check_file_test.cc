#include "service/check_file.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace assay::service {
namespace {

namespace fs = std::filesystem;

class CheckFile : public ::testing::Test {
 public:
  CheckFile() : dir_(fs::temp_directory_path() / ("assay-check-file-" + std::to_string(getpid()))) {
    fs::create_directories(dir_ / "checks");
    model_ = (dir_ / "model.gguf").string();
    checks_ = (dir_ / "checks").string();
    write(model_, "weights");
  }
  ~CheckFile() override { fs::remove_all(dir_); }

 protected:
  static void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

  CheckRecord record() {
    CheckRecord record = new_check_record(model_, "settings");
    record.start_check_machine = "machine";
    record.extra_buffers = false;
    record.has_readout = true;
    record.readout = Readout::kText;
    record.scores = {{.readout = Readout::kText,
                      .type = QuestionType::kScale,
                      .right = 7,
                      .rows = 12,
                      .chance = 0.25,
                      .p_value = 0.001,
                      .reliable = true}};
    return record;
  }

  fs::path dir_;
  std::string model_;
  std::string checks_;
};

TEST_F(CheckFile, ReadsBackWhatWasWritten) {
  ASSERT_TRUE(write_check_file(model_, checks_, record()).has_value());
  const std::optional<CheckRecord> read = read_check_file(model_, checks_, "settings");
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->readout, Readout::kText);
  EXPECT_FALSE(read->extra_buffers);
  ASSERT_EQ(read->scores.size(), 1u);
  EXPECT_EQ(read->scores[0].type, QuestionType::kScale);
  EXPECT_EQ(read->scores[0].right, 7);
  EXPECT_TRUE(read->scores[0].reliable);
}

TEST_F(CheckFile, OtherSettingsAreAnotherRecord) {
  ASSERT_TRUE(write_check_file(model_, checks_, record()).has_value());
  EXPECT_FALSE(read_check_file(model_, checks_, "other").has_value());
}

TEST_F(CheckFile, AModelWithOtherContentIsNotBelieved) {
  ASSERT_TRUE(write_check_file(model_, checks_, record()).has_value());
  write(model_, "WEIGHTS");  // as long as before
  fs::last_write_time(model_, fs::last_write_time(model_) + std::chrono::hours(1));
  EXPECT_FALSE(read_check_file(model_, checks_, "settings").has_value());
}

TEST_F(CheckFile, ACopiedModelIsHashedAndBelieved) {
  ASSERT_TRUE(write_check_file(model_, checks_, record()).has_value());
  fs::last_write_time(model_, fs::last_write_time(model_) + std::chrono::hours(1));
  EXPECT_TRUE(read_check_file(model_, checks_, "settings").has_value());
}

TEST_F(CheckFile, ADamagedFileIsAsGoodAsNone) {
  for (const char* text : {"", "{", "[]", "{\"format\": 1}", "{\"format\": 99}", "null"}) {
    write(checks_ + "/model.gguf.assay.json", text);
    EXPECT_FALSE(read_check_file(model_, checks_, "settings").has_value()) << text;
  }
}

TEST_F(CheckFile, LiesBesideTheModelUnlessAFolderIsGiven) {
  EXPECT_EQ(check_file_paths(model_, "").front(), model_ + ".assay.json");
  EXPECT_EQ(check_file_paths(model_, "/x"), std::vector<std::string>{"/x/model.gguf.assay.json"});
}

}  // namespace
}  // namespace assay::service
