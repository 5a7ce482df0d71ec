// llama.cpp's server without its HTTP layer and its main(): what server.cpp puts together there, put together here. At
// an upgrade of llama.cpp compare with tools/server/server.cpp: the order of the calls in parse(), load(), start() and
// stop(), and the list of routes (llama_chat_test.cc compares that one).
#include "server/llama_chat.h"

#include <arg.h>
#include <common.h>
#include <fit.h>
#include <llama.h>
#include <log.h>
#include <server-common.h>
#include <server-context.h>
#include <server-http.h>
#include <server-mcp.h>
#include <server-models.h>
#include <server-stream.h>
#include <server-tools.h>

#include <server-cors-proxy.h>  // needs those above

#include <algorithm>
#include <atomic>
#include <clocale>
#include <condition_variable>
#include <exception>
#include <fstream>
#include <mutex>
#include <thread>
#include <utility>

#include "base/log.h"
#include "server/chat_calls.h"

namespace assay::server {
namespace {

using Handler = server_http_context::handler_t;

constexpr int kQuiet = -1;  // of llama.cpp's log
constexpr int kSlots = 4;   // as llama-server has where --parallel is not given

server_http_res_ptr error_reply(const std::string& message, error_type type) {
  auto reply = std::make_unique<server_http_res>();
  const json error = format_error_response(message, type);
  reply->status = json_value(error, "code", 500);
  reply->data = safe_json_to_str({{"error", error}});
  return reply;
}

// Handlers throw for what a client does wrong, too.
server_http_res_ptr call(const Handler& handler, const server_http_req& request) {
  try {
    return handler(request);
  } catch (const std::invalid_argument& thrown) {
    return error_reply(thrown.what(), ERROR_TYPE_INVALID_REQUEST);
  } catch (const common_json_error& thrown) {
    return error_reply(thrown.what(), ERROR_TYPE_INVALID_REQUEST);
  } catch (const std::exception& thrown) {
    return error_reply(thrown.what(), ERROR_TYPE_SERVER);
  } catch (...) {
    return error_reply("an error of unknown type", ERROR_TYPE_SERVER);
  }
}

server_http_res_ptr refuse_disabled(const server_http_req& /*request*/) {
  auto reply = std::make_unique<server_http_res>();
  reply->status = 403;
  reply->data = R"({"error": {"message": "this feature is disabled", "type": "feature_disabled"}})";
  return reply;
}

// A request and its reply as llama.cpp has them; the reply refers to the request.
struct Exchange {
  Exchange(const ChatRoute& route, const HttpRequest& from, std::function<bool()> stop)
      : should_stop(std::move(stop)),
        request{.params = {},
                .headers = {from.headers.begin(), from.headers.end()},
                .path = from.path,
                .query_string = from.query_text,
                .body = from.body,
                .files = {},
                .should_stop = should_stop} {
    for (const auto& [name, value] : from.query) request.params.emplace(name, value);
    const std::size_t colon = route.path.find(':');
    if (colon != std::string::npos) request.params[route.path.substr(colon + 1)] = segment_of(route.path, from.path);
  }
  ~Exchange() {
    try {
      if (reply) reply->on_complete();
    } catch (const std::exception& thrown) {
      log_line(LogLevel::kWarn, std::string("the end of a chat reply failed: ") + thrown.what());
    }
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const std::function<bool()> should_stop;
  server_http_req request;
  server_http_res_ptr reply;  // destroyed before what it refers to
};

// Sends the pieces of a stream; the last is there, or the client has gone, when this returns.
void send_pieces(Exchange& exchange, const BodyWriter& write) {
  try {
    for (bool more = true; more;) {
      std::string piece;
      more = exchange.reply->next(piece);
      if (!piece.empty() && !write(piece)) return;
    }
  } catch (const std::exception& thrown) {
    log_line(LogLevel::kError, std::string("a chat reply broke off: ") + thrown.what());
  }
}

}  // namespace

struct LlamaChat::Parts {
  common_params params;
  LlamaSettings settings;
  server_mcp mcp;  // before what uses it
  server_context context;
  std::unique_ptr<server_routes> handlers;
  server_tools tools;
  std::vector<ChatRoute> routes;
  std::vector<Handler> route_handlers;
  ChatCalls calls;
  ComputeGate* gate = nullptr;
  double stuck_seconds = 0;
  bool has_words_for_log = false;
  std::atomic<bool> loaded{false};
  std::thread loop;

