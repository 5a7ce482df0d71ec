#pragma once
// llama.cpp's process-wide parts: its backends, its log, and what the machine has.

#include <cstdint>
#include <string>

namespace assay::engine {

// Loads the backends and takes over llama.cpp's log: its warnings and errors become debug lines of ours, the last error
// is kept. Idempotent and thread-safe.
void start_llama();

// The same for the log of its projectors, which llama.cpp's server takes for itself when it loads one.
void follow_projector_log();

// The last error that llama.cpp logged since the last call; empty when there was none. Thread-safe.
std::string take_llama_error();

// Physical cores that this process may use: affinity and the container's CPU quota included. At least 1.
std::int32_t usable_cores();

struct MachineMemory {
  std::uint64_t total_bytes = 0;
  std::uint64_t free_bytes = 0;  // without swapping, within the container's limit
};
MachineMemory machine_memory();

}  // namespace assay::engine
