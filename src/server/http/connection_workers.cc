// A thread is started whenever more connections wait than threads are idle, so that nobody waits behind a decision
// while the limit allows another thread.
#include "server/http/connection_workers.h"

#include <chrono>
#include <system_error>
#include <utility>

namespace assay::server {

ConnectionWorkers::ConnectionWorkers(const WorkerLimits& limits, std::function<void(std::unique_ptr<Connection>)> serve)
    : limits_(limits), serve_(std::move(serve)) {}

ConnectionWorkers::~ConnectionWorkers() { finish(); }

std::unique_ptr<Connection> ConnectionWorkers::add(std::unique_ptr<Connection> connection) {
  Threads ended;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const bool is_full = threads_.size() >= limits_.threads_max && waiting_.size() >= idle_ + limits_.waiting_max;
    if (finishing_ || is_full) return connection;
    waiting_.push_back(std::move(connection));
    if (waiting_.size() > idle_ && threads_.size() < limits_.threads_max) start_thread();
    if (threads_.empty()) {  // not even one could be started
      connection = std::move(waiting_.back());
      waiting_.pop_back();
      return connection;
    }
    ended.swap(ended_);
  }
  changed_.notify_one();
  for (std::thread& thread : ended) thread.join();
  return nullptr;
}

// REQUIRES: mutex_ is held.
void ConnectionWorkers::start_thread() {
  threads_.emplace_front();
  try {
    threads_.front() = std::thread([this, self = threads_.begin()] { work(self); });
  } catch (const std::system_error&) {
    threads_.pop_front();  // the threads that are there will serve it
  }
}

void ConnectionWorkers::work(Threads::iterator self) {
  std::unique_lock<std::mutex> lock(mutex_);
  const std::chrono::duration<double> longest(limits_.idle_seconds_max);
  for (;;) {
    idle_++;
    const bool has_work = changed_.wait_for(lock, longest, [this] { return !waiting_.empty() || finishing_; });
    idle_--;
    if (waiting_.empty()) {
      if (finishing_) return;
      if (!has_work && threads_.size() > limits_.threads_kept) {
        ended_.splice(ended_.begin(), threads_, self);
        return;
      }
      continue;
    }
    std::unique_ptr<Connection> connection = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    serve_(std::move(connection));
    lock.lock();
  }
}

void ConnectionWorkers::finish() {
  Threads all;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    finishing_ = true;
    all.swap(threads_);
    all.splice(all.end(), ended_);
  }
  changed_.notify_all();
  for (std::thread& thread : all) thread.join();
}

}  // namespace assay::server
