#include "cli/decide_command.h"

#include <sstream>

#include <gtest/gtest.h>

#include "cli/testing/fake_decider.h"
#include "cli/testing/temp_dir.h"
#include "server/wires/wire_json.h"

namespace assay::cli {
namespace {

class DecideTest : public ::testing::Test {
 protected:
  DecideTest() { flags_.model.model = "fake.gguf"; }

  int run(const std::string& input = "") {
    in_.str(input);
    out_.str("");
    err_.str("");
    Streams streams{.in = in_, .out = out_, .err = err_};
    streams.in_is_terminal = in_is_terminal_;
    streams.out_is_terminal = terminal_;
    streams.colours = colours_;
    const OpenDecider open = open_fake(fake_, &decider_);
    return run_decide(flags_, streams, [&](DeciderOptions options) -> Result<std::unique_ptr<Decider>> {
      Result<std::unique_ptr<Decider>> opened = open(std::move(options));
      if (opened.ok()) request_ = &decider_->seen;
      seen_ = std::move(*opened);
      return std::unique_ptr<Decider>(std::make_unique<Forward>(*seen_));
    });
  }

  // Leaves the fake alive after the command has ended, so that tests can look at what it saw.
  class Forward final : public Decider {
   public:
    explicit Forward(Decider& inner) : inner_(inner) {}
    Result<DecisionReply> decide(const DecisionRequest& request) override { return inner_.decide(request); }
    const ModelReport& report() const override { return inner_.report(); }
    std::size_t in_flight() const override { return 0; }
    bool healthy() const override { return true; }
    EngineStats stats() const override { return {}; }
    void drain(double /*grace_ms*/) override {}

   private:
    Decider& inner_;
  };

  Value json() { return *server::parse_json(out_.str()); }

