#pragma once
// One request in the metrics and in the log, from its beginning to its end.

#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "server/decision_call.h"
#include "server/http/http_message.h"
#include "server/metrics.h"
#include "server/request_log.h"
#include "server/route_table.h"

namespace assay::server {

// Where requests are written down. Thread-safe as its parts are, which outlive it.
struct RequestBook {
  Metrics& metrics;
  const Clock& clock;
  LineSink lines;  // empty: no lines
};

// Counts the request as begun when it is made and as ended when it is destroyed, with what was said last. Used by one
// thread at a time.
class CountedRequest {
 public:
  // `route` may be nullptr. The request began at `start_ns` of the book's clock. The book outlives this.
  CountedRequest(const RequestBook& book, const Route* route, const HttpRequest& request, const std::string& id,
                 std::int64_t start_ns);
  ~CountedRequest();
  CountedRequest(const CountedRequest&) = delete;
  CountedRequest& operator=(const CountedRequest&) = delete;

  void say(int status, std::string readout, const std::optional<DecisionCosts>& costs = {});

 private:
  std::string line();

  const RequestBook& book_;
  const std::int64_t start_ns_;
  FinishedRequest finished_;
  LoggedRequest logged_;
};

}  // namespace assay::server
