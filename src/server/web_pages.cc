#include "server/web_pages.h"

#include <array>

namespace assay::server {
namespace {

struct Served {
  std::string_view path;
  std::string_view file;
  std::string_view content_type;
};

constexpr std::array<Served, 4> kServed = {{
    {"/openapi.json", "openapi.json", "application/json"},
    {"/docs", "docs.html", "text/html; charset=utf-8"},
    {"/docs.js", "docs.js", "text/javascript; charset=utf-8"},
    {"/docs.css", "docs.css", "text/css; charset=utf-8"},
}};

}  // namespace

std::optional<WebPage> web_page(std::string_view path) {
  for (const Served& served : kServed) {
    if (path == served.path) return WebPage{served.content_type, web_file(served.file)};
  }
  return std::nullopt;
}

}  // namespace assay::server
