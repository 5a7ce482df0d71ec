// Order is everything here: a call stands behind the records that came before it, so feedback finds a decision that was
// never flushed. A batch is one transaction with a savepoint for each item, so one that breaks a rule takes nothing
// else with it. When the file fails, records go back to the front, and no call waits for its recovery.

#include "store/writer.h"

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

#include "base/log.h"
#include "store/decision_rows.h"
#include "store/kept_bytes.h"

namespace assay::store {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kExpiredAtOnce = 256;  // decisions in one transaction
constexpr auto kExpireEvery = std::chrono::minutes(1);

steady_clock::duration milliseconds(double ms) {
  return std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double, std::milli>(ms));
}

// Whether a call that is about these decisions needs one of the waiting ones.
bool needs_any(const std::vector<std::string>& decision_ids, const std::set<std::string>& waiting) {
  return decision_ids.empty() || std::any_of(decision_ids.begin(), decision_ids.end(),
                                             [&waiting](const std::string& id) { return waiting.contains(id); });
}

}  // namespace

Writer::Writer(std::unique_ptr<Database> database, WriterOptions options)
    : options_(std::move(options)), database_(std::move(database)), thread_([this] { loop(); }) {}

Writer::~Writer() { close(); }

std::int64_t Writer::now_ms() const {
  if (options_.now_ms) return options_.now_ms();
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

bool Writer::record(DecisionRecord record) {
  const std::size_t bytes = bytes_in_memory(record);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (closed_ || records_ >= options_.records_max || bytes_ + bytes > options_.bytes_max) {
      ++stats_.dropped;
      if (!was_full_)
        log_line(LogLevel::kWarn, "the decision log's queue is full: decisions are answered and not kept");
      was_full_ = true;
      return false;
    }
    if (items_.empty()) oldest_ = steady_clock::now();
    ++records_;
    bytes_ += bytes;
    items_.emplace_back(std::move(record));
  }
  changed_.notify_one();
  return true;
}

Status Writer::call(std::vector<std::string> decision_ids, Work work) {
  Call call{.decision_ids = std::move(decision_ids), .work = std::move(work), .done = {}};
  std::future<Status> done = call.done.get_future();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (closed_) return Error{ErrorCode::kUnavailable, "the store of decisions is closed", ""};
    if (calls_ >= options_.calls_max) {
      return Error{ErrorCode::kOverloaded,
                   "too many changes of kept decisions at once; the limit is " + std::to_string(options_.calls_max), "",
                   1};
    }
    if (items_.empty()) oldest_ = steady_clock::now();
    ++calls_;
    items_.emplace_back(&call);
  }
  changed_.notify_one();
  return done.get();
}

void Writer::close() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
  }
  changed_.notify_one();
  const std::lock_guard<std::mutex> lock(join_mutex_);
  if (thread_.joinable()) thread_.join();
}

WriterStats Writer::stats() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  WriterStats out = stats_;
  out.queued = records_;
  out.state_bytes = state_bytes_.load();
  return out;
}

void Writer::loop() {
  const Result<std::int64_t> count = database_->integer_of("SELECT count(*) FROM decision WHERE labelled = 0");
  unlabelled_ = count.ok() ? static_cast<std::size_t>(*count) : 0;
  if (const Result<std::uint64_t> bytes = count_bytes(*database_); bytes.ok()) state_bytes_ += *bytes;
  for (Batch batch; take(batch); batch.clear()) {
    if (!batch.empty()) write(batch);
    expire();
  }
  if (log_owed_.load()) shorten_log();
}

bool Writer::is_due(Time now) const {
  if (options_.age_ms_max > 0 && now >= expire_next_) return true;
  if (items_.empty()) return false;
  if (calls_ > 0 || closed_) return true;
  return now >= retry_at_ && (items_.size() >= options_.batch_max || now >= oldest_ + milliseconds(options_.batch_ms));
}

Writer::Time Writer::wake_time() const {
  Time out = Time::max();
  if (options_.age_ms_max > 0) out = expire_next_;
  if (!items_.empty()) out = std::min(out, std::max(retry_at_, oldest_ + milliseconds(options_.batch_ms)));
  return out;
}

