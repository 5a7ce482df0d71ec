#include "server/llama/llama_flags.h"

#include <arg.h>
#include <common.h>

namespace assay::server {
namespace {

int values_of(const common_arg& option) {
  if (option.handler_str_str != nullptr) return 2;
  return option.handler_string != nullptr || option.handler_int != nullptr ? 1 : 0;
}

}  // namespace

std::vector<LlamaFlag> llama_server_flags() {
  common_params params;
  const common_params_context context = common_params_parser_init(params, LLAMA_EXAMPLE_SERVER);
  std::vector<LlamaFlag> flags;
  for (const common_arg& option : context.options) {
    if (option.is_preset_only) continue;
    LlamaFlag flag;
    flag.names = option.get_args();
    flag.values = values_of(option);
    if (option.value_hint != nullptr) flag.value_name = option.value_hint;
    if (option.env != nullptr) flag.environment = option.env;
    flag.help = option.help.substr(0, option.help.find('\n'));
    flags.push_back(std::move(flag));
  }
  return flags;
}

LlamaSettings settings_of(const common_params& params) {
  common_params plain;
  LlamaSettings out;
  out.model_path = params.model.path;
  for (const std::string* remote : {&params.model.hf_repo, &params.model.docker_repo, &params.model.url}) {
    if (out.download.empty()) out.download = *remote;
  }
  if (params.hostnames != plain.hostnames) out.hosts = params.hostnames;
  if (params.port != plain.port) out.port = params.port;
  if (params.cpuparams.n_threads != common_cpu_get_num_math()) out.threads = params.cpuparams.n_threads;
  if (params.n_gpu_layers != plain.n_gpu_layers) out.gpu_layers = params.n_gpu_layers;
  if (params.n_ctx > 0) out.context_tokens = params.n_ctx;
  if (params.n_threads_http > 0) out.http_threads = params.n_threads_http;
  if (params.timeout_read != plain.timeout_read) out.read_timeout_seconds = params.timeout_read;
  out.no_extra_buffers = params.no_extra_bufts;
  out.no_mmap = params.load_mode == LLAMA_LOAD_MODE_NONE;
  out.chat_template = params.chat_template;
  out.aliases.assign(params.model_alias.begin(), params.model_alias.end());
  out.api_keys = params.api_keys;
  // Its own default, all pages, is not ours; with tools it has a narrower one.
  if (params.cors_origins_explicit || params.cors_origins != plain.cors_origins) {
    out.cors_origins = string_split<std::string>(params.cors_origins, ',');
  }
  out.ssl_key_file = params.ssl_file_key;
  out.ssl_cert_file = params.ssl_file_cert;
  out.sleep_idle_seconds = params.sleep_idle_seconds;
  out.mmproj = params.mmproj.path;
  out.image_tokens_min = params.image_min_tokens;
  out.image_tokens_max = params.image_max_tokens;
  out.path_prefix = params.api_prefix;
  return out;
}

}  // namespace assay::server
