#pragma once
// A whole decider on the fake encoder and the fake decoder.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/testing/fake_decoder.h"
#include "engine/testing/fake_encoder.h"
#include "service/local_decider.h"

namespace assay::service::testing {

// Everything that a test may want to differ.
struct FixtureOptions {
  LocalDeciderOptions decider;
  engine::testing::FakeEncoderOptions encoder;
  engine::DecoderLimits limits = {.batch_rows_max = 512,
                                  .output_rows_max = 64,
                                  .sequences_max = 16,
                                  .cells = 8192,
                                  .path_rows_max = 4000,
                                  .vocabulary_tokens = engine::testing::FakeEncoder::kVocabularyTokens,
                                  .hidden_size = 4};
  engine::SchedulerOptions scheduler;
  bool deterministic = false;
  bool layout_moves_bits = false;
  std::string sha256 = "model";
};

struct Fixture {
  explicit Fixture(const FixtureOptions& options = {}) : encoder(options.encoder), limits(options.limits) {
    auto made = std::make_unique<engine::testing::FakeDecoder>(options.limits);
    decoder = made.get();
    decoder->layout_moves_bits = options.layout_moves_bits;
    auto queue = std::make_unique<engine::Scheduler>(std::move(made), clock, options.scheduler);
    scheduler = queue.get();
    ModelReport report;
    report.readout = Readout::kText;
    report.deterministic = options.deterministic;
    report.sha256 = options.sha256;
    decider = std::make_unique<LocalDecider>(std::make_unique<engine::testing::FakeEncoder>(options.encoder),
                                             std::move(queue), clock, options.decider, std::move(report));
  }

  ManualClock clock;
  engine::testing::FakeEncoder encoder;
  engine::DecoderLimits limits;
  engine::testing::FakeDecoder* decoder = nullptr;  // its hooks are set while nothing is in flight
  engine::Scheduler* scheduler = nullptr;
  std::unique_ptr<LocalDecider> decider;
};

inline DecisionRequest request_of(std::vector<Option> options, Readout readout) {
  return {.state = Value("s"),
          .questions = {{.id = "q", .text = "why", .options = std::move(options)}},
          .readout = readout};
}

// The reply; a test that expects one fails otherwise.
inline DecisionReply decided(LocalDecider& decider, const DecisionRequest& request) {
  Result<DecisionReply> reply = decider.decide(request);
  EXPECT_TRUE(reply.ok()) << (reply.ok() ? "" : reply.error().message);
  if (reply.ok()) return std::move(reply).value();
  DecisionReply empty;
  empty.answers.resize(request.questions.size());
  for (std::size_t i = 0; i < request.questions.size(); i++)
    empty.answers[i].options.resize(request.questions[i].options.size());
  return empty;
}

// All numbers of an answer that come out of the model, to be compared bit for bit.
inline std::vector<double> numbers_of(const Answer& answer) {
  std::vector<double> numbers;
  for (const OptionAnswer& option : answer.options) {
    numbers.insert(numbers.end(), {option.probability, option.score, option.log_prob, option.prior_log_prob});
    for (const TokenScore& token : option.tokens) numbers.insert(numbers.end(), {token.log_prob, token.prior_log_prob});
  }
  if (answer.allowed_mass) numbers.push_back(*answer.allowed_mass);
  numbers.insert(numbers.end(), answer.hidden_state.begin(), answer.hidden_state.end());
  return numbers;
}

inline std::vector<double> numbers_of(const DecisionReply& reply) {
  std::vector<double> numbers;
  for (const Answer& answer : reply.answers) {
    const std::vector<double> own = numbers_of(answer);
    numbers.insert(numbers.end(), own.begin(), own.end());
  }
  return numbers;
}

}  // namespace assay::service::testing
