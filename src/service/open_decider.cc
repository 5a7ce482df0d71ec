// Decider::open(): a GGUF to a decider, step by step. It and the decider of models with a head of their own are what
// needs llama.cpp here.

#include <cmath>
#include <filesystem>
#include <utility>

#include "assay/build.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/sha256.h"
#include "decision/labels.h"
#include "decision/prompt.h"
#include "decision/self_check.h"
#include "decision/self_check_rows.h"
#include "engine/llama_encoder.h"
#include "engine/llama_model.h"
#include "engine/llama_runtime.h"
#include "engine/llama_start_check.h"
#include "service/check_file.h"
#include "service/llama_head_decider.h"
#include "service/local_decider.h"

namespace assay {
namespace {

using service::CheckRecord;
using service::LocalDecider;

// Keeps a model alive as long as the decider whose parts point into it.
class OwningDecider final : public Decider {
 public:
  OwningDecider(std::unique_ptr<engine::LlamaModel> model, std::unique_ptr<LocalDecider> decider)
      : model_(std::move(model)), decider_(std::move(decider)) {}
  Result<DecisionReply> decide(const DecisionRequest& request) override { return decider_->decide(request); }
  const ModelReport& report() const override { return decider_->report(); }
  std::size_t in_flight() const override { return decider_->in_flight(); }
  bool healthy() const override { return decider_->healthy(); }
  EngineStats stats() const override { return decider_->stats(); }
  void drain(double grace_ms) override { decider_->drain(grace_ms); }

