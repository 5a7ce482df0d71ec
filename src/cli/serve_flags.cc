#include "cli/serve_flags.h"

#include <algorithm>
#include <fstream>
#include <utility>

namespace assay::cli {
namespace {

constexpr std::int64_t kDayMs = std::int64_t{24} * 3600 * 1000;
constexpr std::int64_t kKeepDaysMax = 36'500;

constexpr const char* kExamples =
    "Examples:\n"
    "  assay serve model.gguf\n"
    "  curl -s http://127.0.0.1:8080/v1/decide -H 'Content-Type: application/json' -d '{\"decision\": {\"id\": \"1\",\n"
    "    \"state\": \"My card was charged twice.\", \"question\": \"What does the customer want?\",\n"
    "    \"options\": [{\"id\": \"refund\", \"description\": \"Wants money back\"}, {\"id\": \"info\"}]}}'\n"
    "Where a flag of llama-server has a name of ours, ours is meant; -c, --ctx-size and LLAMA_ARG_CTX_SIZE count for\n"
    "decisions, too, unless --context-tokens says otherwise. LLAMA_ARG_ variables are read for what no flag says.\n"
    "Ctrl-C and SIGTERM answer what was accepted, then exit 0; a second one exits at once.";

void add_load_options(std::vector<OptionSpec>& out, ServeFlags& flags) {
  out.push_back(choice_option("layout", "What prompts tell first where the request says auto or nothing",
                              {"auto", "state_first", "question_first"}, &flags.layout));
  out.push_back(number_option("timeout-ms", "N", "Deadline of requests that name none; 0: no deadline",
                              &flags.timeout_ms, 0, 3'600'000));
  out.push_back(number_option("step-ms", "N", "Decodes are kept this short; longer while only long requests are there",
                              &flags.step_ms, 1, 60'000));
  out.push_back(number_option("stuck-seconds", "N", "A decode that takes longer makes health and ping say 503",
                              &flags.stuck_seconds, 1, 86'400));
  out.push_back(number_option("answer-cache", "N",
                              "Whole replies kept for requests that come again, in at most 256 MiB; 0: none",
                              &flags.answer_cache, 0, 1 << 20));
  out.push_back(number_option("grace-seconds", "N",
                              "After a signal accepted requests have this long, then they get 503",
                              &flags.grace_seconds, 0, 3600));
}

void add_http_options(std::vector<OptionSpec>& out, ServeFlags& flags) {
  out.push_back(list_option("api-key", "KEY", "Clients must send one of these keys; once for each", &flags.api_keys));
  out.push_back(as_file(text_option("api-key-file", "FILE", "A file with one key a line", &flags.api_key_file)));
  out.push_back(number_option("rate-limit", "N", "Requests a minute for each key (GET is free), then 429; 0: no limit",
                              &flags.rate_limit, 0, 1'000'000));
  out.push_back(list_option("cors-origin", "ORIGIN",
                            "Web pages of this origin may call; once for each; localhost: this machine's; *: all",
                            &flags.cors_origins));
  out.push_back(as_file(text_option("ssl-key-file", "FILE", "The TLS certificate's key, PEM", &flags.ssl_key_file)));
  out.push_back(as_file(text_option("ssl-cert-file", "FILE", "The TLS certificate with its chain, PEM; makes it https",
                                    &flags.ssl_cert_file)));
  out.push_back(number_option("body-bytes-max", "N", "Longest body of a request", &flags.body_bytes_max, 1024,
                              std::int64_t{100} * 1024 * 1024));
  out.push_back(number_option("http-threads", "N", "Threads for requests; each request in work holds one",
                              &flags.http_threads, 1, 4096));
  out.push_back(number_option("keep-alive-seconds", "N", "Connections may be idle this long", &flags.keep_alive_seconds,
                              1, 86'400));
  out.push_back(number_option("read-timeout-seconds", "N",
                              "A request may take this long to arrive, a large body longer",
                              &flags.read_timeout_seconds, 1, 3600));
}

// What SageMaker's containers do beside answering decisions.
void add_container_options(std::vector<OptionSpec>& out, ServeFlags& flags) {
  out.push_back(switch_option("log-requests", "Write a line of JSON to stdout for each request", &flags.log_requests));
  out.push_back(number_option("session-seconds", "N",
                              "SageMaker sessions end when they were not used for so long; 0: there are none",
                              &flags.session_seconds, 0, 86'400));
  out.push_back(switch_option("json-lines-all-or-none",
                              "One bad line of a JSON Lines body is a 400 of all, not an error on its own line",
                              &flags.json_lines_all_or_none));
}

void add_lesson_options(std::vector<OptionSpec>& out, ServeFlags& flags) {
  out.push_back(lessons_option(flags.model));
  out.push_back(as_file(text_option(
      "decisions", "FILE", "Where decisions and feedback are kept; default with --lessons: DIR/decisions.sqlite",
      &flags.decisions)));
  out.push_back(choice_option("keep-decisions",
                              "What of decisions is kept where lessons or --decisions are given: numbers and hashes "
                              "alone; the hidden states that lessons answered from, too, which teaching from feedback "
                              "can do with; or states and questions, too",
                              {"off", "hashes", "states", "texts"}, &flags.keep_decisions));
  out.push_back(number_option("keep-days", "N", "Kept decisions go after so many days, with their labels; 0: they stay",
                              &flags.keep_days, 0, kKeepDaysMax));
  out.push_back(
      number_option("hidden-states-mb", "N",
                    "Hidden states kept with decisions take so many MiB at most; the oldest go first; 0: none "
                    "are kept",
                    &flags.hidden_states_mb, 0, 1 << 20));
  out.push_back(choice_option("promote-by",
                              "What lets a lesson's shadow become active: it answers as the active version does, or "
                              "labels say that it is right more often",
                              {"agreement", "labels"}, &flags.promote_by));
  out.push_back(text_option("promote-error", "SHARE",
                            "By labels: with which probability a shadow that is no better is ever found better",
                            &flags.promote_error));
}

void add_wire_options(std::vector<OptionSpec>& out, ServeFlags& flags) {
  out.push_back(
      list_option("alias", "NAME", "One more name that requests may call the model by; once for each", &flags.aliases));
  out.push_back(number_option("max-options", "N", "Most options of a System One question; above 255 most levels, too",
                              &flags.max_options, 2, 1024));
  out.push_back(number_option("round", "N",
                              "Decimals of System One's and OpenAI's numbers; 0: as many as they have; 2: as Jev",
                              &flags.round, 0, 15));
}

}  // namespace

CommandSpec serve_command(ServeFlags& flags) {
  CommandSpec spec{.name = "serve", .summary = "Answer decisions over HTTP", .examples = kExamples, .options = {}};
  std::vector<OptionSpec>& out = spec.options;
  out.push_back(
      as_file(as_positional(text_option("GGUF", "", "The model, as --model names it", &flags.positional_model))));
  out.push_back(
      text_option("host", "ADDRESS", "Addresses to listen on, with commas between; 0.0.0.0: all", &flags.host));
  out.push_back(
      with_short_name(number_option("port", "N", "Port to listen on; 0: any free one", &flags.port, 0, 65535), "p"));
  add_http_options(out, flags);
  add_wire_options(out, flags);
  add_load_options(out, flags);
  out.push_back(
      on_off_option("chat", "Whether chat and the rest of llama-server's routes are answered, too", &flags.chat));
  add_container_options(out, flags);
  out.push_back(snapshots_option(flags.model));
  add_lesson_options(out, flags);
  for (OptionSpec& option : model_options(flags.model)) {
    if (option.short_name == "c") option.short_name = "";  // llama-server's -c is --ctx-size
    out.push_back(std::move(option));
  }
  spec.foreign_words = &flags.llama_words;
  return spec;
}

Result<DeciderOptions> serve_decider_options(const ServeFlags& flags) {
  ModelFlags model = flags.model;
  if (!flags.positional_model.empty()) model.model = flags.positional_model;
  Result<DeciderOptions> options = decider_options(model);
  if (!options.ok()) return options;
  // A mere name says nothing to decisions: they keep the model's own template.
  if (flags.chat_template_text.find('{') != std::string::npos) options->model.chat_template = flags.chat_template_text;
  // "auto" is the library's own, as for every other command.
  const Layout layout = layout_from_name(flags.layout).value_or(Layout::kAuto);
  if (layout != Layout::kAuto) options->layout = layout;
  options->timeout_ms = static_cast<double>(flags.timeout_ms);
  options->step_ms = static_cast<double>(flags.step_ms);
  options->stuck_seconds = static_cast<double>(flags.stuck_seconds);
  options->answer_cache_entries = flags.answer_cache;
  options->lessons_dir.clear();  // serve_lesson_options() says the same and more
  return options;
}

Result<std::optional<LessonOptions>> serve_lesson_options(const ServeFlags& flags) {
  if (flags.model.lessons.empty() && flags.decisions.empty()) return std::optional<LessonOptions>();
  LessonOptions out{.folder = flags.model.lessons, .decisions_path = flags.decisions};
  using Keep = LessonOptions::Keep;
  out.keep = flags.keep_decisions == "off"      ? Keep::kNothing
             : flags.keep_decisions == "states" ? Keep::kStates
             : flags.keep_decisions == "texts"  ? Keep::kTexts
                                                : Keep::kHashes;
  out.decisions_age_ms_max = static_cast<std::int64_t>(flags.keep_days) * kDayMs;
  out.hidden_states_bytes_max = flags.hidden_states_mb << 20;
  if (flags.promote_by == "labels") out.promotion = LessonOptions::Promotion::kLabels;
  const Result<double> error = parse_share("--promote-error", flags.promote_error);
  if (!error.ok()) return error.error();
  out.promotion_error = *error;
  return std::optional<LessonOptions>(std::move(out));
}

Result<std::vector<std::string>> read_api_keys(const ServeFlags& flags) {
  std::vector<std::string> keys = flags.api_keys;
  if (std::find(keys.begin(), keys.end(), "") != keys.end()) {
    return invalid_argument("--api-key", "--api-key is empty");
  }
  if (flags.api_key_file.empty()) return keys;
  std::ifstream file(flags.api_key_file);
  if (!file) return Error{ErrorCode::kNotFound, "--api-key-file: '" + flags.api_key_file + "' cannot be read", ""};
  for (std::string line; std::getline(file, line);) {
    line.erase(line.find_last_not_of(" \t\r") + 1);
    if (!line.empty() && line[0] != '#') keys.push_back(line);
  }
  if (keys.empty()) return invalid_argument("--api-key-file", "'" + flags.api_key_file + "' holds no key");
  return keys;
}

}  // namespace assay::cli
