#include "cli/verify_command.h"

#include <sstream>

#include <gtest/gtest.h>

#include "cli/receipt_json.h"
#include "cli/score_command.h"
#include "cli/testing/fake_decider.h"
#include "cli/testing/temp_dir.h"
#include "server/wires/wire_json.h"

namespace assay::cli {
namespace {

constexpr const char* kRows =
    "{\"id\":\"r1\",\"state\":\"pick b\",\"question\":\"Q\",\"options\":[\"a\",\"b\"]}\n"
    "{\"id\":2,\"state\":\"\",\"question\":\"Q\",\"options\":[{\"id\":\"yes\",\"description\":\"It is\"},\"no\"]}\n"
    "{\"state\":{\"k\":[1,2.0]},\"question\":\"Q\",\"options\":[\"0\",\"1\",\"2\"]}\n";

class VerifyTest : public ::testing::Test {
 protected:
  VerifyTest() {
    flags_.model.model = "fake.gguf";
    flags_.file = dir_.path("receipts.jsonl");
    fake_.before_answer = [this] {
      if (++asked_ == stop_after_) stop_ = true;
    };
    ScoreFlags score;
    score.model.model = "fake.gguf";
    score.input = dir_.write("in.jsonl", kRows);
    score.output = dir_.path("out.jsonl");
    score.receipts = flags_.file;
    Streams streams{.in = in_, .out = out_, .err = err_};
    EXPECT_EQ(run_score(score, streams, {.clock = clock_, .stop = stop_}, open_fake(fake_)), 0) << err_.str();
  }

  int run() {
    out_.str("");
    err_.str("");
    asked_ = 0;
    Streams streams{.in = in_, .out = out_, .err = err_};
    return run_verify(flags_, streams, {.clock = clock_, .stop = stop_}, open_fake(fake_));
  }

  // From now on the receipt of the request with this state comes out otherwise.
  void change(const std::string& state, const std::function<void(Receipt&)>& edit) {
    fake_.receipt = [state, edit](const DecisionRequest& request) {
      std::optional<Receipt> receipt = FakeDecider::receipt_of_request(request);
      if (to_display_text(request.state) == state) edit(*receipt);
      return receipt;
    };
  }

