#pragma once
// The routes that llama-server registers, by its source.

#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

namespace assay::server {

// "GET /props", …; those of its router alone only where they are asked for.
inline std::set<std::string> upstream_routes(bool with_router) {
  std::ifstream file(std::string(ASSAY_LLAMA_SOURCE_DIR) + "/tools/server/server.cpp");
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::regex pattern(R"re(ctx_http\.(get|post|del)\s*\("([^"]+)",\s*ex_wrapper\((\w+))re");
  std::set<std::string> out;
  for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) {
    if (!with_router && (*it)[3] == "models_routes") continue;
    const std::string method = (*it)[1] == "get" ? "GET" : (*it)[1] == "post" ? "POST" : "DELETE";
    out.insert(method + " " + (*it)[2].str());
  }
  return out;
}

}  // namespace assay::server
