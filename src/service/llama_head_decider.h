#pragma once
// A decider for models with a decision head of their own: the request in llama.cpp's words, its answers in ours.

#include <memory>

#include "assay/decider.h"
#include "base/request_gate.h"
#include "engine/llama_decision_head.h"

namespace assay::service {

// Thread-safe.
class LlamaHeadDecider final : public Decider {
 public:
  LlamaHeadDecider(std::unique_ptr<engine::LlamaDecisionHead> head, RequestLimits limits, ModelReport report)
      : head_(std::move(head)), limits_(limits), report_(std::move(report)) {}

  Result<DecisionReply> decide(const DecisionRequest& request) override;
  const ModelReport& report() const override { return report_; }
  std::size_t in_flight() const override { return gate_.inside(); }
  bool healthy() const override { return !gate_.closed(); }
  EngineStats stats() const override { return {}; }
  void drain(double /*grace_ms*/) override { gate_.close_and_wait(); }

 private:
  Result<DecisionReply> compute(const DecisionRequest& request);

  const std::unique_ptr<engine::LlamaDecisionHead> head_;
  const RequestLimits limits_;
  const ModelReport report_;
  RequestGate gate_;
};

}  // namespace assay::service
