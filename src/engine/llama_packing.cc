#include "engine/llama_packing.h"

#include <ggml-backend.h>

#include <chrono>

#include "base/log.h"
#include "base/sha256.h"
#include "engine/llama_runtime.h"
#include "engine/llama_start_check.h"
#include "kernels/ggml_device.h"

namespace assay::engine {
namespace {

bool has_gpu() {
  return ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_GPU) != nullptr ||
         ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_IGPU) != nullptr;
}

// Weights as the file has them are asked for, or are all that works here.
bool is_off(const ModelOptions& options) {
  if (!kernels::device_is_worth_it() || options.packing == Packing::kOff) return true;
  return options.packing == Packing::kAuto &&
         (!kernels::device_is_tried() || !options.extra_buffers || (has_gpu() && options.gpu_layers != 0));
}

std::string mebibytes(std::uint64_t bytes) { return std::to_string(bytes / (1024 * 1024)) + " MiB"; }

// The same file unpacked by another build may differ in last bits, so the build belongs to it.
kernels::PackCachePlace cache_place(const ModelOptions& options) {
  if (options.pack_cache_dir.empty()) return {.dir = {}, .model = options.path};
  const std::string sha256 = options.file_sha256.empty() ? sha256_hex_of_file(options.path) : options.file_sha256;
  if (sha256.empty()) {
    log_line(LogLevel::kWarn, "pack cache: '" + options.path + "' cannot be read for its hash; going on without");
    return {};
  }
  return {.dir = options.pack_cache_dir, .model = sha256 + "\n" + start_check_machine()};
}

void report_cache(const kernels::PackOutcome& outcome, const ModelOptions& options, PackingReport& report) {
  report.cache_path = outcome.cache_path;
  if (!outcome.read_fault.empty()) {
    log_line(LogLevel::kWarn, "pack cache: '" + outcome.cache_path + "' is made anew: " + outcome.read_fault);
  }
  if (!outcome.write_fault.empty()) {
    log_line(LogLevel::kWarn, "pack cache: '" + options.pack_cache_dir + "' cannot be written: " + outcome.write_fault +
                                  "; going on without");
  }
  if (outcome.cache == kernels::PackCacheUse::kRead) {
    report.cache = "read";
  } else if (outcome.cache == kernels::PackCacheUse::kWritten) {
    report.cache = "written";
  } else {
    report.cache = options.pack_cache_dir.empty() ? "off" : "failed";
  }
}

}  // namespace

const char* packing_name(Packing packing) {
  switch (packing) {
    case Packing::kAuto:
      return "auto";
    case Packing::kOn:
      return "on";
    case Packing::kPanel:
      return "panel";
    case Packing::kOff:
      return "off";
  }
  return "off";
}

void prepare_packing(const ModelOptions& options, const PackingNeeds& needs) {
  if (is_off(options)) return kernels::use_kernels(kernels::PackMode::kOff);
  if (options.packing == Packing::kPanel) return kernels::use_kernels(kernels::PackMode::kPanel);
  const std::uint64_t free_bytes = machine_memory().free_bytes + kernels::kept_bytes();
  const bool fits = !needs.experts || needs.packed_bytes + needs.model_bytes <= free_bytes;
  if (options.packing != Packing::kAuto || fits) return kernels::use_kernels(kernels::PackMode::kOn);
  log_line(LogLevel::kInfo, "weights of experts stay with llama.cpp's kernels: all packed weights would take up to " +
                                mebibytes(needs.packed_bytes) + " beside the " + mebibytes(needs.model_bytes) +
                                " of the model and " + mebibytes(free_bytes) + " are free");
  kernels::use_kernels(kernels::PackMode::kDense);
}

Result<PackingReport> finish_packing(const ModelOptions& options, std::uint64_t needed_bytes) {
  if (is_off(options)) return PackingReport{};
  const kernels::PackTotals wanted = kernels::unpacked_totals();
  PackingReport report{.mode = Packing::kPanel, .unit = kernels::unit_name()};
  if (wanted.tensors == 0) return PackingReport{};  // no weights of a kind that can be packed
  if (wanted.expert_tensors > 0) report.experts = "plain";
  const std::uint64_t free_bytes = machine_memory().free_bytes + kernels::kept_bytes();
  const bool fits = wanted.packed_bytes + needed_bytes <= free_bytes;
  if (options.packing == Packing::kPanel || (options.packing == Packing::kAuto && !fits)) return report;
  if (options.check_memory && !fits) {
    return Error{ErrorCode::kOutOfMemory,
                 "Packed weights take " + mebibytes(wanted.packed_bytes) + " beside the " + mebibytes(needed_bytes) +
                     " of the model and " + mebibytes(free_bytes) + " are free; take packing panel or off.",
                 "packing"};
  }
  const auto begin = std::chrono::steady_clock::now();
  const std::string what = std::to_string(wanted.tensors) + " weights (" + mebibytes(wanted.packed_bytes) + ")";
  const auto progress = [what, tenths = 0](float share) mutable {
    if (static_cast<int>(share * 10) <= tenths) return;
    tenths = static_cast<int>(share * 10);
    log_line(LogLevel::kDebug, "packing " + what + ": " + std::to_string(tenths * 10) + " %");
  };
  const kernels::PackOutcome outcome =
      kernels::pack_weights(options.threads, progress, cache_place(options), kernels::PackWhen::kBehind);
  if (!outcome.complete) {
    return Error{ErrorCode::kOutOfMemory, "No memory for packed weights; take packing panel or off.", "packing"};
  }
  report.mode = Packing::kOn;
  if (wanted.expert_tensors > 0) report.experts = "packed";
  report.bytes = wanted.packed_bytes;
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  report.behind = outcome.behind;
  report_cache(outcome, options, report);
  const std::string how = report.cache == "read"                          ? "mapped from the pack cache"
                          : report.cache == "written"                     ? "packed and put into the pack cache"
                          : outcome.cache == kernels::PackCacheUse::kKept ? "kept from the trial decode"
                          : outcome.behind                                ? "packed beside the start"
                                                                          : "packed";
  log_line(LogLevel::kInfo, what + " " + how + " for " + report.unit + " in " + std::to_string(report.seconds) + " s");
  return report;
}

std::shared_ptr<const void> keep_packing() { return kernels::keep_packed(); }

}  // namespace assay::engine
