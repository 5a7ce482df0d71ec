#pragma once
// Some of llama-server's flags, as its parser would name them: tests of variables need no llama.cpp.

#include <vector>

#include "cli/option_spec.h"

namespace assay::cli {

inline std::vector<ForeignFlag> some_llama_flags() {
  std::vector<ForeignFlag> flags;
  for (const char* name : {"--override-kv", "--grammar",     "--chat-template", "--chat-template-file",
                           "--parallel",    "--seed",        "--top-k",         "--ctx-size",
                           "--threads",     "--alias",       "--load-mode",     "--model",
                           "--port",        "--ubatch-size", "--threads-http",  "--cors-origins",
                           "--host",        "--api-key",     "--hf-repo",       "--ssl-key-file",
                           "--api-prefix",  "--hf-file",     "--hf-token",      "--model-url",
                           "--flash-attn"}) {
    flags.push_back({.names = {name}, .values = 1, .value_name = "N", .environment = "", .help = ""});
  }
  flags.push_back({.names = {"-ngl", "--gpu-layers", "--n-gpu-layers"},
                   .values = 1,
                   .value_name = "N",
                   .environment = "",
                   .help = ""});
  flags.push_back(
      {.names = {"--control-vector-layer-range"}, .values = 2, .value_name = "START", .environment = "", .help = ""});
  for (const char* name : {"--no-mmproj", "--no-repack", "--verbose", "--help", "--metrics"}) {
    flags.push_back({.names = {name}, .values = 0, .value_name = "", .environment = "", .help = ""});
  }
  return flags;
}

}  // namespace assay::cli
