#include "service/llama_load_check.h"

#include <utility>

#include "assay/build.h"
#include "base/log.h"
#include "base/sha256.h"
#include "decision/labels.h"
#include "decision/prompt.h"
#include "decision/self_check_rows.h"
#include "engine/llama_packing.h"
#include "engine/llama_runtime.h"
#include "engine/llama_start_check.h"
#include "service/open_decider.h"

namespace assay::service {
namespace {

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
         (options.model.flash_attention ? " flash_attention" : "") +
         (options.model.packing == Packing::kOff ? "" : " packing");
}

Error no_survival(const std::string& path) {
  return {ErrorCode::kUnsupportedModel,
          "A trial decode of " + path + " does not survive on this machine; see `assay doctor`.", "model"};
}

// What the trial decode's result holds for: a pass without packed weights says nothing about them.
std::string checked_machine(const DeciderOptions& options) {
  return engine::start_check_machine() + (options.model.packing == Packing::kOff ? "" : ", packing");
}

// Its weights alone, as they are in the file.
Result<LoadPlan> plan_without_decisions(const DeciderOptions& options, const engine::ModelFacts& facts) {
  Result<ModelOptions> settled = engine::settle_options(options.model, facts);
  if (!settled.ok()) return settled.error();
  settled->packing = Packing::kOff;
  engine::start_llama();
  engine::prepare_packing(*settled, {});
  return LoadPlan{.extra_buffers = settled->extra_buffers,
                  .packing = false,
                  .memory_needed_bytes = facts.file_bytes,
                  .memory_free_bytes = engine::machine_memory().free_bytes,
                  .threads = settled->threads,
                  .context_tokens = settled->context_tokens,
                  .cannot_decide = facts.only_embeds};
}

}  // namespace

LoadRecord read_record(const DeciderOptions& options, const engine::ModelFacts& facts) {
  LoadRecord out;
  out.chat_template = options.model.chat_template.empty() ? facts.chat_template : options.model.chat_template;
  const std::string settings = check_settings(options, out.chat_template);
  out.stored = read_check_file(options.model.path, options.check_dir, settings);
  out.now = out.stored ? *out.stored : new_check_record(options.model.path, settings);
  return out;
}

void keep_record(const DeciderOptions& options, const LoadRecord& record) {
  const std::optional<CheckRecord>& before = record.stored;
  const CheckRecord& now = record.now;
  if (before && now.has_readout == before->has_readout && now.bits_key == before->bits_key &&
      now.start_check_machine == before->start_check_machine) {
    return;
  }
  if (!write_check_file(options.model.path, options.check_dir, now)) {
    log_line(LogLevel::kInfo, "no folder to keep the check's result in; it will be made again at the next start");
  }
}

Result<std::unique_ptr<engine::LlamaModel>> load_checked(DeciderOptions& options, CheckRecord& record,
                                                         std::vector<std::string>& warnings) {
  using engine::StartCheck;
  const bool wanted_extra_buffers = options.model.extra_buffers;
  const std::string machine = checked_machine(options);
  const bool known = record.start_check_machine == machine;
  const auto without_packing = [&options] {
    options.model.extra_buffers = false;
    options.model.packing = Packing::kOff;
  };
  if (known && !record.extra_buffers) without_packing();
  Result<std::unique_ptr<engine::LlamaModel>> model = engine::LlamaModel::load(options.model);
  if (!model.ok() || known || !options.start_check) return model;
  StartCheck outcome = engine::try_decode_in_child(**model);
  if (outcome == StartCheck::kSkipped) return model;
  if (outcome != StartCheck::kPassed && options.model.extra_buffers) {
    const StartCheck with_extra_buffers = outcome;
    without_packing();
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
  record.start_check_machine = machine;
  record.extra_buffers = options.model.extra_buffers;
  return model;
}

Result<LoadPlan> plan_load(const DeciderOptions& options) {
  const Result<engine::ModelFacts> facts = engine::inspect_any_gguf(options.model.path);
  if (!facts.ok()) return facts.error();
  if (!facts->only_embeds.empty()) return plan_without_decisions(options, *facts);
  const Result<ModelOptions> settled = engine::settle_options(options.model, *facts);
  if (!settled.ok()) return settled.error();
  const Result<std::uint64_t> needed = engine::estimate_memory_bytes(*settled);
  if (!needed.ok()) return needed.error();
  LoadPlan plan = {.extra_buffers = options.model.extra_buffers,
                   .memory_needed_bytes = *needed,
                   .memory_free_bytes = engine::machine_memory().free_bytes,
                   .threads = settled->threads,
                   .context_tokens = settled->context_tokens,
                   .has_head = !facts->decision_head.empty()};
  if (plan.has_head) return plan;
  LoadRecord record = read_record(options, *facts);
  DeciderOptions tried = options;
  tried.model.file_sha256 = record.now.model_sha256;
  const bool known = record.now.start_check_machine == checked_machine(options);
  if (known && !record.now.extra_buffers) {
    tried.model.extra_buffers = false;
    tried.model.packing = Packing::kOff;
  }
  if (!known && options.start_check) {
    std::vector<std::string> warnings;
    const Result<std::unique_ptr<engine::LlamaModel>> model = load_checked(tried, record.now, warnings);
    if (!model.ok()) return model.error();
    for (const std::string& warning : warnings) log_line(LogLevel::kWarn, warning);
    keep_record(options, record);
    plan.packed = engine::keep_packing();
  }
  plan.extra_buffers = tried.model.extra_buffers;
  plan.packing = tried.model.packing != Packing::kOff;
  engine::start_llama();
  engine::prepare_packing(
      tried.model, {.model_bytes = *needed, .packed_bytes = facts->packed_bytes, .experts = facts->packs_experts});
  return plan;
}

}  // namespace assay::service
