#pragma once
// llama-server's own routes, in this process. Everything that is bound to the insides of llama.cpp's server is in
// llama_chat.cc; docs/upgrading.md says what to compare when llama.cpp is upgraded.
//
//   auto chat = LlamaChat::parse(words);                // llama-server's flags and its LLAMA_ARG_… variables
//   Status loaded = (*chat)->load({.model_path = …}, gate);
//   … a decider on (*chat)->model() …
//   (*chat)->start();                                    // from here on routes are answered

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "assay/error.h"
#include "base/compute_gate.h"
#include "base/load_plan.h"
#include "server/llama/chat_server.h"
#include "server/llama/llama_flags.h"

struct llama_model;  // NOLINT(readability-identifier-naming): their name

namespace assay::server {

struct LlamaLoad {
  std::string model_path;
  std::string model_name;  // what replies call it where the words give no alias
  LoadPlan plan;
  bool check_memory = true;
  // Tokens of the context where the words name none.
  std::int32_t default_context_tokens = 8192;
  double stuck_seconds = 120;
  // Told each state of the model as llama.cpp names it, with a JSON object; may be empty.
  std::function<void(const std::string& state, const std::string& payload)> on_state = {};
  // How much memory is free now, asked before a model that sleeps is loaded again; may be empty.
  std::function<std::uint64_t()> free_bytes = {};
};

enum class ModelFile { kIsHere, kToFetch };

// Told by the thread that computes; nothing of this object but model() may be called meanwhile.
struct SleepWatch {
  std::function<void()> before_free;             // every context of others on the weights goes now
  std::function<void(llama_model*)> after_load;  // the same file again, loaded in the same way
};

// Thread-safe but for parse(), load() and start(), which come in this order, each once.
class LlamaChat final : public ChatServer {
 public:
  // Errors: kInvalidArgument for words that llama-server would not take either; it has written why to stderr. Words
  // that print something and end the program (--version, --list-devices) do so here.
  static Result<std::unique_ptr<LlamaChat>> parse(const std::vector<std::string>& words);
  // As stop(0).
  ~LlamaChat() override;
  LlamaChat(const LlamaChat&) = delete;
  LlamaChat& operator=(const LlamaChat&) = delete;

  const LlamaSettings& settings() const;
  // Fetches what the words name by a repository or an address: the model, its projector, a draft. The model's path;
  // settings().mmproj is the projector's. Where the model is here, whatever the words say of one is not looked at.
  // Before load(). Errors: kIo.
  Result<std::string> fetch_files(ModelFile model);

  // Loads the weights and a context of its own on them. While a turn of `gate` is held it computes nothing. Errors:
  // kUnsupportedModel; kOutOfMemory with the numbers.
  Status load(const LlamaLoad& load, ComputeGate& gate);
  // The weights, freed by the destructor, and while asleep (settings().sleep_idle_seconds >= 0).
  llama_model* model() const;
  // What a router tells of this model; a JSON object. REQUIRES: load() went well.
  std::string model_info() const;
  // For whoever shares the weights; before start().
  void watch_sleep(SleepWatch watch);
  // Returns when the weights are there; counts as a request. Errors: kUnavailable where they cannot be loaded again
  // (wake_check.h). REQUIRES: start() was called, and stop() was not.
  Status wake();
  // Counts as a request, and does not wait.
  void touch();
  // Begins to compute what its routes are asked for.
  void start();
  // Asks for one token, unless the words ask for embeddings. Errors: kUnsupportedModel. REQUIRES: start() was called.
  Status warm_up();
  // No new work; waits up to grace_ms for what is at work, then breaks it off. Idempotent.
  void stop(double grace_ms);

  const std::vector<ChatRoute>& routes() const override;
  HttpReply handle(std::size_t route, const HttpRequest& request) override;
  bool healthy() const override;
  std::size_t in_flight() const override;
  // A slot's: what --ctx-size leaves to each of --parallel. REQUIRES: load() went well.
  std::int32_t context_tokens() const override;
  HttpReply metrics() override;
  bool asleep() const override;

 private:
  struct Parts;
  explicit LlamaChat(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace assay::server
