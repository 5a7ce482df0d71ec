#include "server/metric_aliases.h"

#include <array>
#include <charconv>

namespace assay::server {
namespace {

void add(std::string& out, const char* name, const char* type, const char* help, double value) {
  std::array<char, 32> digits{};
  const std::to_chars_result end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  const std::string full = std::string("llamacpp:") + name;
  out += "# HELP " + full + " " + help + "\n# TYPE " + full + " " + type + "\n" + full + " ";
  out.append(digits.data(), end.ptr);
  out += '\n';
}

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

}  // namespace

std::string llama_metrics_text(const EngineStats& engine) {
  const auto rows = static_cast<double>(engine.rows);
  std::string out;
  add(out, "prompt_tokens_total", "counter", "Prompt tokens processed.", rows);
  add(out, "prompt_seconds_total", "counter", "Time spent on them.", engine.step_seconds);
  add(out, "tokens_predicted_total", "counter", "Tokens generated: decisions generate none.", 0);
  add(out, "n_decode_total", "counter", "Decodes.", static_cast<double>(engine.steps));
  add(out, "prompt_tokens_seconds", "gauge", "Prompt tokens a second, of late.", engine.rows_per_second);
  add(out, "predicted_tokens_seconds", "gauge", "Generated tokens a second.", 0);
  add(out, "kv_cache_usage_ratio", "gauge", "Share of the context's token places that hold a token.",
      ratio(engine.cells_used, engine.cells));
  add(out, "requests_processing", "gauge", "Requests partly computed.", static_cast<double>(engine.running));
  add(out, "requests_deferred", "gauge", "Requests that wait.", static_cast<double>(engine.queued));
  return out;
}

}  // namespace assay::server
