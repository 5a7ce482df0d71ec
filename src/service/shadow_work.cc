#include "service/shadow_work.h"

#include <utility>

namespace assay::service {

ShadowWork::ShadowWork(LessonDecider& decider, Told told)
    : decider_(decider), told_(std::move(told)), thread_([this] { loop(); }) {}

ShadowWork::~ShadowWork() {
  stop();
  thread_.join();
}

void ShadowWork::add(ShadowTask task) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (stopped_ || tasks_.size() >= kTasksMax) {
    dropped_++;
    return;
  }
  tasks_.push_back(std::move(task));
  changed_.notify_all();
}

void ShadowWork::wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return tasks_.empty() && !at_work_; });
}

void ShadowWork::stop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  stopped_ = true;
  dropped_ += tasks_.size();
  tasks_.clear();
  changed_.notify_all();
}

std::uint64_t ShadowWork::dropped() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return dropped_;
}

void ShadowWork::loop() {
  while (true) {
    ShadowTask task;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return stopped_ || !tasks_.empty(); });
      if (stopped_) return;
      task = std::move(tasks_.front());
      tasks_.pop_front();
      at_work_ = true;
    }
    const Result<DecisionReply> reply = decider_.decide_with(task.request, {task.shadow});
    if (reply.ok()) told_(task, reply->answers.front());  // else the server drains, or is too busy for it
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      at_work_ = false;
    }
    changed_.notify_all();
  }
}

}  // namespace assay::service
