#pragma once
// manifest.json, the first file of a model archive:
//
//   {"format": "assay-model-archive-1", "assay": "0.1.0", "model": "m.gguf",
//    "files": [{"name": "m.gguf", "bytes": 94, "sha256": "..."}, ...]}

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "assay/error.h"

namespace assay::cli {

inline constexpr const char* kManifestName = "manifest.json";

struct ManifestFile {
  std::string name;
  std::uint64_t bytes = 0;
  std::string sha256;  // 64 lower-case hex digits

  bool operator==(const ManifestFile&) const = default;
};

struct Manifest {
  std::string assay;  // the version that packed
  std::string model;  // the name of the model's (first) file
  std::vector<ManifestFile> files;

  bool operator==(const Manifest&) const = default;
};

// One line of JSON with a newline. REQUIRES: names are UTF-8.
std::string manifest_text(const Manifest& manifest);

// Members that it does not know are passed over. Errors: kIo with what is wrong.
Result<Manifest> parse_manifest(std::string_view text);

}  // namespace assay::cli
