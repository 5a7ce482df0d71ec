#pragma once
// The labelled rows that teach_numbers.cc draws from, and a decider that reads each of them once. For that program
// alone.

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "assay/teaching.h"
#include "decision/cue.h"
#include "teach/folds.h"

namespace assay::bench {

// Reads all built-in cues of a state the first time that one of them is wanted, and gives what it read from then on; an
// answer without cues is asked for once, too.
class Remembering final : public Decider {
 public:
  explicit Remembering(std::unique_ptr<Decider> inner) : inner_(std::move(inner)) {}
  Result<DecisionReply> decide(const DecisionRequest& request) override {
    const Question& question = request.questions[0];
    const std::string key = to_json_text(request.state);
    if (question.scored && question.cues.empty()) return zero_shot(request, key);
    if (question.scored || question.cues.empty()) return inner_->decide(request);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto known = known_.find(key);
      if (known != known_.end()) return of_cues(known->second, question.cues);
    }
    DecisionRequest all = request;
    all.questions[0].cues.assign(decision::built_in_cues().begin(), decision::built_in_cues().end());
    Result<DecisionReply> reply = inner_->decide(all);
    if (!reply.ok()) return reply;
    const std::lock_guard<std::mutex> lock(mutex_);
    return of_cues(known_.insert_or_assign(key, std::move(*reply)).first->second, question.cues);
  }
  const ModelReport& report() const override { return inner_->report(); }
  std::size_t in_flight() const override { return inner_->in_flight(); }
  bool healthy() const override { return inner_->healthy(); }
  EngineStats stats() const override { return inner_->stats(); }
  void drain(double grace_ms) override { inner_->drain(grace_ms); }

 private:
  Result<DecisionReply> zero_shot(const DecisionRequest& request, const std::string& key) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto known = zero_shot_.find(key);
      if (known != zero_shot_.end()) return known->second;
    }
    Result<DecisionReply> reply = inner_->decide(request);
    if (!reply.ok()) return reply;
    const std::lock_guard<std::mutex> lock(mutex_);
    return zero_shot_.insert_or_assign(key, std::move(*reply)).first->second;
  }

  static DecisionReply of_cues(const DecisionReply& all, const std::vector<std::string>& cues) {
    DecisionReply reply = all;
    std::vector<std::vector<float>>& states = reply.answers[0].cue_states;
    states.clear();
    for (const std::string& cue : cues) {
      const auto built_in = decision::built_in_cues();
      const auto at = std::find(built_in.begin(), built_in.end(), cue) - built_in.begin();
      states.push_back(all.answers[0].cue_states[static_cast<std::size_t>(at)]);
    }
    return reply;
  }

  const std::unique_ptr<Decider> inner_;
  std::mutex mutex_;
  std::map<std::string, DecisionReply> known_, zero_shot_;
};

[[noreturn]] inline void give_up(const std::string& why) {
  std::cerr << "teach_numbers: " << why << "\n";
  std::exit(1);
}

struct Task {
  Question question;
  std::vector<LabelledQuestion> rows;
  std::vector<std::vector<std::size_t>> by_option;
};

inline Task read_task(const std::string& path, const std::string& text) {
  Task task;
  task.question = {.id = "q", .text = text, .options = {}, .cues = {}};
  std::ifstream file(path);
  std::vector<std::pair<std::string, std::string>> lines;
  std::map<std::string, std::size_t> places;
  for (std::string line; std::getline(file, line);) {
    const nlohmann::json row = nlohmann::json::parse(line);
    lines.emplace_back(row.at("state"), row.at("expected"));
    places.emplace(lines.back().second, 0);
  }
  if (lines.empty()) give_up("no rows in " + path);
  for (auto& [label, place] : places) {
    place = task.question.options.size();
    task.question.options.push_back({.id = label, .description = std::nullopt});
  }
  task.by_option.resize(places.size());
  std::map<std::string, std::size_t> seen;
  for (const auto& [state, label] : lines) {
    if (!seen.emplace(state, 0).second) continue;
    task.by_option[places[label]].push_back(task.rows.size());
    task.rows.push_back({.state = Value(state), .question = task.question, .expected = places[label], .where = state});
  }
  return task;
}

// Of each option `labels` rows to teach and `held_out` others to ask.
inline void draw(const Task& task, std::uint64_t seed, std::size_t labels, std::size_t held_out,
                 std::vector<LabelledQuestion>& taught, std::vector<LabelledQuestion>& asked) {
  teach::Random random(seed);
  for (std::vector<std::size_t> places : task.by_option) {
    random.shuffle(places);
    for (std::size_t i = 0; i < places.size(); i++) {
      // Held-out rows come from the end, so that they are the same for every number of labels.
      if (i < labels) taught.push_back(task.rows[places[i]]);
      if (i + held_out >= places.size() && i >= labels) asked.push_back(task.rows[places[i]]);
    }
  }
}

}  // namespace assay::bench
