// What bench/teach.py runs: lessons from random labels of a labelled file, and what they are worth on other rows. Each
// state's hidden states are read once, so that many draws cost one reading.
//
//   teach_numbers MODEL ROWS.jsonl QUESTION SEEDS LABELS[,LABELS…] HELD_OUT     one JSON line for each draw
//   teach_numbers MODEL ROWS.jsonl QUESTION risk SPLITS LABELS                  one JSON line for each kind of promise
//   teach_numbers MODEL ROWS.jsonl QUESTION prior SEED LABELS[,LABELS…]         two JSON lines for each number of
//   labels
//
// LABELS: rows of each option that are taught, HELD_OUT: other rows of each option that are asked afterwards.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "assay/teaching.h"
#include "bench/teach_rows.h"
#include "decision/cue.h"
#include "service/learning_rows.h"
#include "service/lesson_answer.h"
#include "service/lesson_choice.h"
#include "teach/apply.h"
#include "teach/features.h"
#include "teach/folds.h"
#include "teach/head.h"
#include "teach/prior_choice.h"
#include "teach/risk.h"

namespace {

using namespace assay;         // NOLINT(google-build-using-namespace): a program of one file
using namespace assay::bench;  // NOLINT(google-build-using-namespace)
using Json = nlohmann::json;

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
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

// Reads these rows' states, many at a time, and says how fast.
void read_all(Decider& decider, const std::vector<LabelledQuestion>& rows) {
  const auto begin = std::chrono::steady_clock::now();
  Question question = rows.front().question;
  question.cues = {decision::built_in_cues()[0]};
  question.scored = false;
  const Status done = service::ask_all(
      decider, rows.size(), 16,
      [&](std::size_t i) { return DecisionRequest{.state = rows[i].state, .questions = {question}, .lesson = "none"}; },
      [&](std::size_t i) { return rows[i].where; }, [](std::size_t, const Answer&) {}, "reading", {});
  if (!done.ok()) give_up(done.error().message);
  std::cout << Json({{"rows_read", rows.size()},
                     {"cues", decision::built_in_cues().size()},
                     {"reading_seconds", seconds_since(begin)}})
                   .dump()
            << std::endl;
}

// The rows that run_draws() needs.
std::vector<LabelledQuestion> rows_of_draws(const Task& task, std::size_t seeds, const std::vector<std::size_t>& sizes,
                                            std::size_t held_out) {
  std::vector<LabelledQuestion> out;
  std::set<std::string> known;
  for (std::size_t seed = 1; seed <= seeds; seed++) {
    std::vector<LabelledQuestion> rows;
    draw(task, seed, *std::max_element(sizes.begin(), sizes.end()), held_out, rows, rows);
    for (LabelledQuestion& row : rows) {
      if (known.insert(row.where).second) out.push_back(std::move(row));
    }
  }
  return out;
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
                   {"ece_out_of_fold", report->learn.lesson.calibrations.front().ece_after},
                   {"cross_validated", report->learn.lesson.accuracy},
                   {"words_accuracy", report->words_accuracy},
                   {"search_and_fit_seconds", report->learn.fitting_seconds},
                   {"reading_seconds", report->learn.asking_seconds}};
      time_head(report->learn.lesson, line);
      std::cout << line.dump() << std::endl;
    }
  }
}

