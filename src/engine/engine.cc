#include "engine/engine.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/assert.h"

namespace assay::engine {
namespace {

constexpr double kFadeSeconds = 10;   // what a client had counts less and less
constexpr double kRateWeight = 0.25;  // of the newest step

}  // namespace

std::int32_t Work::rows_left() const {
  if (chains.steps.empty()) return static_cast<std::int32_t>(program.rows.size()) - cursor;
  std::int32_t rows = 0;
  for (std::size_t i = static_cast<std::size_t>(cursor); i < chains.steps.size(); i++)
    rows += static_cast<std::int32_t>(chains.steps[i].rows.size());
  return rows;
}

std::int32_t Work::next_depth() const {
  const auto at = static_cast<std::size_t>(cursor);
  if (chains.steps.empty()) return at < program.rows.size() ? program.rows[at].position : 0;
  return at < chains.steps.size() ? chains.steps[at].rows.front().position : 0;
}

std::int32_t Work::end_depth() const {
  if (chains.steps.empty()) return program.rows.empty() ? 0 : program.rows.back().position + 1;
  return chains.steps.back().rows.back().position + 1;
}

Result<std::unique_ptr<Work>> make_work(Job job, const DecoderLimits& limits) {
  auto work = std::make_unique<Work>();
  if (limits.whole_sequences_only) {
    Result<ChainProgram> chains = make_chain_program(job, limits);
    if (!chains.ok()) return chains.error();
    work->chains = std::move(chains).value();
  } else {
    Result<Program> program = make_program(job, limits);
    if (!program.ok()) return program.error();
    work->program = std::move(program).value();
  }
  work->job = std::move(job);
  for (Read& read : work->job.reads) read.vocabulary = read.vocabulary || !limits.option_head;
  const std::int32_t keepable = limits.whole_sequences_only
                                    ? static_cast<std::int32_t>(work->chains.kept_segments.size())
                                    : work->program.keepable;
  PrefixKey key = PrefixTree::kRootKey;
  for (std::int32_t i = 0; i < keepable; i++) {
    const std::int32_t segment =
        limits.whole_sequences_only ? work->chains.kept_segments[i] : work->program.trunk[i].segment;
    key = PrefixTree::key(key, work->job.segments[segment].tokens);
    work->keys.push_back(key);
  }
  return work;
}

Engine::Engine(Decoder& decoder, const Clock& clock, const EngineOptions& options, PrefixStore* store)
    : decoder_(decoder),
      clock_(clock),
      options_(options),
      limits_(decoder.limits()),
      store_(store),
      cells_(limits_.cells, limits_.rules.tile_cells),
      sequences_(limits_.sequences_max),
      cost_(limits_.rules.few_rows()) {
  const BitRules& rules = limits_.rules;
  ASSAY_ASSERT(rules.tile_cells % rules.page_cells == 0);
  if (limits_.whole_sequences_only) return;
  ASSAY_ASSERT(rules.rows_min % rules.rows_multiple == 0);
  ASSAY_ASSERT(rules.rows_min <= limits_.batch_rows_max);
  // Then a batch that is padded has rows enough to pad those that are read.
  ASSAY_ASSERT(rules.outputs_min <= std::min(rules.rows_min, limits_.output_rows_max));
  ASSAY_ASSERT(rules.outputs_min % rules.outputs_multiple == 0 && rules.rows_multiple % rules.outputs_multiple == 0);
  ASSAY_ASSERT(rules.short_rows_max() == 0 || rules.short_rows_max() % rules.outputs_multiple == 0);
  ASSAY_ASSERT(std::max(rules.rows_min, rules.rows_multiple) <= rules.tile_cells + 1);  // padding lies in one tile
}

void Engine::add(std::unique_ptr<Work> work) {
  Work* added = work.get();
  added->result.reads.resize(added->job.reads.size());
  works_.push_back(std::move(work));
  if (const std::optional<Error> error = refusal(*added)) {
    finish(added, *error);
    return;
  }
  note_overtaking(*added);
}

void Engine::sweep() {
  const std::int64_t now_ns = clock_.now_ns();
  std::vector<std::pair<Work*, Error>> ended;
  for (const std::unique_ptr<Work>& work : works_) {
    const JobTerms& terms = work->job.terms;
    if (terms.cancelled && terms.cancelled->load()) {
      ended.emplace_back(work.get(), Error{ErrorCode::kCancelled, "The caller went away.", ""});
      stats_.jobs_cancelled++;
    } else if (terms.deadline_ns != 0 && now_ns > terms.deadline_ns) {
      ended.emplace_back(work.get(),
                         Error{ErrorCode::kDeadline, "The answer was not there within timeout_ms.", "timeout_ms"});
      stats_.jobs_late++;
    }
  }
  for (auto& [work, error] : ended) finish(work, std::move(error));
}

void Engine::step() {
  sweep();
  if (works_.empty()) return;
  rank_works();
  Batch batch = fill_batch();
  for (Work* work : batch.complete) {
    work->start_ns = clock_.now_ns();
    finish(work, std::move(work->result));
  }
  if (!batch.works.empty()) {
    compute(batch);
  } else if (batch.complete.empty()) {
    // Cannot be: a job that fits is always admitted when nothing runs. An answer beats a wait without end.
    finish(works_.front().get(), Error{ErrorCode::kInternal, "The engine found no room for a job.", ""});
  }
}

void Engine::compute(Batch& batch) {
  const std::int64_t start_ns = clock_.now_ns();
  for (Work* work : batch.works) {
    if (work->start_ns == 0) work->start_ns = start_ns;
  }
  Status status = decoder_.decode(batch.rows, batch.wants);
  if (status.ok()) status = read_batch(batch);
  stats_.steps++;
  if (!status.ok()) {
    after_failure(batch, status.error());
    return;
  }
  if (batch.padding > 0) decoder_.release(sequences_.padding());
  failures_in_a_row_ = 0;
  note_time(batch, clock_.ms_since(start_ns));
  for (std::size_t i = 0; i < batch.works.size(); i++) {
    Work* work = batch.works[i];
    work->result.computed_rows += batch.rows_of_work[i];
    mark_ready(*work);
    if (done(*work)) finish(work, std::move(work->result));
  }
}

// What the decoder holds after a failure is not known (and may hold NaN, which spreads through masked cells too), so
// everything is forgotten and every running job begins again; those of this batch one by one.
void Engine::after_failure(const Batch& batch, const Error& error) {
  stats_.failed_steps++;
  forget_all();
  if (batch.works.size() == 1) {
    if (error.code == ErrorCode::kInternal) failures_in_a_row_++;
    finish(batch.works.front(), error);
    return;
  }
  for (Work* work : batch.works) work->suspect = true;
}

void Engine::note_time(const Batch& batch, double ms) {
  const auto rows = static_cast<std::int32_t>(batch.rows.size()) - batch.padding;
  stats_.rows += static_cast<std::uint64_t>(rows);
  stats_.padding_rows += static_cast<std::uint64_t>(batch.padding);
  stats_.step_seconds += ms / 1e3;
  if (ms <= 0) return;
  double depths = 0;
  for (const BatchRow& row : batch.rows) depths += row.position;
  cost_.learn(static_cast<std::int32_t>(batch.rows.size()), depths, ms);
  // Rows of short decodes are dearer; what long jobs take is told by full ones.
  const double rate = static_cast<double>(batch.rows.size()) / ms * 1e3;
  if (!batch.is_short || rows_per_second_ <= 0)
    rows_per_second_ = rows_per_second_ > 0 ? rows_per_second_ + kRateWeight * (rate - rows_per_second_) : rate;
  // Shares of the time, fading.
  const std::int64_t now_ns = clock_.now_ns();
  const double keep = std::exp(-static_cast<double>(now_ns - faded_ns_) / 1e9 / kFadeSeconds);
  faded_ns_ = now_ns;
  for (auto& [client, seconds] : client_seconds_) seconds *= keep;
  std::erase_if(client_seconds_, [](const auto& entry) { return entry.second < 1e-3; });
  std::unordered_map<std::string, double> had;
  for (std::size_t i = 0; i < batch.works.size(); i++)
    had[batch.works[i]->job.terms.client] += ms / 1e3 * batch.rows_of_work[i] / std::max(rows, 1);
  for (const auto& [client, seconds] : had) client_seconds_[client] += seconds;
  for (const std::unique_ptr<Work>& work : works_) {
    const auto at = had.find(work->job.terms.client);
    if (at != had.end()) work->client_seconds += at->second;
  }
}

void Engine::finish(Work* work, Result<JobResult> result) {
  if (work->running) leave(*work);
  while (prefixes_.tokens() > options_.cache_tokens && evict_one()) {
  }
  const auto at = std::find_if(works_.begin(), works_.end(),
                               [work](const std::unique_ptr<Work>& other) { return other.get() == work; });
  ASSAY_ASSERT(at != works_.end());
  const std::unique_ptr<Work> ended = std::move(*at);
  works_.erase(at);
  stats_.jobs++;
  if (result.ok()) {
    const std::int64_t now_ns = clock_.now_ns();
    result->queue_ms = static_cast<double>(ended->start_ns - ended->accepted_ns) / 1e6;
    result->compute_ms = static_cast<double>(now_ns - ended->start_ns) / 1e6;
  }
  answers_.push_back({.promise = std::move(ended->promise), .result = std::move(result)});
}

void Engine::abort(const Error& error) {
  while (!works_.empty()) finish(works_.back().get(), error);
}

void Engine::deliver() {
  for (Answer& answer : std::exchange(answers_, {})) answer.promise.set_value(std::move(answer.result));
}

EngineStats Engine::stats() const {
  EngineStats stats = stats_;
  for (const std::unique_ptr<Work>& work : works_) (work->running ? stats.running : stats.queued)++;
  stats.cells = limits_.cells;
  stats.cells_used = (cells_.tiles() - 1 - cells_.free_tiles()) * cells_.tile_cells();
  stats.cached_prefixes = prefixes_.nodes();
  stats.cached_prefix_tokens = prefixes_.tokens();
  stats.rows_per_second = rows_per_second_;
  return stats;
}

std::vector<std::int32_t> Engine::rows_left() const {
  std::vector<std::int32_t> rows;
  for (const std::unique_ptr<Work>& work : works_) rows.push_back(work->rows_left());
  return rows;
}

}  // namespace assay::engine
