#pragma once
// The pages for people and tools: the OpenAPI document and the page that shows it. They are part of the program
// (cmake/web.cmake), so no file is read when they are asked for.
//
//   /openapi.json                    every route, field and error, as OpenAPI 3.1
//   /docs with /docs.js, /docs.css   the same for people, with a form to try a question

#include <optional>
#include <string_view>

namespace assay::server {

struct WebPage {
  std::string_view content_type;
  std::string_view body;  // lives as long as the program
};

// What is served at this path; nothing for any other path. Thread-safe.
std::optional<WebPage> web_page(std::string_view path);

// The Content-Security-Policy that the pages live with: they fetch from this server only, and run no inline script.
inline constexpr const char* kWebPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'";

// The bytes of one file of web/, by its name, with the version filled in; empty for any other name. Its source is made
// by cmake/web.cmake.
std::string_view web_file(std::string_view name);

}  // namespace assay::server
