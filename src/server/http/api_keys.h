#pragma once
// Who may ask: the API keys of this server.
//
//   const ApiKeys keys({"secret-1", "secret-2"});
//   const Status allowed = keys.check(request, /*bearer_only=*/true);

#include <string>
#include <string_view>
#include <vector>

#include "assay/error.h"
#include "server/http/http_message.h"

namespace assay::server {

enum class KeyState {
  kAllowed,  // one of the keys, or the server has none
  kMissing,  // no key came with the request, or one in a header that is not looked at
  kWrong,    // a key came that is none of ours
};

// Immutable. The keys themselves are not kept, only their SHA-256.
class ApiKeys {
 public:
  // Empty: everyone may. An empty key is none.
  explicit ApiKeys(const std::vector<std::string>& keys);

  bool empty() const { return digests_.empty(); }

  // Looks at "Authorization: Bearer KEY" ("Bearer" in any case) and, unless `bearer_only`, at "X-Api-Key: KEY" and at
  // an Authorization header that holds the bare key. How long it takes says nothing about the keys: every one is
  // compared, to its end.
  KeyState look(const HttpRequest& request, bool bearer_only) const;
  // The same as a value or kUnauthorized, whose text says what is missing or wrong. Never the key.
  Status check(const HttpRequest& request, bool bearer_only) const;

 private:
  std::vector<std::string> digests_;
};

// The key that came with a request, as look() finds it; empty without one.
std::string_view key_of(const HttpRequest& request, bool bearer_only);
// True for paths that are answered without a key: what load balancers and people look at first.
bool is_open_path(std::string_view path);

}  // namespace assay::server
