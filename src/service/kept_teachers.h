#pragma once
// What a server keeps in memory of its lessons between one label and the next, so that the next costs one product.

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "assay/lesson.h"
#include "service/lesson_folder.h"
#include "teach/lda_teacher.h"

namespace assay::service {

// A teacher with all rows of a lesson, and which rows these are. A value of one thread at a time.
struct KeptTeacher {
  LinearHead before;  // what its heads continue; no weights
  LessonQuestion question;
  std::unique_ptr<teach::LdaTeacher> teacher;
  std::unordered_map<std::string, std::size_t> rows;  // the option of each labelled row, by its state's SHA-256
  std::vector<std::size_t> rows_by_option;
  FileMark rows_file;
  std::map<std::int64_t, std::size_t> labels;  // that were taken in or left out, by answer: the place in its question
  std::set<std::string> questions;             // fingerprints in the store: the lesson's question
  std::set<std::string> other_questions;       // and others
  std::size_t left_out = 0;
  std::string written;  // SHA-256 of the version that has just these rows; empty: none yet

  // Do its heads continue this lesson's? Then it stands for every version that grew from one fit, whichever is active.
  bool continues(const Lesson& lesson) const;
  std::size_t bytes() const;  // of memory, about
};

// The same standardisation, lambda and sharpness, on the same cues.
bool same_fit(const LinearHead& a, const LinearHead& b);

// Those used last, within limits. Thread-safe.
class KeptTeachers {
 public:
  KeptTeachers(std::size_t count_max, std::size_t bytes_max) : count_max_(count_max), bytes_max_(bytes_max) {}

  // The lesson's teacher, which is the caller's then; null: there is none. Whoever does not put it back has dropped it.
  std::unique_ptr<KeptTeacher> take(const std::string& lesson);
  // In the place of what was there. Those used longest ago go where the limits ask for it; one above bytes_max alone is
  // not kept.
  void put(const std::string& lesson, std::unique_ptr<KeptTeacher> teacher);
  std::size_t count() const;

 private:
  struct Entry {
    std::string lesson;
    std::unique_ptr<KeptTeacher> teacher;
    std::size_t bytes = 0;
  };

  const std::size_t count_max_, bytes_max_;
  mutable std::mutex mutex_;  // guards what follows
  std::list<Entry> entries_;  // the one used last in front
  std::size_t bytes_ = 0;
};

}  // namespace assay::service
