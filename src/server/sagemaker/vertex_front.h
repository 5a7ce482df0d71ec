#pragma once
// Google Vertex AI's prediction protocol, as llama-server has it: one path for everything, each instance says what it
// is for, and all are answered in one reply.
//
//   POST /predict {"instances": [{"@requestFormat": "chatCompletions", "messages": [...]}, ...]}
//   -> {"predictions": [the reply's body for each instance, in order]}
//
// (https://cloud.google.com/vertex-ai/docs/predictions/custom-container-requirements)

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/value.h"
#include "server/http/http_message.h"
#include "server/route_table.h"

namespace assay::server {

// What AIP_* variables say. Empty paths: there is no such route.
struct VertexOptions {
  std::string predict_path;
  std::string health_path;
  std::size_t instances_at_once = 16;
};

inline constexpr std::size_t kVertexInstancesMax = 128;

// "chatCompletions" for "/v1/chat/completions", "applyTemplate" for "/apply-template".
std::string vertex_format_of(std::string_view path);

// Thread-safe. Keeps a reference to the routes, which must outlive it.
class VertexFront {
 public:
  // Answers a request under its own path. Thread-safe, lets no exception out, outlives this object.
  using Dispatch = std::function<HttpReply(const HttpRequest& request)>;

  VertexFront(const VertexOptions& options, const std::vector<Route>& routes, Dispatch dispatch);
  VertexFront(const VertexFront&) = delete;
  VertexFront& operator=(const VertexFront&) = delete;

  // "@requestFormat" is a path of the server or its format; "stream" is taken to be false. What goes wrong with one
  // instance stands in its place as {"error": ...}. 400: no object, no array "instances", more than kVertexInstancesMax
  // of them.
  HttpReply predict(const HttpRequest& request) const;

 private:
  std::string prediction(const HttpRequest& request, const Value& instance) const;
  const Route* route_for(const std::string& format) const;

  const VertexOptions options_;
  const std::vector<Route>& routes_;
  const Dispatch dispatch_;
};

}  // namespace assay::server
