// Decider::open() on files of every kind: what is taken, what is refused and with which reason.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "assay/decider.h"

namespace assay {
namespace {

namespace fs = std::filesystem;

std::string tiny(const std::string& name) { return std::string(ASSAY_TINY_DIR) + "/" + name; }

// A folder of its own for check results, gone afterwards.
class CheckDir {
 public:
  CheckDir() : path_(fs::temp_directory_path() / ("assay-open-test-" + std::to_string(getpid()))) {
    fs::create_directories(path_);
  }
  ~CheckDir() { fs::remove_all(path_); }
  std::string path() const { return path_.string(); }

 private:
  const fs::path path_;
};

DeciderOptions options_for(const std::string& path, const CheckDir& dir) {
  DeciderOptions options;
  options.model.path = path;
  options.model.context_tokens = 2048;
  options.check_dir = dir.path();
  options.readout_check = false;
  return options;
}

DecisionRequest request_of(Readout readout) {
  return {.state = Value("The parcel left the depot at noon."),
          .questions = {{.id = "where",
                         .text = "Where is it?",
                         .options = {{"depot", "Still at the depot"}, {"road", "On its way"}, {"home", "Delivered"}}},
                        {.id = "late",
                         .text = "Is it late?",
                         .type = QuestionType::kYesNo,
                         .options = {{"yes", {}}, {"no", {}}}}},
          .readout = readout};
}

void expect_refusal(const std::string& path, ErrorCode code, const std::string& words) {
  const CheckDir dir;
  const Result<std::unique_ptr<Decider>> decider = Decider::open(options_for(path, dir));
  ASSERT_FALSE(decider.ok()) << path;
  EXPECT_EQ(decider.error().code, code) << decider.error().message;
  EXPECT_NE(decider.error().message.find(words), std::string::npos) << decider.error().message;
}

TEST(Open, RefusesWhatCannotDecideByNameOfTheReason) {
  expect_refusal(tiny("embedding.gguf"), ErrorCode::kUnsupportedModel, "embedding model");
  expect_refusal(tiny("encoder.gguf"), ErrorCode::kUnsupportedModel, "encoder");
  expect_refusal(tiny("adapter.gguf"), ErrorCode::kUnsupportedModel, "adapter");
  expect_refusal(std::string(ASSAY_LLAMA_SOURCE_DIR) + "/models/ggml-vocab-qwen2.gguf", ErrorCode::kUnsupportedModel,
                 "no weights");
  expect_refusal("/nonexistent/model.gguf", ErrorCode::kNotFound, "no model file");
  expect_refusal(std::string(ASSAY_SOURCE_DIR) + "/CMakeLists.txt", ErrorCode::kUnsupportedModel,
                 "not a complete GGUF");
}

TEST(Open, RefusesATruncatedFile) {
  const CheckDir dir;
  const std::string path = dir.path() + "/cut.gguf";
  std::ifstream whole(tiny("tiny-attention.gguf"), std::ios::binary);
  std::string bytes;
  bytes.resize(9'000'000);
  whole.read(bytes.data(), std::ssize(bytes));
  std::ofstream(path, std::ios::binary) << bytes;
  const Result<std::unique_ptr<Decider>> decider = Decider::open(options_for(path, dir));
  ASSERT_FALSE(decider.ok());
  EXPECT_NE(decider.error().code, ErrorCode::kInternal);
}

TEST(Open, RefusesWhatMemoryCannotHold) {
  const CheckDir dir;
  if (!fs::exists(ASSAY_DEFAULT_MODEL))
    GTEST_SKIP() << "no default model at " << ASSAY_DEFAULT_MODEL << " (tools/setup fetches it)";
  DeciderOptions options = options_for(ASSAY_DEFAULT_MODEL, dir);
  options.model.context_tokens = 4000000;  // 23 kB each
  const Result<std::unique_ptr<Decider>> decider = Decider::open(options);
  ASSERT_FALSE(decider.ok());
  EXPECT_EQ(decider.error().code, ErrorCode::kOutOfMemory) << decider.error().message;
  EXPECT_NE(decider.error().message.find("are free"), std::string::npos);
}

class Kinds : public ::testing::TestWithParam<const char*> {};

TEST_P(Kinds, AnswersLettersAndTextWithoutConfiguration) {
  const CheckDir dir;
  const Result<std::unique_ptr<Decider>> decider = Decider::open(options_for(tiny(GetParam()), dir));
  ASSERT_TRUE(decider.ok()) << decider.error().message;
  for (const Readout readout : {Readout::kLetters, Readout::kText}) {
    const Result<DecisionReply> reply = (*decider)->decide(request_of(readout));
    ASSERT_TRUE(reply.ok()) << reply.error().message;
    ASSERT_EQ(reply->answers.size(), 2u);
    for (const Answer& answer : reply->answers) {
      double sum = 0;
      for (const OptionAnswer& option : answer.options) sum += option.probability;
      EXPECT_NEAR(sum, 1.0, 1e-12);
      EXPECT_EQ(answer.readout, readout);
    }
    // The state is counted once for both questions.
    EXPECT_LT(reply->input_tokens, reply->answers[0].prompt_tokens + reply->answers[1].prompt_tokens);
  }
}

TEST_P(Kinds, AnswersFiveHundredOptions) {
  const CheckDir dir;
  const Result<std::unique_ptr<Decider>> decider = Decider::open(options_for(tiny(GetParam()), dir));
  ASSERT_TRUE(decider.ok()) << decider.error().message;
  DecisionRequest request = request_of(Readout::kText);
  request.questions.resize(1);
  request.questions[0].options.clear();
  for (int i = 0; i < 500; i++) request.questions[0].options.push_back({"shelf_" + std::to_string(i), {}});
  const Result<DecisionReply> reply = (*decider)->decide(request);
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply->answers[0].options.size(), 500u);
}

INSTANTIATE_TEST_SUITE_P(Tiny, Kinds,
                         ::testing::Values("tiny-attention.gguf", "tiny-hybrid.gguf", "tiny-window.gguf",
                                           "tiny-experts.gguf"));

TEST(Open, AQuestionsOrderOfOptionsAndItsNeighboursHardlyMoveTheText) {
  const CheckDir dir;
  const Result<std::unique_ptr<Decider>> decider = Decider::open(options_for(tiny("tiny-attention.gguf"), dir));
  ASSERT_TRUE(decider.ok());
  DecisionRequest both = request_of(Readout::kText);
  DecisionRequest one = both;
  one.questions.resize(1);
  const Result<DecisionReply> together = (*decider)->decide(both);
  const Result<DecisionReply> single = (*decider)->decide(one);
  ASSERT_TRUE(together.ok() && single.ok());
  for (std::size_t i = 0; i < 3; i++) {
    EXPECT_NEAR(together->answers[0].options[i].probability, single->answers[0].options[i].probability, 1e-3);
  }
}

TEST(Open, AModelWithADecisionHeadAnswersThroughIt) {
  const CheckDir dir;
  const Result<std::unique_ptr<Decider>> decider = Decider::open(options_for(tiny("tiny-head.gguf"), dir));
  ASSERT_TRUE(decider.ok()) << decider.error().message;
  EXPECT_EQ((*decider)->report().decision_head, "openjev");
  const Result<DecisionReply> reply = (*decider)->decide(request_of(Readout::kAuto));
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  for (const Answer& answer : reply->answers) {
    EXPECT_EQ(answer.readout, Readout::kHead);
    double sum = 0;
    for (const OptionAnswer& option : answer.options) sum += option.probability;
    EXPECT_NEAR(sum, 1.0, 1e-9);
  }
  EXPECT_EQ((*decider)->decide(request_of(Readout::kLetters)).error().code, ErrorCode::kInvalidArgument);
}

TEST(Open, TheCheckIsStoredAndReadBack) {
  const CheckDir dir;
  DeciderOptions options = options_for(tiny("tiny-attention.gguf"), dir);
  options.readout_check = true;
  const Result<std::unique_ptr<Decider>> first = Decider::open(options);
  ASSERT_TRUE(first.ok()) << first.error().message;
  EXPECT_FALSE((*first)->report().check_was_stored);
  ASSERT_EQ((*first)->report().check.size(), 6u);  // two readouts, three types
  // A random model must not be called reliable.
  for (const CheckScore& score : (*first)->report().check) EXPECT_FALSE(score.reliable);
  const Result<std::unique_ptr<Decider>> second = Decider::open(options);
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE((*second)->report().check_was_stored);
  EXPECT_EQ((*second)->report().readout_source, (*first)->report().readout_source);
  EXPECT_EQ((*second)->report().readout, (*first)->report().readout);
  // A record of another file's content is not believed.
  fs::rename(dir.path() + "/tiny-attention.gguf.assay.json", dir.path() + "/tiny-hybrid.gguf.assay.json");
  options.model.path = tiny("tiny-hybrid.gguf");
  const Result<std::unique_ptr<Decider>> other = Decider::open(options);
  ASSERT_TRUE(other.ok());
  EXPECT_FALSE((*other)->report().check_was_stored);
}

TEST(Open, BrokenWeightsAreServedWithAClearError) {
  const CheckDir dir;
  DeciderOptions options = options_for(tiny("tiny-nan.gguf"), dir);
  options.readout_check = true;
  const Result<std::unique_ptr<Decider>> decider = Decider::open(options);
  ASSERT_TRUE(decider.ok()) << decider.error().message;
  for (const Readout readout : {Readout::kLetters, Readout::kText}) {
    const Result<DecisionReply> reply = (*decider)->decide(request_of(readout));
    ASSERT_FALSE(reply.ok());
    EXPECT_EQ(reply.error().code, ErrorCode::kNonfiniteLogits);
  }
}

TEST(Open, TheHiddenStateCanBeAskedFor) {
  const CheckDir dir;
  const Result<std::unique_ptr<Decider>> decider = Decider::open(options_for(tiny("tiny-hybrid.gguf"), dir));
  ASSERT_TRUE(decider.ok());
  DecisionRequest request = request_of(Readout::kLetters);
  request.hidden_state = true;
  const Result<DecisionReply> reply = (*decider)->decide(request);
  ASSERT_TRUE(reply.ok()) << reply.error().message;
  EXPECT_EQ(reply->answers[0].hidden_state.size(), 64u);
  EXPECT_NE(reply->answers[0].hidden_state, reply->answers[1].hidden_state);
}

}  // namespace
}  // namespace assay
