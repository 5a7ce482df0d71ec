#include "service/lesson_book.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/sha256.h"

namespace assay::service {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kEnding = ".lesson.json";

Error io_error(const std::string& path, const char* what) {
  return {ErrorCode::kIo, "'" + path + "' cannot be " + what + ": " + std::strerror(errno), "lessons"};
}

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad()) return std::nullopt;
  return text.str();
}

std::string model_problem(const Lesson& lesson, const std::string& model_sha256) {
  if (lesson.model_sha256 == model_sha256) return {};
  return "it was learnt with another model (" + lesson.model_id + ", SHA-256 " + lesson.model_sha256.substr(0, 12) +
         "…)";
}

// A version's number out of a pointer's file.
std::optional<std::int32_t> read_pointer(const std::string& path) {
  const std::optional<std::string> text = read_file(path);
  if (!text) return std::nullopt;
  std::int32_t version = 0;
  std::istringstream in(*text);
  if (!(in >> version)) return std::nullopt;
  return version;
}

void add_file(const std::string& path, const std::string& model_sha256, LessonShelf& shelf) {
  const std::optional<std::string> text = read_file(path);
  if (!text) {
    shelf.problems.push_back("'" + path + "' cannot be read");
    return;
  }
  Result<Lesson> lesson = lesson_from_text(*text);
  if (!lesson.ok()) {
    shelf.problems.push_back("'" + path + "': " + lesson.error().message);
    return;
  }
  auto shelved = std::make_shared<ShelvedLesson>();
  shelved->sha256 = sha256_hex(*text);
  shelved->path = path;
  shelved->problem = model_problem(*lesson, model_sha256);
  if (!shelved->problem.empty()) shelf.problems.push_back("'" + path + "' is not used: " + shelved->problem);
  shelved->lesson = std::move(lesson).value();
  const std::string name = shelved->lesson.name;
  const std::int32_t version = shelved->lesson.version;
  const bool is_new = shelf.lessons[name].versions.emplace(version, std::move(shelved)).second;
  if (!is_new)
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

}  // namespace

namespace {

enum class Durable { kNow, kWithTheFolder };

// A file beside its place, renamed into it; the folder's own entry is sync_folder()'s to make durable.
Status put_file(const std::string& path, const std::string& text, Durable durable) {
  const std::string beside = path + ".part-" + std::to_string(getpid());
  const int file = open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return io_error(beside, "written");
  const auto give_up = [&](const std::string& where) -> Status {
    Error error = io_error(where, "written");
    close(file);
    unlink(beside.c_str());
    return error;
  };
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = write(file, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return give_up(beside);
    done += static_cast<std::size_t>(wrote);
  }
  if (durable == Durable::kNow && fsync(file) != 0) return give_up(path);
  if (rename(beside.c_str(), path.c_str()) != 0) return give_up(path);
  close(file);
  return {};
}

// The folder that a path lies in.
void sync_folder(const std::string& path) {
  const std::string folder = fs::path(path).parent_path().string();
  const int directory = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return;
  fsync(directory);
  close(directory);
}

}  // namespace

Status write_whole_file(const std::string& path, const std::string& text) {
  if (Status put = put_file(path, text, Durable::kNow); !put.ok()) return put;
  sync_folder(path);
  return {};
}

Result<std::unique_ptr<LessonBook>> LessonBook::open(std::string folder, std::string model_sha256) {
  if (folder.empty()) return std::unique_ptr<LessonBook>(new LessonBook({}, std::move(model_sha256)));
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure || !fs::is_directory(folder, failure))
    return Error{ErrorCode::kIo, "The lessons' folder '" + folder + "' cannot be made or is no folder.", "lessons"};
  std::unique_ptr<LessonBook> book(new LessonBook(std::move(folder), std::move(model_sha256)));
  if (Status read = book->read(); !read.ok()) return read.error();
  return book;
}

Status LessonBook::read() {
  std::vector<std::string> paths;
  std::error_code failure;
  for (fs::directory_iterator entry(folder_, failure), end; !failure && entry != end; entry.increment(failure)) {
    const std::string path = entry->path().string();
    if (path.ends_with(kEnding)) paths.push_back(path);
  }
  if (failure)
    return Error{ErrorCode::kIo, "The lessons' folder '" + folder_ + "' cannot be read: " + failure.message(),
                 "lessons"};
  std::sort(paths.begin(), paths.end());
  auto shelf = std::make_shared<LessonShelf>();
  for (const std::string& path : paths) add_file(path, model_sha256_, *shelf);
  set_pointers(folder_, *shelf);
  const std::lock_guard<std::mutex> lock(mutex_);
  shelf_ = std::move(shelf);
  return {};
}

std::shared_ptr<const LessonShelf> LessonBook::shelf() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return shelf_;
}

Result<SharedLesson> LessonBook::add(Lesson lesson, bool shadow) {
  const std::lock_guard<std::mutex> lock(writing_);
  if (const std::string problem = model_problem(lesson, model_sha256_); !problem.empty())
    return invalid_argument("model.sha256", "The lesson cannot be used here: " + problem + ".");
  const std::shared_ptr<const LessonShelf> before = shelf();
  const auto known = before->lessons.find(lesson.name);
  const bool is_first = known == before->lessons.end();
  lesson.version = is_first ? 1 : known->second.versions.rbegin()->first + 1;
  const std::string path = version_path(lesson);
  if (fs::exists(path))
    return Error{ErrorCode::kIo, "'" + path + "' is there already, and its content is not used.", "lessons"};
  const std::string text = lesson_text(lesson);
  Result<Lesson> whole = lesson_from_text(text);  // what answers is what the file says
  if (!whole.ok()) return whole.error();
  const bool as_shadow = shadow && !is_first;
  const std::optional<std::int32_t> active = is_first ? std::nullopt : std::optional(known->second.active);
  if (Status written = write_version(lesson, text, as_shadow, active); !written.ok()) return written.error();
  auto shelved = std::make_shared<ShelvedLesson>();
  shelved->sha256 = sha256_hex(text);
  shelved->path = path;
  shelved->lesson = std::move(whole).value();
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
// before the next, and of a shadow the active version is pinned first, since the highest is active by default.
Status LessonBook::write_version(const Lesson& lesson, const std::string& text, bool as_shadow,
                                 std::optional<std::int32_t> active) {
  const std::string path = version_path(lesson);
  const std::string pointer = (fs::path(folder_) / (lesson.name + (as_shadow ? ".shadow" : ".active"))).string();
  const std::string number = std::to_string(lesson.version) + "\n";
  const bool is_next = !as_shadow && (!active || *active == lesson.version - 1);
  if (as_shadow) {
    if (Status pinned = write_pointer(lesson.name, ".active", active); !pinned.ok()) return pinned;
  }
  Status written = is_next ? put_file(path, text, Durable::kNow) : write_whole_file(path, text);
  if (!written.ok()) return written;
  written = is_next ? put_file(pointer, number, Durable::kWithTheFolder) : write_whole_file(pointer, number);
  if (!written.ok()) unlink(path.c_str());  // nobody was told of it, and its number is free again
  if (is_next) sync_folder(path);
  return written;
}

Status LessonBook::write_pointer(const std::string& name, const char* kind, std::optional<std::int32_t> version) {
  const std::string path = (fs::path(folder_) / (name + kind)).string();
  if (version) return write_whole_file(path, std::to_string(*version) + "\n");
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return io_error(path, "removed");
  return {};
}

Status LessonBook::activate(const std::string& name, std::int32_t version) {
  const std::lock_guard<std::mutex> lock(writing_);
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

}  // namespace assay
