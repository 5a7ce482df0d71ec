#pragma once
// `assay version`: what this program was built from.

#include "assay/build.h"
#include "cli/option_spec.h"
#include "cli/streams.h"

namespace assay::cli {

struct VersionFlags {
  bool json = false;
};

CommandSpec version_command(VersionFlags& flags);
int run_version(const VersionFlags& flags, const BuildReport& build, Streams& streams);

// The report as JSON: {version, llama_version, compiler, build_type, cpu_features, devices, cores, memory_bytes,
// memory_free_bytes}.
Value build_value(const BuildReport& build);

}  // namespace assay::cli
