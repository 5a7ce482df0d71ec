// Decider::open(): a GGUF to a decider, step by step. It and the decider of models with a head of their own are what
// needs llama.cpp here.

#include "service/open_decider.h"

#include <filesystem>
#include <map>
#include <mutex>
#include <utility>

#include "assay/build.h"
#include "assay/lesson_desk.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/sha256.h"
#include "decision/labels.h"
#include "decision/prompt.h"
#include "decision/self_check_rows.h"
#include "engine/bit_check.h"
#include "engine/llama_encoder.h"
#include "engine/llama_media.h"
#include "engine/llama_model.h"
#include "engine/llama_option_head.h"
#include "engine/llama_runtime.h"
#include "engine/llama_start_check.h"
#include "service/check_file.h"
#include "service/llama_head_decider.h"
#include "service/llama_load_check.h"
#include "service/local_decider.h"
#include "service/readout_choice.h"
#include "service/snapshot_files.h"

namespace assay {
namespace {

using service::CheckRecord;
using service::LocalDecider;

// Keeps a model alive as long as the decider whose parts point into it.
class OwningDecider final : public Decider {
 public:
  OwningDecider(std::unique_ptr<engine::LlamaModel> model, std::unique_ptr<ComputeGate> gate,
                std::unique_ptr<engine::PrefixStore> store, std::unique_ptr<LocalDecider> decider)
      : model_(std::move(model)), gate_(std::move(gate)), store_(std::move(store)), decider_(std::move(decider)) {}
  Result<DecisionReply> decide(const DecisionRequest& request) override { return decider_->decide(request); }
  const ModelReport& report() const override { return decider_->report(); }
  std::size_t in_flight() const override { return decider_->in_flight(); }
  bool healthy() const override { return decider_->healthy(); }
  bool full() const override { return decider_->full(); }
  EngineStats stats() const override { return decider_->stats(); }
  void drain(double grace_ms) override { decider_->drain(grace_ms); }

