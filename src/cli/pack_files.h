#pragma once
// Which files a model archive holds, and under which names.

#include <cstdint>
#include <string>
#include <vector>

#include "assay/error.h"

namespace assay::cli {

struct PackSources {
  std::string model;                // a GGUF; of a model in shards any one of them
  std::string snapshots;            // a folder that `assay warm` filled; empty: none
  std::vector<std::string> others;  // files that go beside the model: a projector, a chat template
};

struct PackFile {
  std::string name;  // in the archive
  std::string path;  // here
  std::uint64_t bytes = 0;
};

struct PackList {
  std::string model;            // the name of the model's (first) file in the archive
  std::vector<PackFile> files;  // the model, its check record, the others, the snapshots; each group by name
};

// The model with all its shards, its check record (MODEL.assay.json) when it lies beside it, the other files, and the
// snapshots below "snapshots/". Links are followed: what they lead to is packed. Errors: kNotFound (a file, a shard or
// the folder is missing), kInvalidArgument (no GGUF, a folder without snapshots, a name twice or not for an archive).
Result<PackList> pack_list(const PackSources& sources);

}  // namespace assay::cli
