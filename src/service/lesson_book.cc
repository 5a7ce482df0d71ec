#include "service/lesson_book.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <sstream>

#include "base/log.h"
#include "base/sha256.h"
#include "service/lesson_file.h"

namespace assay::service {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".lesson.json";

std::string model_problem(const Lesson& lesson, const std::string& model_sha256) {
  if (lesson.model_sha256 == model_sha256) return {};
  return "it was learnt with another model (" + lesson.model_id + ", SHA-256 " + lesson.model_sha256.substr(0, 12) +
         "…)";
}

// A version's number out of a pointer's file.
std::optional<std::int32_t> read_pointer(const std::string& path) {
  const std::optional<std::string> text = file_text(path);
  if (!text) return std::nullopt;
  std::int32_t version = 0;
  std::istringstream in(*text);
  if (!(in >> version)) return std::nullopt;
  return version;
}

// What a file holds; a problem where that is no lesson.
ReadLesson read_lesson(const std::string& path, const FileMark& mark, const std::string& model_sha256) {
  ReadLesson out{.mark = mark, .lesson = nullptr, .problem = {}};
  const std::optional<std::string> text = file_text(path);
  if (!text) {
    out.mark = {};  // another try the next time
    out.problem = "'" + path + "' cannot be read";
    return out;
  }
  Result<Lesson> lesson = lesson_from_text(*text);
  if (!lesson.ok()) {
    out.problem = "'" + path + "': " + lesson.error().message;
    return out;
  }
  auto shelved = std::make_shared<ShelvedLesson>();
  shelved->sha256 = sha256_hex(*text);
  shelved->path = path;
  shelved->problem = model_problem(*lesson, model_sha256);
  if (!shelved->problem.empty()) out.problem = "'" + path + "' is not used: " + shelved->problem;
  shelved->lesson = std::move(lesson).value();
  out.lesson = std::move(shelved);
  return out;
}

void shelve(const std::string& path, const ReadLesson& file, LessonShelf& shelf) {
  if (!file.problem.empty()) shelf.problems.push_back(file.problem);
  if (!file.lesson) return;
  const std::string& name = file.lesson->lesson.name;
  const std::int32_t version = file.lesson->lesson.version;
  if (!shelf.lessons[name].versions.emplace(version, file.lesson).second)
    shelf.problems.push_back("'" + path + "' is not used: another file has version " + std::to_string(version) +
                             " of lesson " + name);
}

void set_pointers(const std::string& folder, LessonShelf& shelf) {
  for (auto& [name, lesson] : shelf.lessons) {
    lesson.active = lesson.versions.rbegin()->first;
    const std::string base = (fs::path(folder) / name).string();
    const std::optional<std::int32_t> active = read_pointer(base + ".active");
    if (active && lesson.versions.contains(*active)) {
      lesson.active = *active;
    } else if (active) {
      shelf.problems.push_back("'" + base + ".active' names version " + std::to_string(*active) +
                               ", which is not there; version " + std::to_string(lesson.active) + " is used");
    }
    const std::optional<std::int32_t> shadow = read_pointer(base + ".shadow");
    if (shadow && *shadow != lesson.active && lesson.versions.contains(*shadow)) lesson.shadow = shadow;
  }
}

Error no_lesson(const std::string& name) {
  return {ErrorCode::kNotFound, "There is no lesson \"" + name + "\".", "name"};
}

// What another process did, for the log.
void tell_changes(const LessonShelf& before, const LessonShelf& now) {
  for (const std::string& problem : now.problems) {
    if (std::find(before.problems.begin(), before.problems.end(), problem) == before.problems.end())
      log_line(LogLevel::kWarn, "lessons: " + problem);
  }
  for (const auto& [name, lesson] : now.lessons) {
    const auto known = before.lessons.find(name);
    if (known != before.lessons.end() && known->second.active == lesson.active) continue;
    log_line(LogLevel::kInfo, "lessons: another process wrote to the folder; version " + std::to_string(lesson.active) +
                                  " of \"" + name + "\" answers from now on");
  }
}

}  // namespace

Result<std::unique_ptr<LessonBook>> LessonBook::open(std::string folder, std::string model_sha256) {
  if (folder.empty()) return std::unique_ptr<LessonBook>(new LessonBook({}, std::move(model_sha256)));
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure || !fs::is_directory(folder, failure))
    return Error{ErrorCode::kIo, "The lessons' folder '" + folder + "' cannot be made or is no folder.", "lessons"};
  std::unique_ptr<LessonBook> book(new LessonBook(std::move(folder), std::move(model_sha256)));
  const FolderLock folder_lock(book->folder_, Sharing::kReading);
  if (Status read = book->read(); !read.ok()) return read.error();
  return book;
}

