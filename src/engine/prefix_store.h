#pragma once
// Where kept segments survive the process: bytes that Decoder::save() gave, by the tokens that lead to them. The real
// one writes files (service/snapshot_files.h).

#include <optional>
#include <string>

#include "engine/token_tree.h"

namespace assay::engine {

// Called by the engine thread only.
class PrefixStore {
 public:
  virtual ~PrefixStore() = default;
  // The bytes of the segment that begins at `from` of these tokens and ends with them. Whatever comes back was checked
  // to be what put() was given, for this model, build and settings.
  virtual std::optional<std::string> find(const Tokens& path, std::int32_t from) = 0;
  // False: find() would have it already, or nothing is to be written.
  virtual bool wants(const Tokens& path, std::int32_t from) = 0;
  virtual void put(const Tokens& path, std::int32_t from, std::string bytes) = 0;
};

}  // namespace assay::engine
