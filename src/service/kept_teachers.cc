#include "service/kept_teachers.h"

#include <algorithm>

namespace assay::service {

bool same_fit(const LinearHead& a, const LinearHead& b) {
  return a.lambda == b.lambda && a.sharpness == b.sharpness && a.normalised == b.normalised && a.cues == b.cues &&
         a.mean == b.mean && a.scale == b.scale;
}

bool KeptTeacher::continues(const Lesson& lesson) const {
  return lesson.head && lesson.question && same_fit(before, *lesson.head) && question.text == lesson.question->text &&
         question.type == lesson.question->type && question.options == lesson.question->options;
}

std::size_t KeptTeacher::bytes() const {
  constexpr std::size_t kHashBytes = 64;
  constexpr std::size_t kNodeBytes = 64;  // of a map, about
  return (teacher ? teacher->bytes() : 0) + sizeof(float) * (before.mean.size() + before.scale.size()) +
         (rows.size() + questions.size() + other_questions.size()) * (kHashBytes + kNodeBytes) +
         labels.size() * kNodeBytes;
}

std::unique_ptr<KeptTeacher> KeptTeachers::take(const std::string& lesson) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.lesson == lesson; });
  if (found == entries_.end()) return nullptr;
  std::unique_ptr<KeptTeacher> out = std::move(found->teacher);
  bytes_ -= found->bytes;
  entries_.erase(found);
  return out;
}

void KeptTeachers::put(const std::string& lesson, std::unique_ptr<KeptTeacher> teacher) {
  static_cast<void>(take(lesson));
  const std::size_t bytes = teacher->bytes();
  if (bytes > bytes_max_ || count_max_ == 0) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  entries_.push_front({.lesson = lesson, .teacher = std::move(teacher), .bytes = bytes});
  bytes_ += bytes;
  while (bytes_ > bytes_max_ || entries_.size() > count_max_) {
    bytes_ -= entries_.back().bytes;
    entries_.pop_back();
  }
}

std::size_t KeptTeachers::count() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return entries_.size();
}

}  // namespace assay::service
