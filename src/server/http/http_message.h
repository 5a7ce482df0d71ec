#pragma once
// A request and a reply as values, without any HTTP library.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace assay::server {

// A file of a form.
struct HttpFile {
  std::string field;
  std::string name;
  std::string content_type;
  std::string content;
};

struct HttpRequest {
  std::string method;                                           // "GET", "POST", …
  std::string path;                                             // without the query
  std::vector<std::pair<std::string, std::string>> headers;     // names in any case
  std::string body;                                             // of a form its texts, as JSON (form_body.h)
  std::string query_text;                                       // behind the path's '?', as it came
  std::vector<std::pair<std::string, std::string>> query = {};  // the same, taken apart and decoded
  std::vector<HttpFile> files = {};                             // of a form
  // True once the client has gone. May be empty; may be called from any thread. After the reply it can still be called
  // and means nothing.
  std::function<bool()> disconnected;
  std::shared_ptr<const void> hold = {};  // DecisionRequest::hold of the decision that it asks for; may be empty
};

// Sends a piece of a body; false once the client has gone.
using BodyWriter = std::function<bool(std::string_view piece)>;

struct HttpReply {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  // When not empty, the body comes in pieces and `body` is not sent. Called once, on the request's thread, behind the
  // headers; returns when the body is complete or the client has gone. False: it is not whole, and the connection ends
  // so that the client can tell. Lets no exception out.
  std::function<bool(const BodyWriter& write)> stream;
};

// The value of the header with this name (ASCII case ignored), the first of several; nullptr when there is none.
const std::string* find_header(const HttpRequest& request, std::string_view name);

}  // namespace assay::server
