#pragma once
// `assay inspect`: what is known about a model, and how fast it reads a short prompt here.

#include <string>
#include <vector>

#include "cli/inspect_layouts.h"
#include "cli/model_flags.h"
#include "cli/streams.h"

namespace assay::cli {

struct InspectFlags {
  ModelFlags model;
  std::string positional_model;  // `assay inspect model.gguf`
  bool json = false;
  bool layouts = false;  // ask the built-in check's questions in both layouts, too
};

// The specs of all of the above. `flags` must outlive them.
CommandSpec inspect_command(InspectFlags& flags);

// Speed of one decision on a state of a few hundred tokens that was not seen before.
struct PrefillSpeed {
  std::int32_t tokens = 0;
  double ms = 0;
  double tokens_per_second() const { return ms > 0 ? tokens * 1000.0 / ms : 0; }
};

// Decides twice, on different states, and measures the second. The time is the decider's own.
Result<PrefillSpeed> measure_prefill(Decider& decider);

// `layouts` may be empty: nobody asked.
Value inspect_value(const ModelReport& report, const PrefillSpeed& speed, const std::vector<LayoutScore>& layouts);
std::string inspect_text(const ModelReport& report, const PrefillSpeed& speed, const std::vector<LayoutScore>& layouts);

int run_inspect(const InspectFlags& flags, Streams& streams, const OpenDecider& open);

}  // namespace assay::cli
