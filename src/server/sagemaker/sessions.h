#pragma once
// Sticky sessions, as SageMaker's stateful endpoints have them: a client opens one, SageMaker sends its later calls to
// the same instance, and the instance remembers what the session is about. Here that is the state that decisions are
// made on, so that a long one is sent once and stays computed.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "assay/error.h"
#include "assay/value.h"
#include "base/clock.h"

namespace assay::server {

struct SessionLimits {
  double idle_seconds_max = 0;  // a session ends when it was not used for so long; 0: there are no sessions
  std::size_t sessions_max = 1024;
  std::size_t bytes_max = std::size_t{64} * 1024 * 1024;  // of all states together, as JSON
};

// What a session gives its calls.
struct SessionState {
  Value state;                       // null: none
  std::shared_ptr<const void> hold;  // lives as long as the session, and as those who copied it (DecisionRequest::hold)
};

// Thread-safe. Keeps a reference to the clock, which must outlive it. Whatever is late is dropped when the next call
// comes; no thread waits for it.
class Sessions {
 public:
  Sessions(const SessionLimits& limits, const Clock& clock);

  bool enabled() const { return limits_.idle_seconds_max > 0; }
  // Remembers a state (null: none yet) and gives the session's id: 32 hex digits that nobody can guess. Errors:
  // kInvalidArgument where there are no sessions, kOverloaded above a limit (then `retry_after_seconds` says when the
  // oldest session ends at the latest).
  Result<std::string> open(Value state);
  // The state of a session, which counts as used from now. kInvalidArgument for one that is not there (any more).
  Result<SessionState> use(std::string_view id);
  // kInvalidArgument for one that is not there.
  Status close(std::string_view id);
  std::size_t count() const;

 private:
  struct Session {
    SessionState about;
    std::size_t bytes = 0;
    std::int64_t used_ns = 0;
  };
  using Map = std::map<std::string, Session, std::less<>>;

  bool is_over(const Session& session) const;
  void drop(Map::iterator session);
  void drop_late();

  const SessionLimits limits_;
  const Clock& clock_;
  mutable std::mutex mutex_;  // guards what follows
  Map sessions_;
  std::size_t bytes_ = 0;
};

// The value of X-Amzn-SageMaker-New-Session-Id: "ID; Expires=2026-11-30T01:02:03Z". `unix_seconds` counts from 1970 in
// UTC. REQUIRES: 0 <= unix_seconds < 253402300800 (the year 10000).
std::string new_session_header(std::string_view id, std::int64_t unix_seconds);
// "2026-11-30T01:02:03Z".
std::string utc_text(std::int64_t unix_seconds);

}  // namespace assay::server
