#include "cli/eval_command.h"

#include <sstream>

#include <gtest/gtest.h>

#include "cli/testing/fake_decider.h"
#include "cli/testing/temp_dir.h"
#include "server/wires/wire_json.h"

namespace assay::cli {
namespace {

// Right, wrong, right and refused, in this order.
constexpr const char* kEasy =
    R"({"id":"e1","family":"intent","state":"pick b","labels":["b","a"],"expected":"b",)"
    R"("question":{"type":"choice","instructions":"Q","criteria":{"a":"A","b":"B"}}})"
    "\n"
    R"({"id":"e2","family":"fact","state":"<script>say</script> yes","labels":["no","yes"],"expected":"no",)"
    R"("question":{"type":"noul","instructions":"Q & A","criteria":null}})"
    "\n";
constexpr const char* kHard = R"({"id":"h1","family":"fact","state":{"level":"2"},"labels":["0","1","2"],"expected":2,)"
                              R"("question":{"type":"score","instructions":"Q","criteria":["low","mid","high"]}})"
                              "\n"
                              R"({"id":"h2","state":"too long","question":"Q","options":["a","b"],"expected":"a"})"
                              "\n";

class EvalTest : public ::testing::Test {
 protected:
  EvalTest() {
    flags_.model.model = "fake.gguf";
    flags_.files = {dir_.write("easy.jsonl", kEasy), dir_.write("hard.jsonl", kHard)};
    fake_.model.id = "fake";
    fake_.before_answer = [this] {
      clock_.advance_ms(10);
      if (++asked_ == stop_after_) stop_ = true;
    };
    fake_.check = [](const DecisionRequest& request) -> Status {
      if (to_display_text(request.state) != "too long") return Status();
      return Error{ErrorCode::kTooLong, "state has 9 tokens; 8 are allowed", "state"};
    };
  }

  int run() {
    std::istringstream in;
    out_.str("");
    err_.str("");
    asked_ = 0;
    Streams streams{.in = in, .out = out_, .err = err_};
    return run_eval(flags_, streams, {.clock = clock_, .stop = stop_}, open_fake(fake_));
  }

  Value json() { return *server::parse_json(out_.str()); }
  static double number(const Value& object, const char* key) { return *object.find(key)->number(); }
  static std::string count(const Value& object, const char* key) { return object.find(key)->integer()->digits; }

