#pragma once
// Tries something in a forked child, so that a crash, a hang or an abort is an answer and not an end.

#include <functional>

namespace assay::engine {

struct ChildOutcome {
  enum class Kind {
    kExited,      // exit_code is what the work returned
    kDied,        // by a signal
    kTimedOut,    // killed after the patience ran out
    kNotStarted,  // no child could be made; nothing is known
  };
  Kind kind = Kind::kNotStarted;
  int exit_code = 0;  // 0..255
};

// Runs `work` in a child whose output goes nowhere and waits for its end. REQUIRES: the work does not need threads that
// this process has started.
ChildOutcome run_in_child(const std::function<int()>& work, int patience_ms);

}  // namespace assay::engine
