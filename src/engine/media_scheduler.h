#pragma once
// The thread that computes jobs with images, one after another in the order in which they came. It stands beside the
// scheduler's and takes turns with it at the compute gate, one turn for each piece of a job: nothing of the two is ever
// in one batch.

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "assay/error.h"
#include "base/clock.h"
#include "base/compute_gate.h"
#include "engine/media.h"

namespace assay::engine {

struct MediaSchedulerOptions {
  std::size_t queue_jobs_max = 256;  // jobs accepted and not yet answered
  double stuck_seconds = 120;        // a piece of work that takes longer makes it unhealthy
  ComputeGate* gate = nullptr;       // shared with whoever else computes on these cores; outlives the scheduler
};

// Thread-safe. Every accepted job is answered exactly once.
class MediaScheduler {
 public:
  static constexpr double kNoLimit = -1;

  // REQUIRES: decoder is not used by anyone else from now on; clock outlives this.
  MediaScheduler(std::unique_ptr<MediaDecoder> decoder, const Clock& clock, MediaSchedulerOptions options);
  ~MediaScheduler();  // drains without limit
  MediaScheduler(const MediaScheduler&) = delete;
  MediaScheduler& operator=(const MediaScheduler&) = delete;

  // Accepts a job or refuses it at once: kOverloaded (queue full), kUnavailable (draining), kInvalidArgument (no such
  // job). The future can also hold what MediaRun says, kDeadline, kCancelled and kUnavailable. Of the job's terms
  // deadline, cancelled and follows count; on_read is never called.
  Result<std::future<Result<MediaResult>>> submit(MediaJob job);

  // False after several jobs have failed in a row by the model's fault (only a restart helps), and while a piece of
  // work is stuck.
  bool healthy() const;
  std::size_t waiting() const;  // accepted, and nothing computed yet
  bool running() const { return running_.load(); }
  // True once a drain's grace is over.
  bool giving_up() const { return give_up_.load(); }
  // As Scheduler::drain(): what is not answered after grace_ms gets kUnavailable behind the piece that runs then.
  void drain(double grace_ms);

 private:
  static constexpr int kFailuresMax = 3;

  struct Work {
    MediaJob job;
    std::promise<Result<MediaResult>> promise;
    std::int64_t accepted_ns = 0;
  };

  void loop();
  std::unique_ptr<Work> next();
  Result<MediaResult> run(const Work& work);
  void drop_unwanted();
  std::optional<Error> unwanted(const Work& work) const;

  // Immutable.
  const Clock& clock_;
  const MediaLimits limits_;
  const MediaSchedulerOptions options_;
  // The thread's own.
  const std::unique_ptr<MediaDecoder> decoder_;
  // Shared.
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Work>> queue_;
  bool closed_ = false;
  bool ended_ = false;

  std::atomic<bool> give_up_{false};
  std::atomic<bool> running_{false};
  std::atomic<int> failures_in_a_row_{0};
  std::atomic<std::int64_t> piece_start_ns_{0};  // 0: none runs
  std::mutex join_mutex_;                        // guards the join of thread_
  std::thread thread_;                           // last: it starts when everything above is there
};

}  // namespace assay::engine
