// build_report(): what this program was built from and what the machine offers.

#include "assay/build.h"

#include <ggml-backend.h>
#include <llama.h>

#include <sstream>

#include "engine/llama_runtime.h"

namespace assay {
namespace {

// The CPU again, with kernels of our own (kernels/ggml_device.h).
constexpr const char* kKernelsDevice = "Assay";

// "CPU : SSE3 = 1 | AVX2 = 1 | … | REPACK = 1 | " as llama.cpp prints it.
std::vector<std::string> features_of(const std::string& system) {
  std::vector<std::string> features;
  std::istringstream words(system);
  std::string before;
  std::string word;
  while (words >> word) {
    if (word == "1" && before.size() > 1) features.push_back(before);
    if (word != "=") before = word;
  }
  return features;
}

}  // namespace

BuildReport build_report() {
  engine::start_llama();
  BuildReport report;
  report.version = ASSAY_VERSION;
  report.llama_version = ASSAY_LLAMA_VERSION;
  report.compiler = ASSAY_COMPILER;
  report.build_type = ASSAY_BUILD_TYPE;
  report.cpu_features = features_of(llama_print_system_info());
  for (std::size_t i = 0; i < ggml_backend_dev_count(); i++) {
    const std::string name = ggml_backend_dev_name(ggml_backend_dev_get(i));
    if (name != kKernelsDevice) report.devices.push_back(name);
  }
  report.cores = engine::usable_cores();
  const engine::MachineMemory memory = engine::machine_memory();
  report.memory_bytes = memory.total_bytes;
  report.memory_free_bytes = memory.free_bytes;
  return report;
}

}  // namespace assay