// A file that has not changed is not read again.
Status LessonBook::read(LeftOver left_over) {
  std::map<std::string, ReadLesson> files;
  std::error_code failure;
  for (fs::directory_iterator entry(folder_, failure), end; !failure && entry != end; entry.increment(failure)) {
    const std::string path = entry->path().string();
    if (left_over == LeftOver::kGoes && is_left_over(path)) unlink(path.c_str());
    if (!path.ends_with(kEnding)) continue;
    const FileMark mark = file_mark(path);
    const auto known = files_.find(path);
    const bool is_known = known != files_.end() && mark.bytes >= 0 && known->second.mark == mark;
    files.emplace(path, is_known ? known->second : read_lesson(path, mark, model_sha256_));
  }
  if (failure)
    return Error{ErrorCode::kIo, "The lessons' folder '" + folder_ + "' cannot be read: " + failure.message(),
                 "lessons"};
  files_ = std::move(files);
  auto shelf = std::make_shared<LessonShelf>();
  for (const auto& [path, file] : files_) shelve(path, file, *shelf);
  set_pointers(folder_, *shelf);
  const std::lock_guard<std::mutex> lock(mutex_);
  shelf_ = std::move(shelf);
  return {};
}

void LessonBook::look() {
  if (folder_.empty()) return;
  const std::lock_guard<std::mutex> lock(writing_);
  const FolderLock folder_lock(folder_, Sharing::kReading);
  look_while_locked();
}

void LessonBook::look_while_locked(LeftOver left_over) {
  const std::shared_ptr<const LessonShelf> before = shelf();
  if (Status done = read(left_over); !done.ok()) {
    log_line(LogLevel::kWarn, "lessons: " + done.error().message);
    return;
  }
  tell_changes(*before, *shelf());
}

std::shared_ptr<const LessonShelf> LessonBook::shelf() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return shelf_;
}

Result<SharedLesson> LessonBook::add(Lesson lesson, bool shadow) {
  if (const std::string problem = model_problem(lesson, model_sha256_); !problem.empty())
    return invalid_argument("model.sha256", "The lesson cannot be used here: " + problem + ".");
  const std::lock_guard<std::mutex> lock(writing_);
  const FolderLock folder_lock(folder_, Sharing::kWriting);
  look_while_locked(folder_lock.held() ? LeftOver::kGoes : LeftOver::kStays);
  const std::shared_ptr<const LessonShelf> before = shelf();
  const auto known = before->lessons.find(lesson.name);
  const bool is_first = known == before->lessons.end();
  const std::int32_t last = is_first ? 0 : known->second.versions.rbegin()->first;
  const bool as_shadow = shadow && !is_first;
  const std::optional<std::int32_t> active = is_first ? std::nullopt : std::optional(known->second.active);
  // 1. The version, under a number that no file has: one may be there whose content is not used.
  auto shelved = std::make_shared<ShelvedLesson>();
  for (lesson.version = last + 1;; lesson.version++) {
    shelved->path = version_path(lesson);
    if (file_mark(shelved->path).bytes >= 0) continue;
    Result<LessonFile> file = lesson_file(lesson);
    if (!file.ok()) return file.error();
    if (as_shadow) {  // else the highest would be active
      if (Status pinned = write_pointer(lesson.name, ".active", active); !pinned.ok()) return pinned.error();
    }
    const Result<bool> written = put_new_file(shelved->path, file->text);
    if (!written.ok()) return written.error();
    if (!*written) continue;
    shelved->sha256 = sha256_hex(file->text);
    shelved->lesson = std::move(file->lesson);
    break;
  }
  // 2. Which one answers.
  const bool is_next = !as_shadow && lesson.version == last + 1 && (!active || *active == last);
  if (Status pointed = point_to(lesson, as_shadow, is_next); !pointed.ok()) {
    unlink(shelved->path.c_str());  // nobody was told of it, and its number is free again
    return pointed.error();
  }
  // 3. The shelf.
  files_.emplace(shelved->path, ReadLesson{.mark = file_mark(shelved->path), .lesson = shelved, .problem = {}});
  const auto after = std::make_shared<LessonShelf>(*before);
  LessonVersions& versions = after->lessons[lesson.name];
  versions.versions.emplace(lesson.version, shelved);
  if (as_shadow) {
    versions.shadow = lesson.version;
  } else {
    versions.active = lesson.version;
  }
  const std::lock_guard<std::mutex> now(mutex_);
  shelf_ = after;
  return SharedLesson(shelved);
}

