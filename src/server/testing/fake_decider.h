#pragma once
// A Decider for tests: answers every question with equal probabilities, or as the test says.

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "assay/decider.h"

namespace assay::server::testing {

// Thread-safe once set up.
class FakeDecider final : public Decider {
 public:
  FakeDecider() {
    report_.id = "fake";
    report_.architecture = "none";
    report_.context_tokens = 4096;
  }

  // Replaces the answer; it may return an error or throw. Set it before the first decide().
  void answer_with(std::function<Result<DecisionReply>(const DecisionRequest&)> answer) { answer_ = std::move(answer); }
  void set_healthy(bool healthy) { healthy_.store(healthy); }
  void set_in_flight(std::size_t count) { in_flight_.store(count); }
  void set_stats(const EngineStats& stats) { stats_ = stats; }  // before the first stats()
  // What drain() does with its grace; nothing otherwise. Set it before drain().
  void drain_with(std::function<void(double)> drain) { drain_ = std::move(drain); }
  // Changes what is known of the model; before it is read.
  ModelReport& model() { return report_; }
  int decided() const { return decided_.load(); }
  // The request of the last decide().
  DecisionRequest last_request() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return last_request_;
  }

  Result<DecisionReply> decide(const DecisionRequest& request) override {
    ++decided_;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      last_request_ = request;
    }
    return answer_ ? answer_(request) : equal_chances(request);
  }
  const ModelReport& report() const override { return report_; }
  std::size_t in_flight() const override { return in_flight_.load(); }
  bool healthy() const override { return healthy_.load(); }
  EngineStats stats() const override { return stats_; }
  void drain(double grace_ms) override {
    if (drain_) drain_(grace_ms);
  }

  // The first option of a question wins ties, as everywhere.
  static DecisionReply equal_chances(const DecisionRequest& request) {
    DecisionReply reply;
    for (const Question& question : request.questions) {
      Answer answer;
      answer.question_id = question.id;
      for (const Option& option : question.options) {
        OptionAnswer chance;
        chance.id = option.id;
        chance.probability = 1.0 / static_cast<double>(question.options.size());
        answer.options.push_back(std::move(chance));
      }
      reply.answers.push_back(std::move(answer));
    }
    reply.input_tokens = 7;
    reply.computed_rows = 7;
    return reply;
  }

 private:
  ModelReport report_;
  std::function<Result<DecisionReply>(const DecisionRequest&)> answer_;
  std::atomic<bool> healthy_{true};
  std::atomic<std::size_t> in_flight_{0};
  std::atomic<int> decided_{0};
  EngineStats stats_;
  std::function<void(double)> drain_;
  mutable std::mutex mutex_;
  DecisionRequest last_request_;  // guarded by mutex_
};

}  // namespace assay::server::testing