// Of rows that were not taught: the lesson's scores with each weight of the zero-shot readout.
Json held_out_by_weight(Decider& decider, const Lesson& lesson, const std::vector<LabelledQuestion>& rows) {
  constexpr double kWeights[] = {0, 0.25, 0.5, 1};
  std::vector<std::vector<std::vector<double>>> scores(std::size(kWeights));
  for (const LabelledQuestion& row : rows) {
    Question with_cues = row.question;
    with_cues.cues = lesson.head->cues;
    with_cues.scored = false;
    const auto states = decider.decide({.state = row.state, .questions = {with_cues}, .lesson = "none"});
    const auto zero_shot = decider.decide({.state = row.state, .questions = {row.question}, .lesson = "none"});
    if (!states.ok() || !zero_shot.ok()) give_up((states.ok() ? zero_shot.error() : states.error()).message);
    std::vector<float> x;
    for (const std::vector<float>& state : states->answers[0].cue_states) x.insert(x.end(), state.begin(), state.end());
    LinearHead head = *lesson.head;
    for (std::size_t w = 0; w < std::size(kWeights); w++) {
      head.prior_weight = kWeights[w];
      auto made =
          teach::head_scores(head, x, row.question.options.size(), service::log_probabilities(zero_shot->answers[0]));
      if (!made.ok()) give_up(made.error().message);
      scores[w].push_back(std::move(*made));
    }
  }
  Json out = Json::array();
  for (std::size_t w = 0; w < std::size(kWeights); w++) {
    std::vector<teach::ScoredLabel> labels;
    for (std::size_t i = 0; i < rows.size(); i++) labels.push_back({scores[w][i], rows[i].expected});
    const teach::Measured measured = teach::measure(labels);
    out.push_back({{"weight", kWeights[w]}, {"accuracy", measured.accuracy}, {"log_loss", measured.log_loss}});
  }
  return out;
}

// What the zero-shot readout as prior is worth: as teaching finds it on rows left out of the head, and on other rows.
void run_prior(Decider& decider, const Task& task, std::uint64_t seed, const std::vector<std::size_t>& sizes) {
  constexpr std::size_t kHeldOut = 3;
  for (const std::size_t size : sizes) {
    std::vector<LabelledQuestion> taught;
    std::vector<LabelledQuestion> asked;
    draw(task, seed, size, kHeldOut, taught, asked);
    TeachOptions options = teach_options(seed);
    options.zero_shot_rows = 200;
    const Result<TeachReport> report = learn_lesson(decider, task.question, taught, options);
    if (!report.ok()) give_up(report.error().message);
    Json tried = Json::array();
    for (const TriedPrior& prior : report->priors)
      tried.push_back({{"weight", prior.weight},
                       {"log_loss", prior.log_loss},
                       {"accuracy", prior.accuracy},
                       {"change", prior.change},
                       {"change_error", prior.change_error}});
    std::cout << Json({{"seed", seed},
                       {"labels_by_option", size},
                       {"rows", report->prior_rows},
                       {"taken", report->learn.lesson.head->prior_weight},
                       {"left_out", tried}})
                     .dump()
              << std::endl;
    std::cout << Json({{"seed", seed},
                       {"labels_by_option", size},
                       {"asked", asked.size()},
                       {"held_out", held_out_by_weight(decider, report->learn.lesson, asked)}})
                     .dump()
              << std::endl;
  }
}

// How the thresholds from random halves of answers did on the other halves.
struct SplitTotals {
  std::size_t found = 0;
  // More than the risk wrong among those acted on: of the next kNextAnswers in the other half, of all in the other
  // half, and of all answers, which are the population that both halves are drawn from.
  std::size_t next_violated = 0, half_violated = 0, all_violated = 0;
  std::size_t fewer_acted = 0;     // splits whose other half acted on fewer than kNextAnswers
  double coverage = 0, error = 0;  // sums, of the other half
};

constexpr double kRisk = 0.05;
constexpr std::size_t kNextAnswers = 400;

struct Acted {
  std::size_t count = 0, wrong = 0;
  double share() const { return count == 0 ? 0.0 : static_cast<double>(wrong) / static_cast<double>(count); }
  void add(bool right) {
    count++;
    wrong += right ? 0 : 1;
  }
};