 private:
  const std::unique_ptr<engine::LlamaModel> model_;   // before decider_: destroyed after it
  const std::unique_ptr<ComputeGate> gate_;           // nullptr: somebody else's, or nobody needs one
  const std::unique_ptr<engine::PrefixStore> store_;  // may be nullptr
  const std::unique_ptr<LocalDecider> decider_;
};

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

// What the model and its template are.
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
  report.packing = engine::packing_name(model.packing().mode);
  report.packing_unit = model.packing().unit;
  report.packed_bytes = model.packing().bytes;
  report.packing_seconds = model.packing().seconds;
  report.packing_behind = model.packing().behind;
  report.pack_cache = model.packing().cache;
  report.pack_cache_path = model.packing().cache_path;
  report.chat_template = tmpl.source;
  report.system_role = tmpl.system_role ? "kept" : "folded into the user turn";
  if (tmpl.source == "none") report.system_role = "none";
  report.thinking = tmpl.thinking;
  report.begin_of_text = tmpl.begin_of_text;
  report.warnings.insert(report.warnings.end(), tmpl.warnings.begin(), tmpl.warnings.end());
  if (report.context_tokens > report.trained_context_tokens && report.trained_context_tokens > 0) {
    report.warnings.push_back("context_tokens is " + std::to_string(report.context_tokens) + ", more than the " +
                              std::to_string(report.trained_context_tokens) + " that the model was trained for.");
  }
}

// A cache that silently finds nothing looks like one that finds little.
constexpr const char* kNothingKept =
    "Nothing is kept between requests (cache_tokens is 0): what they share is computed again for each.";
constexpr const char* kHeadKeepsNothing =
    "Nothing is kept between requests: the model's own decision head computes each from its beginning.";

// Counts changes of how prompts are cut and computed; bits kept by another one are not read.
constexpr const char* kEngineVersion = "1";

// What of the settings moves bits, for receipts and for snapshots.
std::map<std::string, std::string> bit_settings(const engine::LlamaModel& model, const std::string& chat_template) {
  const ModelOptions& options = model.options();
  std::map<std::string, std::string> settings = {{"threads", std::to_string(options.threads)},
                                                 {"flash_attention", options.flash_attention ? "on" : "off"},
                                                 {"extra_buffers", options.extra_buffers ? "on" : "off"},
                                                 {"packing", engine::packing_name(options.packing)},
                                                 {"gpu_layers", std::to_string(options.gpu_layers)},
                                                 {"chat_template", sha256_hex(chat_template)}};
  // With packing auto the free memory decides whose kernels compute experts.
  if (!model.packing().experts.empty()) settings["experts"] = model.packing().experts;
  // What is computed side by side with recurrent layers depends on the room there is.
  if (model.recurrent()) {
    settings["batch_tokens"] = std::to_string(options.batch_tokens);
    settings["sequences_max"] = std::to_string(options.sequences_max);
    settings["context_tokens"] = std::to_string(options.context_tokens);
    settings["cache_tokens"] = std::to_string(options.cache_tokens);
  }
  return settings;
}

std::string settings_text(const std::map<std::string, std::string>& settings) {
  std::string text;
  for (const auto& [key, value] : settings) text += key + "=" + value + "\n";
  return text;
}

// A decoder that keeps to the rules which this model needs on this machine for the same bits; found out once.
Result<std::unique_ptr<engine::Decoder>> checked_decoder(const engine::LlamaModel& model, CheckRecord& record,
                                                         ModelReport& report) {
  const std::string key = engine::start_check_machine() + "\n" + settings_text(bit_settings(model, ""));
  if (record.bits_key != key) {
    log_line(LogLevel::kInfo, "trying whether bits stay the same whatever stands beside (once for each model file)");
    Result<std::unique_ptr<engine::Decoder>> decoder = model.make_decoder({}, true);
    if (!decoder.ok()) return decoder.error();
    const Result<engine::BitCheck> check = engine::check_bits(**decoder);
    if (!check.ok()) return check.error();
    const Result<double> difference = engine::option_head_difference(**decoder);
    if (!difference.ok()) return difference.error();
    record.bits_key = key;
    record.bits_same = check->same;
    record.rules = check->rules;
    record.bits_note = check->note;
    record.option_head = *difference >= 0 && *difference <= engine::kOptionHeadDifferenceMax;
    log_line(LogLevel::kInfo, "single logits differ from the whole head's by at most " + std::to_string(*difference) +
                                  (record.option_head ? "" : ": they are not used (negative: they cannot be had)"));
  }
  report.deterministic = record.bits_same;
  report.determinism = record.bits_note;
  report.option_head = record.option_head && model.options().option_head;
  return model.make_decoder(record.rules, report.option_head);
}

// The folder of prefixes that were computed before; nullptr when none is named.
Result<std::unique_ptr<engine::PrefixStore>> open_store(const DeciderOptions& options, const engine::LlamaModel& model,
                                                        const ModelReport& report,
                                                        const engine::DecoderLimits& limits) {
  if (options.snapshots_dir.empty()) return std::unique_ptr<engine::PrefixStore>();
  if (!limits.places_rows) {
    return Error{ErrorCode::kUnsupportedModel, "Prefixes of this kind of model cannot be stored.", "snapshots_dir"};
  }
  std::map<std::string, std::string> settings = bit_settings(model, "");
  settings["rows_min"] = std::to_string(limits.rules.rows_min);
  settings["rows_multiple"] = std::to_string(limits.rules.rows_multiple);
  settings["outputs_multiple"] = std::to_string(limits.rules.outputs_multiple);
  settings["outputs_min"] = std::to_string(limits.rules.outputs_min);
  settings["short_decodes"] = limits.rules.short_decodes ? "yes" : "no";
  settings["engine"] = kEngineVersion;
  const std::string identity = report.sha256 + "\n" + engine::start_check_machine() + "\n" + settings_text(settings);
  Result<std::unique_ptr<service::SnapshotFiles>> files = service::SnapshotFiles::open(
      options.snapshots_dir, identity,
      options.write_snapshots ? service::SnapshotAccess::kReadWrite : service::SnapshotAccess::kRead);
  if (!files.ok()) return files.error();
  return std::unique_ptr<engine::PrefixStore>(std::move(files).value());
}

void describe_labels(const service::Labels& labels, ModelReport& report) {
  std::size_t letters = 0;
  for (const std::string& code : labels.codes) letters += code.size() == 1 ? 1 : 0;
  report.letter_label_count = static_cast<std::int32_t>(labels.codes.size());
  report.letter_labels =
      std::to_string(letters) + " letters and " + std::to_string(labels.codes.size() - letters) + " two-letter codes";
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
  report.reads_images = !options.model.mmproj.empty() && engine::head_reads_images(report.decision_head);
  report.images = report.reads_images            ? "the model's own decision head"
                  : options.model.mmproj.empty() ? "no projector"
                                                 : "this kind of decision head has no place for images";
  report.chat_template = "model";
  report.thinking = "none";
  report.warnings.emplace_back(kHeadKeepsNothing);
  return std::unique_ptr<Decider>(
      std::make_unique<service::LlamaHeadDecider>(std::move(head).value(), options.limits, std::move(report)));
}

std::unique_ptr<engine::Scheduler> make_scheduler(const DeciderOptions& options, ComputeGate* gate,
                                                  engine::PrefixStore* store,
                                                  std::unique_ptr<engine::Decoder> decoder) {
  engine::SchedulerOptions scheduling;
  scheduling.queue_jobs_max = options.queue_jobs_max;
  scheduling.stuck_seconds = options.stuck_seconds;
  scheduling.gate = gate;
  scheduling.store = store;
  scheduling.engine.step_ms = options.step_ms;
  scheduling.engine.cache_tokens = options.model.cache_tokens;
  return std::make_unique<engine::Scheduler>(std::move(decoder), steady_clock(), scheduling);
}

// What reads images, where a projector is named and decisions can see through it; the report says which.
Result<service::ImageParts> open_images(const DeciderOptions& options, const engine::LlamaModel& model,
                                        ComputeGate* gate, ModelReport& report) {
  const std::string path = model.options().mmproj;
  if (path.empty()) {
    report.images = "no projector";
    return service::ImageParts();
  }
  const Result<engine::ProjectorFacts> facts = engine::inspect_projector(path);
  if (!facts.ok()) return facts.error();
  if (!facts->refused.empty()) {
    report.images = facts->refused;
    report.warnings.push_back("Decisions read no images: " + facts->refused + ".");
    return service::ImageParts();
  }
  Result<std::unique_ptr<engine::MediaDecoder>> decoder = engine::open_media(model);
  if (!decoder.ok()) return decoder.error();
  report.reads_images = true;
  report.images = std::filesystem::path(path).filename().string() + " (" + facts->name + ")";
  const auto hash = std::make_shared<std::pair<std::once_flag, std::string>>();  // owned by the function below alone
  service::ImageParts parts;
  parts.scheduler = std::make_unique<engine::MediaScheduler>(
      std::move(decoder).value(), steady_clock(),
      engine::MediaSchedulerOptions{
          .queue_jobs_max = options.queue_jobs_max, .stuck_seconds = options.stuck_seconds, .gate = gate});
  parts.projector_sha256 = [hash, path] {
    std::call_once(hash->first, [&] { hash->second = sha256_hex_of_file(path); });
    return hash->second;
  };
  parts.batch_tokens = model.options().batch_tokens;
  return parts;
}

}  // namespace