bool Writer::take(Batch& batch) {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!is_due(steady_clock::now())) {
    if (closed_ && items_.empty()) return false;
    const Time wake = wake_time();
    if (wake == Time::max()) {
      changed_.wait(lock);
    } else {
      changed_.wait_until(lock, wake);
    }
  }
  while (!items_.empty() && batch.size() < options_.batch_max) {
    if (std::holds_alternative<Call*>(items_.front())) --calls_;
    batch.push_back(std::move(items_.front()));
    items_.pop_front();
  }
  return true;
}

void Writer::write(Batch& batch) {
  std::vector<Status> results(batch.size());
  const Status written = try_batch(batch, results, nullptr);
  if (written.ok()) {
    if (log_owed_.load()) shorten_log();
    settle(batch, results, written);
    return;
  }
  note_failure(written.error());
  const std::set<std::string> waiting = gather_calls(batch);
  results.assign(batch.size(), written);
  // A full disk may have room for what erases or is small. A lock was waited for long enough.
  if (written.error().code != ErrorCode::kUnavailable && !try_batch(batch, results, &waiting).ok()) {
    results.assign(batch.size(), written);
  }
  if (log_owed_.load()) shorten_log();
  settle(batch, results, written);
}

std::set<std::string> Writer::gather_calls(Batch& batch) {
  std::set<std::string> ids;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Item& item : items_) {
    if (std::holds_alternative<Call*>(item)) {
      batch.push_back(item);
      --calls_;
    } else {
      ids.insert(std::get<DecisionRecord>(item).id);
    }
  }
  std::erase_if(items_, [](const Item& item) { return std::holds_alternative<Call*>(item); });
  for (const Item& item : batch) {
    if (const DecisionRecord* record = std::get_if<DecisionRecord>(&item)) ids.insert(record->id);
  }
  return ids;
}

Status Writer::try_batch(Batch& batch, std::vector<Status>& results, const std::set<std::string>* without) {
  try {
    Transaction transaction(*database_);
    if (Status begun = transaction.begin(); !begun.ok()) return begun;
    for (std::size_t i = 0; i < batch.size(); i++) {
      if (without != nullptr) {
        Call* const* call = std::get_if<Call*>(&batch[i]);
        if (call == nullptr || needs_any((*call)->decision_ids, *without)) continue;
      }
      if (Status applied = apply(batch[i], results[i]); !applied.ok()) return applied;
    }
    return transaction.commit();
  } catch (const std::exception& thrown) {
    return Error{ErrorCode::kOutOfMemory, std::string("writing to the store failed: ") + thrown.what(), ""};
  }
}

Status Writer::apply(Item& item, Status& result) {
  if (Status begun = database_->execute("SAVEPOINT item"); !begun.ok()) return begun;
  if (const DecisionRecord* record = std::get_if<DecisionRecord>(&item)) {
    const Result<bool> inserted = insert_decision(*database_, *record, options_.keep);
    result = inserted.ok() ? Status() : Status(inserted.error());
  } else {
    result = std::get<Call*>(item)->work(*database_);
  }
  if (result.ok()) return database_->execute("RELEASE item");
  if (is_of_file(result.error())) return result.error();
  return database_->execute("ROLLBACK TO item; RELEASE item");
}

// Calls get their answers; records that were not written go back to the front, or are lost when the end has come.
void Writer::settle(Batch& batch, std::vector<Status>& results, const Status& written) {
  Batch back;
  std::vector<std::pair<std::promise<Status>, Status>> answers;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (std::size_t i = 0; i < batch.size(); i++) {
      if (Call* const* call = std::get_if<Call*>(&batch[i])) {
        answers.emplace_back(std::move((*call)->done), std::move(results[i]));
      } else if (!written.ok() && !closed_) {
        back.push_back(std::move(batch[i]));
      } else {
        settle_record(std::get<DecisionRecord>(batch[i]), written.ok() ? results[i] : written);
      }
    }
    for (auto item = back.rbegin(); item != back.rend(); ++item) items_.push_front(std::move(*item));
    if (written.ok()) {
      if (!stats_.last_error.empty()) log_line(LogLevel::kInfo, "the decision log can be written again");
      stats_.last_error.clear();
      was_full_ = false;
      retry_at_ = {};
    } else {
      retry_at_ = steady_clock::now() + milliseconds(options_.retry_ms);
    }
  }
  // The promises are ours by now: whoever waits may be gone before set_value() returns.
  for (auto& [done, result] : answers) done.set_value(std::move(result));
}

