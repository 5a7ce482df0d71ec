#pragma once
// `assay serve`: the parts of a server, put together, until a signal comes.

#include <functional>
#include <memory>

#include "base/compute_gate.h"
#include "base/load_plan.h"
#include "cli/command_line.h"
#include "cli/serve_flags.h"
#include "cli/signals.h"
#include "cli/streams.h"

struct llama_model;  // NOLINT(readability-identifier-naming): their name

namespace assay::cli {

// How the parts that know llama.cpp's models are made.
struct ServeParts {
  OpenDecider open;
  std::function<Result<LoadPlan>(const DeciderOptions&)> plan;
  // A decider on weights that are loaded already; computes while it holds the gate.
  std::function<Result<std::unique_ptr<Decider>>(DeciderOptions, llama_model*, const LoadPlan&, ComputeGate*)> open_on;
  bool warms_chat = false;      // nothing is served before chat has said a word
  ReadEnvironment environment;  // for Vertex AI's variables; empty: they are not read
};

// Chat and decisions share the weights, each with a context of its own (--chat off: decisions alone).
//
// Listens first (503 while the model loads), then answers until SIGINT or SIGTERM: no new work; accepted work is
// answered, with 503 when --grace-seconds are over; exit code 0. Three seconds after the grace whatever still holds it,
// such as a client that does not read, is left behind. A second signal exits at once with 130, a signal while the model
// loads with 128 + its number.
int run_serve(const ServeFlags& flags, Streams& streams, const Clock& clock, SignalWatcher& signals,
              const ServeParts& parts);

}  // namespace assay::cli
