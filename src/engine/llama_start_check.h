#pragma once
// Does a decode survive on this machine? Some compilers build matrix code that faults on some CPUs; better to find out
// in a child process than in front of a request.

#include <string>

#include "engine/llama_model.h"

namespace assay::engine {

enum class StartCheck {
  kPassed,
  kDied,       // the child ended by a signal, failed to decode or did not come back in time
  kNonfinite,  // it decoded, but to numbers that are none
  kSkipped,    // this process has computed before, so a fork could hang; nothing is known
};

// Decodes 64 tokens in a forked child. REQUIRES: no other thread computes.
StartCheck try_decode_in_child(const LlamaModel& model);

// The build and CPU that a passed check speaks for.
std::string start_check_machine();

}  // namespace assay::engine
