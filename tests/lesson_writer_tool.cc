// What tests/soak/lesson_writers.py starts, several at a time, and kills.
//
//   assay_lesson_writer_tool write FOLDER MARK   adds versions of one lesson until it is killed, each with its own
//   note;
//       a line "VERSION NOTE" once one was told to be there, and "ready" on stderr when the folder is open
//   assay_lesson_writer_tool check FOLDER        prints "VERSION NOTE" for each version that is found, "active
//   VERSION",
//       and "problem TEXT" for each file that cannot be used

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "service/lesson_book.h"

namespace {

using assay::Lesson;
using assay::LinearHead;
using assay::Result;
using assay::service::LessonBook;
using assay::service::SharedLesson;

constexpr const char* kModel = "model";
constexpr std::size_t kWidth = 4096;  // so that a file takes a few writes' time

Lesson lesson_of(const std::string& note) {
  Lesson lesson;
  lesson.name = "wishes";
  lesson.created = "2026-11-30T12:00:00Z";
  lesson.model_id = "none";
  lesson.model_sha256 = kModel;
  lesson.layout = "state_first";
  lesson.question =
      assay::LessonQuestion{.text = "why", .type = "choice", .options = {{"a", std::nullopt}, {"b", std::nullopt}}};
  lesson.head = LinearHead{.method = "lda",
                           .cues = {"{state}"},
                           .width = kWidth,
                           .mean = std::vector<float>(kWidth, 0),
                           .scale = std::vector<float>(kWidth, 1),
                           .weights = std::vector<float>(2 * kWidth, 0.5F),
                           .bias = {0, 0},
                           .options = {0, 1}};
  lesson.note = note;
  return lesson;
}

// One write for one line, so that a line is whole or not there.
void say(const std::string& line) {
  if (::write(STDOUT_FILENO, line.data(), line.size()) != static_cast<ssize_t>(line.size())) std::_Exit(3);
}

void write_versions(LessonBook& book, const std::string& mark) {
  for (int number = 0;; number++) {
    const std::string note = mark + "/" + std::to_string(number);
    const Result<SharedLesson> added = book.add(lesson_of(note), false);
    if (!added.ok()) {
      std::fprintf(stderr, "%s\n", added.error().message.c_str());
      std::_Exit(4);
    }
    say(std::to_string((*added)->lesson.version) + " " + note + "\n");
  }
}

void check(const LessonBook& book) {
  const auto shelf = book.shelf();
  for (const std::string& problem : shelf->problems) std::cout << "problem " << problem << "\n";
  for (const auto& [name, lesson] : shelf->lessons) {
    std::cout << "active " << lesson.active << "\n";
    for (const auto& [version, shelved] : lesson.versions) std::cout << version << " " << shelved->lesson.note << "\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 2 ? argv[1] : "";
  if (!(mode == "write" && argc == 4) && !(mode == "check" && argc == 3)) return 2;
  const Result<std::unique_ptr<LessonBook>> book = LessonBook::open(argv[2], kModel);
  if (!book.ok()) {
    std::fprintf(stderr, "%s\n", book.error().message.c_str());
    return 4;
  }
  if (mode == "check") {
    check(**book);
    return 0;
  }
  std::fprintf(stderr, "ready\n");
  write_versions(**book, argv[3]);
}
