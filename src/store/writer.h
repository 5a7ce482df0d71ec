#pragma once
// The one thread that writes to the store. Records are left with it and written in batches; a call waits until what it
// asked for is durable, and many calls at once share one commit.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "assay/error.h"
#include "store/database.h"
#include "store/decision_record.h"

namespace assay::store {

struct WriterOptions {
  Keep keep = Keep::kHashes;
  std::size_t records_max = 4096;             // waiting ones; at the limit new ones are dropped and counted
  std::size_t bytes_max = 64u * 1024 * 1024;  // about what they take in memory; as records_max
  std::size_t calls_max = 256;                // waiting ones; at the limit new ones are refused (kOverloaded)
  std::size_t batch_max = 512;                // records and calls in one transaction
  double batch_ms = 200;                      // how long a record waits for others when nobody calls
  double retry_ms = 1000;                     // after a batch that failed
  std::size_t decisions_max = 200'000;        // without feedback; 0: no limit
  std::int64_t age_ms_max = 0;                // of any decision; 0: no limit
  std::uint64_t states_bytes_max = 0;         // of kept bytes (kept_bytes.h); 0: no limit
  std::function<std::int64_t()> now_ms;       // Unix time; empty: the system's
};

struct WriterStats {
  std::size_t queued = 0;            // records not yet written
  std::uint64_t written = 0;         // records
  std::uint64_t dropped = 0;         // records that found the queue full
  std::uint64_t lost = 0;            // records that could not be written: broken, or not before the end
  std::uint64_t failed_batches = 0;  // were tried again
  std::uint64_t expired = 0;         // decisions removed for their number or age
  std::uint64_t state_bytes = 0;     // kept bytes, at most: what was erased since they were counted is still in it
  std::string last_error;            // of the last batch when it failed; else empty
};

// Thread-safe. Records and calls are done in the order in which they came.
class Writer {
 public:
  using Work = std::function<Status(Database& database)>;

  Writer(std::unique_ptr<Database> database, WriterOptions options);
  ~Writer();  // close()
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Never waits. False: the queue is full or closed and the record is dropped.
  bool record(DecisionRecord record);

  // Runs `work` in a transaction on the writer's thread and returns when it is durable, or with the error of the work
  // (which is then undone) or of the file. `decision_ids`: the decisions that it is about; they may still be waiting.
  // None: all that wait. A failed file fails a call at once; a record is kept and tried again.
  Status call(std::vector<std::string> decision_ids, Work work);

  // From now on the log beside the file is emptied after the next commit, so that what was erased is in neither.
  void empty_log() { log_owed_.store(true); }
  // Whether that could be done.
  bool log_is_empty() const { return !log_owed_.load(); }

  // Refuses what comes, writes what is there, ends the thread. Records that cannot be written then are lost.
  // Idempotent.
  void close();

  // So many bytes more are kept.
  void count_state_bytes(std::uint64_t bytes) { state_bytes_ += bytes; }

  WriterStats stats() const;
  std::int64_t now_ms() const;

 private:
  struct Call {
    std::vector<std::string> decision_ids;
    Work work;
    std::promise<Status> done;
  };
  using Item = std::variant<DecisionRecord, Call*>;  // a call lives on its caller's stack
  using Batch = std::vector<Item>;
  using Time = std::chrono::steady_clock::time_point;

  void loop();
  // Waits for a batch; false: closed and nothing is left.
  bool take(Batch& batch);
  bool is_due(Time now) const;
  Time wake_time() const;
  void write(Batch& batch);
  // Everything in one transaction, or with `without` the calls alone that are about none of these decisions. An error:
  // nothing was written.
  Status try_batch(Batch& batch, std::vector<Status>& results, const std::set<std::string>* without);
  Status apply(Item& item, Status& result);
  // After a failure: the calls that wait behind the batch join it, and all waiting records' ids come back.
  std::set<std::string> gather_calls(Batch& batch);
  void settle(Batch& batch, std::vector<Status>& results, const Status& written);
  void settle_record(const DecisionRecord& record, const Status& result);
  void expire();
  Status expire_all(std::uint64_t& erased);
  Status trim_states();
  Result<std::size_t> excess();
  Result<std::size_t> erase_some(std::int64_t before_ms, std::size_t unlabelled);
  void note_failure(const Error& error);
  void shorten_log();

  // Immutable.
  const WriterOptions options_;
  // The writer's thread only.
  const std::unique_ptr<Database> database_;
  Time expire_next_{};
  std::size_t unlabelled_ = 0;  // decisions without feedback, never fewer than there are
  // Shared.
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Item> items_;
  std::size_t records_ = 0;  // not yet written, those of the batch at work too
  std::size_t bytes_ = 0;
  std::size_t calls_ = 0;
  Time oldest_{};  // when the first of the items came
  Time retry_at_{};
  bool closed_ = false;
  bool was_full_ = false;
  WriterStats stats_;

  std::atomic<bool> log_owed_{false};
  std::atomic<std::uint64_t> state_bytes_{0};
  std::mutex join_mutex_;  // guards the join of thread_
  std::thread thread_;     // last: it starts when everything above is there
};

}  // namespace assay::store
