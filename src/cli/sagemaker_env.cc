// The tables say what each variable means; the class goes through the environment once, in the order of the names, so
// that nothing depends on the order in which a process happens to be given its variables.
#include "cli/sagemaker_env.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/llama_flags.h"
#include "cli/option_spec.h"

namespace assay::cli {
namespace {

constexpr std::string_view kLlamaPrefix = "SM_LLAMA_CPP_";
constexpr std::string_view kHuggingFacePrefix = "SM_LLAMACPP_";
constexpr std::string_view kSemifPrefix = "SEMIF_";
constexpr const char* kMultiModel = "SAGEMAKER_MULTI_MODEL";
constexpr std::int64_t kPortMax = 65535;
constexpr std::int64_t kIntMax = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMegabyte = std::int64_t{1024} * 1024;
constexpr std::int64_t kPayloadMegabytesMax = 100;

// Flags of llama-server that are the same setting as one of ours.
struct Counterpart {
  std::string_view llama;
  const char* ours;
};
constexpr std::array<Counterpart, 6> kCounterparts = {{{"alias", "alias"},
                                                       {"chat-template-file", "chat-template"},
                                                       {"cors-origins", "cors-origin"},
                                                       {"ctx-size", "context-tokens"},
                                                       {"threads-http", "http-threads"},
                                                       {"ubatch-size", "batch-tokens"}}};

// Flags of llama-server that are not followed here, and why.
struct NotFollowed {
  std::string_view llama;
  const char* reason;
};
constexpr const char* kNoKey =
    "SageMaker removes the header that a key comes in; ASSAY_API_KEY asks for one all the same";
constexpr const char* kNoTls = "SageMaker asks without TLS; ASSAY_SSL_CERT_FILE and ASSAY_SSL_KEY_FILE make it https";
constexpr const char* kEndsAtOnce = "it would end the program at once";
constexpr std::array<NotFollowed, 14> kNotFollowed = {
    {{"api-key", kNoKey},
     {"api-key-file", kNoKey},
     {"api-prefix", "SageMaker asks for /ping and /invocations"},
     {"cache-list", kEndsAtOnce},
     {"completion-bash", kEndsAtOnce},
     {"help", kEndsAtOnce},
     {"host", "SageMaker asks from outside, so all addresses are listened on"},
     {"list-devices", kEndsAtOnce},
     {"reuse-port", "SageMaker starts one server for a port"},
     {"ssl-cert-file", kNoTls},
     {"ssl-key-file", kNoTls},
     {"usage", kEndsAtOnce},
     {"version", kEndsAtOnce},
     {"verbosity", "ASSAY_LOG_LEVEL says which lines are logged"}}};

// Flags of llama-server that say what to fetch as the model, and how; and its own variables that say which model.
constexpr std::array<std::string_view, 5> kDownloads = {"docker-repo", "hf-file", "hf-repo", "hf-token", "model-url"};
constexpr std::array<const char*, 4> kLlamaModels = {"LLAMA_ARG_DOCKER_REPO", "LLAMA_ARG_HF_REPO", "LLAMA_ARG_MODEL",
                                                     "LLAMA_ARG_MODEL_URL"};

// SemIf's variables that are not followed, and why.
constexpr std::array<NotFollowed, 6> kSemifNotFollowed = {
    {{"SEMIF_LLAMA_CPP_LIB_DIR", "llama.cpp is part of this program"},
     {"SEMIF_MAX_IN_FLIGHT", "requests wait in a queue; ASSAY_QUEUE_JOBS_MAX bounds it"},
     {"SEMIF_MAX_REQUEST_TOKENS", "the bound of a request is that of its longest prompt"},
     {"SEMIF_MAX_SHARED_DECISIONS", "256 decisions are taken"},
     {"SEMIF_TOKENIZER_REVISION", "the GGUF's own tokenizer is used"},
     {"SEMIF_TOKENIZER_SOURCE", "the GGUF's own tokenizer is used"}}};

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

// "SM_LLAMA_CPP_CTX_SIZE" -> "ctx-size".
std::string flag_name(std::string_view variable, std::string_view prefix) {
  std::string name = lower(std::string(variable.substr(prefix.size())));
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

template <std::size_t N>
const NotFollowed* find_not_followed(const std::array<NotFollowed, N>& table, std::string_view name) {
  const auto* found = std::find_if(table.begin(), table.end(), [name](const auto& one) { return one.llama == name; });
  return found == table.end() ? nullptr : found;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    if (end > begin) out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

void add_word(std::vector<std::string>& to, const std::string& name, const std::string& value) {
  to.insert(to.end(), {"--" + name, value});
}

class Translator {
 public:
  Translator(const std::vector<EnvironmentEntry>& entries, UnknownVariables unknown,
             const std::vector<ForeignFlag>& llama_flags)
      : unknown_(unknown), llama_flags_(llama_flags) {
    for (const EnvironmentEntry& entry : entries) variables_.emplace(entry.name, entry.value);
  }

  Result<SageMakerSettings> translate();

 private:
  // The value of a variable that is there and not empty.
  const std::string* value_of(const char* name) const;
  void set(const char* flag, std::vector<std::string> values, const std::string& source);
  void warn(const std::string& variable, const std::string& why);
  Result<std::int64_t> number(const char* name, std::int64_t low, std::int64_t high) const;
  Status port();
  Status semif();
  Status sagemaker();
  void model();
  Status llama_variables(std::string_view prefix);
  Status llama_variable(const std::string& variable, const std::string& name, const std::string& value);
  Status switch_flag(const std::string& variable, const std::string& name, const std::string& value);
  Status two_values(const std::string& variable, const std::string& name, const std::string& value);
  Status removed_flag(const std::string& variable, const std::string& name, const std::string& value);
  void value_flag(const std::string& variable, const std::string& name, const std::string& value);
  void layers(const std::string& variable, const std::string& value);
  Status unknown_variable(const std::string& variable);

  const UnknownVariables unknown_;
  const std::vector<ForeignFlag>& llama_flags_;
  std::map<std::string, std::string> variables_;
  SageMakerSettings out_;
};

Result<SageMakerSettings> Translator::translate() {
  model();
  for (const Status& status :
       {semif(), llama_variables(kHuggingFacePrefix), llama_variables(kLlamaPrefix), sagemaker(), port()}) {
    if (!status.ok()) return status.error();
  }
  if (value_of("LLAMA_API_KEY") != nullptr) warn("LLAMA_API_KEY", kNoKey);
  return std::move(out_);
}

const std::string* Translator::value_of(const char* name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() || found->second.empty() ? nullptr : &found->second;
}

void Translator::set(const char* flag, std::vector<std::string> values, const std::string& source) {
  out_.settings.push_back({flag, std::move(values), source});
}

void Translator::warn(const std::string& variable, const std::string& why) {
  out_.warnings.push_back(variable + " is not followed: " + why);
}

Result<std::int64_t> Translator::number(const char* name, std::int64_t low, std::int64_t high) const {
  return parse_whole_number(name, *value_of(name), low, high);
}

Status Translator::port() {
  for (const char* name : {"SAGEMAKER_BIND_TO_PORT", "SM_LLAMA_CPP_PORT", "LLAMACPP_SAGEMAKER_PORT", "SEMIF_PORT"}) {
    if (value_of(name) == nullptr) continue;
    const Result<std::int64_t> checked = number(name, 1, kPortMax);
    if (!checked.ok()) return checked.error();
    set("port", {std::to_string(*checked)}, name);
    return {};
  }
  return {};
}

// Where the model is looked for, and by which rule.
void Translator::model() {
  const auto has = [this](std::string_view prefix) {
    const auto first = variables_.lower_bound(std::string(prefix));
    return first != variables_.end() && first->first.starts_with(prefix);
  };
  if (has(kSemifPrefix) && !has(kLlamaPrefix) && !has(kHuggingFacePrefix)) out_.model_rule = ModelRule::kOnlyOne;
  for (const char* name : {"SEMIF_MODEL_DIR", "SM_LLAMA_CPP_MODEL_DIR"}) {
    if (value_of(name) != nullptr) out_.model_folder = *value_of(name);
  }
  for (const char* name : {"SEMIF_GGUF_PATH", "SM_LLAMACPP_MODEL", "SM_LLAMA_CPP_MODEL"}) {
    if (value_of(name) != nullptr) set("model", {*value_of(name)}, name);
  }
  for (const char* name : kLlamaModels) {
    if (value_of(name) != nullptr) out_.model_asked_by = name;
  }
}

Status Translator::semif() {
  struct Number {
    const char* name;
    const char* flag;  // nullptr: checked and not followed
    std::int64_t low;
  };
  constexpr std::array<Number, 6> kNumbers = {{{"SEMIF_MAX_BODY_BYTES", "body-bytes-max", 1},
                                               {"SEMIF_MAX_IN_FLIGHT", nullptr, 1},
                                               {"SEMIF_MAX_REQUEST_TOKENS", nullptr, 1},
                                               {"SEMIF_MAX_SHARED_DECISIONS", nullptr, 1},
                                               {"SEMIF_MAX_TOKENS", "context-tokens", 1},
                                               {"SEMIF_THREADS", "threads", 1}}};
  for (const Number& one : kNumbers) {
    if (value_of(one.name) == nullptr) continue;
    const Result<std::int64_t> checked = number(one.name, one.low, kIntMax);
    if (!checked.ok()) return checked.error();
    if (one.flag != nullptr) set(one.flag, {std::to_string(*checked)}, one.name);
  }
  if (value_of("SEMIF_N_GPU_LAYERS") != nullptr) {
    const Result<std::int64_t> checked = number("SEMIF_N_GPU_LAYERS", -1, kIntMax);
    if (!checked.ok()) return checked.error();
    layers("SEMIF_N_GPU_LAYERS", std::to_string(*checked));
  }
  bool is_semif = false;
  constexpr std::array<std::string_view, 7> kFollowed = {"SEMIF_GGUF_PATH", "SEMIF_MAX_BODY_BYTES", "SEMIF_MAX_TOKENS",
                                                         "SEMIF_MODEL_DIR", "SEMIF_N_GPU_LAYERS",   "SEMIF_PORT",
                                                         "SEMIF_THREADS"};
  for (const auto& [variable, value] : variables_) {
    if (!variable.starts_with(kSemifPrefix)) continue;
    is_semif = true;
    if (std::find(kFollowed.begin(), kFollowed.end(), variable) != kFollowed.end()) continue;
    if (const NotFollowed* found = find_not_followed(kSemifNotFollowed, variable); found != nullptr) {
      warn(variable, found->reason);
    } else if (const Status known = unknown_variable(variable); !known.ok()) {
      return known;
    }
  }
  // As that image does: text that spells a control token is refused.
  if (is_semif) set("special-tokens", {"reject"}, "SEMIF_*");
  return {};
}

Status Translator::sagemaker() {
  if (value_of("SAGEMAKER_MAX_PAYLOAD_IN_MB") != nullptr) {
    const Result<std::int64_t> checked = number("SAGEMAKER_MAX_PAYLOAD_IN_MB", 0, kPayloadMegabytesMax);
    if (!checked.ok()) return checked.error();
    const std::int64_t megabytes = *checked == 0 ? kPayloadMegabytesMax : *checked;
    set("body-bytes-max", {std::to_string(megabytes * kMegabyte)}, "SAGEMAKER_MAX_PAYLOAD_IN_MB");
  }
  if (value_of(kMultiModel) != nullptr) {
    const Result<bool> on = parse_switch(kMultiModel, *value_of(kMultiModel));
    if (!on.ok()) return on.error();
    out_.multi_model = *on;
  }
  constexpr const char* kSessions = "SAGEMAKER_ENABLE_STATEFUL_SESSIONS";
  if (value_of(kSessions) == nullptr) return {};
  const Result<bool> on = parse_switch(kSessions, *value_of(kSessions));
  if (!on.ok()) return on.error();
  if (!*on) return {};
  std::int64_t seconds = 1200;
  if (value_of("SAGEMAKER_SESSIONS_EXPIRATION") != nullptr) {
    const Result<std::int64_t> checked = number("SAGEMAKER_SESSIONS_EXPIRATION", 1, 86'400);
    if (!checked.ok()) return checked.error();
    seconds = *checked;
  }
  set("session-seconds", {std::to_string(seconds)}, kSessions);
  return {};
}

Status Translator::llama_variables(std::string_view prefix) {
  for (auto found = variables_.lower_bound(std::string(prefix)); found != variables_.end(); ++found) {
    const auto& [variable, value] = *found;
    if (!variable.starts_with(prefix)) break;
    const std::string name = flag_name(variable, prefix);
    // Read elsewhere.
    if (name == "model" || name == "model-dir" || name == "port") continue;
    if (const Status done = llama_variable(variable, name, value); !done.ok()) return done;
  }
  return {};
}

Status Translator::llama_variable(const std::string& variable, const std::string& name, const std::string& value) {
  const std::optional<LlamaFlagKind> kind = llama_flag_kind(name, llama_flags_);
  if (!kind.has_value()) return unknown_variable(variable);
  if (const NotFollowed* found = find_not_followed(kNotFollowed, name); found != nullptr) {
    if (lower(value) != "false") warn(variable, found->reason);
    return {};
  }
  if (*kind == LlamaFlagKind::kSwitch) return switch_flag(variable, name, value);
  if (*kind == LlamaFlagKind::kRemoved) return removed_flag(variable, name, value);
  const std::string word = lower(value);
  if (*kind == LlamaFlagKind::kOnOff) {
    const bool says_true = word == "true" || word == "1" || word.empty();
    const bool says_false = word == "false" || word == "0";
    value_flag(variable, name, says_true ? "on" : says_false ? "off" : value);
    return {};
  }
  if (word == "false") return {};
  if (*kind == LlamaFlagKind::kTwo) return two_values(variable, name, value);
  if (word == "true" || word.empty()) {
    warn(variable, "--" + name + " takes a value");
    return {};
  }
  value_flag(variable, name, value);
  return {};
}

Status Translator::switch_flag(const std::string& variable, const std::string& name, const std::string& value) {
  const Result<bool> on = value.empty() ? Result<bool>(true) : parse_switch(variable, value);
  if (!on.ok()) return on.error();
  if (!*on) return {};
  if (name == "no-repack") {
    set("no-extra-buffers", {"true"}, variable);
  } else if (name == "verbose" || name == "log-verbose") {
    set("log-level", {"debug"}, variable);
  } else {
    out_.llama_arguments.push_back("--" + name);
  }
  return {};
}

// With a blank or a comma between them.
Status Translator::two_values(const std::string& variable, const std::string& name, const std::string& value) {
  std::vector<std::string> words(1);
  for (const char c : value) {
    const bool is_between = c == ' ' || c == ',' || c == '\t';
    if (!is_between) words.back() += c;
    if (is_between && !words.back().empty()) words.emplace_back();
  }
  if (words.back().empty()) words.pop_back();
  if (words.size() != 2) return invalid_argument(variable, variable + ": --" + name + " takes two values");
  out_.llama_arguments.push_back("--" + name);
  out_.llama_arguments.insert(out_.llama_arguments.end(), words.begin(), words.end());
  return {};
}

Status Translator::removed_flag(const std::string& variable, const std::string& name, const std::string& value) {
  const bool is_false = lower(value) == "false" || value == "0";
  if (name == "no-mmap" ? !is_false : name == "mmap" && is_false) {
    set("no-mmap", {"true"}, variable);
  } else if (!is_false && name != "mmap") {
    warn(variable, "this llama.cpp has no --" + name + " any more (SM_LLAMA_CPP_LOAD_MODE took its place)");
  }
  return {};
}

void Translator::value_flag(const std::string& variable, const std::string& name, const std::string& value) {
  const auto* ours = std::find_if(kCounterparts.begin(), kCounterparts.end(),
                                  [&name](const Counterpart& one) { return one.llama == name; });
  if (ours != kCounterparts.end()) {
    const bool is_list = name == "alias" || name == "cors-origins";
    // Below zero llama-server takes its own default.
    if (name == "threads-http" && value.starts_with('-')) return;
    set(ours->ours, is_list ? split(value) : std::vector<std::string>{value}, variable);
    // Chat's context and decisions' are two: llama-server may have more than one request needs.
    if (name == "ctx-size" || name == "ubatch-size") add_word(out_.llama_arguments, name, value);
  } else if (name == "threads") {
    set("threads", {value.starts_with('-') ? "0" : value}, variable);
  } else if (name == "gpu-layers" || name == "n-gpu-layers") {
    layers(variable, value);
  } else if (name == "flash-attn") {
    if (lower(value) == "auto") return;
    set("flash-attention", {lower(value)}, variable);
    add_word(out_.llama_arguments, name, lower(value));
  } else if (name == "load-mode" && (value == "none" || value == "dio")) {
    set("no-mmap", {"true"}, variable);
  } else if (std::find(kDownloads.begin(), kDownloads.end(), name) != kDownloads.end()) {
    add_word(out_.download_arguments, name, value);
    if (name == "hf-repo" || name == "docker-repo" || name == "model-url") out_.model_asked_by = variable;
  } else if (name != "load-mode" || value != "auto") {
    add_word(out_.llama_arguments, name, value);
  }
}

void Translator::layers(const std::string& variable, const std::string& value) {
  const std::string word = lower(value);
  if (word == "auto") return;
  set("gpu-layers", {word == "all" ? "-1" : word}, variable);
  if (word != "0") out_.gpu_asked_by = variable;
}

Status Translator::unknown_variable(const std::string& variable) {
  if (unknown_ == UnknownVariables::kRefuse) return invalid_argument(variable, variable + " is no known variable");
  warn(variable, "no flag of this name is known");
  return {};
}

}  // namespace

Result<SageMakerSettings> translate_environment(const std::vector<EnvironmentEntry>& entries, UnknownVariables unknown,
                                                const std::vector<ForeignFlag>& llama_flags) {
  return Translator(entries, unknown, llama_flags).translate();
}

}  // namespace assay::cli