namespace service {

Result<std::unique_ptr<Decider>> open_decider(DeciderOptions options, const SharedWeights& shared) {
  const Result<engine::ModelFacts> facts = engine::inspect_gguf(options.model.path);
  if (!facts.ok()) return facts.error();
  ModelReport report = report_of_file(options, *facts);
  if (!facts->decision_head.empty()) return open_head(options, *facts, std::move(report));
  LoadRecord record = read_record(options, *facts);
  options.model.file_sha256 = record.now.model_sha256;
  const bool is_shared = shared.model != nullptr;
  if (is_shared) {
    options.model.extra_buffers = shared.plan.extra_buffers;
    if (!shared.plan.packing) options.model.packing = Packing::kOff;
  }
  Result<std::unique_ptr<engine::LlamaModel>> model =
      is_shared ? engine::LlamaModel::adopt(options.model, shared.model, shared.plan.memory_needed_bytes)
                : load_checked(options, record.now, report.warnings);
  if (!model.ok()) return model.error();
  Result<std::unique_ptr<engine::LlamaEncoder>> encoder =
      engine::LlamaEncoder::open((*model)->vocabulary(), record.chat_template, !options.model.chat_template.empty());
  if (!encoder.ok()) return encoder.error();
  describe(**model, (*encoder)->facts(), record.now, report);
  Result<std::unique_ptr<engine::Decoder>> decoder = checked_decoder(**model, record.now, report);
  if (!decoder.ok()) return decoder.error();
  if ((*model)->options().cache_tokens == 0) report.warnings.emplace_back(kNothingKept);
  report.layout = options.layout;
  report.vocabulary_tokens = (*decoder)->limits().vocabulary_tokens;
  report.hidden_size = (*decoder)->limits().hidden_size;
  Result<std::unique_ptr<engine::PrefixStore>> store = open_store(options, **model, report, (*decoder)->limits());
  if (!store.ok()) return store.error();
  // Images are computed on a thread of their own, which takes turns with the engine's.
  auto own_gate = shared.gate == nullptr && !options.model.mmproj.empty() ? std::make_unique<ComputeGate>()
                                                                          : std::unique_ptr<ComputeGate>();
  ComputeGate* const gate = own_gate ? own_gate.get() : shared.gate;
  Result<ImageParts> images = open_images(options, **model, gate, report);
  if (!images.ok()) return images.error();
  std::unique_ptr<engine::Scheduler> scheduler =
      make_scheduler(options, gate, store->get(), std::move(decoder).value());
  LocalDeciderOptions local = {.limits = options.limits,
                               .special_tokens = options.special_tokens,
                               .layout = options.layout,
                               .timeout_ms = options.timeout_ms,
                               .prior_cache_tokens = options.prior_cache_tokens,
                               .answer_cache_entries = options.answer_cache_entries,
                               .build = engine::start_check_machine(),
                               .settings = bit_settings(**model, record.chat_template)};
  auto decider = std::make_unique<LocalDecider>(std::move(encoder).value(), std::move(scheduler), steady_clock(),
                                                std::move(local), std::move(report));
  decider->read_images(std::move(images).value());
  describe_labels(decider->labels(), decider->mutable_report());
  if (Status status = choose_readout(options, *decider, record.now); !status.ok()) return status.error();
  warn_of_unreliable_types(decider->mutable_report());
  keep_record(options, record);
  return std::unique_ptr<Decider>(std::make_unique<OwningDecider>(std::move(model).value(), std::move(own_gate),
                                                                  std::move(store).value(), std::move(decider)));
}

}  // namespace service

Result<std::unique_ptr<Decider>> Decider::open(DeciderOptions options) {
  const std::string lessons = options.lessons_dir;
  Result<std::unique_ptr<Decider>> decider = service::open_decider(std::move(options), {});
  if (!decider.ok() || lessons.empty()) return decider;
  Result<std::unique_ptr<TaughtDecider>> taught =
      TaughtDecider::open(std::move(decider).value(), {.folder = lessons, .keep = LessonOptions::Keep::kNothing});
  if (!taught.ok()) return taught.error();
  return std::unique_ptr<Decider>(std::move(taught).value());
}

}  // namespace assay
