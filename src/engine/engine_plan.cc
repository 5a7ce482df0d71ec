// Who is next, how much goes into a step, and who cannot make it.
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "engine/engine.h"

namespace assay::engine {
namespace {

constexpr double kGuessedPerSecond = 200;  // units, for ranking before anything was measured
constexpr double kWatchSeconds = 10;       // after a short job that overtook a long one others are expected so long
constexpr double kReserveSeconds = 1;      // after so long a job that finds no room keeps younger ones out
constexpr std::int32_t kPassesMax = 2;     // steps one after another that short ones have before a long one
constexpr double kLongTimes = 4;           // a job is long beside one that needs so many times less

}  // namespace

double Engine::seconds_of(double units) const {
  return units / (cost_.units_per_second() > 0 ? cost_.units_per_second() : kGuessedPerSecond);
}

double Engine::units_to_compute(const Work& work, std::unordered_set<PrefixKey>& shared) const {
  return cost_.units_up_to(rows_to_compute(work, shared), work.end_depth());
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
  const double per_second = cost_.best_units_per_second();
  if (work.job.terms.deadline_ns == 0 || per_second <= 0) return std::nullopt;
  std::unordered_set<PrefixKey> shared;
  const double own = units_to_compute(work, shared);
  double ahead = 0;
  for (const std::unique_ptr<Work>& other : works_) {
    if (other.get() == &work) continue;
    if (other->job.terms.bulk && !work.job.terms.bulk) continue;
    const double units = units_to_compute(*other, shared);
    if (units <= own || (work.job.terms.bulk && !other->job.terms.bulk)) ahead += units;
  }
  const double left = static_cast<double>(work.job.terms.deadline_ns - clock_.now_ns()) / 1e9;
  const double needed = (own + ahead) / per_second;
  if (needed <= left) return std::nullopt;
  Error error{ErrorCode::kTooBusy,
              "The answer would take about " + std::to_string(std::lround(needed * 1000)) + " ms and " +
                  std::to_string(std::lround(std::max(0.0, left) * 1000)) + " ms are left (timeout_ms).",
              "timeout_ms"};
  error.retry_after_seconds = std::max(1.0, ahead / per_second);
  return error;
}

// A job that goes before a much longer one that runs: others like it are to be expected.
void Engine::note_overtaking(const Work& added) {
  if (added.job.terms.bulk) return;
  std::unordered_set<PrefixKey> nobody;
  const double units = units_to_compute(added, nobody);
  const auto is_overtaken = [&](const std::unique_ptr<Work>& other) {
    return other->running && units * kLongTimes < units_to_compute(*other, nobody);
  };
  if (std::any_of(works_.begin(), works_.end(), is_overtaken)) overtaken_ns_ = clock_.now_ns();
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
    work->units_left = units_to_compute(*work, nobody);
    work->seconds_left = seconds_of(work->units_left);
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
// and would keep every short one of its client waiting to its end. One that comes while a step of its runs has the
// next, and where that does not end it one more.
void Engine::let_short_ones_pass() {
  Work& first = *works_.front();
  const auto passes = [&first](const std::unique_ptr<Work>& work) {
    return work->job.terms.client == first.job.terms.client && work->seconds_left * kLongTimes < first.seconds_left;
  };
  const auto goes_on = [&passes](const std::unique_ptr<Work>& work) { return work->running && passes(work); };
  const auto any = [this](const auto& is_such) { return std::any_of(works_.begin(), works_.end(), is_such); };
  const bool may_pass = first.steps_passed == 0 ? any(passes) : first.steps_passed < kPassesMax && any(goes_on);
  first.steps_passed = may_pass ? first.steps_passed + 1 : 0;
  if (may_pass) std::stable_partition(works_.begin(), works_.end(), passes);
}

// What the next step may take. With a long job first nobody is about to finish, so a large batch, which costs less a
// row, keeps only newcomers waiting; when some came lately others are expected.
double Engine::step_units() const {
  const double units = cost_.units_per_second() * options_.step_ms / 1e3;
  const Work& first = *works_.front();
  const bool watched = overtaken_ns_ != 0 && clock_.ms_since(overtaken_ns_) < kWatchSeconds * 1e3;
  if (watched && first.units_left >= kLongTimes * units) return units * options_.watched_steps;
  const bool is_long = works_.size() == 1 || (!watched && first.rows_left() >= 2 * limits_.rules.few_rows());
  return units * (is_long ? options_.long_steps : 1);
}

// How many rows of the job go into the batch: what the step's time has left, never less than what the batch needs.
std::int32_t Engine::rows_room(const Batch& batch, const Work& work, double units) const {
  const BitRules& rules = limits_.rules;
  const auto there = static_cast<std::int32_t>(batch.rows.size());
  if (batch.is_short) return rules.short_rows_max() - there;
  std::int32_t rows = cost_.units_per_second() > 0 ? cost_.rows_within(units - batch.units, work.next_depth())
                                                   : 2 * limits_.rules.few_rows() - there;
  rows = std::min(std::max(there + rows, rules.rows_min), limits_.batch_rows_max);
  return std::max(rules.rows_min, rows - rows % rules.rows_multiple) - there;
}

Engine::Batch Engine::fill_batch() {
  Batch batch;
  const double units = step_units();
  bool keep_out = false;
  for (const std::unique_ptr<Work>& work : works_) {
    if (rows_room(batch, *work, units) <= 0) break;
    // One that was in a failed batch, and one with recurrent layers, is computed alone.
    const bool alone = work->suspect || limits_.whole_sequences_only;
    if (alone && !batch.works.empty()) continue;
    // Who is about to finish does not wait for the rows of a long one, which has the steps between.
    const bool fills_up =
        !batch.works.empty() && !batch.is_short && batch.works.front()->units_left * kLongTimes < work->units_left;
    const std::int32_t missing = limits_.rules.rows_min - static_cast<std::int32_t>(batch.rows.size());
    if (fills_up && missing <= 0) continue;
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
      // Asked again: where its kept segments were there it begins behind them.
      take_rows(*work, fills_up ? missing : rows_room(batch, *work, units), batch);
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

// When what would be left for the next batch is few rows, it goes into this one: so few cost nearly as much as many,
// and padding rows as much as those that somebody waits for.
void Engine::take_tail(Batch& batch) {
  if (batch.works.empty() || batch.works.front()->suspect || batch.is_short) return;
  const std::int32_t few = limits_.rules.few_rows();
  std::int32_t left = 0;
  for (const std::unique_ptr<Work>& work : works_) {
    left += full_rows_left(*work, few - left);
    if (left >= few) return;
  }
  if (left == 0) return;
  for (const std::unique_ptr<Work>& work : works_) {
    if (work->running && !work->suspect) take_rows(*work, left, batch);
  }
}

}  // namespace assay::engine
