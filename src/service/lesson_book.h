#pragma once
// A folder of lessons. Every file that ends in ".lesson.json" holds one version of one lesson; which version answers
// stands in "<name>.active" (else the highest does), which one answers in the shadow in "<name>.shadow".

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "assay/lesson.h"
#include "service/lesson_folder.h"

namespace assay::service {

// One version as it was read.
struct ShelvedLesson {
  Lesson lesson;
  std::string sha256;  // of its file
  std::string path;
  std::string problem;  // why it is not used (another model's); empty: it can be
};
using SharedLesson = std::shared_ptr<const ShelvedLesson>;  // owners: the shelf, and requests on their way

struct LessonVersions {
  std::map<std::int32_t, SharedLesson> versions;  // at least one
  std::int32_t active = 0;                        // a version that is there
  std::optional<std::int32_t> shadow;             // another that is there

  const SharedLesson& active_lesson() const { return versions.at(active); }
};

// What a folder held at one moment. Immutable.
struct LessonShelf {
  std::map<std::string, LessonVersions> lessons;  // by name
  std::vector<std::string> problems;              // files that could not be used, with the reason
};

// A file of the folder as it was read.
struct ReadLesson {
  FileMark mark;
  SharedLesson lesson;  // null: it is none
  std::string problem;  // empty: none
};

// Thread-safe. Several processes may read and write a folder: each change is made under the folder's lock, on top of
// what the others wrote before, and a version's file is never written over.
class LessonBook {
 public:
  // Reads the folder, which is made where it is missing; no name: a book without lessons, to which none can be added.
  // `model_sha256`: of the running model. A bad file is a problem of the shelf, not of open(). Errors: kIo.
  static Result<std::unique_ptr<LessonBook>> open(std::string folder, std::string model_sha256);

  std::shared_ptr<const LessonShelf> shelf() const;
  // Takes up what other processes have written since, and says so in the log; what has not changed is not read again.
  // A folder that cannot be read is told there, too, and the shelf stays.
  void look();

  // Writes the lesson as the next version of its name, whoever wrote the one before: active, or the shadow. Durable
  // when it returns. Its version is set here. Errors: kInvalidArgument (another model's, or one whose file could not be
  // read again: lesson_file()), kIo, and then everything is as it was.
  Result<SharedLesson> add(Lesson lesson, bool shadow);
  // Errors: kNotFound with field "name" or "version", kIo.
  Status activate(const std::string& name, std::int32_t version);
  // Nothing: no shadow any more.
  Status set_shadow(const std::string& name, std::optional<std::int32_t> version);

  const std::string& folder() const { return folder_; }
  const std::string& model_sha256() const { return model_sha256_; }

 private:
  LessonBook(std::string folder, std::string model_sha256)
      : folder_(std::move(folder)), model_sha256_(std::move(model_sha256)) {}
  enum class LeftOver { kStays, kGoes };  // what killed processes left
  // REQUIRES of all of these: writing_ and a FolderLock.
  Status read(LeftOver left_over = LeftOver::kStays);
  void look_while_locked(LeftOver left_over = LeftOver::kStays);
  std::string version_path(const Lesson& lesson) const;
  Status point_to(const Lesson& lesson, bool as_shadow, bool is_next) const;
  Status write_pointer(const std::string& name, const char* kind, std::optional<std::int32_t> version) const;

  const std::string folder_;
  const std::string model_sha256_;
  std::mutex writing_;  // one look or change at a time; guards the next
  std::map<std::string, ReadLesson> files_;
  mutable std::mutex mutex_;  // guards what follows
  std::shared_ptr<const LessonShelf> shelf_ = std::make_shared<LessonShelf>();
};

}  // namespace assay::service
