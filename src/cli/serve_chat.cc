#include "cli/serve_chat.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "server/http/path_prefix.h"
#include "server/route_table.h"

namespace assay::cli {
namespace {

// Ours names a file, llama-server's a template's text or name.
bool is_template_text(const std::string& chat_template) {
  std::error_code error;
  return !chat_template.empty() && !std::filesystem::exists(chat_template, error);
}

void take_number(int from, int& to, int unset) {
  if (to == unset && from >= 0) to = from;
}

void take_text(const std::string& from, std::string& to) {
  if (to.empty()) to = from;
}

void take_list(const std::vector<std::string>& from, std::vector<std::string>& to) {
  if (to.empty()) to = from;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

// Where the server is found, and who may ask.
void take_access(const server::LlamaSettings& settings, ServeFlags& flags) {
  const ServeFlags plain;
  if (flags.host == plain.host && !settings.hosts.empty()) flags.host = joined(settings.hosts);
  take_number(settings.port, flags.port, plain.port);
  if (flags.api_key_file.empty()) take_list(settings.api_keys, flags.api_keys);
  take_text(settings.ssl_key_file, flags.ssl_key_file);
  take_text(settings.ssl_cert_file, flags.ssl_cert_file);
  flags.path_prefix = settings.path_prefix;
}

Status check_settings(const server::LlamaSettings& settings) {
  if (!server::is_path_prefix(settings.path_prefix)) {
    return invalid_argument("--api-prefix", "--api-prefix begins with a slash and does not end with one");
  }
  return {};
}

}  // namespace

std::vector<std::string> words_for_llama(const ServeFlags& flags) {
  std::vector<std::string> words = flags.llama_words;
  const auto add = [&words](const std::string& name, const std::string& value) {
    words.push_back(name);
    words.push_back(value);
  };
  const ModelFlags plain;
  const ModelFlags& model = flags.model;
  if (model.threads != plain.threads) add("--threads", std::to_string(model.threads));
  if (model.gpu_layers != plain.gpu_layers) add("--n-gpu-layers", std::to_string(model.gpu_layers));
  if (model.no_mmap) add("--load-mode", "none");
  if (is_template_text(model.chat_template)) {
    add("--chat-template", model.chat_template);
  } else if (!model.chat_template.empty()) {
    add("--chat-template-file", model.chat_template);
  }
  if (!flags.aliases.empty()) add("--alias", joined(flags.aliases));
  return words;
}

Result<ServeFlags> with_llama_settings(ServeFlags flags, const server::LlamaSettings& settings) {
  if (Status status = check_settings(settings); !status.ok()) return status.error();
  const ServeFlags plain;
  if (flags.positional_model.empty()) take_text(settings.model_path, flags.model.model);
  if (!flags.own_access) take_access(settings, flags);
  take_number(settings.threads, flags.model.threads, plain.model.threads);
  take_number(settings.gpu_layers, flags.model.gpu_layers, plain.model.gpu_layers);
  take_number(settings.context_tokens, flags.model.context_tokens, plain.model.context_tokens);
  take_number(settings.http_threads, flags.http_threads, plain.http_threads);
  take_number(settings.read_timeout_seconds, flags.read_timeout_seconds, plain.read_timeout_seconds);
  flags.model.no_extra_buffers = flags.model.no_extra_buffers || settings.no_extra_buffers;
  flags.model.no_mmap = flags.model.no_mmap || settings.no_mmap;
  take_text(settings.mmproj, flags.model.mmproj);
  flags.model.image_tokens_min = settings.image_tokens_min;
  flags.model.image_tokens_max = settings.image_tokens_max;
  take_list(settings.aliases, flags.aliases);
  take_list(settings.cors_origins, flags.cors_origins);
  if (is_template_text(flags.model.chat_template)) flags.model.chat_template.clear();
  if (flags.model.chat_template.empty()) flags.chat_template_text = settings.chat_template;
  flags.aliases = split_at_commas(flags.aliases);
  flags.api_keys = split_at_commas(flags.api_keys);
  if (std::find(flags.aliases.begin(), flags.aliases.end(), "") != flags.aliases.end())
    return invalid_argument("--alias", "--alias is empty, or has nothing between two commas");
  return flags;
}

bool is_for_many_models(const ServeFlags& flags, const server::LlamaSettings& settings) {
  const bool has_model = !flags.model.model.empty() || !flags.positional_model.empty() || !settings.download.empty();
  return flags.chat && !has_model;
}

Result<ServeFlags> with_vertex_settings(ServeFlags flags, const ReadEnvironment& environment) {
  if (environment("AIP_MODE").value_or("") != "PREDICTION") return flags;
  const auto path_of = [&environment](const char* name) {
    std::string path = environment(name).value_or("");
    return path.empty() || path.front() == '/' ? path : "/" + path;
  };
  flags.predict_path = path_of("AIP_PREDICT_ROUTE");
  if (flags.predict_path.empty()) flags.predict_path = "/predict";
  if (server::find_route(flags.predict_path) != nullptr) {
    return invalid_argument("AIP_PREDICT_ROUTE", "AIP_PREDICT_ROUTE: " + flags.predict_path + " is taken");
  }
  flags.health_path = path_of("AIP_HEALTH_ROUTE");
  const std::string port = environment("AIP_HTTP_PORT").value_or("");
  const Result<std::int64_t> number = parse_whole_number("AIP_HTTP_PORT", port.empty() ? "8080" : port, 1, 65535);
  if (!number.ok()) return number.error();
  flags.port = static_cast<int>(*number);
  return flags;
}

ServeFlags behind_router(ServeFlags flags) {
  const ServeFlags plain;
  flags.api_keys.clear();
  flags.api_key_file.clear();
  flags.rate_limit = plain.rate_limit;
  flags.cors_origins.clear();
  flags.ssl_key_file.clear();
  flags.ssl_cert_file.clear();
  return flags;
}

std::vector<std::string> hosts_of(const std::string& host) {
  std::vector<std::string> out;
  for (const std::string& word : split_at_commas({host})) {
    const std::size_t begin = word.find_first_not_of(" \t");
    if (begin == std::string::npos) continue;
    out.push_back(word.substr(begin, word.find_last_not_of(" \t") - begin + 1));
  }
  return out;
}

std::vector<std::string> split_at_commas(const std::vector<std::string>& words) {
  std::vector<std::string> out;
  for (const std::string& word : words) {
    std::size_t begin = 0;
    for (std::size_t comma = word.find(','); comma != std::string::npos; comma = word.find(',', begin)) {
      out.push_back(word.substr(begin, comma - begin));
      begin = comma + 1;
    }
    out.push_back(word.substr(begin));
  }
  return out;
}

}  // namespace assay::cli
