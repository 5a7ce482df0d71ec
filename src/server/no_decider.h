#pragma once
// The decider of a server that decides nothing itself.

#include <utility>

#include "assay/decider.h"

namespace assay::server {

// Thread-safe.
class NoDecider final : public Decider {
 public:
  // No model at all.
  NoDecider() = default;
  // A model that serves something else; every decision is refused with this error.
  NoDecider(ModelReport report, Error refusal) : report_(std::move(report)), refusal_(std::move(refusal)) {}

  Result<DecisionReply> decide(const DecisionRequest& /*request*/) override { return refusal_; }
  const ModelReport& report() const override { return report_; }
  std::size_t in_flight() const override { return 0; }
  bool healthy() const override { return true; }
  EngineStats stats() const override { return {}; }
  void drain(double /*grace_ms*/) override {}

 private:
  const ModelReport report_;
  const Error refusal_{ErrorCode::kUnavailable, "no model is loaded here", ""};
};

}  // namespace assay::server
