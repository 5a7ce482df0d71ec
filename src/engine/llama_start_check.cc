#include "engine/llama_start_check.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <vector>

#include "assay/build.h"
#include "engine/child_check.h"
#include "engine/llama_computed.h"
#include "engine/logits.h"
#include "kernels/ggml_weights.h"

namespace assay::engine {
namespace {

constexpr std::int32_t kRows = 64;
constexpr int kPatienceMs = 180000;  // a 64-token decode of the largest model that fits 24 GiB takes seconds
constexpr int kNoDecode = 1;
constexpr int kNoNumbers = 2;

std::atomic<bool> computed_before{false};

int decode_once(const LlamaModel& model) {
  setenv("GGML_NO_BACKTRACE", "1", 1);  // a crash must not start a debugger
  Result<std::unique_ptr<Decoder>> decoder = model.make_decoder();
  if (!decoder.ok()) return kNoDecode;
  const DecoderLimits limits = (*decoder)->limits();
  std::vector<BatchRow> rows;
  for (std::int32_t i = 0; i < std::min(kRows, limits.batch_rows_max); i++) {
    rows.push_back({.token = (i * 7 + 3) % limits.vocabulary_tokens, .position = i, .cell = i, .sequences = {0}});
  }
  rows.back().output = true;
  if (!(*decoder)->decode(rows, {}).ok()) return kNoDecode;
  return read_logits((*decoder)->logits(rows.size() - 1), {}).ok() ? 0 : kNoNumbers;
}

}  // namespace

void note_computed() { computed_before = true; }

StartCheck try_decode_in_child(const LlamaModel& model) {
  if (computed_before) return StartCheck::kSkipped;
  kernels::finish_packing_behind();  // the child has none of this process's threads
  const ChildOutcome outcome = run_in_child([&model] { return decode_once(model); }, kPatienceMs);
  if (outcome.kind == ChildOutcome::Kind::kNotStarted) return StartCheck::kSkipped;
  if (outcome.kind != ChildOutcome::Kind::kExited) return StartCheck::kDied;
  if (outcome.exit_code == kNoNumbers) return StartCheck::kNonfinite;
  return outcome.exit_code == 0 ? StartCheck::kPassed : StartCheck::kDied;
}

std::string start_check_machine() {
  const BuildReport build = build_report();
  std::string machine = build.version + " " + build.llama_version + " " + build.compiler + " " + build.build_type;
  for (const std::string& feature : build.cpu_features) machine += " " + feature;
  return machine;
}

}  // namespace assay::engine
