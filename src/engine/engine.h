#pragma once
// The engine without its thread: jobs come in, each step() computes one batch out of all of them, answers go out.
//
//   who is next   of one client's jobs: what is left to compute, in seconds by the measured rate, less the time already
//                 waited, so short jobs go first and none waits for ever; bulk jobs stand back. Between clients: the
//                 one that had least lately, and time counts as waited only as far as the client had nothing
//   what is kept  segments that later jobs may begin with (prefix_tree.h); each is computed once, however many wait
//   a bad batch   is computed again job by job, so only the job that breaks it fails
//
// Invariants, checked by engine_test.cc on random work: each job is answered exactly once; every tile and sequence is
// free, a kept segment's or a running job's; a segment in use is never dropped; the answer to a job never depends on
// the others. Not thread-safe: the scheduler's thread owns it.

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "assay/engine_stats.h"
#include "base/clock.h"
#include "engine/cell_pool.h"
#include "engine/chain_program.h"
#include "engine/decoder.h"
#include "engine/job.h"
#include "engine/prefix_store.h"
#include "engine/prefix_tree.h"
#include "engine/program.h"
#include "engine/step_cost.h"

namespace assay::engine {

struct EngineOptions {
  double step_ms = 100;  // a step takes about this long at most
  // So many times that while a long job is first and no shorter one came lately: large batches cost less a row.
  double long_steps = 3;
  double watched_steps = 0.5;        // so many times that while a long job is first and shorter ones keep coming
  std::int32_t cache_tokens = 4096;  // of kept segments; 0: nothing is kept
  double bulk_wait_seconds = 30;     // how far bulk jobs stand back
};

// One accepted job on its way.
struct Work {
  Job job;
  Program program;      // attention models
  ChainProgram chains;  // recurrent ones
  std::int64_t accepted_ns = 0;
  std::promise<Result<JobResult>> promise;

  // The engine's own.
  std::int64_t start_ns = 0;          // of its first row; 0: none yet
  bool running = false;               // has cells
  bool suspect = false;               // was in a batch that failed: computed alone from now on
  std::vector<PrefixNode*> path;      // the kept segments it stands on; all have it as a user
  std::size_t ready_nodes = 0;        // of those: ready when it started
  Tiles tiles;                        // its own
  std::vector<SequenceId> sequences;  // its own
  std::int32_t cursor = 0;            // rows (attention) or steps (recurrent) computed
  std::int32_t wave = -1;             // whose leaves hold sequences now
  JobResult result;
  std::vector<PrefixKey> keys;    // of its segments that may be kept
  double client_seconds = 0;      // what its client had since it came
  double units_left = 0;          // to compute (StepCost)
  double seconds_left = 0;        // to compute, by the measured rate, and what it stands back
  double rank = 0;                // the lowest is next
  std::int32_t steps_passed = 2;  // that shorter ones had although it was first, since its own last one

  std::int32_t rows_left() const;
  std::int32_t next_depth() const;  // of its next row; 0 where all are computed
  std::int32_t end_depth() const;   // behind its last row
};

// Makes a Work ready for Engine::add(). Errors: those of make_program().
Result<std::unique_ptr<Work>> make_work(Job job, const DecoderLimits& limits);

class Engine {
 public:
  // The decoder is empty and used by nobody else. `store` may be nullptr. All must outlive this.
  Engine(Decoder& decoder, const Clock& clock, const EngineOptions& options, PrefixStore* store);

  // Takes a job; refuses it with kTooBusy when by the measured rate it cannot meet its deadline.
  void add(std::unique_ptr<Work> work);
  bool has_work() const { return !works_.empty(); }
  // Drops cancelled and late jobs, computes one batch. REQUIRES: has_work().
  void step();
  // Ends every job with the error.
  void abort(const Error& error);
  // Gives out the answers to the jobs that add(), step() and abort() ended: apart from them, so that whoever has an
  // answer also sees it in the numbers that were published before.
  void deliver();

  // Steps that failed one after another, each with one job alone: the model itself is in trouble.
  int failures_in_a_row() const { return failures_in_a_row_; }
  // Computed rows a second over the last steps; 0 before the first.
  double rows_per_second() const { return rows_per_second_; }
  EngineStats stats() const;
  // Rows left to compute of each job, in no order.
  std::vector<std::int32_t> rows_left() const;
  // A description of the first broken invariant; empty when all hold. For tests.
  std::string broken_invariant() const;

