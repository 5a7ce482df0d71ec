// What tests/soak/feedback_kill.py starts and kills.
//
//   assay_feedback_kill_tool write PATH SEED PREFIX   records decisions and feedback on several threads until it is
//       killed; a line "? ID OPTION" before each call of add_feedback(), "! ID OPTION" once it was acknowledged; on
//       stderr "ready" when the store is open
//   assay_feedback_kill_tool check PATH   opens the same store and prints "ID OPTION CORRECTIONS" for each label

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "store/decision_store.h"

namespace {

using assay::Result;
using assay::store::AnswerRow;
using assay::store::DecisionRecord;
using assay::store::DecisionStore;

constexpr int kThreads = 3;
constexpr std::size_t kPage = 500;
const char* const kOptions[] = {"refund", "info", "other"};

DecisionRecord record_of(const std::string& id) {
  return {.id = id,
          .time_ms = 1'700'000'000'000,
          .state = "\"state of " + id + "\"",
          .receipt = std::nullopt,
          .answers = {{.question_id = "q",
                       .question = "What is wanted?",
                       .options = {{kOptions[0], std::nullopt}, {kOptions[1], std::nullopt}, {kOptions[2], "the rest"}},
                       .scores = {1, 2, 3},
                       .probabilities = {0.125, 0.25, 0.625},
                       .best = 2,
                       .confidence = 0.5}}};
}

// One write for one line, so that a line is whole or not there.
void say(std::string line) {
  line += '\n';
  if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::_Exit(3);
}

void give_feedback(DecisionStore& store, const std::string& id, const char* option) {
  say("? " + id + " " + option);
  const auto result = store.add_feedback({.decision_id = id, .question_id = "q", .option = option, .note = ""});
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", result.error().message.c_str());
    std::_Exit(4);
  }
  say("! " + id + " " + option);
}

void write_for_ever(DecisionStore& store, std::mt19937 random, const std::string& prefix) {
  for (int i = 0;; i++) {
    const std::string id = prefix + "-" + std::to_string(i);
    store.record(record_of(id));
    if (random() % 4 == 0) continue;  // nobody says anything of it
    give_feedback(store, id, kOptions[random() % 3]);
    while (random() % 4 == 0) give_feedback(store, id, kOptions[random() % 3]);
  }
}

int check(DecisionStore& store) {
  for (std::optional<std::int64_t> after;;) {
    const Result<std::vector<AnswerRow>> page = store.answers({.fingerprint = "", .labelled_only = true}, after, kPage);
    if (!page.ok()) {
      std::fprintf(stderr, "%s\n", page.error().message.c_str());
      return 1;
    }
    if (page->empty()) return 0;
    for (const AnswerRow& row : *page) {
      const assay::store::Label& label = *row.answer.label;
      say(row.decision_id + " " + row.answer.options[label.option].id + " " + std::to_string(label.corrections));
      after = row.place;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 2 ? argv[1] : "";
  if ((mode != "write" || argc != 5) && mode != "check") return 2;
  const auto store = DecisionStore::open(argv[2], {.writer = {.batch_ms = 5}});
  if (!store.ok()) {
    std::fprintf(stderr, "%s\n", store.error().message.c_str());
    return 1;
  }
  if (mode == "check") return check(**store);
  std::fputs("ready\n", stderr);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++) {
    const auto seed = static_cast<unsigned>(std::strtoul(argv[3], nullptr, 10) + static_cast<unsigned>(t));
    const std::string prefix = std::string(argv[4]) + "-" + std::to_string(t);
    threads.emplace_back([&store, seed, prefix] { write_for_ever(**store, std::mt19937(seed), prefix); });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}
