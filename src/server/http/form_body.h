#pragma once
// A body of media type multipart/form-data, read part by part: texts become a JSON object, which is then the request's
// body, and files stand beside it. As llama-server reads it: a text that comes several times becomes an array.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/http/http_message.h"

namespace assay::server {

// Used by one thread.
class FormBody {
 public:
  // A part begins; one with a file's name is a file.
  void begin(std::string name, std::string file_name, std::string content_type);
  // More of the part that began last. REQUIRES: one did.
  void add(std::string_view bytes);
  // Puts everything into the request. Bytes of texts that are no UTF-8 become U+FFFD.
  void finish(HttpRequest& request) &&;

 private:
  std::vector<std::pair<std::string, std::string>> texts_;
  std::vector<HttpFile> files_;
  bool in_file_ = false;
};

}  // namespace assay::server
