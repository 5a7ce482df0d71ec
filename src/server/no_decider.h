#pragma once
// The decider of a server that decides nothing itself.

#include "assay/decider.h"

namespace assay::server {

// Thread-safe.
class NoDecider final : public Decider {
 public:
  Result<DecisionReply> decide(const DecisionRequest& /*request*/) override {
    return Error{ErrorCode::kUnavailable, "no model is loaded here", ""};
  }
  const ModelReport& report() const override { return report_; }
  std::size_t in_flight() const override { return 0; }
  bool healthy() const override { return true; }
  EngineStats stats() const override { return {}; }
  void drain(double /*grace_ms*/) override {}

 private:
  const ModelReport report_;
};

}  // namespace assay::server
