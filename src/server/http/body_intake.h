#pragma once
// A body as it comes in: how much of it may come, and whether it is worth reading to its end.

#include <cstddef>
#include <optional>
#include <string_view>

#include "server/http/body_bytes.h"
#include "server/http/http_message.h"

namespace assay::server {

class Routes;

// Above this, whoever has no place for a request says so before its body is there.
constexpr std::size_t kLargeBodyBytes = std::size_t{64} * 1024;

// For one thread. Keeps references to all of them.
class BodyIntake {
 public:
  BodyIntake(HttpRequest& request, BodyBytes::Share& share, std::size_t bytes_max, Routes& routes)
      : request_(request), share_(share), bytes_max_(bytes_max), routes_(routes) {}

  // Whether so many bytes more may come; when not, refusal() says why.
  bool takes(std::size_t bytes);
  // The same, and they are put behind the request's body.
  bool append(std::string_view piece);
  const std::optional<HttpReply>& refusal() const { return refusal_; }

 private:
  HttpRequest& request_;
  BodyBytes::Share& share_;
  const std::size_t bytes_max_;
  Routes& routes_;
  std::size_t bytes_ = 0;
  bool asked_ = false;  // whether the routes have a place for it
  std::optional<HttpReply> refusal_;
};

}  // namespace assay::server
