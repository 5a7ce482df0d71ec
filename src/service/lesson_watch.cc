#include "service/lesson_watch.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/log.h"

namespace assay::service {
namespace {

constexpr double kFormat = 1;

// What was measured on n labelled rows may be off by two standard errors of a number in [0, 1] before it counts.
double tolerance_of(std::size_t rows) {
  return std::min(1.0, 1 / std::sqrt(static_cast<double>(std::max<std::size_t>(1, rows))));
}

// Half of the rate for each of the two tests, so that both together keep it.
std::optional<teach::DriftTest> test_of(double expected, std::size_t rows, double false_alarm_rate) {
  Result<teach::DriftTest> test = teach::DriftTest::open(
      {.expected_mean = expected, .tolerance = tolerance_of(rows), .false_alarm_rate = false_alarm_rate / 2});
  if (!test.ok()) return std::nullopt;
  return *test;
}

void append_test(const std::optional<teach::DriftTest>& test, std::vector<double>& out) {
  out.push_back(test ? 1 : 0);
  if (!test) return;
  const teach::DriftState& state = test->state();
  out.insert(out.end(), {static_cast<double>(state.count), state.mean, state.log_evidence, state.alarm ? 1.0 : 0.0});
  out.insert(out.end(), state.log_wealth.begin(), state.log_wealth.end());
}

// Takes numbers one after another; behind the last come NaNs.
class NumberReader {
 public:
  explicit NumberReader(const std::vector<double>& numbers) : numbers_(numbers) {}

  double next() {
    if (at_ < numbers_.size()) return numbers_[at_++];
    is_good_ = false;
    return std::numeric_limits<double>::quiet_NaN();
  }
  std::uint64_t count() {
    const double number = next();
    if (number >= 0 && number <= kCountMax) return static_cast<std::uint64_t>(number);
    is_good_ = false;
    return 0;
  }
  bool at_end() const { return is_good_ && at_ == numbers_.size(); }

 private:
  static constexpr double kCountMax = 9007199254740992;  // 2^53: whole numbers of a double
  const std::vector<double>& numbers_;
  std::size_t at_ = 0;
  bool is_good_ = true;
};

// The settings stay those of the test that is there; false: there is none, or nothing that it can go on from.
bool read_test(NumberReader& in, std::optional<teach::DriftTest>& test) {
  const bool was_tested = in.next() == 1;
  if (was_tested != test.has_value()) return false;
  if (!was_tested) return true;
  teach::DriftState state = test->state();
  state.count = in.count();
  state.mean = in.next();
  state.log_evidence = in.next();
  state.alarm = in.next() == 1;
  for (double& wealth : state.log_wealth) wealth = in.next();
  Result<teach::DriftTest> resumed = teach::DriftTest::resume(state);
  if (!resumed.ok()) return false;
  test = *resumed;
  return true;
}

}  // namespace

LessonWatch::Watched& LessonWatch::watched(const ShelvedLesson& shelved) {
  const auto [at, is_new] = by_file_.try_emplace(shelved.sha256);
  if (!is_new) return at->second;
  const Lesson& lesson = shelved.lesson;
  if (lesson.mean_confidence >= 0)
    at->second.confidence = test_of(lesson.mean_confidence, lesson.labels, false_alarm_rate_);
  if (lesson.thresholds.size() == 1 && lesson.thresholds.front().value)
    at->second.action = test_of(lesson.thresholds.front().coverage, lesson.thresholds.front().rows, false_alarm_rate_);
  return at->second;
}

void LessonWatch::count(const ShelvedLesson& lesson, const Answer& answer) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Watched& now = watched(lesson);
  const bool drifted = (now.confidence && now.confidence->alarm()) || (now.action && now.action->alarm());
  now.counts.answers++;
  if (answer.lesson.action == Action::kAct) now.counts.acted++;
  if (answer.lesson.action == Action::kEscalate) now.counts.escalated++;
  if (answer.abstained) now.counts.abstained++;
  const double confidence = answer.options[answer.best].probability;
  now.counts.confidence_sum += confidence;
  if (now.confidence) now.confidence->add(confidence);
  if (now.action) now.action->add(answer.lesson.action == Action::kAct ? 1 : 0);
  const bool drifts = (now.confidence && now.confidence->alarm()) || (now.action && now.action->alarm());
  if (drifts && !drifted)
    log_line(LogLevel::kWarn, "lesson " + lesson.lesson.name + " version " + std::to_string(lesson.lesson.version) +
                                  ": what is asked differs from what it was learnt from (drift)");
}

void LessonWatch::compare(const ShelvedLesson& shadow, bool same) {
  const std::lock_guard<std::mutex> lock(mutex_);
  WatchCounts& counts = watched(shadow).counts;
  counts.compared++;
  if (same) counts.agreed++;
}

WatchCounts LessonWatch::counts(const ShelvedLesson& lesson) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = by_file_.find(lesson.sha256);
  return found == by_file_.end() ? WatchCounts{} : found->second.counts;
}

// The format's number; the counts; for each of the two tests 1 and its state, or 0 where there is none.
std::vector<double> LessonWatch::numbers(const ShelvedLesson& lesson) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = by_file_.find(lesson.sha256);
  const Watched watched = found == by_file_.end() ? Watched{} : found->second;
  const WatchCounts& counts = watched.counts;
  std::vector<double> out = {kFormat};
  for (const std::uint64_t count :
       {counts.answers, counts.acted, counts.escalated, counts.abstained, counts.compared, counts.agreed})
    out.push_back(static_cast<double>(count));
  out.push_back(counts.confidence_sum);
  append_test(watched.confidence, out);
  append_test(watched.action, out);
  return out;
}

bool LessonWatch::restore(const ShelvedLesson& lesson, const std::vector<double>& numbers) {
  NumberReader in(numbers);
  if (in.next() != kFormat) return false;
  WatchCounts counts;
  for (std::uint64_t* const count :
       {&counts.answers, &counts.acted, &counts.escalated, &counts.abstained, &counts.compared, &counts.agreed})
    *count = in.count();
  counts.confidence_sum = in.next();
  const std::lock_guard<std::mutex> lock(mutex_);
  by_file_.erase(lesson.sha256);
  Watched& now = watched(lesson);
  std::optional<teach::DriftTest> confidence = now.confidence;
  std::optional<teach::DriftTest> action = now.action;
  if (!read_test(in, confidence) || !read_test(in, action) || !in.at_end()) return false;
  now = {.counts = counts, .confidence = confidence, .action = action};
  return true;
}

WatchDrift LessonWatch::drift(const ShelvedLesson& lesson) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  WatchDrift drift;
  const auto found = by_file_.find(lesson.sha256);
  if (found == by_file_.end()) return drift;
  if (found->second.confidence) drift.confidence = found->second.confidence->state();
  if (found->second.action) drift.action = found->second.action->state();
  return drift;
}

}  // namespace assay::service
