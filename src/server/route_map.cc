#include "server/route_map.h"

#include <algorithm>

namespace assay::server {

RouteMap::RouteMap(const ChatServer* chat, const std::vector<Route>& more_routes) : routes_(more_routes) {
  const bool gives_way = chat != nullptr && chat->decides();
  for (const Route& route : known_routes()) {
    if (!gives_way || !(is_for_decisions(route.kind) || route.kind == RouteKind::kModels)) routes_.push_back(route);
  }
  if (chat == nullptr) return;
  const std::vector<ChatRoute>& more = chat->routes();
  for (std::size_t i = 0; i < more.size(); ++i) {
    routes_.push_back(
        {.path = more[i].path.c_str(), .method = more[i].method.c_str(), .kind = RouteKind::kForeign, .foreign = i});
  }
}

// A part in braces does not stand for what another route names word by word.
bool RouteMap::is_for(const Route& route, std::string_view path) const {
  if (!is_path_of(route.path, path)) return false;
  return route.path == path ||
         std::none_of(routes_.begin(), routes_.end(), [path](const Route& other) { return other.path == path; });
}

const Route* RouteMap::find(std::string_view path, std::string_view method) const {
  const Route* first = nullptr;
  for (const Route& route : routes_) {
    if (!is_for(route, path)) continue;
    if (takes(route, method)) return &route;
    if (first == nullptr) first = &route;
  }
  return first;
}

const Route* RouteMap::find_foreign(std::string_view path, std::string_view method) const {
  for (const Route& route : routes_) {
    if (route.kind == RouteKind::kForeign && takes(route, method) && is_path_of(route.path, path)) return &route;
  }
  return nullptr;
}

std::string RouteMap::allowed_methods(std::string_view path) const {
  std::string all;
  for (const Route& route : routes_) {
    if (!is_for(route, path)) continue;
    const std::string more = server::allowed_methods(route);
    if (all.find(more) == std::string::npos) all += (all.empty() ? "" : ", ") + more;
  }
  return all;
}

}  // namespace assay::server
