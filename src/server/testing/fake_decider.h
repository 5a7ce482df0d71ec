#pragma once
// A Decider for tests: answers every question with equal probabilities, or as the test says; tells each answer to
// on_answer before it returns.

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

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
  // False: on_answer is never called, as where a whole reply is kept. Set it before the first decide().
  void set_tells(bool tells) { tells_ = tells; }
  void set_healthy(bool healthy) { healthy_.store(healthy); }
  void set_full(bool full) { full_.store(full); }
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
    Result<DecisionReply> reply = answer_ ? answer_(request) : equal_chances(request);
    if (reply.ok() && tells_) {
      for (std::size_t i = 0; i < reply->answers.size(); ++i) {
        if (request.on_answer) request.on_answer(i, reply->answers[i]);
      }
    }
    return reply;
  }
  const ModelReport& report() const override { return report_; }
  std::size_t in_flight() const override { return in_flight_.load(); }
  bool healthy() const override { return healthy_.load(); }
  bool full() const override { return full_.load(); }
  EngineStats stats() const override { return stats_; }
  void drain(double grace_ms) override {
    if (drain_) drain_(grace_ms);
  }

  // An answer with these probabilities, complete as a decider's: the first of the highest is best, the confidence is
  // that of the question's type.
  static Answer answer_with_chances(const Question& question, const std::vector<double>& probabilities) {
    Answer answer;
    answer.question_id = question.id;
    for (std::size_t i = 0; i < question.options.size(); ++i) {
      OptionAnswer chance;
      chance.id = question.options[i].id;
      chance.probability = probabilities[i];
      if (chance.probability > probabilities[answer.best]) answer.best = i;
      answer.options.push_back(std::move(chance));
    }
    answer.confidence = confidence_of(question.type, probabilities, answer.best);
    answer.abstained = answer.confidence < question.min_confidence;
    answer.orders = question.permute;
    return answer;
  }

  // Peak, or distance for a scale (decision/readout.h says how they are meant; this room does not see it).
  static double confidence_of(QuestionType type, const std::vector<double>& probabilities, std::size_t best) {
    const auto count = static_cast<double>(probabilities.size());
    if (count < 2) return 1;
    if (type != QuestionType::kScale) return std::max(0.0, (count * probabilities[best] - 1) / (count - 1));
    double spread = 0;
    double spread_of_guessing = 0;
    for (std::size_t i = 0; i < probabilities.size(); ++i) {
      const auto place = static_cast<double>(i);
      spread += probabilities[i] * std::abs(place - static_cast<double>(best));
      spread_of_guessing += std::abs(place - (count - 1) / 2) / count;
    }
    return std::max(0.0, 1 - spread / spread_of_guessing);
  }

  static DecisionReply equal_chances(const DecisionRequest& request) {
    DecisionReply reply;
    for (const Question& question : request.questions) {
      const std::size_t count = question.options.size();
      reply.answers.push_back(
          answer_with_chances(question, std::vector<double>(count, 1.0 / static_cast<double>(count))));
    }
    reply.input_tokens = 7;
    reply.computed_rows = 7;
    return reply;
  }

 private:
  ModelReport report_;
  std::function<Result<DecisionReply>(const DecisionRequest&)> answer_;
  bool tells_ = true;
  std::atomic<bool> healthy_{true};
  std::atomic<bool> full_{false};
  std::atomic<std::size_t> in_flight_{0};
  std::atomic<int> decided_{0};
  EngineStats stats_;
  std::function<void(double)> drain_;
  mutable std::mutex mutex_;
  DecisionRequest last_request_;  // guarded by mutex_
};

}  // namespace assay::server::testing
