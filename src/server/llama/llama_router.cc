// What server.cpp does where no model is given, and decisions handed on in the same way. At an upgrade compare with its
// block `if (is_router_server)`, and decide() with server_models_routes::proxy_post.
#include "server/llama/llama_router.h"

#include <arg.h>
#include <common.h>
#include <log.h>
#include <server-common.h>
#include <server-context.h>
#include <server-http.h>
#include <server-mcp.h>
#include <server-models.h>
#include <server-stream.h>
#include <server-tools.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <optional>
#include <utility>

#include "base/log.h"
#include "server/http/ascii.h"
#include "server/http/layer_replies.h"
#include "server/llama/llama_handlers.h"
#include "server/llama/llama_model_host.h"
#include "server/llama/llama_routes.h"
#include "server/route_table.h"
#include "server/sagemaker/event_pieces.h"
#include "server/sagemaker/invocations.h"
#include "server/wires/chat_decide.h"

namespace assay::server {
namespace {

// The level at which llama.cpp's log hands on what the processes write, and nothing of its own.
constexpr int kChildrensLines = 0;
constexpr const char* kModelHeader = "x-assay-model";
constexpr const char* kInvokePath = "/models/:name/invoke";

std::string header_of(const server_http_req& request, const char* wanted) {
  for (const auto& [name, value] : request.headers) {
    if (equal_ignoring_case(name, wanted)) return value;
  }
  return "";
}

// The body's "model"; empty where there is none that could be one.
std::string model_of_body(const std::string& body) {
  const json parsed = json::parse_no_throw(body);
  if (parsed.is_discarded() || !parsed.is_object() || !parsed.contains("model")) return "";
  const json& model = parsed.at("model");
  return model.is_string() ? model.get<std::string>() : "";
}

bool wants_load(const common_params& params, const server_http_req& request) {
  const std::string said = request.get_param("autoload");
  return said.empty() ? params.models_autoload : said == "true" || said == "1";
}

// Who asks for models by the contract says himself what is loaded: no request may bring one back that was let go.
LlamaHandler without_autoload(LlamaHandler handler) {
  return [handler = std::move(handler)](const server_http_req& request) {
    if (!request.params.contains("autoload")) return handler(request);
    server_http_req inner = request;
    inner.params.erase("autoload");
    return handler(inner);
  };
}

bool is_decision(const server_http_req& request) {
  HttpRequest ours;
  ours.headers.assign(request.headers.begin(), request.headers.end());
  ours.body = request.body;
  return ChatDecideWire::wants(ours);
}

server_http_res_ptr refusal(const std::string& path, const Error& error) {
  HttpRequest request;
  request.path = path;
  auto reply = std::make_unique<server_http_res>();
  reply->status = 400;
  reply->data = layer_refusal(request, 400, error).body;
  return reply;
}

server_http_res_ptr as_theirs(const ModelReply& said) {
  auto reply = std::make_unique<server_http_res>();
  reply->status = said.status;
  reply->data = said.body;
  return reply;
}

}  // namespace

struct LlamaRouter::Parts {
  common_params params;
  server_mcp mcp;          // before what uses it
  server_context context;  // loads nothing; llama.cpp's handlers are made on it
  std::unique_ptr<server_routes> handlers;
  server_tools tools;
  std::optional<server_models_routes> models;
  std::optional<LlamaModelHost> host;  // these two with the multi-model contract only
  std::optional<MultiModel> contract;
  LlamaHandlers mounted;
  bool stopped = false;

