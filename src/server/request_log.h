#pragma once
// One line of JSON for each request, as log collectors read them from a container's standard output. Never a word of a
// request's body.

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "assay/decider.h"

namespace assay::server {

struct LoggedRequest {
  std::string id;            // x-request-id
  std::string inference_id;  // X-Amzn-SageMaker-Inference-Id; empty: none came
  std::string method;
  std::string route;  // a known path or "other"
  int status = 0;
  double ms = 0;  // from the body to the reply
  // Of a decision:
  std::string readout = "none";
  std::optional<std::int32_t> input_tokens;
  std::optional<std::int32_t> cached_tokens;
  std::optional<double> queue_ms;
  std::optional<double> compute_ms;
};

// {"event": "request", "id": …, …} without a line break; what is not known is left out.
std::string request_line(const LoggedRequest& request);
// {"event": "ready", "model": …, "sha256": …, "threads": …, "device": …, "address": …}: the server answers from now on.
// `device` is "CPU" or what the layers lie on.
std::string ready_line(const ModelReport& model, std::string_view device, std::string_view address);

// Takes one line, without its end. Thread-safe; throws nothing.
using LineSink = std::function<void(std::string_view line)>;
// Writes each line to standard output at once, whole.
LineSink standard_output_lines();

}  // namespace assay::server