// `rows` in random order: the first half finds the threshold.
void add_split(const std::vector<teach::RiskRow>& rows, std::size_t horizon, SplitTotals& totals) {
  const std::size_t half = rows.size() / 2;
  const Result<std::vector<Threshold>> thresholds =
      teach::find_thresholds(std::span(rows).first(half),
                             {.risk = kRisk, .level = 0.9, .by_option = false, .options = {}, .horizon = horizon});
  if (!thresholds.ok()) give_up(thresholds.error().message);
  if (!thresholds->front().value) return;
  totals.found++;
  Acted next, other, all;
  for (std::size_t i = 0; i < rows.size(); i++) {
    if (rows[i].confidence < *thresholds->front().value) continue;
    all.add(rows[i].right);
    if (i < half) continue;
    other.add(rows[i].right);
    if (next.count < kNextAnswers) next.add(rows[i].right);
  }
  totals.next_violated += next.share() > kRisk ? 1 : 0;
  totals.half_violated += other.share() > kRisk ? 1 : 0;
  totals.all_violated += all.share() > kRisk ? 1 : 0;
  totals.fewer_acted += next.count < kNextAnswers ? 1 : 0;
  totals.error += other.share();
  totals.coverage += static_cast<double>(other.count) / static_cast<double>(rows.size() - half);
}

void run_risk(Decider& decider, const Task& task, std::size_t splits, std::size_t labels) {
  std::vector<LabelledQuestion> taught;
  std::vector<LabelledQuestion> asked;
  draw(task, 1, labels, 30, taught, asked);
  const Result<TeachReport> report = learn_lesson(decider, task.question, taught, teach_options(1));
  if (!report.ok()) give_up(report.error().message);
  std::vector<teach::RiskRow> answers;
  for (const Outcome& outcome : ask(decider, report->learn.lesson, asked))
    answers.push_back({.confidence = std::min(1.0, outcome.probabilities[outcome.predicted]),
                       .answered = 0,
                       .right = outcome.predicted == outcome.expected});
  for (const std::size_t horizon : {std::size_t{0}, kNextAnswers}) {
    SplitTotals totals;
    for (std::size_t split = 0; split < splits; split++) {
      std::vector<std::size_t> places(answers.size());
      for (std::size_t i = 0; i < places.size(); i++) places[i] = i;
      teach::Random random(1000 + split);
      random.shuffle(places);
      std::vector<teach::RiskRow> rows;
      for (const std::size_t place : places) rows.push_back(answers[place]);
      add_split(rows, horizon, totals);
    }
    const auto of_splits = [&](std::size_t count) { return static_cast<double>(count) / static_cast<double>(splits); };
    const auto mean = [&](double sum) { return totals.found == 0 ? 0 : sum / static_cast<double>(totals.found); };
    std::cout << Json({{"horizon", horizon},
                       {"splits", splits},
                       {"answers", answers.size()},
                       {"thresholds_found", totals.found},
                       {"next_answers", kNextAnswers},
                       {"fewer_acted", totals.fewer_acted},
                       {"violated_share_of_next", of_splits(totals.next_violated)},
                       {"violated_share", of_splits(totals.half_violated)},
                       {"violated_share_of_all", of_splits(totals.all_violated)},
                       {"coverage", mean(totals.coverage)},
                       {"error", mean(totals.error)}})
                     .dump()
              << std::endl;
  }
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
  const std::string mode = argv[4];
  std::vector<std::size_t> sizes;
  std::istringstream list(mode == "prior" ? argv[6] : argv[5]);
  for (std::string size; std::getline(list, size, ',');) sizes.push_back(std::stoul(size));
  if (mode == "prior") {
    run_prior(decider, task, std::stoul(argv[5]), sizes);
    return 0;
  }
  if (mode == "risk") {
    read_all(decider, task.rows);
    run_risk(decider, task, std::stoul(argv[5]), std::stoul(argv[6]));
  } else {
    read_all(decider, rows_of_draws(task, std::stoul(mode), sizes, std::stoul(argv[6])));
    run_draws(decider, task, std::stoul(mode), sizes, std::stoul(argv[6]));
  }
  return 0;
}
