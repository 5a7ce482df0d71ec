#include "server/llama/llama_routes.h"

#include <common.h>
#include <server-common.h>
#include <server-context.h>
#include <server-http.h>
#include <server-mcp.h>
#include <server-models.h>
#include <server-tools.h>

#include <server-cors-proxy.h>  // needs those above

#include <memory>
#include <utility>

#include "base/log.h"

namespace assay::server {
namespace {

server_http_res_ptr refuse_disabled(const server_http_req& /*request*/) {
  auto reply = std::make_unique<server_http_res>();
  reply->status = 403;
  reply->data = R"({"error": {"message": "this feature is disabled", "type": "feature_disabled"}})";
  return reply;
}

}  // namespace

void mount_routes(LlamaHandlers& out, const server_routes& to, const common_params& params,
                  const StreamHandlers& streams) {
  const auto add = [&out](const char* method, const char* path, LlamaHandler handler) {
    out.add(method, path, std::move(handler));
  };
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
  add("GET", "/v1/stream", streams.get);
  add("POST", "/v1/streams/lookup", streams.lookup);
  add("DELETE", "/v1/stream", streams.remove);
  add("GET", "/cors-proxy", params.ui_mcp_proxy ? LlamaHandler(proxy_handler_get) : LlamaHandler(refuse_disabled));
  add("GET", "/tools", refuse_disabled);
  add("POST", "/tools", refuse_disabled);
  add("POST", "/cors-proxy", params.ui_mcp_proxy ? LlamaHandler(proxy_handler_post) : LlamaHandler(refuse_disabled));
}

void start_tools(LlamaHandlers& out, server_tools& tools, server_mcp& mcp, const common_params& params) {
  mcp.start(params);
  if (params.server_tools.empty() && mcp.empty()) return;
  tools.setup(params.server_tools, mcp, params.server_tools_runtime);
  log_line(LogLevel::kWarn, "llama.cpp's own tools are on: do not let strangers reach this server");
  out.replace("GET", "/tools", tools.handle_get);
  out.replace("POST", "/tools", tools.handle_post);
}

}  // namespace assay::server
