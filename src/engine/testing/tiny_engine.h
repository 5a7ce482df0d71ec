#pragma once
// The engine on a tiny random model, and jobs of which it is known what each read stands behind.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/llama_model.h"
#include "engine/scheduler.h"

namespace assay::engine::testing {

struct Loaded {
  std::unique_ptr<LlamaModel> model;
  SteadyClock clock;
  std::unique_ptr<Scheduler> scheduler;
};

inline std::unique_ptr<LlamaModel> load_model(const std::string& name, ModelOptions options = {}) {
  options.path = std::string(ASSAY_TINY_DIR) + "/" + name;
  if (options.context_tokens == 0) options.context_tokens = 1024;
  Result<std::unique_ptr<LlamaModel>> model = LlamaModel::load(options);
  EXPECT_TRUE(model.ok()) << (model.ok() ? "" : model.error().message);
  return model.ok() ? std::move(model).value() : nullptr;
}

// nullptr when it cannot be loaded, and the test has failed.
inline std::unique_ptr<Loaded> load(const std::string& name, ModelOptions options = {},
                                    const SchedulerOptions& scheduler = {}, const BitRules& rules = {},
                                    bool option_head = false) {
  auto loaded = std::make_unique<Loaded>();
  loaded->model = load_model(name, std::move(options));
  if (loaded->model == nullptr) return nullptr;
  Result<std::unique_ptr<Decoder>> decoder = loaded->model->make_decoder(rules, option_head);
  EXPECT_TRUE(decoder.ok()) << (decoder.ok() ? "" : decoder.error().message);
  if (!decoder.ok()) return nullptr;
  loaded->scheduler = std::make_unique<Scheduler>(std::move(decoder).value(), loaded->clock, scheduler);
  return loaded;
}

inline Tokens tokens_from(int seed, int count) {
  Tokens tokens;
  for (int i = 0; i < count; i++) tokens.push_back(static_cast<TokenId>((seed * 7919 + i * 104729) % 40000 + 100));
  return tokens;
}

inline const std::vector<TokenId> kTargets = {5, 777, 12345};

// A job, and the path that each of its reads stands behind.
struct PathsJob {
  Job job;
  std::vector<Tokens> paths;

  std::int32_t add(std::int32_t parent, Tokens tokens, Keep keep = Keep::kNever) {
    job.segments.push_back({.parent = parent, .tokens = std::move(tokens), .keep = keep});
    return static_cast<std::int32_t>(job.segments.size()) - 1;
  }
  void read_end(std::int32_t segment, bool hidden_state = false) {
    const auto last = static_cast<std::int32_t>(job.segments[segment].tokens.size()) - 1;
    job.reads.push_back({.segment = segment, .offset = last, .targets = kTargets, .hidden_state = hidden_state});
    Tokens path;
    for (std::int32_t at = segment; at != Segment::kRoot; at = job.segments[at].parent)
      path.insert(path.begin(), job.segments[at].tokens.begin(), job.segments[at].tokens.end());
    paths.push_back(std::move(path));
  }
};

// One segment, read at its end.
inline Job path_job(Tokens path) {
  PathsJob made;
  made.read_end(made.add(Segment::kRoot, std::move(path)));
  return made.job;
}

inline ReadResult alone(Scheduler& scheduler, const Tokens& path, bool hidden_state = false) {
  Job job = path_job(path);
  job.reads[0].hidden_state = hidden_state;
  Result<JobResult> result = scheduler.run(std::move(job));
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? result->reads[0] : ReadResult{};
}

}  // namespace assay::engine::testing
