#pragma once
// A decider on weights that somebody else loads, beside whom it computes. Decider::open() is for all others.

#include <memory>

#include "assay/decider.h"
#include "base/compute_gate.h"
#include "base/load_plan.h"

struct llama_model;  // NOLINT(readability-identifier-naming): their name

namespace assay::service {

// Tries, once for each model file and machine, whether a decode survives packed weights; loads the model for it and
// frees it again, all but the packed weights (LoadPlan::packed). A model with a decision head of its own needs no
// trial, nor does one that makes no decisions (LoadPlan::cannot_decide), which is no error here. Errors: those of
// Decider::open().
Result<LoadPlan> plan_load(const DeciderOptions& options);

// Weights loaded from the options' file, as the plan says. All of it outlives the decider.
struct SharedWeights {
  llama_model* model = nullptr;  // nullptr: the decider loads its own
  LoadPlan plan;
  ComputeGate* gate = nullptr;  // shared with the others who compute on these cores
};

// As Decider::open(), on these weights. REQUIRES, for shared weights: a model without a decision head of its own.
Result<std::unique_ptr<Decider>> open_decider(DeciderOptions options, const SharedWeights& shared);

}  // namespace assay::service
