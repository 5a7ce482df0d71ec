#include "server/request_log.h"

#include <cmath>
#include <cstdio>
#include <memory>
#include <mutex>
#include <utility>

#include "assay/value.h"
#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

// Milliseconds with three digits behind the point at most: a log needs no more.
Value ms_value(double ms) {
  constexpr double kMax = 1e12;
  if (!(ms >= 0 && ms < kMax)) return Value(0.0);
  return Value(std::round(ms * 1e3) / 1e3);
}

}  // namespace

std::string request_line(const LoggedRequest& request) {
  Value::Object line{{"event", Value("request")}, {"id", text_value(request.id)}};
  if (!request.inference_id.empty()) line.emplace_back("inference_id", text_value(request.inference_id));
  line.emplace_back("method", text_value(request.method));
  line.emplace_back("route", text_value(request.route));
  line.emplace_back("status", count_value(request.status));
  line.emplace_back("ms", ms_value(request.ms));
  if (request.readout != "none") line.emplace_back("readout", text_value(request.readout));
  if (request.input_tokens) line.emplace_back("input_tokens", count_value(*request.input_tokens));
  if (request.cached_tokens) line.emplace_back("cached_tokens", count_value(*request.cached_tokens));
  if (request.queue_ms) line.emplace_back("queue_ms", ms_value(*request.queue_ms));
  if (request.compute_ms) line.emplace_back("compute_ms", ms_value(*request.compute_ms));
  return to_json_text(Value(std::move(line)));
}

std::string ready_line(const ModelReport& model, std::string_view device, std::string_view address) {
  return to_json_text(Value(Value::Object{{"event", Value("ready")},
                                          {"model", text_value(model.id)},
                                          {"sha256", text_value(model.sha256)},
                                          {"architecture", text_value(model.architecture)},
                                          {"context_tokens", count_value(model.context_tokens)},
                                          {"threads", count_value(model.threads)},
                                          {"device", text_value(device)},
                                          {"address", text_value(address)}}));
}

LineSink standard_output_lines() {
  // Owned by every copy of the sink, since a request may outlive the one that was made.
  auto mutex = std::make_shared<std::mutex>();
  return [mutex](std::string_view line) {
    const std::lock_guard<std::mutex> lock(*mutex);
    std::fwrite(line.data(), 1, line.size(), stdout);
    std::fputc('\n', stdout);
    std::fflush(stdout);
  };
}

}  // namespace assay::server
