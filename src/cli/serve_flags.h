#pragma once
// The settings of `assay serve`.

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "assay/lesson_desk.h"
#include "cli/model_flags.h"

namespace assay::cli {

struct ServeFlags {
  ModelFlags model;
  std::string positional_model;  // `assay serve model.gguf`
  std::string host = "127.0.0.1";
  int port = 8080;
  std::vector<std::string> api_keys;
  std::string api_key_file;
  std::uint64_t body_bytes_max = std::uint64_t{25} * 1024 * 1024;
  int http_threads = 64;
  int keep_alive_seconds = 75;
  int read_timeout_seconds = 60;
  std::vector<std::string> cors_origins;
  std::string ssl_key_file;
  std::string ssl_cert_file;
  std::uint64_t rate_limit = 0;  // decisions a minute for each client; 0: no limit
  std::vector<std::string> aliases;
  std::uint64_t max_options = 255;  // of System One's questions; above that, levels too
  int round = 0;
  std::string layout = layout_name(DeciderOptions{}.layout);
  std::int64_t timeout_ms = static_cast<std::int64_t>(DeciderOptions{}.timeout_ms);
  std::int64_t step_ms = static_cast<std::int64_t>(DeciderOptions{}.step_ms);
  std::int64_t stuck_seconds = static_cast<std::int64_t>(DeciderOptions{}.stuck_seconds);
  std::uint64_t answer_cache = DeciderOptions{}.answer_cache_entries;
  bool chat = true;
  std::string chat_template_text;        // as llama-server's flags say: Jinja text, or a name that llama.cpp knows
  std::vector<std::string> llama_words;  // llama-server's flags, as they came
  bool own_access = false;               // addresses and keys that llama-server's variables name are not followed
  // What flags of ours said, as environment variables: for the processes of a router.
  std::vector<std::pair<std::string, std::string>> given;
  std::string path_prefix;           // in front of every path; llama-server's --api-prefix
  std::int64_t grace_seconds = 25;   // SageMaker kills a container 30 s after SIGTERM
  bool log_requests = false;         // a line of JSON on stdout for each request
  std::int64_t session_seconds = 0;  // sessions end when nobody used them for so long; 0: no sessions
  bool json_lines_all_or_none = false;
  std::string decisions;                  // the file of decisions and feedback; empty: in the lessons' folder
  std::string keep_decisions = "hashes";  // "off", "hashes", "states", "texts"
  std::uint64_t keep_days = 0;            // decisions that are older go; 0: no limit
  std::uint64_t hidden_states_mb = LessonOptions{}.hidden_states_bytes_max >> 20;
  std::string promote_by = "agreement";  // or "labels"
  std::string promote_error = "0.05";
  std::string predict_path;  // of Vertex AI's protocol (server/sagemaker/vertex_front.h); empty: none
  std::string health_path;   // one more for /health
  bool multi_model = false;  // SageMaker says which models to load (server/sagemaker/multi_model.h)
};

// The specs of all of the above; llama-server's flags come from whoever knows them (ForeignFlag). `flags` must outlive
// them.
CommandSpec serve_command(ServeFlags& flags);

// As decider_options() of the model's flags (the argument wins over --model), with what only a server sets. Errors: the
// same.
Result<DeciderOptions> serve_decider_options(const ServeFlags& flags);

// What of lessons and decisions is kept; nothing where neither is asked for. Errors: kInvalidArgument, --promote-error.
Result<std::optional<LessonOptions>> serve_lesson_options(const ServeFlags& flags);

// The keys of --api-key and of the lines of --api-key-file; empty lines and lines that begin with '#' are none.
// Errors: kNotFound, and kInvalidArgument for a file without a key, which would leave the server open.
Result<std::vector<std::string>> read_api_keys(const ServeFlags& flags);

}  // namespace assay::cli
