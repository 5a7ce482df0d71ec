#include "cli/doctor_command.h"

#include <algorithm>
#include <array>
#include <ostream>
#include <utility>

#include "cli/text_table.h"
#include "cli/version_command.h"

namespace assay::cli {
namespace {

constexpr std::uint64_t kDiskWantedBytes = std::uint64_t{16} * 1024 * 1024;
// What a load needs beside the weights: compute buffers and the attention cache of a small model.
constexpr std::uint64_t kWorkBytes = std::uint64_t{256} * 1024 * 1024;

struct CpuName {
  const char* feature;  // as the build report spells it
  const char* flag;     // as the kernel spells it
};
constexpr std::array<CpuName, 12> kCpuNames = {{{"AVX", "avx"},
                                                {"AVX2", "avx2"},
                                                {"F16C", "f16c"},
                                                {"FMA", "fma"},
                                                {"BMI2", "bmi2"},
                                                {"AVX_VNNI", "avx_vnni"},
                                                {"AVX512", "avx512f"},
                                                {"AVX512_VBMI", "avx512vbmi"},
                                                {"AVX512_VNNI", "avx512_vnni"},
                                                {"AVX512_BF16", "avx512_bf16"},
                                                {"AMX_INT8", "amx_int8"},
                                                {"SSSE3", "ssse3"}}};

Finding good(std::string what) { return {FindingLevel::kGood, std::move(what), ""}; }
Finding warning(std::string what, std::string fix) { return {FindingLevel::kWarning, std::move(what), std::move(fix)}; }
Finding fatal(std::string what, std::string fix) { return {FindingLevel::kFatal, std::move(what), std::move(fix)}; }

std::string size_text(std::uint64_t bytes) { return byte_size(static_cast<double>(bytes)); }

Finding check_model(const MachineFacts& facts) {
  const std::string fetch = "run tools/setup for the default model, or name your own GGUF with --model or ASSAY_MODEL";
  if (facts.model_path.empty()) return warning("no model is named", fetch);
  const std::string name = "model '" + facts.model_path + "'";
  if (!facts.model_exists) return fatal(name + " does not exist", fetch);
  if (!facts.model_readable) return fatal(name + " cannot be read", "give this user the right to read it");
  if (!facts.model_is_gguf) return fatal(name + " is no GGUF file", "download it again, or convert it to GGUF");
  return good(name + " is there (" + size_text(facts.model_bytes) + ")");
}

std::uint64_t free_memory(const MachineFacts& facts) {
  std::uint64_t free_bytes = facts.build.memory_free_bytes;
  if (facts.memory_limit_bytes) {
    const std::uint64_t left = *facts.memory_limit_bytes - std::min(facts.memory_used_bytes, *facts.memory_limit_bytes);
    free_bytes = std::min(free_bytes, left);
  }
  return free_bytes;
}

Finding check_memory(const MachineFacts& facts) {
  const std::uint64_t free_bytes = free_memory(facts);
  const std::string what =
      size_text(free_bytes) + " of memory free" +
      (facts.memory_limit_bytes ? " below this container's limit of " + size_text(*facts.memory_limit_bytes) : "");
  const std::string fix = "end other programs, raise the container's memory limit, or take a smaller quantisation";
  if (facts.model_bytes > free_bytes) return fatal(what + ", the model alone has " + size_text(facts.model_bytes), fix);
  if (facts.model_bytes + kWorkBytes > free_bytes) return warning(what + ", which is tight for this model", fix);
  return good(what);
}

Finding check_cpu(const MachineFacts& facts) {
  std::string missing;
  const std::vector<std::string>& built = facts.build.cpu_features;
  for (const CpuName& name : kCpuNames) {
    const bool used = std::find(built.begin(), built.end(), name.feature) != built.end();
    if (!facts.is_x86 || facts.cpu_flags.empty() || !used || facts.cpu_flags.contains(name.flag)) continue;
    missing += (missing.empty() ? "" : ", ") + std::string(name.feature);
  }
  if (!missing.empty()) {
    return fatal("this program was built for another CPU: this one lacks " + missing,
                 "build it on this machine, or use the portable build");
  }
  if (facts.is_x86 && !facts.cpu_flags.empty() && !facts.cpu_flags.contains("avx2")) {
    return warning("this CPU has no AVX2: decisions will be very slow", "use a machine with AVX2 (most since 2013)");
  }
  const bool slow_build =
      facts.is_x86 && facts.cpu_flags.contains("avx2") && std::find(built.begin(), built.end(), "AVX2") == built.end();
  if (slow_build) {
    return warning("this CPU has AVX2, but this program does not use it", "build it with the release preset here");
  }
  return good(std::to_string(facts.build.cores) + " cores, CPU code in use fits this CPU");
}

Finding check_threads(const MachineFacts& facts) {
  const std::int32_t cores = facts.build.cores;
  if (facts.cpu_limit && facts.threads_asked > *facts.cpu_limit) {
    return warning(std::to_string(facts.threads_asked) + " threads on a container limit of " +
                       fixed(*facts.cpu_limit, 1) + " cores will be throttled",
                   "set --threads to the limit");
  }
  if (cores > 0 && facts.threads_asked > cores) {
    return warning(
        std::to_string(facts.threads_asked) + " threads on " + std::to_string(cores) + " cores slow each other down",
        "leave --threads away, or set it to " + std::to_string(cores));
  }
  if (facts.cpu_limit && facts.threads_asked == 0 && *facts.cpu_limit < cores) {
    return warning("this container may use " + fixed(*facts.cpu_limit, 1) + " of " + std::to_string(cores) + " cores",
                   "set --threads to at most " + fixed(std::max(1.0, *facts.cpu_limit), 0));
  }
  return good(facts.threads_asked == 0 ? "threads: one for each core"
                                       : "threads: " + std::to_string(facts.threads_asked));
}

Finding check_results_folder(const MachineFacts& facts) {
  const std::string fix = "name a writable folder with --check-dir";
  if (!facts.model_folder_writable && !facts.cache_folder_writable) {
    return warning("neither the model's folder nor '" + facts.cache_folder +
                       "' is writable: the built-in check runs at "
                       "every start",
                   fix);
  }
  if (facts.disk_free_bytes < kDiskWantedBytes) {
    return warning("only " + size_text(facts.disk_free_bytes) + " of disk left for check results",
                   "free some, or " + fix);
  }
  if (!facts.model_folder_writable && !facts.model_path.empty()) {
    return good("the model's folder is read-only; check results go to '" + facts.cache_folder + "'");
  }
  return good("check results can be kept (" + size_text(facts.disk_free_bytes) + " of disk free)");
}

// Packed weights are about a byte for each weight: up to twice as long as the file.
Finding check_pack_cache(const MachineFacts& facts) {
  const std::string name = "the pack cache '" + facts.pack_cache + "'";
  if (facts.pack_cache.empty()) return good("no pack cache: weights are packed at every start (--pack-cache)");
  if (!facts.pack_cache_writable) {
    return warning(name + " cannot be written: what is not there already is packed at every start",
                   "make the folder writable, or name another with --pack-cache");
  }
  if (facts.pack_cache_free_bytes < 2 * facts.model_bytes) {
    return warning(name + " has only " + size_text(facts.pack_cache_free_bytes) + " of disk left",
                   "free some: packed weights take up to twice the model's " + size_text(facts.model_bytes));
  }
  return good(name + " can be written (" + size_text(facts.pack_cache_free_bytes) + " of disk free)");
}

Finding check_port(const MachineFacts& facts) {
  const std::string port = "port " + std::to_string(facts.port);
  if (facts.port_free) return good(port + " is free");
  return warning(port + " is in use", "stop the program that listens there, or serve on another one with --port");
}

const char* level_name(FindingLevel level) {
  if (level == FindingLevel::kGood) return "good";
  return level == FindingLevel::kWarning ? "warning" : "fatal";
}

Value findings_value(const MachineFacts& facts, const std::vector<Finding>& findings, bool healthy) {
  Value::Array list;
  for (const Finding& finding : findings) {
    Value::Object members = {{"level", Value(level_name(finding.level))}, {"what", Value(finding.what)}};
    if (!finding.fix.empty()) members.push_back({"fix", Value(finding.fix)});
    list.push_back(Value(std::move(members)));
  }
  return Value(Value::Object{
      {"healthy", Value(healthy)}, {"findings", Value(std::move(list))}, {"build", build_value(facts.build)}});
}

}  // namespace

CommandSpec doctor_command(DoctorFlags& flags) {
  CommandSpec spec{.name = "doctor",
                   .summary = "Check this machine and the set-up; each finding has its fix",
                   .examples = "",
                   .options = {}};
  spec.options.push_back(
      with_short_name(number_option("port", "N", "The port that serve would use", &flags.port, 1, 65535), "p"));
  spec.options.push_back(as_request_only(switch_option("json", "Print one JSON object", &flags.json)));
  for (OptionSpec& option : model_options(flags.model)) spec.options.push_back(std::move(option));
  return spec;
}

std::vector<Finding> findings_of(const MachineFacts& facts) {
  return {check_model(facts),          check_memory(facts),     check_cpu(facts), check_threads(facts),
          check_results_folder(facts), check_pack_cache(facts), check_port(facts)};
}

int run_doctor(const DoctorFlags& flags, const MachineFacts& facts, Streams& streams) {
  const std::vector<Finding> findings = findings_of(facts);
  const bool healthy = std::none_of(findings.begin(), findings.end(),
                                    [](const Finding& finding) { return finding.level == FindingLevel::kFatal; });
  if (flags.json) {
    streams.out << to_json_text(findings_value(facts, findings, healthy)) << "\n" << std::flush;
    return healthy ? kExitOk : kExitFailed;
  }
  for (const Finding& finding : findings) {
    const char* const mark = finding.level == FindingLevel::kGood      ? "ok      "
                             : finding.level == FindingLevel::kWarning ? "warning "
                                                                       : "FATAL   ";
    streams.out << mark << finding.what << "\n";
    if (!finding.fix.empty()) streams.out << "        fix: " << finding.fix << "\n";
  }
  streams.out << std::flush;
  return healthy ? kExitOk : kExitFailed;
}

}  // namespace assay::cli
