#include "cli/sagemaker_command.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "cli/commands.h"

namespace assay::cli {
namespace {

constexpr const char* kExamples =
    "In a Dockerfile:  ENTRYPOINT [\"assay\", \"sagemaker\"]\n"
    "The model is the first GGUF in /opt/ml/model; SM_LLAMA_CPP_*, SM_LLAMACPP_*, SEMIF_* and SAGEMAKER_* variables\n"
    "are followed (docs/sagemaker.md). ASSAY_* variables and flags win over them.";

// What SageMaker gives a request, less what the way there and back needs.
constexpr std::int64_t kTimeoutMs = 55'000;
// Within this, a decode that hangs makes /ping say so.
constexpr std::int64_t kStuckSeconds = 30;
constexpr double kWarmUpMs = 600'000;

DecisionRequest warm_up_request() {
  Question question;
  question.id = "warm-up";
  question.text = "Is the light on?";
  question.type = QuestionType::kYesNo;
  question.options = {{"yes", "The light is on"}, {"no", "The light is off"}};
  DecisionRequest request;
  request.state = Value("The light is on.");
  request.questions = {std::move(question)};
  request.timeout_ms = kWarmUpMs;  // whatever deadline others' requests have
  return request;
}

// The setting of a flag that was applied last.
const ServeSetting* last_setting(const SageMakerSettings& settings, const std::string& flag) {
  const ServeSetting* found = nullptr;
  for (const ServeSetting& setting : settings.settings) {
    if (setting.flag == flag) found = &setting;
  }
  return found;
}

Status apply_settings(const SageMakerSettings& settings, const std::vector<OptionSpec>& options) {
  for (const ServeSetting& setting : settings.settings) {
    const auto option = std::find_if(options.begin(), options.end(),
                                     [&setting](const OptionSpec& one) { return one.name == setting.flag; });
    if (option == options.end()) return invalid_argument(setting.source, setting.source + " has no flag");
    const Status applied = option->set(setting.values);
    if (!applied.ok()) return invalid_argument(setting.source, setting.source + ": " + applied.error().message);
  }
  return {};
}

// For the processes of the models, which read `assay serve`'s variables and no container's: this container's defaults,
// what its variables asked for, what our own settings said; a later one wins. Lines of requests are this process's.
std::vector<std::pair<std::string, std::string>> settings_for_models(const SageMakerFlags& flags) {
  const SageMakerFlags plain;
  std::vector<std::pair<std::string, std::string>> out = {
      {"ASSAY_TIMEOUT_MS", std::to_string(plain.serve.timeout_ms)},
      {"ASSAY_STUCK_SECONDS", std::to_string(plain.serve.stuck_seconds)},
      {"ASSAY_CHECK_DIR", plain.serve.model.check_dir}};
  ServeFlags named;
  const CommandSpec serve = serve_command(named);
  for (const ServeSetting& setting : flags.settings.settings) {
    for (const OptionSpec& option : serve.options) {
      if (option.name != setting.flag || !option.configurable) continue;
      std::string text;
      for (const std::string& value : setting.values) text += (text.empty() ? "" : ",") + value;
      out.emplace_back(env_of(option), text);
    }
  }
  out.insert(out.end(), flags.serve.given.begin(), flags.serve.given.end());
  out.insert(out.end(), {{"ASSAY_MODEL", ""}, {"ASSAY_CONFIG", ""}, {"ASSAY_LOG_REQUESTS", "false"}});
  return out;
}

// The models come later: none is looked for.
ServeFlags for_models_to_come(const SageMakerFlags& flags) {
  log_line(LogLevel::kInfo, "multi-model: SageMaker says which models to load");
  if (!flags.serve.model.model.empty()) {
    log_line(LogLevel::kWarn, "the model '" + flags.serve.model.model + "' is not loaded: SageMaker says which are");
  }
  ServeFlags serve = flags.serve;
  serve.model.model.clear();
  serve.given = settings_for_models(flags);
  return serve;
}

// The model that is named, or the one that lies in the folder; an empty one where llama-server's words say which.
Result<ModelChoice> find_model(const SageMakerFlags& flags) {
  const SageMakerSettings& settings = flags.settings;
  const std::string& named = flags.serve.model.model;
  if (!named.empty()) {
    std::error_code unknown;
    if (std::filesystem::exists(named, unknown)) return ModelChoice{.model = named};
    const ServeSetting* setting = last_setting(settings, "model");
    const bool is_variable = setting != nullptr && setting->values.back() == named;
    return Error{
        ErrorCode::kNotFound,
        "the model '" + named + "' that " + (is_variable ? setting->source : "--model") + " names is not there", ""};
  }
  Result<ModelChoice> choice = choose_model(list_model_files(settings.model_folder), settings.model_rule);
  if (!choice.ok() && choice.error().code == ErrorCode::kNotFound && !settings.model_asked_by.empty()) {
    log_line(LogLevel::kInfo,
             "no model lies in " + settings.model_folder + ": it is the one that " + settings.model_asked_by + " says");
    return ModelChoice{};
  }
  if (!choice.ok()) {
    Error error = choice.error();
    error.message = settings.model_folder + ": " + error.message;
    std::error_code denied;
    const std::filesystem::directory_iterator looked(settings.model_folder, denied);
    if (denied == std::errc::permission_denied) error.message += "; this user may not read the folder";
    return error;
  }
  for (const std::string& warning : choice->warnings) log_line(LogLevel::kWarn, warning);
  const std::string folder = settings.model_folder + (settings.model_folder.ends_with('/') ? "" : "/");
  choice->model = folder + choice->model;
  if (!choice->mmproj.empty()) choice->mmproj = folder + choice->mmproj;
  return choice;
}

}  // namespace

SageMakerFlags::SageMakerFlags() {
  serve.host = "0.0.0.0";
  serve.timeout_ms = kTimeoutMs;
  serve.stuck_seconds = kStuckSeconds;
  serve.log_requests = true;
  serve.own_access = true;
  serve.model.check_dir = "/tmp/assay";
}

CommandSpec sagemaker_command(SageMakerFlags& flags) {
  CommandSpec spec{
      .name = "sagemaker", .summary = "Serve as a SageMaker container", .examples = kExamples, .options = {}};
  OptionSpec words =
      as_positional(list_option("WORD", "", "serve, as SageMaker says it; others are ignored", &flags.words));
  spec.options.push_back(std::move(words));
  spec.options.push_back(choice_option("unknown-variables", "Variables of the images' prefixes that nobody knows",
                                       {"warn", "refuse"}, &flags.unknown_variables));
  spec.options.push_back(switch_option("gpu-fallback", "Go on without a GPU where a variable asks for layers on one",
                                       &flags.gpu_fallback));
  spec.options.push_back(switch_option(
      "multi-model", "Load the models that SageMaker names, each in a process of its own", &flags.serve.multi_model));
  for (OptionSpec& option : serve_command(flags.serve).options) {
    if (!option.positional) spec.options.push_back(std::move(option));
  }
  return spec;
}

Status read_sagemaker_environment(SageMakerFlags& flags, const std::vector<std::string>& arguments,
                                  const ReadEnvironment& environment, const std::vector<EnvironmentEntry>& entries,
                                  const std::vector<ForeignFlag>& llama_flags) {
  // Flags decide how variables are read and win over them, so they are read twice; here what they say is thrown away.
  const auto first = std::make_unique<CommandFlags>();
  const Result<ParsedCommand> parsed = parse_command_line(all_commands(*first), arguments, environment);
  if (!parsed.ok()) return {};  // said when they are read again
  const bool refuses = first->sagemaker.unknown_variables == "refuse";
  Result<SageMakerSettings> settings =
      translate_environment(entries, refuses ? UnknownVariables::kRefuse : UnknownVariables::kWarn, llama_flags);
  if (!settings.ok()) return settings.error();
  if (const Status applied = apply_settings(*settings, serve_command(flags.serve).options); !applied.ok())
    return applied;
  flags.serve.llama_words = settings->llama_arguments;
  flags.serve.multi_model = settings->multi_model;
  flags.settings = std::move(settings).value();
  return {};
}

Result<ServeFlags> serve_flags_of(const SageMakerFlags& flags, bool has_gpu) {
  for (const std::string& word : flags.words) {
    if (word != "serve") log_line(LogLevel::kWarn, "the word '" + word + "' is ignored; the container's word is serve");
  }
  for (const std::string& warning : flags.settings.warnings) log_line(LogLevel::kWarn, warning);
  const std::string& asked_by = flags.settings.gpu_asked_by;
  if (!asked_by.empty() && !has_gpu && flags.serve.model.gpu_layers != 0) {
    const std::string text = asked_by + " asks for layers on a GPU, and this program finds none";
    if (!flags.gpu_fallback) return invalid_argument(asked_by, text + "; --gpu-fallback goes on without one");
    log_line(LogLevel::kWarn, text + "; going on without one");
  }
  if (flags.serve.multi_model) return for_models_to_come(flags);
  Result<ModelChoice> choice = find_model(flags);
  if (!choice.ok()) return choice.error();
  ServeFlags serve = flags.serve;
  if (choice->model.empty()) {
    const std::vector<std::string>& download = flags.settings.download_arguments;
    serve.llama_words.insert(serve.llama_words.end(), download.begin(), download.end());
    return serve;
  }
  const std::string& named_elsewhere = flags.settings.model_asked_by;
  if (!named_elsewhere.empty()) {
    log_line(LogLevel::kWarn, named_elsewhere + " is not followed: there is a model already");
  }
  log_line(LogLevel::kInfo, "the model is " + choice->model);
  serve.model.model = std::move(choice->model);
  const auto is_about_images = [](const std::string& word) { return word.find("mmproj") != std::string::npos; };
  if (!choice->mmproj.empty() && std::none_of(serve.llama_words.begin(), serve.llama_words.end(), is_about_images)) {
    log_line(LogLevel::kInfo, "chat and decisions see images through " + choice->mmproj);
    serve.llama_words.insert(serve.llama_words.end(), {"--mmproj", std::move(choice->mmproj)});
  }
  return serve;
}

OpenDecider opened_warm(OpenDecider open) {
  return [open = std::move(open)](DeciderOptions options) -> Result<std::unique_ptr<Decider>> {
    Result<std::unique_ptr<Decider>> decider = open(std::move(options));
    if (!decider.ok()) return decider;
    const Result<DecisionReply> warmed = (*decider)->decide(warm_up_request());
    if (warmed.ok()) return decider;
    return Error{ErrorCode::kUnsupportedModel, "the first decision failed: " + warmed.error().message, ""};
  };
}

}  // namespace assay::cli