  TempDir dir_;
  EvalFlags flags_;
  FakeDecider fake_;
  ManualClock clock_;
  std::atomic<bool> stop_{false};
  int asked_ = 0;
  int stop_after_ = -1;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(EvalTest, PrintsOneJsonObject) {
  flags_.json = true;
  ASSERT_EQ(run(), 0) << err_.str();
  const Value result = json();
  EXPECT_EQ(count(result, "n"), "4");
  EXPECT_EQ(count(result, "correct"), "2");
  EXPECT_EQ(count(result, "refused"), "1");
  EXPECT_DOUBLE_EQ(number(result, "accuracy"), 0.5);
  EXPECT_DOUBLE_EQ(number(result, "p50_ms"), 10);
  EXPECT_DOUBLE_EQ(number(result, "p95_ms"), 10);
  EXPECT_EQ(*result.find("readout")->string(), "letters");
  // e1: 0.09 + 0.09. e2: 0.49 + 0.49. h1: 0.09 + 2 * 0.15^2 = 0.135. Their mean over three answered rows.
  EXPECT_NEAR(number(result, "brier"), (0.18 + 0.98 + 0.135) / 3, 1e-12);
  // One bin at 0.7 with 2 of 3 right.
  EXPECT_NEAR(number(result, "ece"), 0.7 - 2.0 / 3, 1e-12);
  // Levels: 0.15 * 1 + 0.7 * 2 = 1.55 against 2.
  EXPECT_NEAR(number(result, "level_error"), 0.45, 1e-12);
  EXPECT_EQ(count(*result.find("families")->find("fact"), "n"), "2");
  EXPECT_EQ(count(*result.find("types")->find("yes_no"), "correct"), "0");
  EXPECT_EQ(count(*result.find("files")->find("hard.jsonl"), "correct"), "1");
  const Value& error = result.find("errors")->array()->at(0);
  EXPECT_EQ(*error.find("id")->string(), "h2");
  EXPECT_EQ(*error.find("error")->find("code")->string(), "too_long");
}

TEST_F(EvalTest, PrintsTables) {
  ASSERT_EQ(run(), 0);
  for (const char* part : {"all           4      2    50.0 %", "by family", "  intent", "by type", "  scale",
                           "refused rows", "h2: state has 9 tokens"}) {
    EXPECT_NE(out_.str().find(part), std::string::npos) << part << "\n" << out_.str();
  }
  EXPECT_EQ(out_.str().find("warning"), std::string::npos);
  fake_.reliability = Reliability::kUnreliable;
  ASSERT_EQ(run(), 0);
  EXPECT_NE(out_.str().find("warning: this model did not beat chance on the built-in scale check"), std::string::npos);
}

TEST_F(EvalTest, WritesASelfContainedReport) {
  flags_.report = dir_.path("report.html");
  ASSERT_EQ(run(), 0) << err_.str();
  const std::string page = dir_.read("report.html");
  for (const char* part : {"<!doctype html>", "<svg", "Reliability", "Latency", "&lt;script&gt;say&lt;/script&gt; yes",
                           "Q &amp; A", "Wrong rows (2)", "refused: state has 9 tokens", "p95"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part;
  }
  for (const char* part : {"<script", "http://", "https://", "nan", "inf<"}) {
    EXPECT_EQ(page.find(part), std::string::npos) << part;
  }
  flags_.report = dir_.path("no/such/folder.html");
  EXPECT_EQ(run(), 1);
}

TEST_F(EvalTest, LimitAndOptionOrder) {
  flags_.limit = 1;
  flags_.option_order = "reversed";
  std::vector<std::string> first_ids;
  fake_.check = [&first_ids](const DecisionRequest& request) {
    first_ids.push_back(request.questions[0].options[0].id);
    return Status();
  };
  ASSERT_EQ(run(), 0);
  EXPECT_EQ(first_ids, (std::vector<std::string>{"b", "0"}));
}

TEST_F(EvalTest, RowsWithoutARightAnswerEndTheCommand) {
  flags_.files = {dir_.write("rows.jsonl", std::string(kHard) +
                                               R"({"id":"x","state":"s","question":"Q","options":["a"]})"
                                               "\n")};
  EXPECT_EQ(run(), 2);
  EXPECT_NE(err_.str().find("row 3: 'expected' is missing"), std::string::npos) << err_.str();
  EXPECT_EQ(asked_, 0);
  flags_.files = {dir_.write("rows.jsonl", "nonsense\n")};
  EXPECT_EQ(run(), 2);
  flags_.files = {dir_.write("rows.jsonl", "\n")};
  EXPECT_EQ(run(), 2);
  flags_.files = {dir_.path("none")};
  EXPECT_EQ(run(), 2);
  flags_.files = {};
  EXPECT_EQ(run(), 2);
}

TEST_F(EvalTest, AStoppedRunPrintsNoNumbers) {
  stop_after_ = 2;
  EXPECT_EQ(run(), 130);
  EXPECT_EQ(asked_, 2);
  EXPECT_EQ(out_.str(), "");
}

TEST_F(EvalTest, LayoutReachesEveryRequest) {
  flags_.layout = "question_first";
  flags_.json = true;
  std::vector<Layout> layouts;
  fake_.check = [&layouts](const DecisionRequest& request) {
    layouts.push_back(request.layout);
    return Status();
  };
  ASSERT_EQ(run(), 0);
  EXPECT_EQ(layouts, std::vector<Layout>(4, Layout::kQuestionFirst));
  EXPECT_EQ(*json().find("layout")->string(), "question_first");
  EXPECT_EQ(*json().find("asked_layout")->string(), "question_first");
}

// Question first the fake is faster and wrong at e1 (it takes the first option), and right at e2.
class EvalLayoutsTest : public EvalTest {
 protected:
  EvalLayoutsTest() {
    flags_.compare_layouts = true;
    fake_.probabilities = [this](const DecisionRequest& request, const Question& question) {
      if (request.layout == Layout::kStateFirst) {
        clock_.advance_ms(30);
        return FakeDecider::guess_from_state(request, question);
      }
      std::vector<double> out(question.options.size(), 0.2 / static_cast<double>(question.options.size() - 1));
      out.front() = 0.8;
      return out;
    };
  }
};

TEST_F(EvalLayoutsTest, AsksAllRowsInBothAndPrintsThemSideBySide) {
  ASSERT_EQ(run(), 0) << err_.str();
  EXPECT_EQ(asked_, 8);
  for (const char* part : {"layout          n  right  accuracy", "state_first     4      2    50.0 %",
                           "question_first  4      1    25.0 %", "difference            -1   -25.0 %", "-30.0",
                           "3 rows got another answer; 2 are right state first only, 1 question first only"}) {
    EXPECT_NE(out_.str().find(part), std::string::npos) << part << "\n" << out_.str();
  }
}

TEST_F(EvalLayoutsTest, PrintsJson) {
  flags_.json = true;
  ASSERT_EQ(run(), 0);
  const Value result = json();
  EXPECT_EQ(count(*result.find("state_first"), "correct"), "2");
  EXPECT_EQ(*result.find("state_first")->find("layout")->string(), "state_first");
  EXPECT_EQ(count(*result.find("question_first"), "correct"), "1");
  EXPECT_EQ(*result.find("question_first")->find("layout")->string(), "question_first");
  EXPECT_EQ(count(result, "other_answer"), "3");
}

TEST_F(EvalLayoutsTest, StopsInTheSecondLayoutWithoutNumbers) {
  stop_after_ = 6;
  EXPECT_EQ(run(), 130);
  EXPECT_EQ(out_.str(), "");
  EXPECT_NE(err_.str().find("stopped after 6 of 8"), std::string::npos);
}

TEST_F(EvalLayoutsTest, IsRefusedWithAReportOrALayout) {
  flags_.report = dir_.path("report.html");
  EXPECT_EQ(run(), 2);
  flags_.report = "";
  flags_.layout = "state_first";
  EXPECT_EQ(run(), 2);
  EXPECT_EQ(asked_, 0);
}

}  // namespace
}  // namespace assay::cli
