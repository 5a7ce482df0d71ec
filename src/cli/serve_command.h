#pragma once
// `assay serve`: the parts of a server, put together, until a signal comes.

#include "cli/serve_flags.h"
#include "cli/signals.h"
#include "cli/streams.h"

namespace assay::cli {

// Listens first (503 while the model loads), then answers until SIGINT or SIGTERM: no new work; accepted work is
// answered, with 503 when --grace-seconds are over; exit code 0. Three seconds after the grace whatever still holds it,
// such as a client that does not read, is left behind. A second signal exits at once with 130, a signal while the model
// loads with 128 + its number.
int run_serve(const ServeFlags& flags, Streams& streams, const Clock& clock, SignalWatcher& signals,
              const OpenDecider& open);

}  // namespace assay::cli