std::string LessonBook::version_path(const Lesson& lesson) const {
  const std::string file = lesson.name + ".v" + std::to_string(lesson.version) + std::string(kEnding);
  return (fs::path(folder_) / file).string();
}

// Where the version before is active and the highest, a pointer that is lost, old or empty after a crash means that one
// or the new one, whichever is there: then the folder is made durable once, for both files. Else each step is durable
// before the next.
Status LessonBook::point_to(const Lesson& lesson, bool as_shadow, bool is_next) const {
  const std::string pointer = (fs::path(folder_) / (lesson.name + (as_shadow ? ".shadow" : ".active"))).string();
  const std::string number = std::to_string(lesson.version) + "\n";
  if (!is_next) {
    sync_folder(pointer);
    return write_whole_file(pointer, number);
  }
  if (Status put = put_file(pointer, number, Durable::kWithTheFolder); !put.ok()) return put;
  sync_folder(pointer);
  return {};
}

Status LessonBook::write_pointer(const std::string& name, const char* kind, std::optional<std::int32_t> version) const {
  const std::string path = (fs::path(folder_) / (name + kind)).string();
  if (version) return write_whole_file(path, std::to_string(*version) + "\n");
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return file_error(path, "removed");
  sync_folder(path);
  return {};
}

Status LessonBook::activate(const std::string& name, std::int32_t version) {
  const std::lock_guard<std::mutex> lock(writing_);
  const FolderLock folder_lock(folder_, Sharing::kWriting);
  look_while_locked();
  const std::shared_ptr<const LessonShelf> now = shelf();
  const auto known = now->lessons.find(name);
  if (known == now->lessons.end()) return no_lesson(name);
  const auto found = known->second.versions.find(version);
  if (found == known->second.versions.end())
    return Error{ErrorCode::kNotFound, "Lesson \"" + name + "\" has no version " + std::to_string(version) + ".",
                 "version"};
  if (!found->second->problem.empty())
    return invalid_argument("version", "Version " + std::to_string(version) + " of lesson \"" + name +
                                           "\" cannot be used here: " + found->second->problem + ".");
  if (Status written = write_pointer(name, ".active", version); !written.ok()) return written;
  if (known->second.shadow == version) {
    if (Status dropped = write_pointer(name, ".shadow", std::nullopt); !dropped.ok()) return dropped;
  }
  return read();
}

Status LessonBook::set_shadow(const std::string& name, std::optional<std::int32_t> version) {
  const std::lock_guard<std::mutex> lock(writing_);
  const FolderLock folder_lock(folder_, Sharing::kWriting);
  look_while_locked();
  const std::shared_ptr<const LessonShelf> now = shelf();
  const auto known = now->lessons.find(name);
  if (known == now->lessons.end()) return no_lesson(name);
  if (version && !known->second.versions.contains(*version))
    return Error{ErrorCode::kNotFound, "Lesson \"" + name + "\" has no version " + std::to_string(*version) + ".",
                 "version"};
  if (Status written = write_pointer(name, ".shadow", version); !written.ok()) return written;
  return read();
}

}  // namespace assay::service

namespace assay {

std::string lesson_rows_path(const std::string& folder, const std::string& name) {
  return (std::filesystem::path(folder) / (name + ".rows.jsonl")).string();
}

Result<SavedLesson> save_lesson(const std::string& folder, const Lesson& lesson) {
  const Result<std::unique_ptr<service::LessonBook>> book = service::LessonBook::open(folder, lesson.model_sha256);
  if (!book.ok()) return book.error();
  const Result<service::SharedLesson> saved = (*book)->add(lesson, false);
  if (!saved.ok()) return saved.error();
  return SavedLesson{.path = (*saved)->path, .version = (*saved)->lesson.version};
}

Status save_lesson_rows(const std::string& folder, const std::string& name, const std::string& rows) {
  const service::FolderLock lock(folder, service::Sharing::kWriting);
  return service::write_whole_file(lesson_rows_path(folder, name), rows);
}

}  // namespace assay
