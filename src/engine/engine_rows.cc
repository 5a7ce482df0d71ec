// From a running job to rows of a batch, and what happens when they are computed.
#include <algorithm>
#include <cmath>

#include "base/assert.h"
#include "engine/engine.h"
#include "engine/logits.h"

namespace assay::engine {

// The sequences of a trunk row: those of the kept segments that it stands in or that the job puts below it, the job's
// own, and the first wave's leaves. Of a wave's row: the leaves below it.
std::vector<SequenceId> Engine::row_sequences(const Work& work, std::int32_t part, const ProgramRow& row) const {
  const std::vector<std::int32_t>& leaves = work.program.leaf_sets[row.leaves];
  std::vector<SequenceId> ids;
  ids.reserve(leaves.size() + (part >= 0 ? work.path.size() + 1 : 0));
  if (part >= 0) {
    for (std::size_t i = static_cast<std::size_t>(part); i < work.path.size(); i++)
      ids.push_back(work.path[i]->sequence);
    ids.push_back(work.sequences.front());
  }
  for (const std::int32_t leaf : leaves) ids.push_back(work.sequences[1 + leaf]);
  return ids;
}

Cell Engine::row_cell(const Work& work, std::int32_t part, const ProgramRow& row) const {
  const std::int32_t tile = cells_.tile_cells();
  if (part >= 0 && part < std::ssize(work.path)) return CellPool::cell(work.path[part]->tiles, row.cell, tile);
  const auto own_trunk = static_cast<std::int32_t>(work.path.size());
  std::int32_t base = 0;
  const std::int32_t end = part >= 0 ? part : static_cast<std::int32_t>(work.program.trunk.size());
  for (std::int32_t i = own_trunk; i < end; i++) base += work.program.trunk[i].tiles;
  return CellPool::cell(work.tiles, base * tile + row.cell, tile);
}

void Engine::add_output(Work& work, std::int32_t read, Batch& batch) {
  batch.reads.push_back({.work = &work, .batch_row = batch.rows.size(), .read = read});
  const Read& wanted = work.job.reads[read];
  batch.wants.logits = batch.wants.logits || wanted.vocabulary;
  batch.wants.hidden_states = batch.wants.hidden_states || wanted.hidden_state || !wanted.vocabulary;
}

// The leaves of the wave before make room for those of this one.
void Engine::begin_wave(Work& work, std::int32_t wave) {
  for (std::size_t i = 1; i < work.sequences.size(); i++) decoder_.release(work.sequences[i]);
  for (std::int32_t i = 0; i < work.program.waves[wave].leaves; i++)
    decoder_.fork(work.sequences.front(), work.sequences[1 + i]);
  work.wave = wave;
}

// The job's next rows, within one wave: the next wave's leaves fork what this batch computes.
void Engine::take_rows(Work& work, std::int32_t rows_max, Batch& batch) {
  const Program& program = work.program;
  const std::int32_t trunk_end = program.trunk.empty() ? 0 : program.trunk.back().end;
  const auto at = std::find(batch.works.begin(), batch.works.end(), &work);
  const bool in_batch = at != batch.works.end();
  if (work.wave >= 0 && work.cursor == program.waves[work.wave].end) {
    if (in_batch || done(work)) return;
    begin_wave(work, work.wave + 1);
  }
  const std::int32_t end = work.wave >= 0 ? program.waves[work.wave].end : trunk_end;
  // As many as can be padded to what the bits need.
  const std::int32_t reads_max = limits_.output_rows_max - limits_.output_rows_max % limits_.rules.outputs_multiple;
  std::int32_t part = 0;
  std::int32_t taken = 0;
  if (batch.works.empty() && work.cursor < end) {
    batch.is_short = program.rows[work.cursor].is_short;
    if (batch.is_short) rows_max = std::min(rows_max, limits_.rules.short_rows_max());
  }
  while (work.cursor < end && taken < rows_max && std::ssize(batch.rows) < limits_.batch_rows_max) {
    const ProgramRow& row = program.rows[work.cursor];
    if (row.is_short != batch.is_short) break;
    if (row.read >= 0 && std::ssize(batch.reads) == reads_max) break;
    const bool in_trunk = work.cursor < trunk_end;
    while (in_trunk && work.cursor >= program.trunk[part].end) part++;
    const std::int32_t of_part = in_trunk ? part : -1;
    if (row.read >= 0) add_output(work, row.read, batch);
    batch.rows.push_back({.token = row.token,
                          .position = row.position,
                          .cell = row_cell(work, of_part, row),
                          .sequences = row_sequences(work, of_part, row),
                          .output = row.read >= 0});
    batch.units += cost_.units(1, row.position);
    work.cursor++;
    taken++;
  }
  if (in_batch) {
    batch.rows_of_work[static_cast<std::size_t>(at - batch.works.begin())] += taken;
  } else if (taken > 0) {
    batch.works.push_back(&work);
    batch.rows_of_work.push_back(taken);
  }
}

// Recurrent models: the job's next step as it was planned.
void Engine::take_step(Work& work, Batch& batch) {
  const ChainProgram& chains = work.chains;
  // After the last kept segment the job's own sequence goes on from it.
  if (!work.path.empty() && work.cursor == chains.kept_ends[work.path.size() - 1] && work.wave < 0) {
    decoder_.fork(work.path.back()->sequence, work.sequences.front());
    work.wave = 0;
  }
  const ChainStep& step = chains.steps[work.cursor];
  const bool starts_kept = step.kept > 0 && work.cursor == chains.kept_ends[step.kept - 1];
  if (starts_kept) decoder_.fork(work.path[step.kept - 1]->sequence, work.path[step.kept]->sequence);
  if (work.cursor > 0) {
    for (const std::int32_t sequence : chains.steps[work.cursor - 1].releases)
      decoder_.release(work.sequences[sequence]);
  }
  for (const ChainFork& fork : step.forks) decoder_.fork(work.sequences[fork.from], work.sequences[fork.to]);
  for (const ChainRow& row : step.rows) {
    if (row.read >= 0) add_output(work, row.read, batch);
    const bool kept = step.kept >= 0;
    batch.rows.push_back(
        {.token = row.token,
         .position = row.position,
         .cell = CellPool::cell(kept ? work.path[step.kept]->tiles : work.tiles, row.cell, cells_.tile_cells()),
         .sequences = {kept ? work.path[step.kept]->sequence : work.sequences[row.sequence]},
         .output = row.read >= 0});
  }
  // One row alone takes another way through attention when many cells are in use (llama.cpp splits them by threads).
  if (batch.rows.size() == 1) {
    batch.rows.push_back({.token = 0, .position = 0, .cell = 0, .sequences = {sequences_.padding()}, .output = false});
    batch.padding = 1;
  }
  work.cursor++;
  batch.works.push_back(&work);
  batch.rows_of_work.push_back(static_cast<std::int32_t>(step.rows.size()));
}

Result<ReadResult> Engine::read_row(std::size_t row, const Read& read) {
  Result<ReadResult> numbers =
      read.vocabulary ? read_logits(decoder_.logits(row), read.targets) : read_options(decoder_, row, read.targets);
  if (!numbers.ok() || !read.hidden_state) return numbers;
  const std::span<const float> hidden = decoder_.hidden_state(row);
  for (const float number : hidden) {
    if (!std::isfinite(number))
      return Error{ErrorCode::kNonfiniteLogits, "The model produced a non-finite hidden state.", ""};
  }
  numbers->hidden.assign(hidden.begin(), hidden.end());
  return numbers;
}

Status Engine::read_batch(const Batch& batch) {
  for (const BatchRead& planned : batch.reads) {
    Result<ReadResult> numbers = read_row(planned.batch_row, planned.work->job.reads[planned.read]);
    if (!numbers.ok()) return numbers.error();
    planned.work->result.reads[planned.read] = std::move(numbers).value();
  }
  for (const BatchRead& planned : batch.reads) {
    const JobTerms& terms = planned.work->job.terms;
    const auto read = static_cast<std::size_t>(planned.read);
    if (terms.on_read) terms.on_read(read, planned.work->result.reads[read]);
  }
  return {};
}

// Kept segments of this job that are computed now can be used by others.
void Engine::mark_ready(Work& work) {
  Tokens path;
  for (std::size_t i = 0; i < work.path.size(); i++) {
    PrefixNode* node = work.path[i];
    const auto from = static_cast<std::int32_t>(path.size());
    if (store_ != nullptr) path.insert(path.end(), node->tokens.begin(), node->tokens.end());
    const std::int32_t end = limits_.whole_sequences_only ? work.chains.kept_ends[i] : work.program.trunk[i].end;
    if (node->ready) continue;
    if (work.cursor < end) return;
    node->ready = true;
    owners_.erase(node);
    // A recurrent state can be had only as a whole sequence.
    if (store_ == nullptr || (limits_.whole_sequences_only && i > 0) || !store_->wants(path, from)) continue;
    std::string bytes = decoder_.save(node->sequence, from);
    if (!bytes.empty()) store_->put(path, from, std::move(bytes));
  }
}

// Rows that nobody reads, so that every batch has as many as the bits need.
void Engine::pad(Batch& batch) {
  if (batch.rows.empty()) return;
  const BitRules& rules = limits_.rules;
  const auto rows = static_cast<std::int32_t>(batch.rows.size());
  std::int32_t padded = (rows + rules.rows_multiple - 1) / rules.rows_multiple * rules.rows_multiple;
  // One row alone has kernels of its own.
  const std::int32_t least = batch.is_short ? std::max(2, rules.outputs_min) : rules.rows_min;
  padded = std::min(std::max(padded, least), limits_.batch_rows_max);
  for (std::int32_t i = 0; i < padded - rows; i++)
    batch.rows.push_back({.token = 0, .position = i, .cell = i, .sequences = {sequences_.padding()}, .output = false});
  batch.padding = padded - rows;
  // Rows that are read go through the last layer and the head alone, where the same rules hold.
  if (batch.reads.empty()) return;
  const auto reads = static_cast<std::int32_t>(batch.reads.size());
  std::int32_t outputs = (reads + rules.outputs_multiple - 1) / rules.outputs_multiple * rules.outputs_multiple;
  outputs = std::min(std::max(outputs, rules.outputs_min), limits_.output_rows_max) - reads;
  for (std::size_t i = batch.rows.size(); i-- > 0 && outputs > 0;) {
    if (batch.rows[i].output) continue;
    batch.rows[i].output = true;
    outputs--;
  }
}

bool Engine::done(const Work& work) const {
  const auto end = limits_.whole_sequences_only ? std::ssize(work.chains.steps) : std::ssize(work.program.rows);
  return work.cursor == end;
}

}  // namespace assay::engine
