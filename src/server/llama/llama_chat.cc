// llama.cpp's server without its HTTP layer and its main(): what server.cpp puts together there, put together here. At
// an upgrade of llama.cpp compare with tools/server/server.cpp: the order of the calls in parse(), load(), start() and
// stop(), and the list of routes (llama_chat_test.cc compares that one).
#include "server/llama/llama_chat.h"

#include <arg.h>
#include <common.h>
#include <fit.h>
#include <llama.h>
#include <log.h>
#include <server-common.h>
#include <server-context.h>
#include <server-http.h>
#include <server-mcp.h>
#include <server-queue.h>
#include <server-stream.h>
#include <server-tools.h>

#include <atomic>
#include <chrono>
#include <clocale>
#include <exception>
#include <future>
#include <limits>
#include <thread>
#include <utility>

#include "base/log.h"
#include "server/http/layer_replies.h"
#include "server/llama/llama_handlers.h"
#include "server/llama/llama_routes.h"
#include "server/llama/prompt_cache_limit.h"
#include "server/llama/wake_check.h"

namespace assay::server {
namespace {

constexpr int kQuiet = -1;  // of llama.cpp's log
constexpr int kSlots = 4;   // as llama-server has where --parallel is not given
constexpr int kNotSaid = std::numeric_limits<int>::min();
constexpr std::chrono::milliseconds kSayAgain{5};

// False for what is answered without the model.
bool may_wake(const ChatRoute& route) {
  const std::string& path = route.path;
  return route.method != "GET" || path == "/slots" || path == "/lora-adapters";
}

}  // namespace

struct LlamaChat::Parts {
  common_params params;
  LlamaSettings settings;
  server_mcp mcp;  // before what uses it
  server_context context;
  std::unique_ptr<server_routes> handlers;
  server_tools tools;
  LlamaHandlers mounted;
  SleepWatch sleep_watch;
  std::function<void(const std::string&, const std::string&)> on_state;
  std::atomic<bool> asleep{false};
  WakeCheck wake_check;
  std::uint64_t memory_needed_bytes = 0;
  bool is_cache_said = false;  // --cache-ram
  std::int32_t slot_tokens = 0;
  ComputeGate* gate = nullptr;
  double stuck_seconds = 0;
  bool has_words_for_log = false;
  std::atomic<bool> loaded{false};
  std::thread loop;
  std::future<void> loop_ended;

