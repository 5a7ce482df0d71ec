#pragma once
// All routes of a running server: ours (route_table.h), and behind them those of a chat server.

#include <string>
#include <string_view>
#include <vector>

#include "server/llama/chat_server.h"
#include "server/route_table.h"

namespace assay::server {

// Immutable.
class RouteMap {
 public:
  // `chat`: nullptr, or outlives this. Where both have a path and a method, ours answers,
  // unless the chat server decides itself. `more`: routes beside all of these, before them; their texts outlive this.
  explicit RouteMap(const ChatServer* chat, const std::vector<Route>& more = {});

  // The route that takes this method on this path; else the path's first, which does not; else nullptr.
  const Route* find(std::string_view path, std::string_view method) const;
  // The chat server's own, also where ours comes first.
  const Route* find_foreign(std::string_view path, std::string_view method) const;
  const std::vector<Route>& routes() const { return routes_; }
  // All methods that the path takes, for the Allow header.
  std::string allowed_methods(std::string_view path) const;

 private:
  bool is_for(const Route& route, std::string_view path) const;

  std::vector<Route> routes_;  // ours first
};

}  // namespace assay::server
