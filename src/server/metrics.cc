// One lock for all counts of ours: a scrape sees numbers that belong together. Each method holds it for a few map
// look-ups. The engine's counts come as one value that was taken before.
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

std::uint64_t whole(std::int32_t count) { return static_cast<std::uint64_t>(count); }

void add_engine_gauges(std::string& out, const EngineStats& engine) {
  const auto add = [&out](const char* name, const char* help, auto value) {
    add_single(out, name, "gauge", help, value);
  };
  add("assay_engine_queued", "Jobs accepted that hold nothing of the model yet.", std::uint64_t{engine.queued});
  add("assay_engine_running", "Jobs partly computed.", std::uint64_t{engine.running});
  add("assay_engine_cells", "Token places that the context has.", whole(engine.cells));
  add("assay_engine_cells_used", "Token places that hold a token.", whole(engine.cells_used));
  add("assay_engine_cached_prefixes", "Prefixes kept in the context.", whole(engine.cached_prefixes));
  add("assay_engine_cached_prefix_tokens", "Tokens of the prefixes kept.", whole(engine.cached_prefix_tokens));
  add("assay_engine_rows_per_second", "Speed of the last steps; 0 before the first.", engine.rows_per_second);
}

void add_engine_counters(std::string& out, const EngineStats& engine) {
  const auto add = [&out](const char* name, const char* help, auto value) {
    add_single(out, name, "counter", help, value);
  };
  add("assay_engine_steps_total", "Decodes.", engine.steps);
  add("assay_engine_rows_total", "Rows computed, without padding.", engine.rows);
  add("assay_engine_padding_rows_total", "Rows computed only to keep bits the same.", engine.padding_rows);
  add("assay_engine_step_seconds_total", "Time spent in decodes.", engine.step_seconds);
  add("assay_engine_jobs_total", "Jobs accepted.", engine.jobs);
  add("assay_engine_jobs_cancelled_total", "Jobs whose client went away.", engine.jobs_cancelled);
  add("assay_engine_jobs_late_total", "Jobs whose deadline passed.", engine.jobs_late);
  add("assay_engine_failed_steps_total", "Decodes that failed.", engine.failed_steps);
  add("assay_engine_prefix_lookup_tokens_total", "Tokens of prefixes that could have been cached.",
      engine.prefix_lookup_tokens);
  add("assay_engine_prefix_hit_tokens_total", "Of those: tokens that were.", engine.prefix_hit_tokens);
  add("assay_engine_prefix_evictions_total", "Prefixes dropped to make room.", engine.prefix_evictions);
  add("assay_answer_cache_hits_total", "Requests answered from the answer cache.", engine.answer_cache_hits);
  add("assay_answer_cache_misses_total", "Requests looked up there and not found.", engine.answer_cache_misses);
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

void Metrics::Histogram::add(double seconds) {
  const auto* edge = std::lower_bound(kLatencyEdgesSeconds.begin(), kLatencyEdgesSeconds.end(), seconds);
  const auto bucket = static_cast<std::size_t>(edge - kLatencyEdgesSeconds.begin());
  if (bucket < counts.size()) ++counts[bucket];
  ++count;
  seconds_sum += seconds;
}

void Metrics::finish_request(const FinishedRequest& request) {
  const std::lock_guard<std::mutex> lock(mutex_);
  --requests_in_flight_;
  ++requests_[{request.route, std::to_string(request.status)}];
  latency_[{request.route, request.readout}].add(request.seconds);
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
  queue_wait_.add(reply.queue_ms / 1e3);
}

void Metrics::add_histogram(std::string& out, const char* name, const std::string& labels, const Histogram& histogram) {
  const std::string base = name;
  const std::string before = labels.empty() ? "" : labels + ",";
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
    below += histogram.counts[i];
    add_line(out, base + "_bucket", before + label("le", number(kLatencyEdgesSeconds[i])), number(below));
  }
  add_line(out, base + "_bucket", before + label("le", "+Inf"), number(histogram.count));
  add_line(out, base + "_sum", labels, number(histogram.seconds_sum));
  add_line(out, base + "_count", labels, number(histogram.count));
}

void Metrics::add_http_text(std::string& out) const {
  add_header(out, "assay_requests_total", "counter", "HTTP requests answered, by route and status.");
  for (const auto& [key, count] : requests_) {
    add_line(out, "assay_requests_total", label("route", key.first) + "," + label("status", key.second), number(count));
  }
  add_single(out, "assay_requests_in_flight", "gauge", "HTTP requests being answered now.", requests_in_flight_);
  add_counter(out, "assay_refusals_total", "Requests that ended with an error, by reason.", "reason", refused_);
  add_header(out, "assay_request_seconds", "histogram", "Time from a request's body to its reply.");
  for (const auto& [key, histogram] : latency_) {
    add_histogram(out, "assay_request_seconds", label("route", key.first) + "," + label("readout", key.second),
                  histogram);
  }
}

void Metrics::add_decision_text(std::string& out) const {
  add_counter(out, "assay_questions_total", "Questions answered, by readout.", "readout", questions_);
  add_single(out, "assay_input_tokens_total", "counter", "Prompt tokens of answered requests, shared ones once.",
             input_tokens_);
  add_single(out, "assay_computed_rows_total", "counter", "Rows that the model computed for answered requests.",
             computed_rows_);
  add_single(out, "assay_queue_seconds_total", "counter", "Time that answered requests waited.", queue_seconds_);
  add_single(out, "assay_compute_seconds_total", "counter", "Time that answered requests were computed.",
             compute_seconds_);
  add_header(out, "assay_queue_wait_seconds", "histogram", "Time that an answered request waited.");
  add_histogram(out, "assay_queue_wait_seconds", "", queue_wait_);
}

std::string Metrics::text(const EngineStats& engine) const {
  std::string out;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    add_http_text(out);
    add_decision_text(out);
  }
  add_engine_gauges(out, engine);
  add_engine_counters(out, engine);
  return out;
}

std::string sleeping_text(bool asleep) {
  std::string out;
  add_single(out, "assay_sleeping", "gauge", "1 while the model is not in memory (--sleep-idle-seconds).",
             std::int64_t{asleep ? 1 : 0});
  return out;
}

}  // namespace assay::server
