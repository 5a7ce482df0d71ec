#include "cli/inspect_command.h"

#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>

#include "assay/built_in_check.h"
#include "cli/testing/fake_decider.h"
#include "server/wires/wire_json.h"

namespace assay::cli {
namespace {

class InspectTest : public ::testing::Test {
 protected:
  InspectTest() {
    fake_.model.id = "tiny";
    fake_.model.architecture = "llama";
    fake_.model.thinking = "none";
    fake_.model.file_bytes = 3u * 1024 * 1024;
    fake_.model.readout = Readout::kText;
    fake_.model.readout_source = "check";
    fake_.model.check = {{Readout::kText, QuestionType::kYesNo, 12, 16, 0.5, 0.0384, true},
                         {Readout::kLetters, QuestionType::kYesNo, 8, 16, 0.5, 0.6, false}};
    fake_.model.layout = Layout::kQuestionFirst;
    fake_.model.deterministic = true;
    fake_.model.determinism = "rows are padded";
    fake_.model.warnings = {"the template also adds a BOS"};
  }

  int run() {
    std::istringstream in;
    Streams streams{.in = in, .out = out_, .err = err_};
    return run_inspect(flags_, streams, open_fake(fake_));
  }

  InspectFlags flags_;
  FakeDecider fake_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(InspectTest, PrintsTheReportAndASpeed) {
  flags_.positional_model = "tiny.gguf";
  ASSERT_EQ(run(), 0) << err_.str();
  for (const char* part : {"architecture   llama", "3.0 MiB", "text (by check)", "layout         question_first",
                           "deterministic  yes: rows are padded", "built-in check", "0.0384", "not above chance",
                           "tokens/s", "warning: the template also adds a BOS"}) {
    EXPECT_NE(out_.str().find(part), std::string::npos) << part << "\n" << out_.str();
  }
}

TEST_F(InspectTest, SaysWherePackedWeightsComeFrom) {
  fake_.model.packing = "on";
  fake_.model.packing_unit = "avx2";
  fake_.model.packed_bytes = 2u * 1024 * 1024;
  fake_.model.packing_seconds = 0.25;
  flags_.positional_model = "tiny.gguf";
  for (const auto& [state, text] : {std::pair{"off", "avx2, packing on, 2.0 MiB packed in 0.25 s"},
                                    std::pair{"read", "2.0 MiB mapped from packs/x in 0.25 s"},
                                    std::pair{"written", "2.0 MiB packed and written to packs/x in 0.25 s"},
                                    std::pair{"failed", "2.0 MiB packed (the pack cache cannot be used) in 0.25 s"}}) {
    fake_.model.pack_cache = state;
    fake_.model.pack_cache_path = "packs/x";
    out_.str("");
    ASSERT_EQ(run(), 0);
    EXPECT_NE(out_.str().find(text), std::string::npos) << out_.str();
  }
  fake_.model.packing_behind = true;
  out_.str("");
  ASSERT_EQ(run(), 0);
  EXPECT_NE(out_.str().find("2.0 MiB packed beside the start\n"), std::string::npos) << out_.str();
  flags_.json = true;
  out_.str("");
  ASSERT_EQ(run(), 0);
  EXPECT_EQ(*server::parse_json(out_.str())->find("packing_behind")->boolean(), true);
  EXPECT_EQ(*server::parse_json(out_.str())->find("pack_cache")->string(), "failed");
  EXPECT_EQ(*server::parse_json(out_.str())->find("pack_cache_path")->string(), "packs/x");
}

TEST_F(InspectTest, PrintsJson) {
  flags_.model.model = "tiny.gguf";
  flags_.json = true;
  ASSERT_EQ(run(), 0);
  const Value report = *server::parse_json(out_.str());
  EXPECT_EQ(*report.find("id")->string(), "tiny");
  EXPECT_EQ(*report.find("layout")->string(), "question_first");
  EXPECT_EQ(*report.find("deterministic")->boolean(), true);
  EXPECT_EQ(*report.find("determinism")->string(), "rows are padded");
  EXPECT_EQ(report.find("check")->array()->size(), 2u);
  EXPECT_GT(*report.find("prefill")->find("tokens_per_second")->number(), 0);
}

TEST_F(InspectTest, MeasuresAStateThatWasNotSeen) {
  EXPECT_TRUE(measure_prefill(fake_).ok());
  ASSERT_EQ(fake_.seen.size(), 2u);
  EXPECT_NE(fake_.seen[0].state, fake_.seen[1].state);
}

TEST_F(InspectTest, TellsBothLayoutsWhereThatIsAsked) {
  flags_.model.model = "tiny.gguf";
  ASSERT_EQ(run(), 0);
  EXPECT_EQ(fake_.seen.size(), 0u);  // a copy was asked
  EXPECT_EQ(out_.str().find("p50 ms"), std::string::npos);
  flags_.layouts = true;
  flags_.json = true;
  out_.str("");
  // Right question first only: an option that is not the first where the first is right, and so on.
  const std::vector<BuiltInRow> rows = built_in_rows();
  fake_.probabilities = [&rows](const DecisionRequest& request, const Question& question) {
    std::vector<double> shares(question.options.size(), 0.0);
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const BuiltInRow& other) {
      return other.request.state == request.state && other.request.questions[0].text == question.text;
    });
    const std::size_t right = row == rows.end() ? 0 : row->expected;
    shares[request.layout == Layout::kQuestionFirst ? right : (right + 1) % shares.size()] = 1;
    return shares;
  };
  ASSERT_EQ(run(), 0) << err_.str();
  const Value report = *server::parse_json(out_.str());
  const Value::Array& layouts = *report.find("layouts")->array();
  ASSERT_EQ(layouts.size(), 2u);
  EXPECT_EQ(*layouts[0].find("layout")->string(), "state_first");
  EXPECT_EQ(layouts[0].find("right")->integer()->digits, "0");
  EXPECT_EQ(layouts[1].find("right")->integer()->digits, std::to_string(rows.size()));
  EXPECT_EQ(*layouts[1].find("p50_ms")->number(), 10);
  flags_.json = false;
  out_.str("");
  ASSERT_EQ(run(), 0);
  EXPECT_NE(out_.str().find("question_first"), std::string::npos) << out_.str();
  EXPECT_NE(out_.str().find("p50 ms"), std::string::npos) << out_.str();
}

TEST_F(InspectTest, ErrorsKeepTheirExitCode) {
  EXPECT_EQ(run(), 2);
  flags_.model.model = "tiny.gguf";
  fake_.check = [](const DecisionRequest&) -> Status { return Error{ErrorCode::kInternal, "broken", ""}; };
  EXPECT_EQ(run(), 1);
}

}  // namespace
}  // namespace assay::cli
