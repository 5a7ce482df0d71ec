#pragma once
// Lessons that are tried beside those that answer: computed behind the answers' back, as bulk work, so that no answer
// waits for it or changes by it.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "service/lesson_decider.h"

namespace assay::service {

// One question to be asked again.
struct ShadowTask {
  DecisionRequest request;  // of one question, without callbacks
  LessonPick shadow;
  std::string answered;      // the id of the option that the active lesson gave
  std::string decision_id;   // where the answer is kept; empty: it is not
  std::size_t question = 0;  // its place in the decision
};

// Thread-safe; one thread of its own computes. At kTasksMax waiting ones new ones are dropped.
class ShadowWork {
 public:
  static constexpr std::size_t kTasksMax = 256;
  // `told` gets each answer, on the thread. The decider outlives this.
  using Told = std::function<void(const ShadowTask& task, const Answer& answer)>;
  ShadowWork(LessonDecider& decider, Told told);
  ~ShadowWork();
  ShadowWork(const ShadowWork&) = delete;
  ShadowWork& operator=(const ShadowWork&) = delete;

  void add(ShadowTask task);
  // Returns when all that was added before has been told or dropped.
  void wait();
  // What waits is dropped, what runs is waited for; idempotent.
  void stop();
  std::uint64_t dropped() const;

 private:
  void loop();

  LessonDecider& decider_;
  const Told told_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<ShadowTask> tasks_;
  bool stopped_ = false;
  bool at_work_ = false;  // a task that is no longer in tasks_
  std::uint64_t dropped_ = 0;
  std::thread thread_;
};

}  // namespace assay::service
