#include "server/sagemaker/sessions.h"

#include <chrono>
#include <random>
#include <utility>

namespace assay::server {
namespace {

std::string random_id() {
  std::random_device device;
  std::string id;
  for (int word = 0; word < 4; ++word) {
    std::uint32_t bits = device();
    for (int digit = 0; digit < 8; ++digit, bits >>= 4) id += "0123456789abcdef"[bits & 15];
  }
  return id;
}

Error no_session() { return invalid_argument("", "there is no such session; it may have expired or been closed"); }

}  // namespace

Sessions::Sessions(const SessionLimits& limits, const Clock& clock) : limits_(limits), clock_(clock) {}

Result<std::string> Sessions::open(Value state) {
  if (!enabled()) return invalid_argument("", "this server keeps no sessions");
  const std::size_t bytes = to_json_text(state).size();
  const std::lock_guard<std::mutex> lock(mutex_);
  drop_late();
  if (sessions_.size() >= limits_.sessions_max || bytes > limits_.bytes_max - bytes_) {
    Error full{ErrorCode::kOverloaded, "no more sessions, or no room for their states", ""};
    full.retry_after_seconds = limits_.idle_seconds_max;
    return full;
  }
  std::string id = random_id();
  sessions_[id] = Session{.about = {.state = std::move(state), .hold = std::make_shared<const char>()},
                          .bytes = bytes,
                          .used_ns = clock_.now_ns()};
  bytes_ += bytes;
  return id;
}

Result<SessionState> Sessions::use(std::string_view id) {
  if (!enabled()) return invalid_argument("", "this server keeps no sessions");
  const std::lock_guard<std::mutex> lock(mutex_);
  drop_late();
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return no_session();
  found->second.used_ns = clock_.now_ns();
  return found->second.about;
}

Status Sessions::close(std::string_view id) {
  if (!enabled()) return invalid_argument("", "this server keeps no sessions");
  const std::lock_guard<std::mutex> lock(mutex_);
  drop_late();
  const auto found = sessions_.find(id);
  if (found == sessions_.end()) return no_session();
  drop(found);
  return {};
}

std::size_t Sessions::count() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return sessions_.size();
}

bool Sessions::is_over(const Session& session) const {
  return clock_.ms_since(session.used_ns) >= limits_.idle_seconds_max * 1e3;
}

void Sessions::drop(Map::iterator session) {
  bytes_ -= session->second.bytes;
  sessions_.erase(session);
}

void Sessions::drop_late() {
  for (auto session = sessions_.begin(); session != sessions_.end();) {
    const auto next = std::next(session);
    if (is_over(session->second)) drop(session);
    session = next;
  }
}

std::string utc_text(std::int64_t unix_seconds) {
  const std::chrono::sys_seconds time{std::chrono::seconds(unix_seconds)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss<std::chrono::seconds> clock(time - day);
  const auto padded = [](auto number, std::size_t digits) {
    std::string text = std::to_string(number);
    return text.size() < digits ? std::string(digits - text.size(), '0') + text : text;
  };
  return padded(static_cast<int>(date.year()), 4) + "-" + padded(static_cast<unsigned>(date.month()), 2) + "-" +
         padded(static_cast<unsigned>(date.day()), 2) + "T" + padded(clock.hours().count(), 2) + ":" +
         padded(clock.minutes().count(), 2) + ":" + padded(clock.seconds().count(), 2) + "Z";
}

std::string new_session_header(std::string_view id, std::int64_t unix_seconds) {
  return std::string(id) + "; Expires=" + utc_text(unix_seconds);
}

}  // namespace assay::server
