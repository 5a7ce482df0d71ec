// What server_models does with a model of a preset, done with one that was named just now: a server_model_meta of our
// own is handed to load(). At an upgrade compare with server_models::load(), load_models() and unset_reserved_args().
#include "server/llama/llama_model_host.h"

#include <arg.h>
#include <common.h>
#include <preset.h>
#include <server-common.h>
#include <server-models.h>

#include <exception>
#include <utility>

#include "server/llama/llama_child.h"

namespace assay::server {
namespace {

// As long as a model may take for what it has accepted; it has --grace-seconds of its own.
constexpr int kStopSeconds = 30;

// Ended by nobody's wish with a code of its own: it could not be used. With 1, or by a signal: it was broken off.
Error ended_with(int exit_code) {
  if (exit_code == kChildBadModel) {
    return {ErrorCode::kUnsupportedModel, "it is none that can be served; the log says why", "url"};
  }
  const bool is_memory = exit_code == kChildOutOfMemory;
  return {ErrorCode::kOutOfMemory,
          is_memory ? "there is not memory enough; the log has the numbers"
                    : "its process ended while it loaded, most likely for want of memory; the log says more",
          ""};
}

}  // namespace

struct LlamaModelHost::Parts {
  explicit Parts(server_models& all) : models(all), context(LLAMA_EXAMPLE_SERVER) {}

  Status wait_until_ready(const std::string& name, const std::function<bool()>& cancelled);
  void stop(const std::string& name);

  server_models& models;
  common_preset_context context;
  common_preset base;  // the flags that every model gets
};

Status LlamaModelHost::Parts::wait_until_ready(const std::string& name, const std::function<bool()>& cancelled) {
  std::string said;
  try {
    models.ensure_model_ready(name, cancelled);
  } catch (const std::exception& thrown) {
    said = thrown.what();
  }
  const std::optional<server_model_meta> meta = models.get_meta(name);
  if (meta.has_value() && meta->is_ready_or_sleep()) return {};
  if (cancelled && cancelled()) return Error{ErrorCode::kCancelled, "the caller went away", ""};
  if (meta.has_value() && meta->is_failed()) return ended_with(meta->exit_code);
  return Error{ErrorCode::kUnavailable, said.empty() ? "it was ended while it loaded" : said, ""};
}

void LlamaModelHost::Parts::stop(const std::string& name) {
  models.unload(name);
  models.wait(name, [](const server_model_meta& meta) { return !meta.is_running(); });
}

LlamaModelHost::LlamaModelHost(server_models& models, const std::vector<std::string>& words)
    : parts_(std::make_unique<Parts>(models)) {
  std::vector<std::string> all = {"assay"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& word : all) pointers.push_back(word.data());
  parts_->base = parts_->context.load_from_args(static_cast<int>(pointers.size()), pointers.data());
  for (const char* name : {"LLAMA_ARG_MODEL", "LLAMA_ARG_MODEL_URL", "LLAMA_ARG_MMPROJ", "LLAMA_ARG_MMPROJ_URL",
                           "LLAMA_ARG_ALIAS", "LLAMA_ARG_HF_REPO", "LLAMA_ARG_HF_FILE", "LLAMA_ARG_LOG_FILE"}) {
    parts_->base.unset_option(name);
  }
}

LlamaModelHost::~LlamaModelHost() = default;

Status LlamaModelHost::start(const std::string& name, const ModelFiles& files, const std::function<bool()>& cancelled) {
  server_model_meta meta;
  meta.source = SERVER_MODEL_SOURCE_PRESET;
  meta.name = name;
  meta.stop_timeout = kStopSeconds;
  meta.preset = parts_->base;
  meta.preset.name = name;
  Status ready;
  try {
    meta.preset.set_option(parts_->context, "LLAMA_ARG_MODEL", files.model);
    if (!files.mmproj.empty()) meta.preset.set_option(parts_->context, "LLAMA_ARG_MMPROJ", files.mmproj);
    parts_->models.load(name, {.mode = SERVER_CHILD_MODE_NORMAL, .custom_meta = std::move(meta)});
  } catch (const std::exception& thrown) {
    return Error{ErrorCode::kIo, std::string("its process cannot be started: ") + thrown.what(), ""};
  }
  ready = parts_->wait_until_ready(name, cancelled);
  if (!ready.ok()) parts_->stop(name);
  return ready;
}

void LlamaModelHost::stop(const std::string& name) { parts_->stop(name); }

Status LlamaModelHost::revive(const std::string& name, const std::function<bool()>& cancelled) {
  return parts_->wait_until_ready(name, cancelled);
}

}  // namespace assay::server
