#pragma once
// The door. One object that owns the model and answers decisions.
//
//   auto decider = assay::Decider::open({.model = {.path = "model.gguf"}});
//   if (!decider.ok()) return fail(decider.error());
//   assay::DecisionRequest request{.state = assay::Value("My card was charged twice."),
//                                  .questions = {{.id = "q", .text = "What does the customer want?",
//                                                 .options = {{"refund", "Wants money back"}, {"info", "Asks how it
//                                                 works"}}}}};
//   auto reply = (*decider)->decide(request);

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/decision.h"
#include "assay/engine_stats.h"
#include "assay/options.h"

namespace assay {

// Result of the built-in check for one question type under one readout.
struct CheckScore {
  Readout readout = Readout::kLetters;
  QuestionType type = QuestionType::kChoice;
  int right = 0;
  int rows = 0;
  double chance = 0;   // expected share by guessing
  double p_value = 1;  // exact binomial: at least `right` of `rows` by guessing
  bool reliable = false;
};

// What is known about the loaded model. Fixed once open() returns.
struct ModelReport {
  std::string id;  // the name on the wires: the file's stem, never its path
  std::string path;
  std::string sha256;        // of the file, lower-case hex; empty until somebody needed it
  std::string architecture;  // "llama", "qwen35", …
  std::string description;   // llama.cpp's one-line description: size and quantisation
  std::uint64_t file_bytes = 0;
  std::uint64_t weights_bytes = 0;
  std::uint64_t parameters = 0;
  std::int32_t vocabulary_tokens = 0;
  std::int32_t trained_context_tokens = 0;
  std::int32_t context_tokens = 0;  // the limit of one request
  std::int32_t hidden_size = 0;
  std::int32_t threads = 0;
  bool recurrent = false;     // has recurrent layers: branches are whole-sequence copies
  std::string decision_head;  // "<arch>.decision.type" of the GGUF, empty for ordinary models
  std::string chat_template;  // "model", "override" or "none"
  std::string system_role;    // "kept" or "folded into the user turn"
  std::string thinking;       // "none", "closed by the template", "not controlled by the template"
  std::string begin_of_text;  // who puts it in front of prompts, where it stands once: "none", "added", "written by …"
  std::string letter_labels;  // "A-Z and 412 two-letter codes"
  std::int32_t letter_label_count = 0;
  Readout readout = Readout::kLetters;  // what kAuto means
  std::string readout_source;           // "check", "setting", "default (no check)" or the head's name
  std::vector<CheckScore> check;
  bool check_was_stored = false;  // read from an earlier start's record
  std::vector<std::string> warnings;
  std::uint64_t memory_needed_bytes = 0;  // estimate made before loading
  std::uint64_t memory_free_bytes = 0;
  bool extra_buffers = true;
  std::string packing = "off";     // "on", "panel" or "off": whether kernels of our own compute, on packed weights
  std::string packing_unit;        // what computes with them, such as "avx512-vnni"; empty when off
  std::uint64_t packed_bytes = 0;  // of packed copies, beside the file's own weights
  double packing_seconds = 0;      // of the load that went into packing, or mapping them from the pack cache
  bool packing_behind = false;     // they are packed while the start goes on; the first decision waits
  std::string pack_cache =
      "off";                    // "read", "written", "failed" (packed in memory) or "off": ModelOptions::pack_cache_dir
  std::string pack_cache_path;  // its file; empty when off
  bool option_head = false;     // letters without allowed_mass read their options' logits alone
  Layout layout = Layout::kStateFirst;  // what kAuto means
  bool deterministic = false;  // the same request gives the same bits, whatever else runs (docs/determinism.md)
  std::string determinism;     // how that is known, or what is in the way
  bool reads_images = false;   // decisions take DecisionRequest::images
  std::string images;          // through what, or why not
  bool decides = true;         // false: decisions are refused, whatever else the server does with the model
  // SHA-256 of the build and of all settings that move bits: with the model's file and a request it says which bits
  // come out. Empty where a decision head answers.
  std::string bits_sha256 = {};
};

// Thread-safe. decide() blocks the calling thread until its answer is there; one engine thread computes.
class Decider {
 public:
  virtual ~Decider() = default;

  // Loads the model and makes the checks. Errors: kNotFound, kUnsupportedModel, kOutOfMemory, kIo, kInvalidArgument.
  static Result<std::unique_ptr<Decider>> open(DeciderOptions options);

  // Answers every question or fails as a whole. Errors: kInvalidArgument, kTooLong, kOverloaded, kTooBusy, kDeadline,
  // kCancelled, kUnavailable, kNonfiniteLogits, kInternal.
  virtual Result<DecisionReply> decide(const DecisionRequest& request) = 0;

  virtual const ModelReport& report() const = 0;
  // Requests accepted and not yet answered.
  virtual std::size_t in_flight() const = 0;
  // True while a decode can still be answered (false after a fault that needs a restart, or while one is stuck).
  virtual bool healthy() const = 0;
  // True while so many requests wait that one which came now would be refused (kOverloaded).
  virtual bool full() const { return false; }
  // All zero where the model's own decision head answers.
  virtual EngineStats stats() const = 0;
  static constexpr double kNoLimit = -1;
  // Stops accepting (kUnavailable), answers what was accepted, then returns; what is not answered after grace_ms gets
  // kUnavailable. Idempotent.
  virtual void drain(double grace_ms) = 0;
};

}  // namespace assay
