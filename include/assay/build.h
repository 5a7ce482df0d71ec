#pragma once
// What this program was built from and what the machine under it offers.

#include <cstdint>
#include <string>
#include <vector>

namespace assay {

struct BuildReport {
  std::string version;                    // Assay's own, such as "0.1.0"
  std::string llama_version;              // "b11434"
  std::string compiler;                   // "GNU 12.2.0"
  std::string build_type;                 // "Release, native" or "Release, portable"
  std::vector<std::string> cpu_features;  // of the CPU code in use: "AVX2", "AVX512_VNNI", "AMX_INT8", …
  std::vector<std::string> devices;       // "CPU", "CUDA0", …
  std::int32_t cores = 0;                 // physical cores that this process may use
  std::uint64_t memory_bytes = 0;
  std::uint64_t memory_free_bytes = 0;
};

BuildReport build_report();

}  // namespace assay
