#pragma once
// `assay pack`: a model archive for SageMaker (model.tar.gz), and its check.

#include <string>
#include <vector>

#include "cli/option_spec.h"
#include "cli/streams.h"

namespace assay::cli {

struct PackFlags {
  std::string model;   // a GGUF
  std::string output;  // NAME.tar.gz
  std::string snapshots;
  std::vector<std::string> others;
  std::int32_t compression = 1;  // zlib's level: weights hardly get smaller, so more costs only time
  std::string verify;            // an archive to check, in place of all of the above
};

// The specs of all of the above. `flags` must outlive them.
CommandSpec pack_command(PackFlags& flags);

// Writes the archive: manifest.json first, then the files in pack_list()'s order. Equal input gives equal bytes: no
// time, owner or folder of this machine goes in. The archive appears whole or not at all. With `verify`: checks every
// file of an archive against its manifest. Exit codes: 0; 1 reading or writing failed, or the archive is not what its
// manifest says; 2 a flag or a file is wrong; 130 when the context said stop (nothing is left behind).
int run_pack(const PackFlags& flags, Streams& streams, const RunContext& context);

}  // namespace assay::cli
