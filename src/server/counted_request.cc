#include "server/counted_request.h"

#include <utility>

namespace assay::server {

CountedRequest::CountedRequest(const RequestBook& book, const Route* route, const HttpRequest& request,
                               const std::string& id, std::int64_t start_ns)
    : book_(book), start_ns_(start_ns), finished_{.route = route != nullptr ? route->path : "other"} {
  if (book_.lines) {
    logged_.id = id;
    logged_.method = request.method;
    const std::string* inference_id = find_header(request, "x-amzn-sagemaker-inference-id");
    if (inference_id != nullptr) logged_.inference_id = *inference_id;
  }
  book_.metrics.start_request();
}

CountedRequest::~CountedRequest() {
  try {
    finished_.seconds = book_.clock.ms_since(start_ns_) / 1e3;
    book_.metrics.finish_request(finished_);
    if (book_.lines) book_.lines(line());
  } catch (...) {
    return;  // no memory for a count: the request itself was answered
  }
}

void CountedRequest::say(int status, std::string readout, const std::optional<DecisionCosts>& costs) {
  finished_.status = status;
  finished_.readout = std::move(readout);
  if (!costs.has_value()) return;
  logged_.input_tokens = costs->input_tokens;
  logged_.cached_tokens = costs->cached_tokens;
  logged_.queue_ms = costs->queue_ms;
  logged_.compute_ms = costs->compute_ms;
}

std::string CountedRequest::line() {
  logged_.route = finished_.route;
  logged_.status = finished_.status;
  logged_.ms = finished_.seconds * 1e3;
  logged_.readout = finished_.readout;
  return request_line(logged_);
}

}  // namespace assay::server
