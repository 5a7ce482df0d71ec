#pragma once
// What `assay serve` and llama-server both have: one value for both of them.

#include <string>
#include <vector>

#include "assay/error.h"
#include "cli/command_line.h"
#include "cli/serve_flags.h"
#include "server/llama/llama_chat.h"

namespace assay::cli {

// The words for llama-server: its own flags as they came, and ours that it has under another name.
std::vector<std::string> words_for_llama(const ServeFlags& flags);

// `flags` with what llama-server's flags and variables say where ours say nothing. Errors: kInvalidArgument for what
// this server cannot do (a prefix that is none).
Result<ServeFlags> with_llama_settings(ServeFlags flags, const server::LlamaSettings& settings);

// True where nothing names a model: this server is a router (server/llama/llama_router.h).
bool is_for_many_models(const ServeFlags& flags, const server::LlamaSettings& settings);

// `flags` with what Vertex AI says to a container by AIP_MODE=PREDICTION, AIP_HTTP_PORT (8080; it wins over other
// ports), AIP_PREDICT_ROUTE (/predict) and AIP_HEALTH_ROUTE. Errors: kInvalidArgument, naming the variable.
Result<ServeFlags> with_vertex_settings(ServeFlags flags, const ReadEnvironment& environment);

// For a process that a router started, on an address of this machine alone: the router has checked keys and limits, and
// speaks to it without TLS.
ServeFlags behind_router(ServeFlags flags);

// The addresses of --host: one word, with commas between them; blanks around each are left out, and so are empty ones.
std::vector<std::string> hosts_of(const std::string& host);

// Lists of keys and names may come as one word with commas, as llama-server takes them.
std::vector<std::string> split_at_commas(const std::vector<std::string>& words);

}  // namespace assay::cli
