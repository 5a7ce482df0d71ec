#include "service/learning_rows.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "service/lesson_choice.h"

namespace assay::service {
namespace {

// One state under one question.
std::string row_key(const LabelledQuestion& row) {
  return question_fingerprint(row.question) + (row.state_sha256.empty() ? to_json_text(row.state) : row.state_sha256);
}

// Work that several threads take from.
struct Queue {
  std::mutex mutex;  // guards all of it
  std::size_t next = 0;
  std::size_t done = 0;
  std::optional<Error> failed;
};

}  // namespace

Result<CheckedRows> check_rows(const std::vector<LabelledQuestion>& rows) {
  if (rows.empty()) return invalid_argument("rows", "There are no labelled rows.");
  CheckedRows out;
  std::map<std::string, std::size_t> seen;  // of out.rows
  for (const LabelledQuestion& row : rows) {
    if (row.expected >= row.question.options.size())
      return invalid_argument("expected", row.where + ": the label is none of the question's options.");
    const auto [at, is_new] = seen.try_emplace(row_key(row), out.rows.size());
    if (is_new) {
      out.rows.push_back(row);
      continue;
    }
    const LabelledQuestion& first = out.rows[at->second];
    const std::string& was = first.question.options[first.expected].id;
    const std::string& now = row.question.options[row.expected].id;
    if (was != now)
      return invalid_argument("expected", row.where + " says \"" + now + "\" for the same state for which " +
                                              first.where + " says \"" + was + "\"; one of them must go.");
    out.duplicates++;
  }
  return out;
}

Status ask_all(Decider& decider, std::size_t count, std::size_t at_once,
               const std::function<DecisionRequest(std::size_t)>& request_of,
               const std::function<std::string(std::size_t)>& where,
               const std::function<void(std::size_t, Answer)>& take, const char* step, const TeachProgress& progress) {
  Queue queue;
  const auto take_one = [&](std::size_t index, Result<DecisionReply> reply) {
    const std::lock_guard<std::mutex> lock(queue.mutex);
    if (!reply.ok()) {
      if (queue.failed) return;
      queue.failed = reply.error();
      queue.failed->message = where(index) + ": " + queue.failed->message;
      return;
    }
    take(index, std::move(reply->answers.front()));
    queue.done++;
    if (progress && progress(step, queue.done, count) && !queue.failed)
      queue.failed = Error{ErrorCode::kCancelled, "Stopped.", ""};
  };
  const auto work = [&] {
    while (true) {
      std::size_t index = 0;
      {
        const std::lock_guard<std::mutex> lock(queue.mutex);
        if (queue.failed || queue.next == count) return;
        index = queue.next++;
      }
      take_one(index, decider.decide(request_of(index)));
    }
  };
  std::vector<std::thread> threads;
  const std::size_t wanted = std::max<std::size_t>(1, std::min(at_once, count));
  for (std::size_t i = 1; i < wanted; i++) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (queue.failed) return *queue.failed;
  return {};
}

}  // namespace assay::service
