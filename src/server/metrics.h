#pragma once
// What the server counts, for Prometheus (docs/metrics.md). Units come last in a name.
//
//   Metrics metrics;
//   metrics.start_request();
//   metrics.finish_request({.route = "/v1/decide", .readout = "letters", .status = 200, .seconds = 0.12});
//   reply.body = metrics.text(decider.stats());

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "assay/decider.h"

namespace assay::server {

// The media type of Metrics::text().
inline constexpr const char* kMetricsMediaType = "text/plain; version=0.0.4; charset=utf-8";

// Upper edges of the buckets of all times; above the last one there is only +Inf.
inline constexpr std::array<double, 15> kLatencyEdgesSeconds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25,
                                                                0.5,   1,      2.5,   5,    10,    30,   60};

struct FinishedRequest {
  std::string route;             // a known path or "other": the number of different labels must stay small
  std::string readout = "none";  // of the answers; "none" when nothing was decided
  int status = 0;
  double seconds = 0;
};

// Thread-safe. All counts begin at zero and only grow, but for the requests in flight.
class Metrics {
 public:
  // Every start_request() is followed by exactly one finish_request().
  void start_request();
  void finish_request(const FinishedRequest& request);
  // A request that ended with an error.
  void count_refusal(ErrorCode reason);
  // The questions, tokens, rows and times of a reply that was given, and how long it waited.
  void count_reply(const DecisionReply& reply);

  // Everything in Prometheus' text format 0.0.4: what was counted here, and the engine's own counts as they are given.
  std::string text(const EngineStats& engine) const;

 private:
  struct Histogram {
    void add(double seconds);

    std::array<std::uint64_t, kLatencyEdgesSeconds.size()> counts{};  // of each bucket alone, not cumulative
    std::uint64_t count = 0;
    double seconds_sum = 0;
  };
  using Pair = std::pair<std::string, std::string>;

  static void add_histogram(std::string& out, const char* name, const std::string& labels, const Histogram& histogram);
  void add_http_text(std::string& out) const;
  void add_decision_text(std::string& out) const;

  mutable std::mutex mutex_;  // guards all that follows
  std::int64_t requests_in_flight_ = 0;
  std::map<Pair, std::uint64_t> requests_;          // by route and status
  std::map<std::string, std::uint64_t> refused_;    // by reason
  std::map<std::string, std::uint64_t> questions_;  // by readout
  std::map<Pair, Histogram> latency_;               // by route and readout
  Histogram queue_wait_;
  std::uint64_t input_tokens_ = 0;
  std::uint64_t computed_rows_ = 0;
  double queue_seconds_ = 0;
  double compute_seconds_ = 0;
};

// Whether the model is out of memory until somebody needs it; in the same format.
std::string sleeping_text(bool asleep);

// A label's value as the format wants it: backslash, quote and line feed escaped.
std::string escaped_label(const std::string& value);

}  // namespace assay::server
