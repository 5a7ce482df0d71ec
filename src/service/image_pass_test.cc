#include <gtest/gtest.h>

#include <thread>

#include "base/testing/png_file.h"
#include "engine/testing/fake_media.h"
#include "service/testing/decider_fixture.h"

namespace assay::service {
namespace {

using engine::testing::FakeEncoder;
using engine::testing::FakeMedia;
using testing::decided;
using testing::numbers_of;

// A decider that reads images: each takes as many rows as its file has bytes, so these are small.
struct Seeing : testing::Fixture {
  FakeMedia* media = nullptr;
  explicit Seeing(const engine::MediaSchedulerOptions& options = {},
                  const std::function<void(FakeMedia&)>& prepare = {}) {
    auto made = std::make_unique<FakeMedia>();
    made->given = {.batch_rows_max = 64,
                   .output_rows_max = 16,
                   .path_rows_max = 100000,
                   .sequences_max = 4,
                   .vocabulary_tokens = FakeEncoder::kVocabularyTokens};
    if (prepare) prepare(*made);
    media = made.get();
    decider->read_images({.scheduler = std::make_unique<engine::MediaScheduler>(std::move(made), clock, options),
                          .projector_sha256 = [] { return std::string("projector"); },
                          .batch_tokens = 64});
  }
};

Image image(std::uint8_t red, const std::string& name = "") {
  return {.file = std::make_shared<const std::string>(assay::testing::png_file(16, 16, {red, 0, 0})), .name = name};
}

DecisionRequest request(std::vector<Image> images, Readout readout = Readout::kLetters) {
  DecisionRequest asked = testing::request_of({{"yes", std::nullopt}, {"no", std::nullopt}}, readout);
  asked.images = std::move(images);
  return asked;
}

class ImagePass : public ::testing::TestWithParam<Readout> {};
INSTANTIATE_TEST_SUITE_P(BothReadouts, ImagePass, ::testing::Values(Readout::kLetters, Readout::kText));

TEST_P(ImagePass, TheImageIsPartOfWhatIsAnswered) {
  Seeing seeing;
  const DecisionReply red = decided(*seeing.decider, request({image(200)}, GetParam()));
  EXPECT_EQ(numbers_of(red), numbers_of(decided(*seeing.decider, request({image(200)}, GetParam()))));
  EXPECT_NE(numbers_of(red), numbers_of(decided(*seeing.decider, request({image(10)}, GetParam()))));
  EXPECT_NE(numbers_of(red), numbers_of(decided(*seeing.decider, request({}, GetParam()))));
  EXPECT_EQ(red.answers[0].reliability, Reliability::kUnknown);
  EXPECT_EQ(red.answers[0].readout, GetParam());
}

TEST_P(ImagePass, TheOrderAndTheNamesOfImagesCount) {
  Seeing seeing;
  const auto numbers = [&](std::vector<Image> images) {
    return numbers_of(decided(*seeing.decider, request(std::move(images), GetParam())));
  };
  EXPECT_NE(numbers({image(1), image(2)}), numbers({image(2), image(1)}));
  EXPECT_NE(numbers({image(1, "a"), image(2, "b")}), numbers({image(1, "b"), image(2, "a")}));
}

TEST_P(ImagePass, AQuestionsAnswerDoesNotDependOnTheOthers) {
  Seeing seeing;
  DecisionRequest many = request({image(7)}, GetParam());
  many.questions.push_back({.id = "r", .text = "other", .options = {{"a", {}}, {"b", {}}, {"c", {}}}});
  many.questions.push_back({.id = "t", .text = "third", .options = {{"a", {}}, {"ab", {}}}});
  const DecisionReply all = decided(*seeing.decider, many);
  for (std::size_t i = 0; i < 3; i++) {
    DecisionRequest one = many;
    one.questions = {many.questions[i]};
    EXPECT_EQ(numbers_of(decided(*seeing.decider, one).answers[0]), numbers_of(all.answers[i])) << i;
  }
  // Told as they come, in order, with the same numbers.
  std::vector<std::vector<double>> told;
  many.on_answer = [&](std::size_t question, const Answer& answer) {
    EXPECT_EQ(question, told.size());
    told.push_back(numbers_of(answer));
  };
  decided(*seeing.decider, many);
  ASSERT_EQ(told.size(), 3U);
  for (std::size_t i = 0; i < 3; i++) EXPECT_EQ(told[i], numbers_of(all.answers[i]));
}

TEST(ImageRequests, CountsTheRowsOfItsImages) {
  Seeing seeing;
  const DecisionReply plain = decided(*seeing.decider, request({}));
  const Image seen = image(9);
  const DecisionReply one = decided(*seeing.decider, request({seen}));
  const auto rows = static_cast<std::int32_t>(seen.file->size());
  EXPECT_EQ(one.input_tokens, plain.input_tokens + rows + 1);  // and the line break behind it
  EXPECT_EQ(one.answers[0].prompt_tokens, one.input_tokens);
  EXPECT_EQ(one.cached_tokens, 0);
  // What several questions share is counted once.
  DecisionRequest two = request({seen});
  two.questions.push_back(two.questions[0]);
  two.questions[1].id = "q2";
  two.questions[1].text = "which";
  EXPECT_LT(decided(*seeing.decider, two).input_tokens, one.input_tokens + rows);
}

TEST(ImageRequests, AReceiptHoldsTheImages) {
  Seeing seeing;
  const auto receipt = [&](std::vector<Image> images) {
    DecisionRequest asked = request(std::move(images));
    asked.receipt = true;
    return *decided(*seeing.decider, asked).receipt;
  };
  EXPECT_EQ(receipt({image(1)}), receipt({image(1)}));
  EXPECT_NE(receipt({image(1)}).settings, receipt({image(2)}).settings);
  EXPECT_EQ(receipt({image(1)}).tokens, receipt({image(2)}).tokens);
  EXPECT_NE(receipt({image(1)}).settings, receipt({}).settings);
}

TEST(ImageRequests, WhatCannotBeHadWithImagesIsRefusedByName) {
  Seeing seeing;
  const auto field = [&](const std::function<void(DecisionRequest&)>& change) {
    DecisionRequest asked = request({image(1)});
    change(asked);
    const Result<DecisionReply> reply = seeing.decider->decide(asked);
    return reply.ok() ? "answered" : reply.error().field;
  };
  EXPECT_EQ(field([](DecisionRequest& asked) { asked.hidden_state = true; }), "hidden_state");
  EXPECT_EQ(field([](DecisionRequest& asked) { asked.questions[0].cues = {"{state}"}; }), "questions[0].cues");
  EXPECT_EQ(field([](DecisionRequest& asked) { asked.images[0].file = std::make_shared<const std::string>("x"); }),
            "images[0]");
  testing::Fixture blind;
  const Result<DecisionReply> reply = blind.decider->decide(request({image(1)}));
  ASSERT_FALSE(reply.ok());
  EXPECT_EQ(reply.error().field, "images");
}

TEST(ImageRequests, ExplainsThePromptWithItsSlots) {
  Seeing seeing;
  DecisionRequest asked = request({image(1, "img-1")});
  asked.explain = true;
  const DecisionReply reply = decided(*seeing.decider, asked);
  EXPECT_NE(reply.answers[0].prompt.find("img-1: <__media__>\n"), std::string::npos) << reply.answers[0].prompt;
  EXPECT_EQ(reply.answers[0].prompt_version, "direct-options-v1+images-v1");
}

TEST(ImageRequests, IsCancelledAndLateLikeAnyOther) {
  Seeing seeing;
  seeing.media->before_each = [&] { seeing.clock.advance_ms(10); };
  DecisionRequest asked = request({image(1)});
  asked.timeout_ms = 15;
  EXPECT_EQ(seeing.decider->decide(asked).error().code, ErrorCode::kDeadline);
  asked.timeout_ms = 0;
  std::atomic<bool> gone{false};
  asked.cancelled = [&] { return gone.load(); };
  seeing.media->before_each = [&] {
    gone.store(true);
    std::this_thread::yield();
  };
  const Result<DecisionReply> reply = seeing.decider->decide(asked);
  // The caller is asked every 50 ms, so that a quick answer may come first.
  EXPECT_TRUE(reply.ok() || reply.error().code == ErrorCode::kCancelled);
}

TEST(ImageRequests, DrainAnswersWhatIsInside) {
  Seeing seeing;
  std::vector<std::thread> clients;
  std::atomic<int> answered{0};
  for (int i = 0; i < 4; i++) {
    clients.emplace_back([&, i] {
      const Result<DecisionReply> reply = seeing.decider->decide(request({image(static_cast<std::uint8_t>(i))}));
      if (reply.ok() || reply.error().code == ErrorCode::kUnavailable) answered++;
    });
  }
  seeing.decider->drain(Decider::kNoLimit);
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(answered.load(), 4);
  EXPECT_EQ(seeing.decider->decide(request({image(1)})).error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace assay::service