  void settle();
  Status check_memory(const LlamaLoad& load);
  void limit_prompt_cache(std::uint64_t left_bytes);
  void pause_between_nodes();
  void take_state(server_state state, const json& payload);
  llama_model* model() const { return const_cast<llama_model*>(llama_get_model(context.get_llama_context())); }
  server_queue& queue() { return context.get_response_reader().queue_tasks; }
};

// Before the parameters are used: what depends on several of them.
void LlamaChat::Parts::settle() {
  if (params.embedding && params.n_batch > params.n_ubatch) params.n_batch = params.n_ubatch;
  if (params.n_parallel < 0) {
    params.n_parallel = kSlots;
    params.kv_unified = true;
  }
  const bool wants_trained_context = static_cast<std::uint32_t>(params.fit_params_min_ctx) == UINT32_MAX;
  if (params.kv_unified_per_slot > 0 && params.n_ctx == 0 && !wants_trained_context) {
    params.n_ctx = params.n_parallel * params.kv_unified_per_slot;
  }
}

// llama.cpp ends the process, or is ended, where the memory of its context cannot be had.
Status LlamaChat::Parts::check_memory(const LlamaLoad& load) {
  const llama_model_params model = common_model_params_to_llama(const_cast<common_params&>(params));
  const llama_context_params own = common_context_params_to_llama(params);
  std::vector<ggml_backend_dev_t> devices;
  std::uint32_t layers = 0;
  std::uint32_t trained = 0;
  std::uint32_t experts = 0;
  const common_device_memory_data_vec memory = common_get_device_memory_data(
      params.model.path.c_str(), &model, &own, devices, layers, trained, experts, GGML_LOG_LEVEL_ERROR);
  if (memory.empty() || !load.check_memory) return {};
  const std::uint64_t needed = memory_needed_bytes =
      load.plan.memory_needed_bytes + memory.back().context + memory.back().compute;
  const std::string numbers = "chat and decisions need about " + std::to_string(needed >> 20) + " MiB, and " +
                              std::to_string(load.plan.memory_free_bytes >> 20) + " MiB are free";
  log_line(LogLevel::kInfo, numbers);
  if (needed <= load.plan.memory_free_bytes) {
    limit_prompt_cache(load.plan.memory_free_bytes - needed);
    return {};
  }
  return Error{ErrorCode::kOutOfMemory,
               numbers + "; take a smaller --ctx-size (now " + std::to_string(params.n_ctx) + "), or --chat off",
               "model"};
}

// Behind the weights and the contexts, what llama.cpp keeps of prompts may grow to a size that nobody has checked.
void LlamaChat::Parts::limit_prompt_cache(std::uint64_t left_bytes) {
  if (is_cache_said) return;
  const int limit = prompt_cache_mib(left_bytes, params.cache_ram_mib);
  if (limit == params.cache_ram_mib) return;
  log_line(LogLevel::kInfo, "chat keeps prompts that no slot has any more in up to " + std::to_string(limit) +
                                " MiB, a half of what is left, and not in llama-server's " +
                                std::to_string(params.cache_ram_mib) + " MiB (--cache-ram)");
  params.cache_ram_mib = limit;
}

// The computing thread calls this between the nodes of each graph; false: go on.
void LlamaChat::Parts::pause_between_nodes() {
  const auto pause = [](void* data) {
    static_cast<ComputeGate*>(data)->pause_point();
    return false;
  };
  llama_set_abort_callback(context.get_llama_context(), pause, gate);
}

// llama.cpp frees the model behind kSleeping, and says kReady when it has loaded it again. It says so on the thread
// that computes, and holds its queue meanwhile: nothing here may wait for a request of ours that waits for the queue.
void LlamaChat::Parts::take_state(server_state state, const json& payload) {
  if (state == SERVER_STATE_SLEEPING) {
    log_line(LogLevel::kInfo, "idle: the weights are freed until the next request");
    asleep.store(true);
    if (sleep_watch.before_free) sleep_watch.before_free();
  }
  if (state == SERVER_STATE_READY && asleep.load()) {
    pause_between_nodes();
    if (sleep_watch.after_load) sleep_watch.after_load(model());
    asleep.store(false);
    log_line(LogLevel::kInfo, "awake: the weights are back");
  }
  if (on_state) on_state(server_state_to_str(state), safe_json_to_str(payload.is_null() ? json::object() : payload));
}

LlamaChat::LlamaChat(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

LlamaChat::~LlamaChat() { stop(0); }

Result<std::unique_ptr<LlamaChat>> LlamaChat::parse(const std::vector<std::string>& words) {
  std::setlocale(LC_NUMERIC, "C");
  auto parts = std::make_unique<Parts>();
  std::vector<std::string> all = {"assay"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& word : all) pointers.push_back(word.data());
  const int verbosity = parts->params.verbosity;
  const int cache_mib = std::exchange(parts->params.cache_ram_mib, kNotSaid);
  const bool good =
      common_params_parse(static_cast<int>(pointers.size()), pointers.data(), parts->params, LLAMA_EXAMPLE_SERVER);
  parts->has_words_for_log = parts->params.verbosity != verbosity;
  if (!parts->has_words_for_log) common_log_set_verbosity_thold(kQuiet);
  if (!good) return invalid_argument("", "llama-server's flags and LLAMA_ARG_ variables cannot be read as they are");
  parts->is_cache_said = parts->params.cache_ram_mib != kNotSaid;
  if (!parts->is_cache_said) parts->params.cache_ram_mib = cache_mib;
  parts->settle();
  parts->settings = settings_of(parts->params);
  parts->handlers = std::make_unique<server_routes>(parts->params, parts->context);
  mount_routes(parts->mounted, *parts->handlers, parts->params,
               {.get = server_stream_make_get_handler(),
                .lookup = server_stream_make_lookup_handler(),
                .remove = server_stream_make_delete_handler()});
  return std::unique_ptr<LlamaChat>(new LlamaChat(std::move(parts)));
}

const LlamaSettings& LlamaChat::settings() const { return parts_->settings; }

Result<std::string> LlamaChat::fetch_files(ModelFile model) {
  common_params& params = parts_->params;
  std::string what = parts_->settings.download;
  if (model == ModelFile::kIsHere) {
    params.model = {};
    what = "a projector or a draft";
  }
  try {
    // Also says of which type a draft is, where nobody does.
    common_models_handler handler = common_models_handler_init(params, LLAMA_EXAMPLE_SERVER);
    common_models_handler_apply(handler, params);
  } catch (const std::exception& thrown) {
    return Error{ErrorCode::kIo, what + " cannot be downloaded: " + thrown.what(), "model"};
  }
  if (model == ModelFile::kToFetch && params.model.path.empty()) {
    return Error{ErrorCode::kIo, what + " cannot be downloaded: nobody answers, or there is no such model", "model"};
  }
  parts_->settings.mmproj = params.mmproj.path;
  return params.model.path;
}

Status LlamaChat::load(const LlamaLoad& load, ComputeGate& gate) {
  Parts& parts = *parts_;
  common_params& params = parts.params;
  params.model.path = load.model_path;
  // The engine has made the log quiet.
  if (parts.has_words_for_log) common_log_set_verbosity_thold(params.verbosity);
  params.no_extra_bufts = params.no_extra_bufts || !load.plan.extra_buffers;
  if (params.n_ctx == 0 && static_cast<std::uint32_t>(params.fit_params_min_ctx) != UINT32_MAX) {
    params.n_ctx = load.default_context_tokens;
  }
  if (parts.settings.threads < 0) {
    params.cpuparams.n_threads = load.plan.threads;
    params.cpuparams_batch.n_threads = load.plan.threads;
  }
  // What llama.cpp leaves free on a GPU when it fits its context to what is there.
  for (std::size_t& target : params.fit_params_target) target += load.plan.memory_needed_bytes;
  if (params.model_alias.empty()) params.model_alias.insert(load.model_name);
  params.warmup = false;  // nothing may compute before the weights are packed
  parts.gate = &gate;
  parts.mounted.calls().on_idle([&gate] { gate.guest_left(); });
  parts.stuck_seconds = load.stuck_seconds;
  parts.on_state = load.on_state;
  try {
    if (Status fits = parts.check_memory(load); !fits.ok()) return fits;
    llama_numa_init(params.numa);
    server_stream_session_manager_start();
    start_tools(parts.mounted, parts.tools, parts.mcp, params);
    parts.context.set_state_callback(
        [&parts](server_state state, const json& payload) { parts.take_state(state, payload); });
    if (!parts.context.load_model(params)) {
      return Error{
          ErrorCode::kUnsupportedModel,
          load.model_path + " cannot be loaded for chat (--log-verbosity 4 says more; --chat off does without)",
          "model"};
    }
  } catch (const std::exception& thrown) {
    return Error{ErrorCode::kUnsupportedModel, load.model_path + " cannot be loaded for chat: " + thrown.what(),
                 "model"};
  }
  parts.wake_check = WakeCheck({params.model.path, params.mmproj.path, params.speculative.draft.mparams.path},
                               parts.memory_needed_bytes, load.free_bytes);
  parts.handlers->update_meta(parts.context);
  parts.slot_tokens = parts.context.get_meta().slot_n_ctx;
  parts.pause_between_nodes();
  parts.loaded.store(true);
  return {};
}

llama_model* LlamaChat::model() const { return parts_->model(); }

void LlamaChat::start() {
  std::promise<void> ended;
  parts_->loop_ended = ended.get_future();
  parts_->loop = std::thread([this, ended = std::move(ended)]() mutable {
    parts_->context.start_loop();
    ended.set_value();
  });
}

Status LlamaChat::warm_up() {
  if (parts_->params.embedding) return {};
  for (std::size_t i = 0; i < routes().size(); ++i) {
    if (routes()[i].path != "/completion") continue;
    const HttpReply reply = handle(i, {.method = "POST",
                                       .path = "/completion",
                                       .headers = {{"Content-Type", "application/json"}},
                                       .body = R"({"prompt": "Hello", "n_predict": 1, "cache_prompt": false})"});
    if (reply.status != 200) {
      return Error{ErrorCode::kUnsupportedModel, "the first word of a chat failed: " + reply.body, "model"};
    }
  }
  return {};
}

// The loop is ended last: a request that waits for it would end the process.
void LlamaChat::stop(double grace_ms) {
  // A tool would be waited for to its end.
  parts_->mounted.calls().close(grace_ms, [this] { parts_->mcp.shutdown(); });
  if (!parts_->loaded.exchange(false)) return;
  server_stream_session_manager_stop();
  if (parts_->loop.joinable()) {
    // Said until it is heard: a loop that only begins now forgets what was said before.
    do {
      parts_->context.terminate();
    } while (parts_->loop_ended.wait_for(kSayAgain) != std::future_status::ready);
    parts_->loop.join();
  }
  parts_->mcp.shutdown();
}

std::string LlamaChat::model_info() const { return safe_json_to_str(parts_->handlers->get_model_info()); }

void LlamaChat::watch_sleep(SleepWatch watch) { parts_->sleep_watch = std::move(watch); }

Status LlamaChat::wake() {
  if (parts_->asleep.load()) {
    if (Status can = parts_->wake_check.check(); !can.ok()) return can;
  }
  parts_->queue().wait_until_no_sleep();
  touch();
  return {};
}

void LlamaChat::touch() {
  server_task nothing(SERVER_TASK_TYPE_NEXT_RESPONSE);
  nothing.id = parts_->queue().get_new_id();
  parts_->queue().post(std::move(nothing));
}

bool LlamaChat::asleep() const { return parts_->asleep.load(); }

const std::vector<ChatRoute>& LlamaChat::routes() const { return parts_->mounted.routes(); }

// llama.cpp ends the process where a request wakes a model that cannot be loaded.
HttpReply LlamaChat::handle(std::size_t route, const HttpRequest& request) {
  if (parts_->asleep.load() && may_wake(routes()[route])) {
    if (const Status can = parts_->wake_check.check(); !can.ok()) {
      HttpReply reply;
      reply.status = 503;
      reply.body = layer_refusal(request, 503, can.error()).body;
      return reply;
    }
  }
  return parts_->mounted.handle(route, request);
}

bool LlamaChat::healthy() const {
  const ChatCalls& calls = parts_->mounted.calls();
  if (parts_->gate == nullptr || calls.oldest_ms() < parts_->stuck_seconds * 1e3) return true;
  if (parts_->gate->guest_paused() || parts_->asleep.load()) return true;
  return calls.ms_since(parts_->gate->guest_seen_ns()) < parts_->stuck_seconds * 1e3;
}

std::size_t LlamaChat::in_flight() const { return parts_->mounted.calls().in_flight(); }

std::int32_t LlamaChat::context_tokens() const { return parts_->slot_tokens; }

HttpReply LlamaChat::metrics() {
  if (!parts_->params.endpoint_metrics) return {};
  for (std::size_t i = 0; i < routes().size(); ++i) {
    if (routes()[i].path != "/metrics") continue;
    HttpReply reply = handle(i, {.method = "GET", .path = "/metrics"});
    if (reply.status == 200) return reply;
  }
  return {};
}

}  // namespace assay::server
