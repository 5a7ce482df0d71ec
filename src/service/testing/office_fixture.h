#pragma once
// A server's desk on the fake decider, in a folder of its own, that can be started again.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "service/lesson_office.h"
#include "service/testing/decider_fixture.h"
#include "service/testing/lessons.h"

namespace assay::service::testing {

// Begins with version 1 of the lesson "refunds", small_lesson() without thresholds.
class LessonOfficeTest : public ::testing::Test {
 public:
  ~LessonOfficeTest() override {
    office_.reset();
    std::filesystem::remove_all(folder_);
  }

 protected:
  LessonOfficeTest() {
    std::string name = ::testing::TempDir() + "assay_office_XXXXXX";
    folder_ = ::mkdtemp(name.data());
    options_.keep = LessonOptions::Keep::kTexts;
    // Stored states are strings without anything to escape.
    options_.parse_json = [](const std::string& text) -> Result<Value> {
      return Value(text.substr(1, text.size() - 2));
    };
  }
  // A server's start, after the end of the one before.
  LessonOffice& start() {
    if (office_) office_->drain(Decider::kNoLimit);
    office_.reset();
    fixture_ = std::make_unique<Fixture>();
    auto book = LessonBook::open(folder_, "model").value();
    if (book->shelf()->lessons.empty()) {
      Lesson lesson = small_lesson();
      lesson.labels = 2;
      lesson.thresholds.clear();
      EXPECT_TRUE(book->add(lesson, false).ok());
    }
    store::StoreOptions settings;
    settings.writer.batch_ms = 0;
    settings.writer.keep = options_.keep == LessonOptions::Keep::kTexts ? store::Keep::kTexts : store::Keep::kHashes;
    auto store = store::DecisionStore::open(folder_ + "/decisions.sqlite", settings).value();
    office_ = std::make_unique<LessonOffice>(std::move(fixture_->decider), std::move(book), std::move(store), options_);
    return *office_;
  }

  static DecisionRequest asked(const std::string& state) {
    DecisionRequest request = request_of({{"refund", "Wants money back"}, {"info", std::nullopt}}, Readout::kAuto);
    request.state = Value(state);
    return request;
  }
  std::string decide(const std::string& state) {
    const Result<DecisionReply> reply = office_->decider().decide(asked(state));
    EXPECT_TRUE(reply.ok()) << (reply.ok() ? "" : reply.error().message);
    return reply.ok() ? reply->decision_id : "";
  }
  void label(const std::string& id, const std::string& option) {
    const auto results = office_->feedback({{.decision_id = id, .question_id = "", .option = option, .note = ""}});
    EXPECT_TRUE(results.front().ok()) << (results.front().ok() ? "" : results.front().error().message);
  }
  // Twelve labelled decisions, half of them of each option.
  std::vector<std::string> label_twelve() {
    std::vector<std::string> ids;
    for (int i = 0; i < 12; i++) {
      ids.push_back(decide("message " + std::to_string(i * i)));
      label(ids.back(), i % 2 == 0 ? "refund" : "info");
    }
    return ids;
  }
  static int number(const Value& view, const char* member) {
    const Value* value = view.find(member);
    return value == nullptr || value->integer() == nullptr ? -1 : std::stoi(value->integer()->digits);
  }
  std::uint64_t rows_computed() const { return office_->decider().stats().rows; }
  std::string all_bytes() const {
    std::string out;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      std::ostringstream text;
      text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
      out += text.str();
    }
    return out;
  }

  std::string folder_;
  LessonOptions options_;
  std::unique_ptr<Fixture> fixture_;
  std::unique_ptr<LessonOffice> office_;
};

}  // namespace assay::service::testing