  void mount();
  void mount_models();
  void mount_contract();
  void mount_decisions();
  bool is_gone(const std::string& name) const;
  server_http_res_ptr list_loaded(const server_http_req& request);
  std::vector<std::string> names();
  Result<std::string> model_for(const server_http_req& request);
  server_http_res_ptr decide(const std::string& path, const server_http_req& request);
};

void LlamaRouter::Parts::mount() {
  server_routes& to = *handlers;
  if (contract.has_value()) {
    models->proxy_get = without_autoload(models->proxy_get);
    models->proxy_post = without_autoload(models->proxy_post);
  }
  const LlamaHandler& get = models->proxy_get;
  const LlamaHandler& post = models->proxy_post;
  to.get_metrics = to.get_lora_adapters = to.get_slots = get;
  to.post_props = to.post_completions = to.post_completions_oai = to.post_chat_completions = to.post_control = post;
  to.post_responses_oai = to.post_transcriptions_oai = to.post_anthropic_messages = post;
  to.post_anthropic_count_tokens = to.post_infill = to.post_embeddings = to.post_embeddings_oai = post;
  to.post_rerank = to.post_systemone = to.post_tokenize = to.post_detokenize = to.post_apply_template = post;
  to.post_chat_completions_tok = to.post_responses_tok_oai = to.post_lora_adapters = to.post_slots = post;
  to.get_props = models->get_router_props;
  to.get_models = models->get_router_models;
  mount_routes(mounted, to, params,
               {.get = models->router_stream_get,
                .lookup = models->router_streams_lookup,
                .remove = models->router_stream_delete});
}

// What llama-server's router has to manage its models.
void LlamaRouter::Parts::mount_models() {
  mounted.add("POST", "/models", models->post_router_models);
  mounted.add("POST", "/models/load", models->post_router_models_load);
  mounted.add("POST", "/models/unload", models->post_router_models_unload);
  mounted.add("GET", "/models/sse", models->get_router_models_sse);
  mounted.add("DELETE", "/models", models->del_router_models);
}

// Nothing here may make llama.cpp read its sources again: what was loaded by name would be unloaded.
void LlamaRouter::Parts::mount_contract() {
  using Request = server_http_req;
  mounted.add("POST", "/models",
              [this](const Request& request) { return as_theirs(contract->load(request.body, request.should_stop)); });
  mounted.replace("GET", "/models", [this](const Request& request) {
    return as_theirs(contract->list(request.get_param("next_page_token")));
  });
  mounted.replace("GET", "/v1/models", [this](const Request& request) { return list_loaded(request); });
  mounted.add("GET", "/models/:name",
              [this](const Request& request) { return as_theirs(contract->get(request.get_param("name"))); });
  mounted.add("DELETE", "/models/:name",
              [this](const Request& request) { return as_theirs(contract->unload(request.get_param("name"))); });
  mounted.add("POST", kInvokePath, [this](const Request& request) {
    const std::string name = request.get_param("name");
    if (const std::optional<ModelReply> refused = contract->refusal_for(name); refused) return as_theirs(*refused);
    if (const Status there = host->revive(name, request.should_stop); !there.ok()) {
      return as_theirs(MultiModel::failed(name, there.error()));
    }
    Request inner = request;
    inner.path = params.api_prefix + kInvocationsPath;
    return models->models.proxy_request(inner, "POST", name, true);
  });
}

// All paths of ours that decide. A chat completion names a model anyway, unless it is one decision.
void LlamaRouter::Parts::mount_decisions() {
  for (const Route& route : known_routes()) {
    if (!is_for_decisions(route.kind)) continue;
    const std::string path = route.path;
    const bool may_chat = route.kind == RouteKind::kChat;
    const auto handler = [this, path, may_chat](const server_http_req& request) {
      return may_chat && !is_decision(request) ? models->proxy_post(request) : decide(path, request);
    };
    const std::vector<ChatRoute>& there = mounted.routes();
    const bool has =
        std::any_of(there.begin(), there.end(), [&path](const ChatRoute& one) { return one.path == path; });
    if (has) {
      mounted.replace(route.method, route.path, handler);
    } else {
      mounted.add(route.method, route.path, handler);
    }
  }
}

// llama.cpp knows a model for good that it has loaded once; by the contract one that was let go is none.
bool LlamaRouter::Parts::is_gone(const std::string& name) const {
  return contract.has_value() && contract->refusal_for(name).has_value();
}

// llama-server's list, of those that the contract has loaded: "status" says which of them live.
server_http_res_ptr LlamaRouter::Parts::list_loaded(const server_http_req& request) {
  server_http_req inner = request;
  inner.params.erase("reload");
  server_http_res_ptr reply = models->get_router_models(inner);
  json body = json::parse(reply->data);
  json& listed = body["data"];
  for (std::size_t i = listed.size(); i-- > 0;) {
    if (is_gone(listed[i].at("id").get<std::string>())) listed.erase(i);
  }
  reply->data = safe_json_to_str(body);
  return reply;
}

std::vector<std::string> LlamaRouter::Parts::names() {
  std::vector<std::string> out;
  for (const server_model_meta& model : models->models.get_all_meta()) {
    if (!model.hidden && !is_gone(model.name)) out.push_back(model.name);
  }
  return out;
}

Result<std::string> LlamaRouter::Parts::model_for(const server_http_req& request) {
  const std::string in_header = header_of(request, kModelHeader);
  const std::string named = in_header.empty() ? model_of_body(request.body) : in_header;
  const auto known = models->models.get_meta(named);
  if (!named.empty() && known.has_value() && !is_gone(known->name)) return known->name;
  const std::vector<std::string> all = names();
  if (all.size() == 1 && in_header.empty()) return all.front();
  std::string list;
  for (const std::string& name : all) list += (list.empty() ? "" : ", ") + name;
  const std::string is_wrong = named.empty() ? "no model is named" : "there is no model '" + named.substr(0, 200) + "'";
  return invalid_argument("model", is_wrong + "; name one in the body's \"model\" or in the header " + kModelHeader +
                                       ": " + (list.empty() ? "none has been found" : list));
}

server_http_res_ptr LlamaRouter::Parts::decide(const std::string& path, const server_http_req& request) {
  const Result<std::string> model = model_for(request);
  if (!model.ok()) return refusal(path, model.error());
  server_models& all = models->models;
  if (!contract.has_value() && wants_load(params, request)) {
    all.ensure_model_ready(*model, request.should_stop);
  } else if (const auto known = all.get_meta(*model); !known.has_value() || !known->is_running()) {
    return refusal(path, invalid_argument("model", "the model " + *model + " is not loaded"));
  }
  return all.proxy_request(request, "POST", *model, true);
}

LlamaRouter::LlamaRouter(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

LlamaRouter::~LlamaRouter() { stop(0); }

Result<std::unique_ptr<LlamaRouter>> LlamaRouter::open(const std::vector<std::string>& words, RouterOptions options) {
  auto parts = std::make_unique<Parts>();
  std::vector<std::string> all = {"assay"};
  all.insert(all.end(), words.begin(), words.end());
  // Who asks for models by the contract says himself which are to go.
  if (options.find_files) all.insert(all.end(), {"--models-max", "0", "--no-models-autoload"});
  std::vector<char*> pointers;
  for (std::string& word : all) pointers.push_back(word.data());
  const auto count = static_cast<int>(pointers.size());
  const int verbosity = parts->params.verbosity;
  if (!common_params_parse(count, pointers.data(), parts->params, LLAMA_EXAMPLE_SERVER)) {
    return invalid_argument("", "llama-server's flags and LLAMA_ARG_ variables cannot be read as they are");
  }
  if (parts->params.verbosity == verbosity) common_log_set_verbosity_thold(kChildrensLines);
  // llama.cpp puts this word before those of each process that it starts.
  if (setenv("LLAMA_APP_CMD", "serve", 1) != 0) return Error{ErrorCode::kIo, "the environment cannot be set", ""};
  try {
    parts->handlers = std::make_unique<server_routes>(parts->params, parts->context);
    parts->models.emplace(parts->params, count, pointers.data());
    if (options.find_files) {
      parts->host.emplace(parts->models->models, words);
      parts->contract.emplace(*parts->host, std::move(options.find_files));
    }
    parts->mount();
    if (parts->contract.has_value()) {
      parts->mount_contract();
    } else {
      parts->mount_models();
    }
    parts->mount_decisions();
    server_stream_session_manager_start();
    start_tools(parts->mounted, parts->tools, parts->mcp, parts->params);
  } catch (const std::exception& thrown) {
    return invalid_argument("", std::string("models cannot be served: ") + thrown.what());
  }
  parts->mounted.set_path_prefix(parts->params.api_prefix);
  return std::unique_ptr<LlamaRouter>(new LlamaRouter(std::move(parts)));
}

std::vector<std::string> LlamaRouter::model_names() { return parts_->names(); }

Status LlamaRouter::start() {
  try {
    parts_->models->models.load_startup_models();
  } catch (const std::exception& thrown) {
    return Error{ErrorCode::kIo, std::string("a model cannot be started: ") + thrown.what(), "model"};
  }
  return {};
}

void LlamaRouter::stop(double grace_ms) {
  if (std::exchange(parts_->stopped, true)) return;
  parts_->models->stopping.store(true);  // whoever watches the models' states
  parts_->mounted.calls().close(grace_ms);
  server_stream_session_manager_stop();
  parts_->models->models.unload_all();
  parts_->mcp.shutdown();
}

const std::vector<ChatRoute>& LlamaRouter::routes() const { return parts_->mounted.routes(); }

// An event that the model sent as one piece may have come from its process in two.
HttpReply LlamaRouter::handle(std::size_t route, const HttpRequest& request) {
  HttpReply reply = parts_->mounted.handle(route, request);
  return routes()[route].path == kInvokePath ? with_single_events(std::move(reply)) : reply;
}

std::size_t LlamaRouter::in_flight() const { return parts_->mounted.calls().in_flight(); }

}  // namespace assay::server