  void add(const char* method, const char* path, Handler handler) {
    routes.push_back({method, path});
    route_handlers.push_back(std::move(handler));
  }
  void mount();
  void start_tools();
  void settle();
  Status check_memory(const LlamaLoad& load) const;
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

void LlamaChat::Parts::mount() {
  server_routes& to = *handlers;
  add("GET", "/health", to.get_health);
  add("GET", "/v1/health", to.get_health);
  add("GET", "/metrics", to.get_metrics);
  add("GET", "/props", to.get_props);
  add("POST", "/props", to.post_props);
  add("GET", "/models", to.get_models);
  add("GET", "/v1/models", to.get_models);
  add("POST", "/completion", to.post_completions);
  add("POST", "/completions", to.post_completions);
  add("POST", "/v1/completions", to.post_completions_oai);
  add("POST", "/chat/completions", to.post_chat_completions);
  add("POST", "/v1/chat/completions", to.post_chat_completions);
  add("POST", "/v1/chat/completions/control", to.post_control);
  add("POST", "/v1/responses", to.post_responses_oai);
  add("POST", "/responses", to.post_responses_oai);
  add("POST", "/v1/audio/transcriptions", to.post_transcriptions_oai);
  add("POST", "/audio/transcriptions", to.post_transcriptions_oai);
  add("POST", "/v1/messages", to.post_anthropic_messages);
  add("POST", "/infill", to.post_infill);
  add("POST", "/embedding", to.post_embeddings);
  add("POST", "/embeddings", to.post_embeddings);
  add("POST", "/v1/embeddings", to.post_embeddings_oai);
  for (const char* path : {"/rerank", "/reranking", "/v1/rerank", "/v1/reranking"}) add("POST", path, to.post_rerank);
  add("POST", "/v1/systemone", to.post_systemone);
  add("POST", "/tokenize", to.post_tokenize);
  add("POST", "/detokenize", to.post_detokenize);
  add("POST", "/apply-template", to.post_apply_template);
  add("POST", "/chat/completions/input_tokens", to.post_chat_completions_tok);
  add("POST", "/v1/chat/completions/input_tokens", to.post_chat_completions_tok);
  add("POST", "/responses/input_tokens", to.post_responses_tok_oai);
  add("POST", "/v1/responses/input_tokens", to.post_responses_tok_oai);
  add("POST", "/v1/messages/count_tokens", to.post_anthropic_count_tokens);
  add("GET", "/lora-adapters", to.get_lora_adapters);
  add("POST", "/lora-adapters", to.post_lora_adapters);
  add("GET", "/slots", to.get_slots);
  add("POST", "/slots/:id_slot", to.post_slots);
  add("GET", "/v1/stream", server_stream_make_get_handler());
  add("POST", "/v1/streams/lookup", server_stream_make_lookup_handler());
  add("DELETE", "/v1/stream", server_stream_make_delete_handler());
  add("GET", "/cors-proxy", params.ui_mcp_proxy ? Handler(proxy_handler_get) : Handler(refuse_disabled));
  add("GET", "/tools", refuse_disabled);
  add("POST", "/tools", refuse_disabled);
  add("POST", "/cors-proxy", params.ui_mcp_proxy ? Handler(proxy_handler_post) : Handler(refuse_disabled));
}

// Tools that the server itself offers to models; none unless the words ask for them.
void LlamaChat::Parts::start_tools() {
  mcp.start(params);
  if (params.server_tools.empty() && mcp.empty()) return;
  tools.setup(params.server_tools, mcp, params.server_tools_runtime);
  log_line(LogLevel::kWarn, "llama.cpp's own tools are on: do not let strangers reach this server");
  for (std::size_t i = 0; i < routes.size(); ++i) {
    if (routes[i].path == "/tools")
      route_handlers[i] = routes[i].method == "GET" ? tools.handle_get : tools.handle_post;
  }
}

// llama.cpp ends the process, or is ended, where the memory of its context cannot be had.
Status LlamaChat::Parts::check_memory(const LlamaLoad& load) const {
  const llama_model_params model = common_model_params_to_llama(const_cast<common_params&>(params));
  const llama_context_params own = common_context_params_to_llama(params);
  std::vector<ggml_backend_dev_t> devices;
  std::uint32_t layers = 0;
  std::uint32_t trained = 0;
  std::uint32_t experts = 0;
  const common_device_memory_data_vec memory = common_get_device_memory_data(
      params.model.path.c_str(), &model, &own, devices, layers, trained, experts, GGML_LOG_LEVEL_ERROR);
  if (memory.empty() || !load.check_memory) return {};
  const std::uint64_t needed = load.plan.memory_needed_bytes + memory.back().context + memory.back().compute;
  const std::string numbers = "chat and decisions need about " + std::to_string(needed >> 20) + " MiB, and " +
                              std::to_string(load.plan.memory_free_bytes >> 20) + " MiB are free";
  log_line(LogLevel::kInfo, numbers);
  if (needed <= load.plan.memory_free_bytes) return {};
  return Error{ErrorCode::kOutOfMemory,
               numbers + "; take a smaller --ctx-size (now " + std::to_string(params.n_ctx) + "), or --chat off",
               "model"};
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
  const bool good =
      common_params_parse(static_cast<int>(pointers.size()), pointers.data(), parts->params, LLAMA_EXAMPLE_SERVER);
  parts->has_words_for_log = parts->params.verbosity != verbosity;
  if (!parts->has_words_for_log) common_log_set_verbosity_thold(kQuiet);
  if (!good) return invalid_argument("", "llama-server's flags and LLAMA_ARG_ variables cannot be read as they are");
  parts->settle();
  parts->settings = settings_of(parts->params);
  parts->handlers = std::make_unique<server_routes>(parts->params, parts->context);
  parts->mount();
  return std::unique_ptr<LlamaChat>(new LlamaChat(std::move(parts)));
}

const LlamaSettings& LlamaChat::settings() const { return parts_->settings; }

Result<std::string> LlamaChat::fetch_model() {
  common_params& params = parts_->params;
  try {
    if (!parts_->settings.download.empty()) {
      common_models_handler handler = common_models_handler_init(params, LLAMA_EXAMPLE_SERVER);
      common_models_handler_apply(handler, params);
    }
  } catch (const std::exception& thrown) {
    return Error{ErrorCode::kIo, parts_->settings.download + " cannot be downloaded: " + thrown.what(), "model"};
  }
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
  parts.gate = &gate;
  parts.stuck_seconds = load.stuck_seconds;
  try {
    if (Status fits = parts.check_memory(load); !fits.ok()) return fits;
    llama_numa_init(params.numa);
    server_stream_session_manager_start();
    parts.start_tools();
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
  parts.handlers->update_meta(parts.context);
  // Called by the computing thread between the nodes of each graph; false: go on.
  const auto pause = [](void* data) {
    static_cast<ComputeGate*>(data)->pause_point();
    return false;
  };
  llama_set_abort_callback(parts.context.get_llama_context(), pause, &gate);
  parts.loaded.store(true);
  return {};
}

llama_model* LlamaChat::model() const {
  return const_cast<llama_model*>(llama_get_model(parts_->context.get_llama_context()));
}

void LlamaChat::start() {
  parts_->loop = std::thread([this] { parts_->context.start_loop(); });
}

// The loop is ended last: a request that waits for it would end the process.
void LlamaChat::stop(double grace_ms) {
  parts_->calls.close(grace_ms, [this] { parts_->mcp.shutdown(); });  // a tool would be waited for to its end
  if (!parts_->loaded.exchange(false)) return;
  server_stream_session_manager_stop();
  parts_->context.terminate();
  if (parts_->loop.joinable()) parts_->loop.join();
  parts_->mcp.shutdown();
}

const std::vector<ChatRoute>& LlamaChat::routes() const { return parts_->routes; }

HttpReply LlamaChat::handle(std::size_t route, const HttpRequest& request) {
  HttpReply out;
  std::shared_ptr<ChatCalls::Call> at_work = parts_->calls.begin(request.disconnected);
  if (!at_work) {
    out.status = 503;
    out.body = R"({"error": {"code": 503, "message": "the server is shutting down", "type": "unavailable_error"}})";
    return out;
  }
  auto exchange = std::make_shared<Exchange>(parts_->routes[route], request, [at_work] { return at_work->is_over(); });
  exchange->reply = call(parts_->route_handlers[route], exchange->request);
  out.status = exchange->reply->status;
  out.content_type = exchange->reply->content_type;
  for (const auto& [name, value] : exchange->reply->headers) out.headers.emplace_back(name, value);
  if (!exchange->reply->is_stream()) {
    out.body = std::move(exchange->reply->data);
    return out;
  }
  out.headers.emplace_back("X-Accel-Buffering", "no");
  out.stream = [exchange, at_work](const BodyWriter& write) { send_pieces(*exchange, write); };
  return out;
}

bool LlamaChat::healthy() const {
  const double silent_ms = parts_->calls.oldest_ms();
  if (parts_->gate == nullptr || silent_ms < parts_->stuck_seconds * 1e3) return true;
  if (parts_->gate->guest_paused()) return true;
  return parts_->calls.ms_since(parts_->gate->guest_seen_ns()) < parts_->stuck_seconds * 1e3;
}

std::size_t LlamaChat::in_flight() const { return parts_->calls.in_flight(); }

HttpReply LlamaChat::metrics() {
  if (!parts_->params.endpoint_metrics) return {};
  for (std::size_t i = 0; i < parts_->routes.size(); ++i) {
    if (parts_->routes[i].path != "/metrics") continue;
    HttpReply reply = handle(i, {.method = "GET", .path = "/metrics"});
    if (reply.status == 200) return reply;
  }
  return {};
}

}  // namespace assay::server