 private:
  const std::unique_ptr<engine::LlamaModel> model_;  // before decider_: destroyed after it
  const std::unique_ptr<LocalDecider> decider_;
};

const Clock& steady_clock() {
  static const SteadyClock kClock;
  return kClock;
}

ModelReport report_of_file(const DeciderOptions& options, const engine::ModelFacts& facts) {
  ModelReport report;
  report.id = std::filesystem::path(options.model.path).stem().string();
  report.path = options.model.path;
  report.architecture = facts.architecture;
  report.decision_head = facts.decision_head;
  report.file_bytes = facts.file_bytes;
  report.memory_free_bytes = engine::machine_memory().free_bytes;
  return report;
}

// Everything that would change what the checks find.
std::string check_settings(const DeciderOptions& options, const std::string& chat_template) {
  std::string texts = chat_template;
  for (const decision::SelfCheckRow& row : decision::self_check_rows()) {
    const Question question{.id = "check", .text = row.question, .type = row.type, .options = row.options};
    for (const decision::Prompt& prompt :
         {decision::letters_prompt(Value(row.state), question, decision::label_codes()),
          decision::text_prompt(Value(row.state), question)}) {
      texts += prompt.version + prompt.system + prompt.user + prompt.base_cue;
    }
    for (const Option& option : row.options) texts += decision::option_text(question, option) + "\n";
    texts += std::to_string(row.expected);
  }
  return std::string(ASSAY_VERSION) + " prompts " + sha256_hex(texts).substr(0, 16) +
         (options.model.flash_attention ? " flash_attention" : "");
}

Error no_survival(const std::string& path) {
  return {ErrorCode::kUnsupportedModel,
          "A trial decode of " + path + " does not survive on this machine; see `assay doctor`.", "model"};
}

// 1. Loads, and loads again without extra buffers when a trial decode does not go well with them.
Result<std::unique_ptr<engine::LlamaModel>> load_checked(DeciderOptions& options, CheckRecord& record,
                                                         std::vector<std::string>& warnings) {
  using engine::StartCheck;
  const bool wanted_extra_buffers = options.model.extra_buffers;
  const bool known = record.start_check_machine == engine::start_check_machine();
  if (known && !record.extra_buffers) options.model.extra_buffers = false;
  Result<std::unique_ptr<engine::LlamaModel>> model = engine::LlamaModel::load(options.model);
  if (!model.ok() || known || !options.start_check) return model;
  StartCheck outcome = engine::try_decode_in_child(**model);
  if (outcome == StartCheck::kSkipped) return model;
  if (outcome != StartCheck::kPassed && options.model.extra_buffers) {
    const StartCheck with_extra_buffers = outcome;
    options.model.extra_buffers = false;
    model = std::unique_ptr<engine::LlamaModel>();  // frees the first copy before the second is loaded
    model = engine::LlamaModel::load(options.model);
    if (!model.ok()) return model;
    outcome = engine::try_decode_in_child(**model);
    if (outcome == StartCheck::kPassed) {
      warnings.push_back(std::string("With packed weights a trial decode ") +
                         (with_extra_buffers == StartCheck::kDied ? "did not survive" : "gave no numbers") +
                         " on this machine, so they are off (slower).");
    }
  }
  if (outcome == StartCheck::kDied) return no_survival(options.model.path);
  if (outcome == StartCheck::kNonfinite) {
    warnings.emplace_back(
        "A trial decode gave no numbers: the model's weights are broken. Requests will fail with nonfinite_logits.");
    return model;
  }
  // What the user switched off says nothing about what works.
  if (!wanted_extra_buffers) return model;
  record.start_check_machine = engine::start_check_machine();
  record.extra_buffers = options.model.extra_buffers;
  return model;
}

// 2. What the model and its template are.
void describe(const engine::LlamaModel& model, const engine::TemplateFacts& tmpl, const CheckRecord& record,
              ModelReport& report) {
  report.sha256 = record.model_sha256;
  report.description = model.description();
  report.weights_bytes = model.weights_bytes();
  report.parameters = model.parameters();
  report.trained_context_tokens = model.trained_context_tokens();
  report.context_tokens = model.options().context_tokens;
  report.threads = model.options().threads;
  report.recurrent = model.recurrent();
  report.memory_needed_bytes = model.memory_needed_bytes();
  report.extra_buffers = model.options().extra_buffers;
  report.chat_template = tmpl.source;
  report.system_role = tmpl.system_role ? "kept" : "folded into the user turn";
  if (tmpl.source == "none") report.system_role = "none";
  report.thinking = tmpl.thinking;
  report.warnings.insert(report.warnings.end(), tmpl.warnings.begin(), tmpl.warnings.end());
  if (report.context_tokens > report.trained_context_tokens && report.trained_context_tokens > 0) {
    report.warnings.push_back("context_tokens is " + std::to_string(report.context_tokens) + ", more than the " +
                              std::to_string(report.trained_context_tokens) + " that the model was trained for.");
  }
}

void describe_labels(const service::Labels& labels, ModelReport& report) {
  std::size_t letters = 0;
  for (const std::string& code : labels.codes) letters += code.size() == 1 ? 1 : 0;
  report.letter_label_count = static_cast<std::int32_t>(labels.codes.size());
  report.letter_labels =
      std::to_string(letters) + " letters and " + std::to_string(labels.codes.size() - letters) + " two-letter codes";
}

// Both readouts on the built-in rows. Nothing when they cannot be answered: then there is nothing to choose by.
Result<std::optional<decision::ReadoutChoice>> check_readouts(LocalDecider& decider) {
  std::vector<CheckScore> letters;
  // The rows have up to five options.
  const bool can_letters = decider.labels().codes.size() >= 5;
  for (const Readout readout : {Readout::kLetters, Readout::kText}) {
    if (readout == Readout::kLetters && !can_letters) continue;
    const Result<std::vector<std::size_t>> picked = decider.answer_check(readout);
    // Neither broken weights nor a context too small for the rows keeps the model from being served.
    const bool cannot_check = !picked.ok() && (picked.error().code == ErrorCode::kNonfiniteLogits ||
                                               picked.error().code == ErrorCode::kTooLong);
    if (cannot_check) {
      decider.mutable_report().warnings.push_back("The readout check could not be made: " + picked.error().message);
      return std::optional<decision::ReadoutChoice>();
    }
    if (!picked.ok()) return picked.error();
    std::vector<CheckScore> scores = decision::score_check(readout, *picked);
    if (readout == Readout::kText) {
      decision::ReadoutChoice choice = decision::choose_readout(letters, scores);
      if (!can_letters) choice.readout = Readout::kText;
      return std::optional(std::move(choice));
    }
    letters = std::move(scores);
  }
  return std::optional<decision::ReadoutChoice>();
}

// 3. Which readout: the setting, the stored result, or the check itself.
Status choose_readout(const DeciderOptions& options, LocalDecider& decider, CheckRecord& record) {
  ModelReport& report = decider.mutable_report();
  report.readout = Readout::kText;
  report.readout_source = "default (no check)";
  if (!record.has_readout && options.readout_check) {
    log_line(LogLevel::kInfo, "checking which readout suits this model (once for each model file)");
    const std::int64_t start_ns = steady_clock().now_ns();
    Result<std::optional<decision::ReadoutChoice>> choice = check_readouts(decider);
    if (!choice.ok()) return choice.error();
    if (choice->has_value()) {
      record.has_readout = true;
      record.readout = (*choice)->readout;
      record.scores = (*choice)->scores;
      report.readout_source = "check";
      const long seconds = std::lround(steady_clock().ms_since(start_ns) / 1000.0);
      log_line(LogLevel::kInfo,
               std::string("readout ") + readout_name(record.readout) + " chosen in " + std::to_string(seconds) + " s");
    }
  } else if (record.has_readout) {
    report.readout_source = "check";
    report.check_was_stored = true;
  }
  if (record.has_readout) {
    report.readout = record.readout;
    report.check = record.scores;
  }
  if (options.readout != Readout::kAuto) {
    report.readout = options.readout;
    report.readout_source = "setting";
  }
  return {};
}

void warn_of_unreliable_types(ModelReport& report) {
  for (const QuestionType type : {QuestionType::kChoice, QuestionType::kYesNo, QuestionType::kScale}) {
    if (decision::reliability_of(report.check, report.readout, type) != Reliability::kUnreliable) continue;
    report.warnings.push_back(
        std::string("On the built-in check this model does not beat guessing clearly at questions of type ") +
        question_type_name(type) + "; such answers say reliability: unreliable.");
  }
}

Result<std::unique_ptr<Decider>> open_head(const DeciderOptions& options, const engine::ModelFacts& facts,
                                           ModelReport report) {
  if (options.special_tokens == SpecialTokens::kReject) {
    return invalid_argument("special_tokens",
                            "Models with a decision head of their own cannot refuse special tokens; llama.cpp's "
                            "decision code reads the text.");
  }
  if (options.readout != Readout::kAuto && options.readout != Readout::kHead) {
    return invalid_argument("readout", "This model answers through its own decision head; the only readout is head.");
  }
  const Result<ModelOptions> settled = engine::settle_options(options.model, facts);
  if (!settled.ok()) return settled.error();
  const Result<std::uint64_t> needed = engine::estimate_memory_bytes(*settled);
  if (!needed.ok()) return needed.error();
  report.memory_needed_bytes = *needed;
  report.threads = settled->threads;
  Result<std::unique_ptr<engine::LlamaDecisionHead>> head = engine::LlamaDecisionHead::open(*settled);
  if (!head.ok()) return head.error();
  report.description = (*head)->description();
  report.weights_bytes = (*head)->weights_bytes();
  report.parameters = (*head)->parameters();
  report.trained_context_tokens = (*head)->trained_context_tokens();
  report.vocabulary_tokens = (*head)->vocabulary_tokens();
  report.context_tokens = (*head)->context_tokens();
  report.readout = Readout::kHead;
  report.readout_source = "the model's own decision head (" + report.decision_head + ")";
  report.chat_template = "model";
  report.thinking = "none";
  return std::unique_ptr<Decider>(
      std::make_unique<service::LlamaHeadDecider>(std::move(head).value(), options.limits, std::move(report)));
}

}  // namespace

Result<std::unique_ptr<Decider>> Decider::open(DeciderOptions options) {
  const Result<engine::ModelFacts> facts = engine::inspect_gguf(options.model.path);
  if (!facts.ok()) return facts.error();
  ModelReport report = report_of_file(options, *facts);
  if (!facts->decision_head.empty()) return open_head(options, *facts, std::move(report));
  const std::string& own_template = facts->chat_template;
  const bool is_override = !options.model.chat_template.empty();
  const std::string chat_template = is_override ? options.model.chat_template : own_template;
  const std::string settings = check_settings(options, chat_template);
  const std::optional<CheckRecord> stored = service::read_check_file(options.model.path, options.check_dir, settings);
  CheckRecord record = stored ? *stored : service::new_check_record(options.model.path, settings);
  const CheckRecord before = record;

  Result<std::unique_ptr<engine::LlamaModel>> model = load_checked(options, record, report.warnings);
  if (!model.ok()) return model.error();
  Result<std::unique_ptr<engine::LlamaEncoder>> encoder =
      engine::LlamaEncoder::open((*model)->vocabulary(), chat_template, is_override);
  if (!encoder.ok()) return encoder.error();
  describe(**model, (*encoder)->facts(), record, report);
  Result<std::unique_ptr<engine::Decoder>> decoder = (*model)->make_decoder();
  if (!decoder.ok()) return decoder.error();
  report.vocabulary_tokens = (*decoder)->limits().vocabulary_tokens;
  report.hidden_size = (*decoder)->limits().hidden_size;
  auto scheduler = std::make_unique<engine::Scheduler>(
      std::move(decoder).value(), steady_clock(), engine::SchedulerOptions{.queue_jobs_max = options.queue_jobs_max});
  const service::LocalDeciderOptions local = {.limits = options.limits,
                                              .special_tokens = options.special_tokens,
                                              .prior_cache_tokens = options.prior_cache_tokens};
  auto decider =
      std::make_unique<LocalDecider>(std::move(encoder).value(), std::move(scheduler), local, std::move(report));
  describe_labels(decider->labels(), decider->mutable_report());
  if (Status status = choose_readout(options, *decider, record); !status.ok()) return status.error();
  warn_of_unreliable_types(decider->mutable_report());
  const bool changed =
      !stored || record.has_readout != before.has_readout || record.start_check_machine != before.start_check_machine;
  if (changed && !service::write_check_file(options.model.path, options.check_dir, record)) {
    log_line(LogLevel::kInfo, "no folder to keep the check's result in; it will be made again at the next start");
  }
  return std::unique_ptr<Decider>(std::make_unique<OwningDecider>(std::move(model).value(), std::move(decider)));
}

}  // namespace assay
