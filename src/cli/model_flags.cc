#include "cli/model_flags.h"

#include <fstream>
#include <iterator>
#include <limits>
#include <utility>

namespace assay::cli {
namespace {

constexpr std::int64_t kInt32Max = std::numeric_limits<std::int32_t>::max();

Packing packing_of(const std::string& name) {
  if (name == "on") return Packing::kOn;
  if (name == "panel") return Packing::kPanel;
  return name == "off" ? Packing::kOff : Packing::kAuto;
}

void add_engine_options(std::vector<OptionSpec>& out, ModelFlags& flags) {
  out.push_back(with_short_name(
      number_option("threads", "N", "Threads that compute; 0: one for each physical core this process may use",
                    &flags.threads, 0, 1024),
      "t"));
  out.push_back(
      with_short_name(number_option("context-tokens", "N",
                                    "Longest prompt with its options; 0: what the model was trained for, at most 8192",
                                    &flags.context_tokens, 0, kInt32Max),
                      "c"));
  out.push_back(number_option("batch-tokens", "N", "Most rows computed at once", &flags.batch_tokens, 64, 1 << 20));
  out.push_back(number_option("sequences-max", "N",
                              "Branches at work and kept prefixes; each option scored as text is one",
                              &flags.sequences_max, 8, 256));
  out.push_back(number_option("gpu-layers", "N", "Layers on a GPU where the build has one; -1: all", &flags.gpu_layers,
                              -1, 10000));
  out.push_back(on_off_option("flash-attention", "Whether attention uses llama.cpp's flash attention code",
                              &flags.flash_attention));
  out.push_back(number_option("cache-tokens", "N", "Room for the prefix cache besides --context-tokens; 0: no cache",
                              &flags.cache_tokens, 0, 1 << 24));
  out.push_back(on_off_option("option-head", "Whether letters without allowed_mass compute their options' logits alone",
                              &flags.option_head));
  out.push_back(
      choice_option("pack",
                    "Weights packed for kernels of this program's own: on (once, a byte a weight more memory), "
                    "panel (inside of each product), off (llama.cpp's kernels), auto by free memory",
                    {"auto", "on", "panel", "off"}, &flags.packing));
  out.push_back(
      as_folder(text_option("pack-cache", "DIR",
                            "Folder where packed weights are kept and mapped from at the next start, shared by "
                            "processes; default: none",
                            &flags.pack_cache)));
  out.push_back(switch_option("no-extra-buffers", "Keep the weights as the file packs them: slower, less memory",
                              &flags.no_extra_buffers));
  out.push_back(switch_option("no-mmap", "Read the file into memory instead of mapping it", &flags.no_mmap));
  out.push_back(switch_option("no-memory-check", "Load even when the estimate says that memory is short",
                              &flags.no_memory_check));
}

void add_decision_options(std::vector<OptionSpec>& out, ModelFlags& flags) {
  out.push_back(as_file(
      text_option("chat-template", "FILE", "Jinja chat template that replaces the model's own", &flags.chat_template)));
  out.push_back(choice_option("readout", "How probabilities are read; auto: what the built-in check found better",
                              {"auto", "letters", "text"}, &flags.readout));
  out.push_back(choice_option("special-tokens", "Text that spells a control token: take it as plain text, or refuse it",
                              {"literal", "reject"}, &flags.special_tokens));
  out.push_back(switch_option("no-readout-check", "Skip the built-in check of both readouts", &flags.no_readout_check));
  out.push_back(switch_option("no-start-check", "Skip the trial decode in a child process", &flags.no_start_check));
  out.push_back(as_folder(text_option("check-dir", "DIR",
                                      "Where check results are kept; default: beside the model, else the cache folder",
                                      &flags.check_dir)));
  out.push_back(number_option("options-max", "N", "Most options of one question", &flags.options_max, 1, 1 << 20));
  out.push_back(number_option("queue-jobs-max", "N", "Jobs that are not answered yet; above it new requests get 503",
                              &flags.queue_jobs_max, 1, 1 << 20));
  out.push_back(choice_option("log-level",
                              "Least log level that is written to stderr; default: info for serve, else warn",
                              {"debug", "info", "warn", "error", "off"}, &flags.log_level));
}

}  // namespace

std::vector<OptionSpec> model_options(ModelFlags& flags) {
  std::vector<OptionSpec> out;
  out.push_back(with_short_name(as_file(text_option("model", "GGUF", "The model: a GGUF file", &flags.model)), "m"));
  add_engine_options(out, flags);
  add_decision_options(out, flags);
  return out;
}

OptionSpec snapshots_option(ModelFlags& flags) {
  return as_folder(text_option("snapshots", "DIR", "Folder of prefixes that `assay warm` computed; default: none",
                               &flags.snapshots));
}

OptionSpec mmproj_option(ModelFlags& flags) {
  return as_file(
      text_option("mmproj", "GGUF", "The model's projector: decisions then take images; default: none", &flags.mmproj));
}

OptionSpec lessons_option(ModelFlags& flags) {
  return as_folder(text_option("lessons", "DIR",
                               "Folder of lessons (assay calibrate, assay teach) to answer with; default: none",
                               &flags.lessons));
}

Result<DeciderOptions> decider_options(const ModelFlags& flags) {
  if (flags.model.empty()) {
    return invalid_argument("--model",
                            "no model: name a GGUF with --model or ASSAY_MODEL "
                            "(tools/setup fetches the default one into models/)");
  }
  DeciderOptions out;
  if (!flags.chat_template.empty()) {
    std::ifstream file(flags.chat_template, std::ios::binary);
    if (!file) {
      return Error{ErrorCode::kNotFound, "--chat-template: '" + flags.chat_template + "' cannot be read", ""};
    }
    out.model.chat_template.assign(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  out.model.path = flags.model;
  out.model.threads = flags.threads;
  out.model.context_tokens = flags.context_tokens;
  out.model.batch_tokens = flags.batch_tokens;
  out.model.sequences_max = flags.sequences_max;
  out.model.gpu_layers = flags.gpu_layers;
  out.model.flash_attention = flags.flash_attention;
  out.model.cache_tokens = flags.cache_tokens;
  out.model.extra_buffers = !flags.no_extra_buffers;
  out.model.packing = packing_of(flags.packing);
  out.model.pack_cache_dir = flags.pack_cache;
  out.model.option_head = flags.option_head;
  out.model.mmproj = flags.mmproj;
  out.model.image_tokens_min = flags.image_tokens_min;
  out.model.image_tokens_max = flags.image_tokens_max;
  out.model.mmap = !flags.no_mmap;
  out.model.check_memory = !flags.no_memory_check;
  out.readout = readout_from_name(flags.readout).value_or(Readout::kAuto);
  out.snapshots_dir = flags.snapshots;
  out.lessons_dir = flags.lessons;
  out.special_tokens = flags.special_tokens == "reject" ? SpecialTokens::kReject : SpecialTokens::kLiteral;
  out.limits.options_max = flags.options_max;
  out.queue_jobs_max = flags.queue_jobs_max;
  out.readout_check = !flags.no_readout_check;
  out.start_check = !flags.no_start_check;
  out.check_dir = flags.check_dir;
  return out;
}

}  // namespace assay::cli
