#pragma once
// The routes of llama-server, with one list for both of its modes (tools/server/server.cpp; llama_chat_test.cc
// compares).

#include "server/llama/llama_handlers.h"

struct common_params;  // NOLINT(readability-identifier-naming): their name
struct server_mcp;     // NOLINT(readability-identifier-naming): their name
struct server_routes;  // NOLINT(readability-identifier-naming): their name
struct server_tools;   // NOLINT(readability-identifier-naming): their name

namespace assay::server {

// Streams that a client can come back to: one model has them itself, a router asks the model that has them.
struct StreamHandlers {
  LlamaHandler get;
  LlamaHandler lookup;
  LlamaHandler remove;
};

void mount_routes(LlamaHandlers& out, const server_routes& to, const common_params& params,
                  const StreamHandlers& streams);
// Tools that the server itself offers to models; none unless the words ask for them. Throws as llama.cpp does.
void start_tools(LlamaHandlers& out, server_tools& tools, server_mcp& mcp, const common_params& params);

}  // namespace assay::server
