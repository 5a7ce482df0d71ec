#include "cli/warm_command.h"

#include <filesystem>
#include <sstream>

#include <gtest/gtest.h>

#include "cli/testing/fake_decider.h"
#include "cli/testing/temp_dir.h"

namespace assay::cli {
namespace {

constexpr const char* kBody =
    R"({"x_readout": "text", "decision": {"id": "t", "state": "s", "question": "Q", "options": [{"id": "a"}]}})";

class WarmTest : public ::testing::Test {
 protected:
  WarmTest() {
    flags_.model.model = "fake.gguf";
    flags_.model.snapshots = dir_.path("deep/snapshots");
    fake_.before_answer = [this] {
      EXPECT_EQ(drained_, 0);
      if (++asked_ == stop_after_) stop_ = true;
    };
    fake_.on_drain = [this] { ++drained_; };
  }

  int run(const std::string& lines) {
    flags_.file = dir_.write("lines.jsonl", lines);
    return run();
  }

  int run() {
    out_.str("");
    err_.str("");
    asked_ = drained_ = 0;
    std::istringstream in;
    Streams streams{.in = in, .out = out_, .err = err_};
    return run_warm(flags_, streams, {.clock = clock_, .stop = stop_}, [this](DeciderOptions options) {
      options_ = options;
      return open_fake(fake_)(std::move(options));
    });
  }

  TempDir dir_;
  WarmFlags flags_;
  FakeDecider fake_;
  ManualClock clock_;
  std::atomic<bool> stop_{false};
  DeciderOptions options_;
  int asked_ = 0;
  int drained_ = 0;
  int stop_after_ = -1;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(WarmTest, AsksEachLineAndDrains) {
  ASSERT_EQ(run("{\"state\":\"a handbook\"}\n\n{\"question\":\"Spam?\",\"options\":[\"yes\",\"no\"]}\n" +
                std::string(kBody) + "\n"),
            0)
      << err_.str();
  EXPECT_EQ(asked_, 3);
  EXPECT_EQ(drained_, 1);
  EXPECT_EQ(options_.snapshots_dir, flags_.model.snapshots);
  EXPECT_TRUE(options_.write_snapshots);
  EXPECT_EQ(options_.layout, DeciderOptions{}.layout);
  EXPECT_TRUE(std::filesystem::is_directory(flags_.model.snapshots));
  EXPECT_EQ(out_.str(), "warm: 3 lines read, 9 rows computed, kept in " + flags_.model.snapshots + "\n");
}

TEST_F(WarmTest, AStateIsAskedSomethingNeutralStateFirst) {
  const Result<DecisionRequest> request = warm_request(R"({"state": {"k": 1}, "id": "x"})");
  ASSERT_TRUE(request.ok());
  EXPECT_TRUE(request->state.is_object());
  EXPECT_EQ(request->layout, Layout::kStateFirst);
  ASSERT_EQ(request->questions.size(), 1u);
  EXPECT_EQ(request->questions[0].text, "What is it?");
  ASSERT_EQ(request->questions[0].options.size(), 1u);
  EXPECT_EQ(request->questions[0].options[0].id, "It");
}

TEST_F(WarmTest, AQuestionIsAskedAboutNothingQuestionFirst) {
  const Result<DecisionRequest> request =
      warm_request(R"({"question": "Spam?", "options": [{"id": "yes", "description": "It is"}, "no"]})");
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(*request->state.string(), "N/A");
  EXPECT_EQ(request->layout, Layout::kQuestionFirst);
  EXPECT_EQ(request->questions[0].type, QuestionType::kYesNo);
  EXPECT_EQ(request->questions[0].options[0].description, "It is");
}

TEST_F(WarmTest, ABodyIsAskedAsItIs) {
  const Result<DecisionRequest> request = warm_request(kBody);
  ASSERT_TRUE(request.ok());
  EXPECT_EQ(request->readout, Readout::kText);
  EXPECT_EQ(request->layout, Layout::kAuto);
}

TEST_F(WarmTest, BrokenLinesEndWithTwoBeforeTheModelIsLoaded) {
  for (const char* line : {"nonsense", "{}", "3", R"({"state": 3})", R"({"question": "Q"})",
                           R"({"state": "s", "question": "Q", "options": ["a"]})", R"({"decision": {}})"}) {
    EXPECT_EQ(run("{\"state\":\"s\"}\n" + std::string(line) + "\n"), 2) << line;
    EXPECT_NE(err_.str().find("line 2: "), std::string::npos) << err_.str();
    EXPECT_EQ(asked_, 0);
  }
  EXPECT_EQ(run("\n"), 2);
  flags_.file = "";
  EXPECT_EQ(run(), 2);
  flags_.file = dir_.path("none");
  EXPECT_EQ(run(), 2);
  flags_.model.snapshots = "";
  EXPECT_EQ(run("{\"state\":\"s\"}\n"), 2);
  EXPECT_NE(err_.str().find("--snapshots"), std::string::npos);
}

TEST_F(WarmTest, LayoutIsWhatTheServerWillHave) {
  flags_.layout = "question_first";
  EXPECT_EQ(run(std::string(kBody) + "\n"), 0);
  EXPECT_EQ(options_.layout, Layout::kQuestionFirst);
}

TEST_F(WarmTest, AFolderThatCannotBeMadeIsAnError) {
  flags_.model.snapshots = dir_.write("file", "x") + "/below";
  EXPECT_EQ(run("{\"state\":\"s\"}\n"), 1);
  EXPECT_EQ(asked_, 0);
}

TEST_F(WarmTest, RefusedLinesAreNamedAndTheRestIsKept) {
  fake_.check = [](const DecisionRequest& request) -> Status {
    if (to_display_text(request.state) != "long") return Status();
    return Error{ErrorCode::kTooLong, "state has 9 tokens; 8 are allowed", "state"};
  };
  EXPECT_EQ(run("{\"state\":\"long\"}\n{\"state\":\"s\"}\n"), 3);
  EXPECT_NE(err_.str().find("line 1 refused: state has 9 tokens"), std::string::npos) << err_.str();
  EXPECT_NE(out_.str().find("2 lines read, 3 rows"), std::string::npos);
  EXPECT_EQ(drained_, 1);
}

TEST_F(WarmTest, AStopKeepsWhatIsComputed) {
  stop_after_ = 1;
  EXPECT_EQ(run("{\"state\":\"a\"}\n{\"state\":\"b\"}\n"), 130);
  EXPECT_EQ(asked_, 1);
  EXPECT_EQ(drained_, 1);
}

}  // namespace
}  // namespace assay::cli
