#pragma once
// Calls whose replies are fetched later, as a local stand-in for SageMaker's asynchronous inference: there replies go
// to S3, here they are kept for a while. (In a deployed endpoint SageMaker itself does this, and the container sees
// plain requests.)

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "assay/error.h"
#include "base/clock.h"
#include "server/http/http_message.h"

namespace assay::server {

struct AsyncLimits {
  std::size_t waiting_max = 64;  // calls that were not answered yet
  std::size_t kept_max = 256;    // replies that were not fetched; the oldest goes first
  double kept_seconds = 3600;
};

// Thread-safe. One thread, started by the first call, answers them one behind the other.
class AsyncCalls {
 public:
  AsyncCalls(const AsyncLimits& limits, const Clock& clock);
  // The call at work is finished; those that wait are dropped.
  ~AsyncCalls();
  AsyncCalls(const AsyncCalls&) = delete;
  AsyncCalls& operator=(const AsyncCalls&) = delete;

  // Errors: kOverloaded above the limit, kInvalidArgument for an id that is there already. `call` lets no exception
  // out; its reply must not be a stream.
  Status start(const std::string& id, std::function<HttpReply()> call);

  enum class State { kUnknown, kWaiting, kDone };
  struct Found {
    State state = State::kUnknown;
    HttpReply reply;  // kDone
  };
  // Does not take the reply away.
  Found find(std::string_view id);

 private:
  struct Call {
    std::function<HttpReply()> work;  // empty once it has begun
    std::optional<HttpReply> reply;
    std::int64_t done_ns = 0;
  };

  void work();
  void drop_old();

  const AsyncLimits limits_;
  const Clock& clock_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::map<std::string, Call, std::less<>> calls_;
  std::deque<std::string> waiting_;  // in the order in which they came
  std::deque<std::string> done_;     // in the order in which they were answered
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace assay::server
