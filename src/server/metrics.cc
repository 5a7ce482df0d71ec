// One lock for all counts: a scrape sees numbers that belong together. Each method holds it for a few map look-ups.
#include "server/metrics.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace assay::server {
namespace {

std::string number(double value) {
  std::array<char, 32> buffer{};
  const std::to_chars_result end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), end.ptr);
}

std::string number(std::uint64_t value) { return std::to_string(value); }
std::string number(std::int64_t value) { return std::to_string(value); }

std::string label(const char* name, const std::string& value) {
  return std::string(name) + "=\"" + escaped_label(value) + "\"";
}

void add_header(std::string& out, const char* name, const char* type, const char* help) {
  out.append("# HELP ").append(name).append(" ").append(help).append("\n");
  out.append("# TYPE ").append(name).append(" ").append(type).append("\n");
}

void add_line(std::string& out, const std::string& name, const std::string& labels, const std::string& value) {
  out.append(name);
  if (!labels.empty()) out.append("{").append(labels).append("}");
  out.append(" ").append(value).append("\n");
}

// A counter with one label, a line for each value of it.
void add_counter(std::string& out, const char* name, const char* help, const char* label_name,
                 const std::map<std::string, std::uint64_t>& counts) {
  add_header(out, name, "counter", help);
  for (const auto& [value, count] : counts) add_line(out, name, label(label_name, value), number(count));
}

template <typename Number>
void add_single(std::string& out, const char* name, const char* type, const char* help, Number value) {
  add_header(out, name, type, help);
  add_line(out, name, "", number(value));
}

}  // namespace

std::string escaped_label(const std::string& value) {
  std::string escaped;
  for (const char c : value) {
    if (c == '\\' || c == '"') escaped += '\\';
    if (c == '\n') {
      escaped += "\\n";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

void Metrics::start_request() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++requests_in_flight_;
}

void Metrics::finish_request(const FinishedRequest& request) {
  const auto* edge = std::lower_bound(kLatencyEdgesSeconds.begin(), kLatencyEdgesSeconds.end(), request.seconds);
  const auto bucket = static_cast<std::size_t>(edge - kLatencyEdgesSeconds.begin());
  const std::lock_guard<std::mutex> lock(mutex_);
  --requests_in_flight_;
  ++requests_[{request.route, std::to_string(request.status)}];
  Histogram& histogram = latency_[{request.route, request.readout}];
  if (bucket < histogram.counts.size()) ++histogram.counts[bucket];
  ++histogram.count;
  histogram.seconds_sum += request.seconds;
}

void Metrics::count_refusal(ErrorCode reason) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++refused_[error_name(reason)];
}

void Metrics::count_reply(const DecisionReply& reply) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Answer& answer : reply.answers) ++questions_[readout_name(answer.readout)];
  input_tokens_ += static_cast<std::uint64_t>(reply.input_tokens);
  computed_rows_ += static_cast<std::uint64_t>(reply.computed_rows);
  queue_seconds_ += reply.queue_ms / 1e3;
  compute_seconds_ += reply.compute_ms / 1e3;
}

std::string Metrics::text() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::string out;
  add_header(out, "assay_requests_total", "counter", "HTTP requests answered, by route and status.");
  for (const auto& [key, count] : requests_) {
    add_line(out, "assay_requests_total", label("route", key.first) + "," + label("status", key.second), number(count));
  }
  add_single(out, "assay_requests_in_flight", "gauge", "HTTP requests being answered now.", requests_in_flight_);
  add_counter(out, "assay_refusals_total", "Requests that ended with an error, by reason.", "reason", refused_);
  add_counter(out, "assay_questions_total", "Questions answered, by readout.", "readout", questions_);
  add_single(out, "assay_input_tokens_total", "counter", "Prompt tokens of answered requests, shared ones once.",
             input_tokens_);
  add_single(out, "assay_computed_rows_total", "counter", "Rows that the model computed for answered requests.",
             computed_rows_);
  add_single(out, "assay_queue_seconds_total", "counter", "Time that answered requests waited.", queue_seconds_);
  add_single(out, "assay_compute_seconds_total", "counter", "Time that answered requests were computed.",
             compute_seconds_);
  add_header(out, "assay_request_seconds", "histogram", "Time from a request's body to its reply.");
  for (const auto& [key, histogram] : latency_) {
    const std::string labels = label("route", key.first) + "," + label("readout", key.second);
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
      below += histogram.counts[i];
      add_line(out, "assay_request_seconds_bucket", labels + "," + label("le", number(kLatencyEdgesSeconds[i])),
               number(below));
    }
    add_line(out, "assay_request_seconds_bucket", labels + "," + label("le", "+Inf"), number(histogram.count));
    add_line(out, "assay_request_seconds_sum", labels, number(histogram.seconds_sum));
    add_line(out, "assay_request_seconds_count", labels, number(histogram.count));
  }
  return out;
}

}  // namespace assay::server
