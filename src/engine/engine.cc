#include "engine/engine.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "base/assert.h"

namespace assay::engine {
namespace {

constexpr double kFadeSeconds = 10;            // what a client had counts less and less
constexpr double kGuessedRowsPerSecond = 200;  // for ranking before anything was measured
constexpr double kReserveSeconds = 1;          // after so long a job that finds no room keeps younger ones out
constexpr double kLongTimes = 4;               // a job is long beside one that needs so many times less
constexpr double kRateWeight = 0.25;           // of the newest step

}  // namespace

std::int32_t Work::rows_left() const {
  if (chains.steps.empty()) return static_cast<std::int32_t>(program.rows.size()) - cursor;
  std::int32_t rows = 0;
  for (std::size_t i = static_cast<std::size_t>(cursor); i < chains.steps.size(); i++)
    rows += static_cast<std::int32_t>(chains.steps[i].rows.size());
  return rows;
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
      sequences_(limits_.sequences_max) {
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

double Engine::seconds_for(std::int32_t rows) const {
  return rows / (rows_per_second_ > 0 ? rows_per_second_ : kGuessedRowsPerSecond);
}

void Engine::add(std::unique_ptr<Work> work) {
  Work* added = work.get();
  added->result.reads.resize(added->job.reads.size());
  works_.push_back(std::move(work));
  if (const std::optional<Error> error = refusal(*added)) finish(added, *error);
}

// What must be computed before the job is answered: of a segment that another job computes what is left of it; nothing
// of what is kept, nor of what is in `shared` because another job counts it; what others can use is added to `shared`.
std::int32_t Engine::rows_to_compute(const Work& work, std::unordered_set<PrefixKey>& shared) const {
  std::int32_t rows = work.rows_left();
  if (work.running) return rows;
  PrefixNode* node = nullptr;
  bool all_there = true;
  for (std::int32_t i = 0; i < keepable(work); i++) {
    const auto tokens = static_cast<std::int32_t>(trunk_segment(work, i).tokens.size());
    if (all_there) node = find_node(work, node, i);
    all_there = all_there && node != nullptr;
    const bool ready = all_there && node->ready;
    if (!ready && !all_there && !worth_keeping(work, i)) break;
    if (ready || !shared.insert(work.keys[i]).second) {
      rows -= tokens;
    } else if (all_there) {
      rows -= tokens - std::min(tokens, owners_.at(node)->rows_left());
    }
  }
  return rows;
}

std::optional<Error> Engine::refusal(const Work& work) const {
  if (work.job.terms.deadline_ns == 0 || rows_per_second_ <= 0) return std::nullopt;
  std::unordered_set<PrefixKey> shared;
  const std::int32_t own = rows_to_compute(work, shared);
  std::int32_t ahead = 0;
  for (const std::unique_ptr<Work>& other : works_) {
    if (other.get() == &work) continue;
    if (other->job.terms.bulk && !work.job.terms.bulk) continue;
    const std::int32_t rows = rows_to_compute(*other, shared);
    if (rows <= own || (work.job.terms.bulk && !other->job.terms.bulk)) ahead += rows;
  }
  const double left = static_cast<double>(work.job.terms.deadline_ns - clock_.now_ns()) / 1e9;
  const double needed = seconds_for(own + ahead);
  if (needed <= left) return std::nullopt;
  Error error{ErrorCode::kTooBusy,
              "The answer would take about " + std::to_string(std::lround(needed * 1000)) + " ms and " +
                  std::to_string(std::lround(std::max(0.0, left) * 1000)) + " ms are left (timeout_ms).",
              "timeout_ms"};
  error.retry_after_seconds = std::max(1.0, seconds_for(ahead));
  return error;
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

void Engine::rank_works() {
  struct Turn {
    double ahead = 0;  // seconds of the client's jobs before this one
    double rank = 0;   // of the last one
  };
  const std::int64_t now_ns = clock_.now_ns();
  const auto by_rank = [](const std::unique_ptr<Work>& a, const std::unique_ptr<Work>& b) { return a->rank < b->rank; };
  const auto waited = [now_ns](const Work& work) { return static_cast<double>(now_ns - work.accepted_ns) / 1e9; };
  // Of one client's jobs: short ones first, with ageing.
  for (const std::unique_ptr<Work>& work : works_) {
    std::unordered_set<PrefixKey> nobody;
    work->seconds_left = seconds_for(rows_to_compute(*work, nobody));
    if (work->job.terms.bulk) work->seconds_left += options_.bulk_wait_seconds;
    work->rank = work->seconds_left - waited(*work);
  }
  std::stable_sort(works_.begin(), works_.end(), by_rank);
  // Between clients, keeping that order: each job as if those of its client before it had been computed.
  std::unordered_map<std::string, Turn> turns;
  for (const std::unique_ptr<Work>& work : works_) {
    const std::string& client = work->job.terms.client;
    const auto had = client_seconds_.find(client);
    const auto [turn, first] = turns.try_emplace(client);
    work->rank = work->seconds_left + turn->second.ahead + (had == client_seconds_.end() ? 0 : had->second) -
                 (waited(*work) - work->client_seconds);
    if (!first) work->rank = std::max(work->rank, turn->second.rank);
    turn->second = {.ahead = turn->second.ahead + work->seconds_left, .rank = work->rank};
  }
  // Whoever computes what others wait for goes as early as they would.
  for (const std::unique_ptr<Work>& work : works_) {
    if (work->running) continue;
    if (Work* owner = blocker(*work)) owner->rank = std::min(owner->rank, work->rank);
  }
  std::stable_sort(works_.begin(), works_.end(), by_rank);
  let_short_ones_pass();
}

// Age gives a long job every other step, not all of them: in its second half it has waited for longer than it needs,
// and would keep every short one of its client waiting to its end.
void Engine::let_short_ones_pass() {
  Work& first = *works_.front();
  const auto passes = [&first](const std::unique_ptr<Work>& work) {
    return work->job.terms.client == first.job.terms.client && work->seconds_left * kLongTimes < first.seconds_left;
  };
  const bool short_ones_wait = std::any_of(works_.begin(), works_.end(), passes);
  const bool had_last = first.had_step_by_age;
  first.had_step_by_age = short_ones_wait && !had_last;
  if (short_ones_wait && had_last) std::stable_partition(works_.begin(), works_.end(), passes);
}

std::int32_t Engine::rows_budget() const {
  const BitRules& rules = limits_.rules;
  // With a long job first nobody is about to finish, so a large batch, which costs less a row, keeps only newcomers
  // waiting.
  const bool is_long = works_.size() == 1 || works_.front()->rows_left() >= 2 * rules.rows_min;
  const double step_ms = options_.step_ms * (is_long ? options_.long_steps : 1);
  double rows = rows_per_second_ > 0 ? rows_per_second_ * step_ms / 1e3 : 2.0 * rules.rows_min;
  rows = std::max(std::min(rows, static_cast<double>(limits_.batch_rows_max)), static_cast<double>(rules.rows_min));
  const auto whole = static_cast<std::int32_t>(rows);
  return std::max(rules.rows_min, whole - whole % rules.rows_multiple);
}

Engine::Batch Engine::fill_batch() {
  Batch batch;
  const std::int32_t budget = rows_budget();
  bool keep_out = false;
  for (const std::unique_ptr<Work>& work : works_) {
    const std::int32_t most = batch.is_short ? limits_.rules.short_rows_max() : budget;
    const std::int32_t room = most - static_cast<std::int32_t>(batch.rows.size());
    if (room <= 0) break;
    // One that was in a failed batch, and one with recurrent layers, is computed alone.
    const bool alone = work->suspect || limits_.whole_sequences_only;
    if (alone && !batch.works.empty()) continue;
    if (!work->running) {
      if (keep_out) continue;
      const Admission admission = admit(*work);
      if (admission == Admission::kNoRoom && clock_.ms_since(work->accepted_ns) > kReserveSeconds * 1e3)
        keep_out = true;
      if (admission != Admission::kStarted) continue;
      if (done(*work)) {
        batch.complete.push_back(work.get());
        continue;
      }
    }
    if (limits_.whole_sequences_only) {
      take_step(*work, batch);
    } else {
      take_rows(*work, room, batch);
    }
    if (alone && !batch.works.empty()) break;
  }
  if (!limits_.whole_sequences_only) {
    take_tail(batch);
    pad(batch);
  }
  return batch;
}

std::int32_t Engine::full_rows_left(const Work& work, std::int32_t enough) const {
  const std::vector<ProgramRow>& rows = work.program.rows;
  std::int32_t left = 0;
  for (auto row = rows.begin() + work.cursor; row != rows.end() && left < enough; ++row) left += row->is_short ? 0 : 1;
  return left;
}

// When what would be left for the next batch is less than a batch has at least, it goes into this one: padding rows
// cost as much as rows that somebody waits for.
void Engine::take_tail(Batch& batch) {
  if (batch.works.empty() || batch.works.front()->suspect || batch.is_short) return;
  std::int32_t left = 0;
  for (const std::unique_ptr<Work>& work : works_) {
    left += full_rows_left(*work, limits_.rules.rows_min - left);
    if (left >= limits_.rules.rows_min) return;
  }
  if (left == 0) return;
  for (const std::unique_ptr<Work>& work : works_) {
    if (work->running && !work->suspect) take_rows(*work, left, batch);
  }
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
  // Rows of short decodes are dearer; what long jobs take is told by full ones.
  const bool counts = !batch.is_short || rows_per_second_ <= 0;
  const double rate = static_cast<double>(batch.rows.size()) / ms * 1e3;
  if (counts)
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