void Writer::settle_record(const DecisionRecord& record, const Status& result) {
  --records_;
  bytes_ -= bytes_in_memory(record);
  if (result.ok()) {
    ++stats_.written;
    ++unlabelled_;
    for (const AnswerRecord& answer : record.answers) {
      for (const StoredBytes& bytes : answer.bytes) count_state_bytes(bytes.bytes.size());
    }
    return;
  }
  ++stats_.lost;
  log_line(LogLevel::kError, "a decision could not be kept: " + result.error().message);
}

void Writer::note_failure(const Error& error) {
  const std::lock_guard<std::mutex> lock(mutex_);
  ++stats_.failed_batches;
  if (stats_.last_error.empty()) log_line(LogLevel::kWarn, "the decision log waits: " + error.message);
  stats_.last_error = error.message;
}

// One transaction's worth: decisions of before a time, and after them so many of the oldest without feedback.
Result<std::size_t> Writer::erase_some(std::int64_t before_ms, std::size_t unlabelled) {
  Transaction transaction(*database_);
  if (Status begun = transaction.begin(); !begun.ok()) return begun.error();
  const Result<std::size_t> old = erase_older(*database_, before_ms, kExpiredAtOnce);
  if (!old.ok()) return old.error();
  const Result<std::size_t> more = erase_unlabelled(*database_, std::min(unlabelled, kExpiredAtOnce));
  if (!more.ok()) return more.error();
  if (Status committed = transaction.commit(); !committed.ok()) return committed.error();
  return *old + *more;
}

// How many decisions without feedback are one too many. One in a hundred more goes with them, so that this is rare.
Result<std::size_t> Writer::excess() {
  const Result<std::int64_t> count = database_->integer_of("SELECT count(*) FROM decision WHERE labelled = 0");
  if (!count.ok()) return count.error();
  unlabelled_ = static_cast<std::size_t>(*count);
  if (unlabelled_ <= options_.decisions_max) return std::size_t{0};
  return unlabelled_ - (options_.decisions_max - options_.decisions_max / 100);
}

Status Writer::expire_all(std::uint64_t& erased) {
  const std::int64_t before_ms =
      options_.age_ms_max > 0 ? now_ms() - options_.age_ms_max : std::numeric_limits<std::int64_t>::min();
  for (;;) {
    const bool many = options_.decisions_max > 0 && unlabelled_ > options_.decisions_max;
    const Result<std::size_t> unlabelled = many ? excess() : Result<std::size_t>(std::size_t{0});
    if (!unlabelled.ok()) return unlabelled.error();
    const Result<std::size_t> some = erase_some(before_ms, *unlabelled);
    if (!some.ok()) return some.error();
    if (*some == 0) return {};
    erased += *some;
  }
}

// Counts what is there, and erases what is too much.
Status Writer::trim_states() {
  Transaction transaction(*database_);
  if (Status begun = transaction.begin(); !begun.ok()) return begun;
  const Result<std::uint64_t> left = trim_bytes(*database_, options_.states_bytes_max);
  if (!left.ok()) return left.error();
  if (Status committed = transaction.commit(); !committed.ok()) return committed;
  state_bytes_.store(*left);
  return {};
}

void Writer::expire() {
  if (options_.states_bytes_max > 0 && state_bytes_.load() > options_.states_bytes_max) {
    const Status trimmed = trim_states();
    if (!trimmed.ok()) note_failure(trimmed.error());
    log_owed_.store(true);
    shorten_log();
  }
  const Time now = steady_clock::now();
  const bool old = options_.age_ms_max > 0 && now >= expire_next_;
  const bool many = options_.decisions_max > 0 && unlabelled_ > options_.decisions_max;
  if (!old && !many) return;
  expire_next_ = now + kExpireEvery;
  std::uint64_t erased = 0;
  const Status done = expire_all(erased);
  if (!done.ok()) note_failure(done.error());
  if (erased == 0) return;
  log_owed_.store(true);
  shorten_log();
  const std::lock_guard<std::mutex> lock(mutex_);
  stats_.expired += erased;
}

// What was erased is overwritten in the file (secure_delete), but the log may hold pages as they were before.
void Writer::shorten_log() {
  const Result<std::int64_t> busy = database_->integer_of("PRAGMA wal_checkpoint(TRUNCATE)");
  if (busy.ok() && *busy == 0) log_owed_.store(false);
}

}  // namespace assay::store