 private:
  struct BatchRead {
    Work* work = nullptr;
    std::size_t batch_row = 0;
    std::int32_t read = 0;
  };
  struct Batch {
    std::vector<BatchRow> rows;
    std::vector<BatchRead> reads;
    std::vector<Work*> works;
    std::vector<std::int32_t> rows_of_work;  // by index in works
    std::vector<Work*> complete;             // admitted with nothing left to compute
    double units = 0;                        // of the rows, without padding
    std::int32_t padding = 0;
    DecodeWants wants = {.logits = false};
    bool is_short = false;  // a short decode (BitRules); set by the first job
  };
  struct Answer {
    std::promise<Result<JobResult>> promise;
    Result<JobResult> result;
  };
  enum class Admission { kStarted, kNoRoom, kWaits };

  // engine.cc
  void sweep();
  void compute(Batch& batch);
  void finish(Work* work, Result<JobResult> result);
  void after_failure(const Batch& batch, const Error& error);
  void note_time(const Batch& batch, double ms);
  // engine_plan.cc
  void rank_works();
  void let_short_ones_pass();
  Batch fill_batch();
  void take_tail(Batch& batch);
  // Counts no further than to `enough`.
  std::int32_t full_rows_left(const Work& work, std::int32_t enough) const;
  std::optional<Error> refusal(const Work& work) const;
  void note_overtaking(const Work& added);
  double seconds_of(double units) const;
  double units_to_compute(const Work& work, std::unordered_set<PrefixKey>& shared) const;
  std::int32_t rows_to_compute(const Work& work, std::unordered_set<PrefixKey>& shared) const;
  double step_units() const;
  std::int32_t rows_room(const Batch& batch, const Work& work, double units) const;

  // engine_admit.cc
  Admission admit(Work& work);
  bool try_admit(Work& work, std::int32_t kept);
  bool admit_path(Work& work, std::int32_t kept);
  bool admit_own(Work& work);
  PrefixNode* add_node(Work& work, PrefixNode* parent, const Tokens& tokens);
  void restore_nodes(Work& work);
  Work* blocker(const Work& work) const;
  bool make_room(std::int32_t tiles, std::int32_t above, std::int32_t sequences);
  bool evict_one();
  void drop_node(PrefixNode* node);
  void leave(Work& work);
  void forget_all();
  bool fits_cache(const Segment& segment);
  bool worth_keeping(const Work& work, std::int32_t index) const;
  PrefixNode* find_node(const Work& work, const PrefixNode* parent, std::int32_t index) const;
  const Segment& trunk_segment(const Work& work, std::int32_t index) const;
  std::int32_t keepable(const Work& work) const;

  // engine_rows.cc
  void take_rows(Work& work, std::int32_t rows_max, Batch& batch);
  void take_step(Work& work, Batch& batch);
  void begin_wave(Work& work, std::int32_t wave);
  std::vector<SequenceId> row_sequences(const Work& work, std::int32_t part, const ProgramRow& row) const;
  Cell row_cell(const Work& work, std::int32_t part, const ProgramRow& row) const;
  void add_output(Work& work, std::int32_t read, Batch& batch);
  Status read_batch(const Batch& batch);
  Result<ReadResult> read_row(std::size_t row, const Read& read);
  void mark_ready(Work& work);
  void pad(Batch& batch);
  bool done(const Work& work) const;

  Decoder& decoder_;
  const Clock& clock_;
  const EngineOptions options_;
  const DecoderLimits limits_;
  PrefixStore* const store_;
  CellPool cells_;
  SequencePool sequences_;
  PrefixTree prefixes_;
  std::vector<std::unique_ptr<Work>> works_;
  std::vector<Answer> answers_;                             // not given out yet
  std::unordered_map<PrefixNode*, Work*> owners_;           // of nodes that are being computed
  std::unordered_map<std::string, double> client_seconds_;  // what each client had, fading
  std::int64_t faded_ns_ = 0;
  StepCost cost_;
  std::int64_t overtaken_ns_ = 0;  // when a job came that goes before a much longer one; 0: never
  double rows_per_second_ = 0;
  int failures_in_a_row_ = 0;
  EngineStats stats_;
};

}  // namespace assay::engine