  DecideFlags flags_;
  FakeDecider fake_;
  FakeDecider* decider_ = nullptr;
  std::unique_ptr<Decider> seen_;
  const std::vector<DecisionRequest>* request_ = nullptr;
  bool terminal_ = false;
  bool in_is_terminal_ = true;
  bool colours_ = false;
  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream err_;
  TempDir dir_;
};

TEST_F(DecideTest, DecidesFromFlagsAndPrintsOneJsonObject) {
  flags_.state = "please refund";
  flags_.question = {.question = "What?", .options = {"info", "refund=Wants money back"}};
  ASSERT_EQ(run(), 0) << err_.str();
  const Value reply = json();
  EXPECT_EQ(*reply.find("choice")->string(), "refund");
  EXPECT_EQ(*reply.find("probabilities")->find("refund")->number(), 0.7);
  EXPECT_EQ(*reply.find("reliability")->string(), "reliable");
  EXPECT_EQ(reply.find("warning"), nullptr);
  EXPECT_EQ(reply.find("explain"), nullptr);
  EXPECT_EQ(request_->front().questions[0].options[1].description, "Wants money back");
}

TEST_F(DecideTest, PrintsATableWithBarsOnATerminal) {
  terminal_ = true;
  flags_.state = "please refund";
  flags_.question = {.question = "What?", .options = {"info", "refund"}};
  ASSERT_EQ(run(), 0);
  EXPECT_NE(out_.str().find("> refund    70.0 %  █████████████████████\n"), std::string::npos) << out_.str();
  EXPECT_NE(out_.str().find("  info      30.0 %  █████████\n"), std::string::npos) << out_.str();
  EXPECT_EQ(out_.str().find('\x1b'), std::string::npos);
  colours_ = true;
  ASSERT_EQ(run(), 0);
  EXPECT_NE(out_.str().find("\x1b[32m"), std::string::npos);
  flags_.json = true;
  ASSERT_EQ(run(), 0);
  EXPECT_EQ(out_.str().front(), '{');
}

TEST_F(DecideTest, WarnsBesideUnreliableNumbers) {
  fake_.reliability = Reliability::kUnreliable;
  flags_.state = "s";
  flags_.question = {.question = "Spam?", .options = {}, .yes_no = true};
  ASSERT_EQ(run(), 0);
  EXPECT_EQ(*json().find("warning")->string(),
            "this model did not beat chance on the built-in yes/no check: do not believe this number");
  terminal_ = true;
  ASSERT_EQ(run(), 0);
  EXPECT_NE(out_.str().find("warning: this model did not beat chance"), std::string::npos);
}

TEST_F(DecideTest, ExplainsThePromptAndTheTokens) {
  flags_.explain = true;
  flags_.state = "a\x1b[31mb";
  flags_.question = {.question = "Q", .options = {"x", "y"}};
  ASSERT_EQ(run(), 0);
  const Value reply = json();
  const Value& details = *reply.find("explain");
  EXPECT_EQ(*details.find("prompt")->string(), "PROMPT <a\x1b[31mb>");
  EXPECT_EQ(details.find("prompt_token_ids")->array()->size(), 3u);
  EXPECT_EQ(*(*details.find("options")->array())[1].find("tokens")->array()->at(0).find("log_prob")->number(), -1.5);
  terminal_ = true;
  ASSERT_EQ(run(), 0);
  EXPECT_NE(out_.str().find("PROMPT <a\\x1b[31mb>"), std::string::npos) << out_.str();
  EXPECT_NE(out_.str().find("3 prompt token ids: 1 2 3"), std::string::npos);
  EXPECT_NE(out_.str().find("sha256 00ff"), std::string::npos);
  EXPECT_EQ(out_.str().find('\x1b'), std::string::npos);
}

TEST_F(DecideTest, ReadsBodiesRowsAndRecords) {
  flags_.file = "-";
  const std::string row = R"({"id":"r","state":"b","question":"Q","options":["a","b"],"expected":"b"})";
  ASSERT_EQ(run(row), 0) << err_.str();
  EXPECT_EQ(*json().find("correct")->boolean(), true);
  ASSERT_EQ(run("{\"decision\":" + row + "}"), 0);
  EXPECT_EQ(*json().find("id")->string(), "r");
  ASSERT_EQ(run(R"({"state":"s","question":{"type":"noul","instructions":"Q","criteria":null}})"), 0);
  EXPECT_EQ(*json().find("choice")->string(), "no");
  flags_.file = dir_.write("body.json", "{\"decisions\":[" + row + "," + row + "]}");
  ASSERT_EQ(run(), 0);
  EXPECT_EQ(json().find("results")->array()->size(), 2u);
  ASSERT_EQ(request_->size(), 1u);
  EXPECT_EQ(request_->front().questions.size(), 2u);
  EXPECT_NE(request_->front().questions[0].id, request_->front().questions[1].id);
}

TEST_F(DecideTest, StateComesFromAFileOrStandardInput) {
  in_is_terminal_ = false;
  flags_.question = {.question = "Q", .options = {"a", "b"}};
  ASSERT_EQ(run("piped b"), 0);
  EXPECT_EQ(*request_->front().state.string(), "piped b");
  flags_.state = "";  // an empty state, not a missing one: standard input is somebody else's
  ASSERT_EQ(run("rows of a loop"), 0);
  EXPECT_EQ(*request_->front().state.string(), "");
  flags_.state.reset();
  flags_.state_file = "";
  EXPECT_EQ(run("rows of a loop"), 2);
  flags_.state_file = dir_.write("state", "in a file\n");
  ASSERT_EQ(run(), 0);
  EXPECT_EQ(*request_->front().state.string(), "in a file\n");
  flags_.state_json = true;
  flags_.state_file = dir_.write("state", "{\"k\": 1}");
  ASSERT_EQ(run(), 0);
  EXPECT_TRUE(request_->front().state.is_object());
}

TEST_F(DecideTest, FaultsOfTheCallerEndWithTwo) {
  EXPECT_EQ(run(), 2);
  EXPECT_NE(err_.str().find("nothing to decide"), std::string::npos);
  flags_.state = "s";
  flags_.question = {.question = "Q", .options = {"a"}, .yes_no = true};
  EXPECT_EQ(run(), 2);
  flags_.question = {.question = "Q", .options = {"a"}};
  flags_.state_json = true;
  EXPECT_EQ(run(), 2);
  flags_.state = "3";
  EXPECT_EQ(run(), 2);
  flags_ = {};
  flags_.model.model = "fake.gguf";
  flags_.file = dir_.path("none.json");
  EXPECT_EQ(run(), 2);
  flags_.file = "-";
  EXPECT_EQ(run("{\"decision\":{},\"decisions\":[]}"), 2);
  EXPECT_EQ(run("{\"decisions\":[]}"), 2);
  EXPECT_EQ(run("nonsense"), 2);
  const std::string row = R"(,"question":"Q","options":["a","b"]})";
  EXPECT_EQ(run("{\"decisions\":[{\"state\":\"s\"" + row + ",{\"state\":\"t\"" + row + "]}"), 2);
  EXPECT_NE(err_.str().find("decisions[1].state"), std::string::npos);
  flags_.model.model = "";
  EXPECT_EQ(run(), 2);
  EXPECT_NE(err_.str().find("tools/setup"), std::string::npos);
}

TEST_F(DecideTest, DeciderErrorsSayTheFieldAndTheirExitCode) {
  flags_.state = "s";
  flags_.question = {.question = "Q", .options = {"a", "a"}};
  fake_.check = [](const DecisionRequest&) -> Status {
    return invalid_argument("questions[0].options[1].id", "questions[0].options[1].id repeats an id");
  };
  EXPECT_EQ(run(), 2);
  EXPECT_EQ(err_.str(), "assay: options[1].id repeats an id\n");
  fake_.check = [](const DecisionRequest&) -> Status { return Error{ErrorCode::kInternal, "broken", ""}; };
  EXPECT_EQ(run(), 1);
}

TEST_F(DecideTest, LayoutAndReceiptReachTheRequest) {
  flags_.state = "s";
  flags_.question = {.question = "Q", .options = {"a", "b"}};
  ASSERT_EQ(run(), 0);
  EXPECT_EQ(request_->front().layout, Layout::kAuto);
  EXPECT_FALSE(request_->front().receipt);
  EXPECT_EQ(json().find("receipt"), nullptr);
  flags_.layout = "question_first";
  flags_.receipt = true;
  ASSERT_EQ(run(), 0);
  EXPECT_EQ(request_->front().layout, Layout::kQuestionFirst);
  EXPECT_EQ(*json().find("layout")->string(), "question_first");
  EXPECT_EQ(*json().find("receipt")->find("model")->string(), sha256_hex("model"));
  terminal_ = true;
  ASSERT_EQ(run(), 0);
  EXPECT_NE(out_.str().find("\n  model     " + sha256_hex("model") + "\n"), std::string::npos) << out_.str();
}

TEST_F(DecideTest, AMissingReceiptIsNotPassedOver) {
  fake_.receipt = [](const DecisionRequest&) { return std::optional<Receipt>(); };
  flags_.state = "s";
  flags_.question = {.question = "Q", .options = {"a", "b"}};
  flags_.receipt = true;
  EXPECT_EQ(run(), 2);
  EXPECT_EQ(out_.str(), "");
}

}  // namespace
}  // namespace assay::cli
