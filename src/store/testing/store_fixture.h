#pragma once
// A store in a folder of its own, and records whose numbers can be checked by hand.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "store/decision_store.h"

namespace assay::store {

// Question "q1" with options "refund" and "info"; the answer is the first, with probability 0.75.
inline AnswerRecord plain_answer(const std::string& question_id = "q1") {
  return {.question_id = question_id,
          .type = QuestionType::kChoice,
          .question = "What does the customer want?",
          .options = {{.id = "refund", .description = "Wants money back"}, {.id = "info", .description = std::nullopt}},
          .prompt_version = "direct-options-v1",
          .prompt_sha256 = std::string(64, 'a'),
          .scores = {2.5, 1.5},
          .probabilities = {0.75, 0.25},
          .best = 0,
          .confidence = 0.5};
}

inline DecisionRecord plain_record(const std::string& id, const std::string& state = R"("charged twice")") {
  return {.id = id,
          .time_ms = 1'700'000'000'123,
          .state = state,
          .receipt = Receipt{.model = std::string(64, '1'),
                             .build = std::string(64, '2'),
                             .settings = std::string(64, '3'),
                             .tokens = std::string(64, '4'),
                             .scores = std::string(64, '5')},
          .answers = {plain_answer()}};
}

class StoreTest : public ::testing::Test {
 public:
  ~StoreTest() override {
    store_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

 protected:
  StoreTest() {
    std::string name = ::testing::TempDir() + "assay_store_XXXXXX";
    folder_ = ::mkdtemp(name.data());
    options_.writer.batch_ms = 0;
    options_.busy_ms = 20;
  }
  std::string path() const { return folder_ + "/decisions.db"; }

  DecisionStore& open() {
    store_.reset();
    Result<std::unique_ptr<DecisionStore>> opened = DecisionStore::open(path(), options_);
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    store_ = std::move(opened).value();
    return *store_;
  }

  // What lies in the folder: the file, its log and its index.
  std::string all_bytes() const {
    std::string out;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      std::ifstream file(entry.path(), std::ios::binary);
      std::ostringstream text;
      text << file.rdbuf();
      out += text.str();
    }
    return out;
  }

  // A second program.
  std::unique_ptr<Database> other_program() const {
    Result<std::unique_ptr<Database>> opened = Database::open(path(), 20);
    EXPECT_TRUE(opened.ok());
    return std::move(opened).value();
  }

  std::string folder_;
  StoreOptions options_;
  std::unique_ptr<DecisionStore> store_;
};

}  // namespace assay::store
