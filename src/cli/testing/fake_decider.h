#pragma once
// A Decider without a model: answers are a function of the request. Tests set what it knows and what it refuses.

#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "assay/decider.h"
#include "base/sha256.h"
#include "cli/streams.h"

namespace assay::cli {

// decide() may be called by several threads; all else by one at a time.
class FakeDecider final : public Decider {
 public:
  // Probabilities for one question; they must sum to 1. Default: the first option whose id occurs in the state gets
  // 0.7 (the first option when none does), the others share the rest.
  std::function<std::vector<double>(const DecisionRequest&, const Question&)> probabilities = guess_from_state;
  std::function<Status(const DecisionRequest&)> check = [](const DecisionRequest&) { return Status(); };
  std::function<void()> before_answer = [] {};
  // Asked when a request wants a receipt. Default: five hashes, tokens and scores of which depend on the request.
  std::function<std::optional<Receipt>(const DecisionRequest&)> receipt = receipt_of_request;
  std::function<void()> on_drain = [] {};
  Reliability reliability = Reliability::kReliable;
  ModelReport model;
  std::vector<DecisionRequest> seen;
  bool alive = true;
  double compute_ms = 10;

  Result<DecisionReply> decide(const DecisionRequest& request) override {
    const std::lock_guard<std::mutex> lock(*mutex_);
    seen.push_back(request);
    before_answer();
    if (const Status status = check(request); !status.ok()) return status.error();
    DecisionReply reply;
    reply.compute_ms = compute_ms;
    for (const Question& question : request.questions) reply.answers.push_back(answer(request, question));
    if (request.receipt) reply.receipt = receipt(request);
    reply.computed_rows = 3;
    reply.input_tokens = static_cast<std::int32_t>(to_json_text(request.state).size());
    return reply;
  }

  const ModelReport& report() const override { return model; }
  std::size_t in_flight() const override { return 0; }
  bool healthy() const override { return alive; }
  EngineStats stats() const override { return {}; }
  void drain(double /*grace_ms*/) override { on_drain(); }

  static std::vector<double> guess_from_state(const DecisionRequest& request, const Question& question) {
    const std::string state = to_display_text(request.state);
    const std::size_t count = question.options.size();
    std::size_t best = 0;
    for (std::size_t i = count; i > 0; --i) {
      if (state.find(question.options[i - 1].id) != std::string::npos) best = i - 1;
    }
    if (count == 1) return {1.0};
    std::vector<double> out(count, 0.3 / static_cast<double>(count - 1));
    out[best] = 0.7;
    return out;
  }

  static std::optional<Receipt> receipt_of_request(const DecisionRequest& request) {
    std::string asked = to_json_text(request.state);
    for (const Question& question : request.questions) {
      asked += question_type_name(question.type) + question.text;
      for (const Option& option : question.options) asked += option.id + option.description.value_or("(none)");
    }
    return Receipt{.model = sha256_hex("model"),
                   .build = sha256_hex("build"),
                   .settings = sha256_hex(request.readout == Readout::kText ? "text" : "letters"),
                   .tokens = sha256_hex(asked),
                   .scores = sha256_hex(asked + " scores")};
  }

 private:
  std::shared_ptr<std::mutex> mutex_ = std::make_shared<std::mutex>();  // of all copies

  Answer answer(const DecisionRequest& request, const Question& question) const {
    Answer out;
    out.question_id = question.id;
    out.reliability = reliability;
    if (request.layout != Layout::kAuto) out.layout = request.layout;
    out.prompt_version = "fake-v1";
    out.prompt_sha256 = "00ff";
    out.prompt_tokens = 7;
    out.allowed_mass = 0.5;
    const std::vector<double> shares = probabilities(request, question);
    for (std::size_t i = 0; i < question.options.size(); ++i) {
      OptionAnswer option;
      option.id = question.options[i].id;
      option.probability = shares[i];
      option.score = std::log(shares[i]);
      if (request.explain) {
        option.scored_text = std::string(1, static_cast<char>('A' + i));
        option.log_prob = -1.5;
        option.tokens = {{static_cast<std::int32_t>(65 + i), option.scored_text, -1.5, -0.25}};
      }
      if (shares[i] > shares[out.best]) out.best = i;
      out.options.push_back(std::move(option));
    }
    if (request.explain) {
      out.prompt = "PROMPT <" + to_display_text(request.state) + ">";
      out.prompt_token_ids = {1, 2, 3};
    }
    return out;
  }
};

// Hands out a copy of `prototype` and keeps a pointer to the last one in *last (when last is not null).
inline OpenDecider open_fake(FakeDecider prototype, FakeDecider** last = nullptr) {
  return [prototype = std::move(prototype), last](const DeciderOptions&) -> Result<std::unique_ptr<Decider>> {
    auto decider = std::make_unique<FakeDecider>(prototype);
    if (last != nullptr) *last = decider.get();
    return std::unique_ptr<Decider>(std::move(decider));
  };
}

}  // namespace assay::cli
