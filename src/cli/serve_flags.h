#pragma once
// The settings of `assay serve`.

#include <cstdint>
#include <string>
#include <vector>

#include "cli/model_flags.h"

namespace assay::cli {

struct ServeFlags {
  ModelFlags model;
  std::string positional_model;  // `assay serve model.gguf`
  std::string host = "127.0.0.1";
  int port = 8080;
  std::vector<std::string> api_keys;
  std::string api_key_file;
  std::uint64_t body_bytes_max = std::uint64_t{25} * 1024 * 1024;
  int http_threads = 64;
};

// The specs of all of the above. `flags` must outlive them.
CommandSpec serve_command(ServeFlags& flags);

// The keys of --api-key and of the lines of --api-key-file; empty lines and lines that begin with '#' are none.
// Errors: kNotFound, and kInvalidArgument for a file without a key, which would leave the server open.
Result<std::vector<std::string>> read_api_keys(const ServeFlags& flags);

}  // namespace assay::cli
