#pragma once
// Which web pages may call this server. By default none.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/error.h"
#include "server/http/http_message.h"

namespace assay::server {

// Immutable.
class Cors {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  // Empty: no page. "*": every page, without credentials. "localhost": the pages of this machine, on any port.
  // Otherwise origins as browsers write them, such as "https://app.example.com" or "http://localhost:3000".
  explicit Cors(std::vector<std::string> origins) : origins_(std::move(origins)) {}

  // kInvalidArgument for what no browser would send as an origin.
  static Status check(const std::vector<std::string>& origins);

  // What every reply to a request with this Origin header carries; nothing for an origin that is not let in.
  Headers headers_for(std::string_view origin) const;
  // The answer to a browser's question whether it may send a request; nothing when this is no such question, or the
  // page is not let in.
  std::optional<HttpReply> preflight(const HttpRequest& request) const;

 private:
  bool lets_in(std::string_view origin) const;
  bool lets_all_in() const;

  const std::vector<std::string> origins_;
};

}  // namespace assay::server
