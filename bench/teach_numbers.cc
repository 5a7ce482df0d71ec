// What bench/teach.py runs: lessons from random labels of a labelled file, and what they are worth on other rows. Each
// state's hidden states are read once, so that many draws cost one reading.
//
//   teach_numbers MODEL ROWS.jsonl QUESTION SEEDS LABELS[,LABELS…] HELD_OUT     one JSON line for each draw
//   teach_numbers MODEL ROWS.jsonl QUESTION risk SPLITS LABELS                  one JSON line
//
// LABELS: rows of each option that are taught, HELD_OUT: other rows of each option that are asked afterwards.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "assay/teaching.h"
#include "decision/cue.h"
#include "service/learning_rows.h"
#include "service/lesson_answer.h"
#include "service/lesson_choice.h"
#include "teach/apply.h"
#include "teach/features.h"
#include "teach/folds.h"
#include "teach/head.h"
#include "teach/risk.h"

namespace {

using namespace assay;  // NOLINT(google-build-using-namespace): a program of one file
using Json = nlohmann::json;

// Reads all built-in cues of a state the first time that one of them is wanted, and gives what it read from then on.
class Remembering final : public Decider {
 public:
  explicit Remembering(std::unique_ptr<Decider> inner) : inner_(std::move(inner)) {}
  Result<DecisionReply> decide(const DecisionRequest& request) override {
    const Question& question = request.questions[0];
    if (question.scored || question.cues.empty()) return inner_->decide(request);
    const std::string key = to_json_text(request.state);
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
  std::map<std::string, DecisionReply> known_;
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

[[noreturn]] void give_up(const std::string& why) {
  std::cerr << "teach_numbers: " << why << "\n";
  std::exit(1);
}

struct Task {
  Question question;
  std::vector<LabelledQuestion> rows;
  std::vector<std::vector<std::size_t>> by_option;
};

Task read_task(const std::string& path, const std::string& text) {
  Task task;
  task.question = {.id = "q", .text = text, .options = {}, .cues = {}};
  std::ifstream file(path);
  std::vector<std::pair<std::string, std::string>> lines;
  std::map<std::string, std::size_t> places;
  for (std::string line; std::getline(file, line);) {
    const Json row = Json::parse(line);
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
void draw(const Task& task, std::uint64_t seed, std::size_t labels, std::size_t held_out,
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

// The lesson's answers.
std::vector<Outcome> ask(Decider& decider, const Lesson& lesson, const std::vector<LabelledQuestion>& rows) {
  const auto shelved = std::make_shared<service::ShelvedLesson>(
      service::ShelvedLesson{.lesson = lesson, .sha256 = "", .path = "", .problem = ""});
  std::vector<Outcome> outcomes;
  for (const LabelledQuestion& row : rows) {
    const service::LessonPick pick = service::pick_version(shelved, row.question);
    Question question = row.question;
    service::prepare_question(pick, false, question);
    const Result<DecisionReply> reply = decider.decide({.state = row.state, .questions = {question}, .lesson = "none"});
    if (!reply.ok()) give_up(reply.error().message);
    Answer answer = reply->answers[0];
    if (const Status applied = service::apply_lesson(pick, row.question, answer); !applied.ok())
      give_up(applied.error().message);
    Outcome outcome{.probabilities = {}, .expected = row.expected, .predicted = answer.best};
    for (const OptionAnswer& option : answer.options) outcome.probabilities.push_back(option.probability);
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

// What the head alone costs at an answer, and what one more label costs.
void time_head(const Lesson& lesson, Json& line) {
  const std::vector<float> x(lesson.head->width, 0.5F);
  const std::size_t options = lesson.question->options.size();
  constexpr int kTimes = 200;
  auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kTimes; i++) {
    const Result<std::vector<double>> scores = teach::head_scores(*lesson.head, x, options, {});
    if (scores.ok() && !lesson.calibrations.empty()) (void)teach::calibrated(lesson.calibrations[0], *scores);
  }
  line["answer_extra_ms"] = seconds_since(begin) * 1e3 / kTimes;
}

TeachOptions teach_options(std::uint64_t seed) {
  TeachOptions options;
  options.learn = {.name = "bench", .created = "2026-01-01T00:00:00Z", .seed = seed};
  options.zero_shot_rows = 0;
  options.learning_curve = false;
  return options;
}

// Reads all states, many at a time, and says how fast.
void read_all(Decider& decider, const Task& task) {
  const auto begin = std::chrono::steady_clock::now();
  Question question = task.question;
  question.cues = {decision::built_in_cues()[0]};
  question.scored = false;
  const Status done = service::ask_all(
      decider, task.rows.size(), 16,
      [&](std::size_t i) {
        return DecisionRequest{.state = task.rows[i].state, .questions = {question}, .lesson = "none"};
      },
      [&](std::size_t i) { return task.rows[i].where; }, [](std::size_t, const Answer&) {}, "reading", {});
  if (!done.ok()) give_up(done.error().message);
  std::cout << Json({{"rows_read", task.rows.size()},
                     {"cues", decision::built_in_cues().size()},
                     {"reading_seconds", seconds_since(begin)}})
                   .dump()
            << std::endl;
}

void run_draws(Decider& decider, const Task& task, std::size_t seeds, const std::vector<std::size_t>& sizes,
               std::size_t held_out) {
  for (std::size_t seed = 1; seed <= seeds; seed++) {
    for (const std::size_t size : sizes) {
      std::vector<LabelledQuestion> taught;
      std::vector<LabelledQuestion> asked;
      draw(task, seed, size, held_out, taught, asked);
      const Result<TeachReport> report = learn_lesson(decider, task.question, taught, teach_options(seed));
      if (!report.ok()) give_up(report.error().message);
      const std::vector<Outcome> outcomes = ask(decider, report->learn.lesson, asked);
      Json line = {{"seed", seed},
                   {"labels_by_option", size},
                   {"labels", taught.size()},
                   {"asked", asked.size()},
                   {"accuracy", accuracy(outcomes)},
                   {"ece", expected_calibration_error(outcomes)},
                   {"ece_out_of_fold", expected_calibration_error(report->learn.after)},
                   {"cross_validated", report->learn.lesson.accuracy},
                   {"words_accuracy", report->words_accuracy},
                   {"search_and_fit_seconds", report->learn.fitting_seconds},
                   {"reading_seconds", report->learn.asking_seconds}};
      time_head(report->learn.lesson, line);
      std::cout << line.dump() << std::endl;
    }
  }
}

// Thresholds from one random half of the answers held out, the risk on the other half.
void run_risk(Decider& decider, const Task& task, std::size_t splits, std::size_t labels) {
  std::vector<LabelledQuestion> taught;
  std::vector<LabelledQuestion> asked;
  draw(task, 1, labels, 30, taught, asked);
  const Result<TeachReport> report = learn_lesson(decider, task.question, taught, teach_options(1));
  if (!report.ok()) give_up(report.error().message);
  const std::vector<Outcome> outcomes = ask(decider, report->learn.lesson, asked);
  std::size_t violated = 0;
  std::size_t violated_of_all = 0;
  std::size_t found = 0;
  double coverage = 0;
  double error = 0;
  for (std::size_t split = 0; split < splits; split++) {
    std::vector<std::size_t> places(outcomes.size());
    for (std::size_t i = 0; i < places.size(); i++) places[i] = i;
    teach::Random random(1000 + split);
    random.shuffle(places);
    std::vector<teach::RiskRow> rows;
    const auto row_of = [&](std::size_t i) {
      const Outcome& outcome = outcomes[i];
      return teach::RiskRow{.confidence = std::min(1.0, outcome.probabilities[outcome.predicted]),
                            .answered = 0,
                            .right = outcome.predicted == outcome.expected};
    };
    const std::size_t half = places.size() / 2;
    for (std::size_t i = 0; i < half; i++) rows.push_back(row_of(places[i]));
    const Result<std::vector<Threshold>> thresholds =
        teach::find_thresholds(rows, {.risk = 0.05, .level = 0.9, .by_option = false, .options = {}});
    if (!thresholds.ok()) give_up(thresholds.error().message);
    if (!thresholds->front().value) continue;
    found++;
    // On the other half, and on all answers as the population that both halves are drawn from.
    std::size_t acted = 0, wrong = 0, acted_of_all = 0, wrong_of_all = 0;
    for (std::size_t i = 0; i < places.size(); i++) {
      const teach::RiskRow row = row_of(places[i]);
      if (row.confidence < *thresholds->front().value) continue;
      acted_of_all++;
      wrong_of_all += row.right ? 0 : 1;
      if (i < half) continue;
      acted++;
      wrong += row.right ? 0 : 1;
    }
    const auto share = [](std::size_t part, std::size_t of) {
      return of == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(of);
    };
    const double rate = share(wrong, acted);
    violated += rate > 0.05 ? 1 : 0;
    violated_of_all += share(wrong_of_all, acted_of_all) > 0.05 ? 1 : 0;
    error += rate;
    coverage += static_cast<double>(acted) / static_cast<double>(places.size() - half);
  }
  const auto mean = [&](double sum) { return found == 0 ? 0 : sum / static_cast<double>(found); };
  std::cout << Json({{"splits", splits},
                     {"answers", outcomes.size()},
                     {"thresholds_found", found},
                     {"violated_share", static_cast<double>(violated) / static_cast<double>(splits)},
                     {"violated_share_of_all", static_cast<double>(violated_of_all) / static_cast<double>(splits)},
                     {"coverage", mean(coverage)},
                     {"error", mean(error)}})
                   .dump()
            << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) give_up("six arguments, as the top of teach_numbers.cc says");
  DeciderOptions options;
  options.model.path = argv[1];
  options.readout = Readout::kText;
  Result<std::unique_ptr<Decider>> opened = Decider::open(std::move(options));
  if (!opened.ok()) give_up(opened.error().message);
  Remembering decider(std::move(opened).value());
  const Task task = read_task(argv[2], argv[3]);
  read_all(decider, task);
  if (std::string(argv[4]) == "risk") {
    run_risk(decider, task, std::stoul(argv[5]), std::stoul(argv[6]));
    return 0;
  }
  std::vector<std::size_t> sizes;
  std::istringstream list(argv[5]);
  for (std::string size; std::getline(list, size, ',');) sizes.push_back(std::stoul(size));
  run_draws(decider, task, std::stoul(argv[4]), sizes, std::stoul(argv[6]));
  return 0;
}