  TempDir dir_;
  VerifyFlags flags_;
  FakeDecider fake_;
  ManualClock clock_;
  std::atomic<bool> stop_{false};
  int asked_ = 0;
  int stop_after_ = -1;
  std::istringstream in_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(VerifyTest, WhatScoreWroteComesOutAgain) {
  EXPECT_EQ(run(), 0) << err_.str();
  EXPECT_EQ(out_.str(), "verify: 3 receipts, 3 equal\n");
  EXPECT_EQ(asked_, 3);
}

TEST_F(VerifyTest, OtherBitsFromTheSameInputsAreAFault) {
  fake_.model.determinism = "the batch is not padded";
  change("pick b", [](Receipt& receipt) { receipt.scores = sha256_hex("other"); });
  EXPECT_EQ(run(), 1);
  EXPECT_EQ(out_.str(),
            "line 1 (r1): scores differs (the same inputs gave other bits: a determinism fault)\n"
            "verify: 3 receipts, 2 equal, 1 with other bits from the same inputs\n"
            "note: equal bits are not promised here: the batch is not padded\n");
  fake_.model.deterministic = true;
  EXPECT_EQ(run(), 1);
  EXPECT_EQ(out_.str().find("note:"), std::string::npos);
}

TEST_F(VerifyTest, OtherInputsAreNotComparable) {
  change("", [](Receipt& receipt) {
    receipt.model = sha256_hex("other model");
    receipt.scores = sha256_hex("other");
  });
  EXPECT_EQ(run(), 3);
  EXPECT_EQ(out_.str(),
            "line 2 (2): model differs (another model file); scores differs (as the rest does)\n"
            "verify: 3 receipts, 2 equal, 1 not comparable\n");
  change("", [](Receipt& receipt) { receipt.build = receipt.settings = receipt.tokens = sha256_hex("other"); });
  EXPECT_EQ(run(), 3);
  EXPECT_EQ(out_.str().substr(0, out_.str().find('\n')),
            "line 2 (2): build differs (another build or other CPU code); settings differs (another setting that moves "
            "bits, such as threads, readout or layout); tokens differs (another prompt)");
}

TEST_F(VerifyTest, PrintsJson) {
  flags_.json = true;
  change("pick b", [](Receipt& receipt) { receipt.scores = sha256_hex("other"); });
  EXPECT_EQ(run(), 1);
  const Value result = *server::parse_json(out_.str());
  EXPECT_EQ(result.find("receipts")->integer()->digits, "3");
  EXPECT_EQ(result.find("equal")->integer()->digits, "2");
  EXPECT_EQ(result.find("faults")->integer()->digits, "1");
  const Value& mismatch = result.find("mismatches")->array()->at(0);
  EXPECT_EQ(*mismatch.find("differs")->array()->at(0).string(), "scores");
  EXPECT_EQ(*mismatch.find("computed")->find("scores")->string(), sha256_hex("other"));
}

TEST_F(VerifyTest, ARefusedRequestIsNoFault) {
  fake_.check = [](const DecisionRequest& request) -> Status {
    if (to_display_text(request.state) != "pick b") return Status();
    return Error{ErrorCode::kTooLong, "state has 9 tokens; 8 are allowed", "state"};
  };
  EXPECT_EQ(run(), 3);
  EXPECT_EQ(out_.str(),
            "line 1 (r1): refused: state has 9 tokens; 8 are allowed\n"
            "verify: 3 receipts, 2 equal, 1 refused\n");
  fake_.check = [](const DecisionRequest&) -> Status { return Error{ErrorCode::kUnavailable, "gone", ""}; };
  EXPECT_EQ(run(), 1);
  EXPECT_EQ(out_.str(), "");
}

TEST_F(VerifyTest, LinesOfAServerAreReadToo) {
  const DecisionRequest request{
      .state = Value("s"),
      .questions = {{.id = "t1", .text = "Q", .options = {{"a", std::nullopt}, {"b", std::nullopt}}},
                    {.id = "t2", .text = "R", .options = {{"c", std::nullopt}}}}};
  const std::string body =
      R"({"x_explain": true, "decisions": [{"id": "t1", "state": "s", "question": "Q", "options": [{"id": "a"}, )"
      R"({"id": "b"}]}, {"id": "t2", "state": "s", "question": "R", "options": [{"id": "c"}]}]})";
  dir_.write("receipts.jsonl", "\n{\"request\": " + body + ", \"receipt\": " +
                                   to_json_text(receipt_value(*FakeDecider::receipt_of_request(request))) + "}\n");
  EXPECT_EQ(run(), 0) << out_.str() << err_.str();
}

TEST_F(VerifyTest, ABrokenFileEndsWithTwoAndNamesTheLine) {
  const std::string whole = dir_.read("receipts.jsonl");
  dir_.write("receipts.jsonl", whole + "\n" + whole.substr(0, 40));
  EXPECT_EQ(run(), 2);
  EXPECT_NE(err_.str().find("receipts.jsonl', line 5: "), std::string::npos) << err_.str();
  EXPECT_EQ(asked_, 0);
  dir_.write("receipts.jsonl", "\n");
  EXPECT_EQ(run(), 2);
  flags_.file = dir_.path("none");
  EXPECT_EQ(run(), 2);
  flags_.file = "";
  EXPECT_EQ(run(), 2);
}

TEST_F(VerifyTest, AModelWithoutReceiptsIsRefused) {
  fake_.receipt = [](const DecisionRequest&) { return std::optional<Receipt>(); };
  EXPECT_EQ(run(), 2);
  EXPECT_NE(err_.str().find("without a receipt"), std::string::npos);
}

TEST_F(VerifyTest, StopsBetweenTwoLines) {
  stop_after_ = 2;
  EXPECT_EQ(run(), 130);
  EXPECT_EQ(asked_, 2);
  EXPECT_NE(err_.str().find("stopped after 2 of 3"), std::string::npos);
}

}  // namespace
}  // namespace assay::cli
