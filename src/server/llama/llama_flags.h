#pragma once
// The command line and the environment as llama-server reads them.

#include <string>
#include <vector>

struct common_params;  // NOLINT(readability-identifier-naming): their name

namespace assay::server {

// One of llama-server's flags.
struct LlamaFlag {
  std::vector<std::string> names;  // "-c", "--ctx-size"; a switch that can be off has "--no-…" names, too
  int values = 0;                  // words that follow it: 0, 1 or 2
  std::string value_name;          // of the first word; may be empty
  std::string environment;         // "LLAMA_ARG_CTX_SIZE"; empty: none
  std::string help;                // its first line
};

// All of them, in llama.cpp's order. Loads no model.
std::vector<LlamaFlag> llama_server_flags();

// What both servers have and llama-server's words or variables may have said. Numbers: -1 where they did not.
struct LlamaSettings {
  std::string model_path;
  std::string download;  // what is to be downloaded as the model ("owner/name"); empty: nothing
  std::vector<std::string> hosts;
  int port = -1;
  int threads = -1;
  int gpu_layers = -1;
  int context_tokens = -1;
  int http_threads = -1;
  int read_timeout_seconds = -1;
  bool no_extra_buffers = false;
  bool no_mmap = false;
  std::string chat_template;  // Jinja text, or the name of one that llama.cpp knows
  std::vector<std::string> aliases;
  std::vector<std::string> api_keys;
  std::vector<std::string> cors_origins;
  std::string ssl_key_file;
  std::string ssl_cert_file;
  int sleep_idle_seconds = -1;
  std::string mmproj;  // the projector's file; with a download it is known behind fetch_files()
  int image_tokens_min = -1;
  int image_tokens_max = -1;
  std::string path_prefix;
};

LlamaSettings settings_of(const common_params& params);

}  // namespace assay::server
