#include "server/http/http_message.h"

#include <algorithm>

#include "server/http/ascii.h"

namespace assay::server {

const std::string* find_header(const HttpRequest& request, std::string_view name) {
  for (const auto& [key, value] : request.headers) {
    if (equal_ignoring_case(key, name)) return &value;
  }
  return nullptr;
}

}  // namespace assay::server
