// How a waiting job gets its cells and sequences: the kept segments that it begins with, found or made, then its own.
#include <algorithm>

#include "base/assert.h"
#include "engine/engine.h"

namespace assay::engine {

std::int32_t Engine::keepable(const Work& work) const {
  return limits_.whole_sequences_only ? static_cast<std::int32_t>(work.chains.kept_segments.size())
                                      : work.program.keepable;
}

const Segment& Engine::trunk_segment(const Work& work, std::int32_t index) const {
  const std::int32_t segment =
      limits_.whole_sequences_only ? work.chains.kept_segments[index] : work.program.trunk[index].segment;
  return work.job.segments[segment];
}

// The running job that computes the next kept segment this one needs; nullptr when none does.
Work* Engine::blocker(const Work& work) const {
  const PrefixNode* parent = nullptr;
  for (std::int32_t i = 0; i < keepable(work); i++) {
    PrefixNode* node = find_node(work, parent, i);
    if (node == nullptr) return nullptr;
    const auto owner = owners_.find(node);
    if (owner != owners_.end()) return owner->second;
    parent = node;
  }
  return nullptr;
}

PrefixNode* Engine::find_node(const Work& work, const PrefixNode* parent, std::int32_t index) const {
  return prefixes_.find(parent, trunk_segment(work, index).tokens, work.keys[index]);
}

bool Engine::worth_keeping(const Work& work, std::int32_t index) const {
  const Segment& segment = trunk_segment(work, index);
  // A recurrent program is cut for all of its kept segments, so there they are always made.
  if (limits_.whole_sequences_only) return true;
  return options_.cache_tokens > 0 && !work.suspect && std::ssize(segment.tokens) <= options_.cache_tokens;
}

Engine::Admission Engine::admit(Work& work) {
  if (blocker(work) != nullptr) return Admission::kWaits;
  const std::int32_t kept = keepable(work);
  if (try_admit(work, kept)) return Admission::kStarted;
  if (std::any_of(works_.begin(), works_.end(), [](const auto& other) { return other->running; }))
    return Admission::kNoRoom;
  // Nothing runs, so everything kept can go; then whatever fits at all fits now, at least without keeping anything.
  while (evict_one()) {
  }
  if (try_admit(work, kept)) return Admission::kStarted;
  if (!limits_.whole_sequences_only && try_admit(work, 0)) return Admission::kStarted;
  return Admission::kNoRoom;
}

bool Engine::try_admit(Work& work, std::int32_t kept) {
  if (!admit_path(work, kept) || !admit_own(work)) {
    leave(work);
    return false;
  }
  for (std::int32_t i = 0; i < keepable(work); i++) stats_.prefix_lookup_tokens += trunk_segment(work, i).tokens.size();
  stats_.prefix_hit_tokens += static_cast<std::uint64_t>(work.result.cached_tokens);
  if (work.job.terms.hold != nullptr) {
    for (PrefixNode* node : work.path) PrefixTree::hold(node, work.job.terms.hold);
  }
  work.running = true;
  return true;
}

// The kept segments: those that are there, then new ones for this job to compute. False: no room.
bool Engine::admit_path(Work& work, std::int32_t kept) {
  PrefixNode* parent = nullptr;
  for (std::int32_t i = 0; i < kept; i++) {
    const Segment& segment = trunk_segment(work, i);
    PrefixNode* node = find_node(work, parent, i);
    if (node != nullptr) {
      work.path.push_back(node);
      prefixes_.use(node);
      work.ready_nodes = work.path.size();
    } else {
      if (!limits_.whole_sequences_only && !(worth_keeping(work, i) && fits_cache(segment))) break;
      node = add_node(work, parent, segment.tokens);
      if (node == nullptr) return false;
    }
    parent = node;
  }
  if (work.ready_nodes < work.path.size()) restore_nodes(work);
  work.result.cached_tokens = work.ready_nodes == 0 ? 0 : work.path[work.ready_nodes - 1]->end();
  return true;
}

// True when the cache can hold the segment besides those in use; older ones make room for it.
bool Engine::fits_cache(const Segment& segment) {
  std::ptrdiff_t in_use = prefixes_.tokens();
  for (const PrefixNode* node : prefixes_.droppable()) in_use -= std::ssize(node->tokens);
  if (in_use + std::ssize(segment.tokens) > options_.cache_tokens) return false;
  while (prefixes_.tokens() + std::ssize(segment.tokens) > options_.cache_tokens) {
    if (!evict_one()) return false;
  }
  return true;
}

PrefixNode* Engine::add_node(Work& work, PrefixNode* parent, const Tokens& tokens) {
  const std::int32_t count = (static_cast<std::int32_t>(tokens.size()) + cells_.tile_cells() - 1) / cells_.tile_cells();
  const std::int32_t above = parent == nullptr ? -1 : parent->top_tile();
  if (!make_room(count, above, 1)) return nullptr;
  Tiles tiles = *cells_.take(count, above);
  const SequenceId sequence = sequences_.take(1)->front();
  PrefixNode* node = prefixes_.add(parent, tokens, std::move(tiles), sequence);
  prefixes_.use(node);
  owners_[node] = &work;
  work.path.push_back(node);
  return node;
}

// New nodes that the store has from an earlier run need not be computed.
void Engine::restore_nodes(Work& work) {
  if (store_ == nullptr) return;
  Tokens path;
  for (std::size_t i = 0; i < work.path.size(); i++) {
    PrefixNode* node = work.path[i];
    const auto from = static_cast<std::int32_t>(path.size());
    path.insert(path.end(), node->tokens.begin(), node->tokens.end());
    if (i < work.ready_nodes) continue;
    // A recurrent snapshot is a whole sequence, all of whose cells are written anew; only a first segment can be one.
    if (limits_.whole_sequences_only && i > 0) return;
    const std::optional<std::string> saved = store_->find(path, from);
    if (!saved) return;
    std::vector<Cell> cells;
    for (std::int32_t c = 0; c < std::ssize(node->tokens); c++)
      cells.push_back(CellPool::cell(node->tiles, c, cells_.tile_cells()));
    if (i > 0) decoder_.fork(work.path[i - 1]->sequence, node->sequence);
    if (!decoder_.restore(node->sequence, cells, *saved)) return;
    node->ready = true;
    owners_.erase(node);
    work.ready_nodes = i + 1;
  }
}

// The job's own tiles, above its path, and its sequences: the trunk's and one for each leaf of a wave.
bool Engine::admit_own(Work& work) {
  std::int32_t tiles = 0;
  std::int32_t sequences = 1;
  if (limits_.whole_sequences_only) {
    tiles = work.chains.tiles;
    sequences = work.chains.sequences;
  } else {
    for (std::size_t i = work.path.size(); i < work.program.trunk.size(); i++) tiles += work.program.trunk[i].tiles;
    tiles += work.program.wave_tiles_max();
    sequences = 1 + work.program.leaves_max();
  }
  const std::int32_t above = work.path.empty() ? -1 : work.path.back()->top_tile();
  if (!make_room(tiles, above, sequences)) return false;
  work.tiles = *cells_.take(tiles, above);
  work.sequences = *sequences_.take(sequences);
  const PrefixNode* last = work.ready_nodes == 0 ? nullptr : work.path[work.ready_nodes - 1];
  if (limits_.whole_sequences_only) {
    work.cursor = work.ready_nodes == 0 ? 0 : work.chains.kept_ends[work.ready_nodes - 1];
    return true;
  }
  work.cursor = work.ready_nodes == 0 ? 0 : work.program.trunk[work.ready_nodes - 1].end;
  work.wave = work.program.waves.empty() ? -1 : 0;
  if (last == nullptr) return true;
  for (std::size_t i = work.ready_nodes; i < work.path.size(); i++)
    decoder_.fork(last->sequence, work.path[i]->sequence);
  const std::int32_t leaves = work.program.waves.empty() ? 0 : work.program.waves.front().leaves;
  for (std::int32_t i = 0; i <= leaves; i++) decoder_.fork(last->sequence, work.sequences[i]);
  return true;
}

// Drops kept segments that nobody uses until so much is free. False, and nothing dropped, when that does not help.
bool Engine::make_room(std::int32_t tiles, std::int32_t above, std::int32_t sequences) {
  const auto has_room = [&] { return sequences_.free_sequences() >= sequences && cells_.can_take(tiles, above); };
  if (has_room()) return true;
  CellPool cells = cells_;
  std::int32_t free_sequences = sequences_.free_sequences();
  for (const PrefixNode* node : prefixes_.droppable()) {
    cells.give_back(node->tiles);
    free_sequences++;
  }
  if (free_sequences < sequences || !cells.can_take(tiles, above)) return false;
  while (!has_room() && evict_one()) {
  }
  return true;
}

bool Engine::evict_one() {
  PrefixNode* node = prefixes_.oldest_idle(options_.cache_tokens / 2);
  if (node == nullptr) return false;
  drop_node(node);
  stats_.prefix_evictions++;
  return true;
}

void Engine::drop_node(PrefixNode* node) {
  decoder_.release(node->sequence);
  cells_.give_back(node->tiles);
  sequences_.give_back(node->sequence);
  owners_.erase(node);
  prefixes_.remove(node);
}

// Gives back whatever the job holds; segments that it has not finished go with it.
void Engine::leave(Work& work) {
  for (const SequenceId sequence : work.sequences) {
    decoder_.release(sequence);
    sequences_.give_back(sequence);
  }
  cells_.give_back(work.tiles);
  for (std::size_t i = work.path.size(); i-- > 0;) {
    PrefixNode* node = work.path[i];
    prefixes_.leave(node);
    if (!node->ready) drop_node(node);
  }
  work.sequences.clear();
  work.tiles.clear();
  work.path.clear();
  work.ready_nodes = 0;
  work.cursor = 0;
  work.wave = -1;
  work.running = false;
}

// The decoder starts from nothing, and so does every running job.
void Engine::forget_all() {
  decoder_.reset();
  prefixes_.clear();
  owners_.clear();
  cells_.give_back_all();
  sequences_.give_back_all();
  for (const std::unique_ptr<Work>& work : works_) {
    work->sequences.clear();
    work->tiles.clear();
    work->path.clear();
    leave(*work);
  }
}

std::string Engine::broken_invariant() const {
  std::int32_t tiles = cells_.free_tiles();
  std::int32_t sequences = sequences_.free_sequences();
  std::unordered_map<const PrefixNode*, std::int32_t> users;
  for (const std::unique_ptr<Work>& work : works_) {
    if (!work->running && !(work->tiles.empty() && work->sequences.empty() && work->path.empty()))
      return "a waiting job holds something";
    tiles += static_cast<std::int32_t>(work->tiles.size());
    sequences += static_cast<std::int32_t>(work->sequences.size());
    for (const PrefixNode* node : work->path) users[node]++;
  }
  std::string of_prefixes = prefixes_.count(tiles, sequences, users);
  if (!of_prefixes.empty()) return of_prefixes;
  if (tiles != cells_.tiles() - 1) return "tiles are lost or counted twice";
  if (sequences != sequences_.padding()) return "sequences are lost or counted twice";
  return {};
}

}  // namespace assay::engine
