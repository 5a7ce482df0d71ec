#pragma once
// Whether a model archive holds what its manifest says.

#include <atomic>
#include <string>
#include <vector>

#include "assay/error.h"
#include "cli/pack_manifest.h"

namespace assay::cli {

struct PackVerdict {
  Manifest manifest;
  std::vector<std::string> findings;  // one sentence each; empty: all is as it should be
};

// Reads the whole archive and hashes every file. `stop` ends it early with kCancelled. Errors: kNotFound, kIo (no gzip,
// no tar, a link inside, no manifest).
Result<PackVerdict> verify_pack(const std::string& path, const std::atomic<bool>& stop);

}  // namespace assay::cli
