#pragma once
// Everything of a server but a model: real routes, wire, recipe, queue and engine thread on a fake encoder and a fake
// decoder. What the benchmarks of this folder measure is the rest of the way that a request goes.

#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "engine/testing/fake_decoder.h"
#include "engine/testing/fake_encoder.h"
#include "server/metrics.h"
#include "server/routes.h"
#include "service/local_decider.h"

namespace assay::bench {

// Enough for the short prompts below; the fake decoder's own books cost more the more it holds.
inline engine::DecoderLimits fake_limits() {
  return {.batch_rows_max = 512,
          .output_rows_max = 512,
          .sequences_max = 64,
          .cells = 8192,
          .path_rows_max = 4096,
          .vocabulary_tokens = engine::testing::FakeEncoder::kVocabularyTokens,
          .hidden_size = 8,
          .whole_sequences_only = false};
}

struct FakeStack {
  FakeStack() {
    auto scheduler = std::make_unique<engine::Scheduler>(std::make_unique<engine::testing::FakeDecoder>(fake_limits()),
                                                         clock, engine::SchedulerOptions{});
    ModelReport report;
    report.id = "fake";
    report.architecture = "none";
    report.context_tokens = fake_limits().path_rows_max;
    report.readout = Readout::kText;
    decider =
        std::make_unique<service::LocalDecider>(std::make_unique<engine::testing::FakeEncoder>(), std::move(scheduler),
                                                clock, service::LocalDeciderOptions{}, std::move(report));
    routes = std::make_unique<server::Routes>(*decider, metrics, clock, server::RouteOptions{.request_id_seed = 1});
  }

  const SteadyClock clock;
  server::Metrics metrics;
  std::unique_ptr<service::LocalDecider> decider;
  std::unique_ptr<server::Routes> routes;
};

// The request that bench/overhead.py sends over HTTP, too.
inline std::string sample_body() {
  return R"({"decision": {"id": "t1", "state": "My card was charged twice.", "question": "What is wanted?",)"
         R"( "options": [{"id": "refund"}, {"id": "info"}, {"id": "cancel"}]}})";
}

inline server::HttpRequest sample_request() {
  return {
      .method = "POST", .path = "/v1/decide", .headers = {{"Content-Type", "application/json"}}, .body = sample_body()};
}

}  // namespace assay::bench
