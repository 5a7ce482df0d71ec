#pragma once
// SageMaker's multi-model contract: SageMaker puts models on this machine's disk, says which to load and which to let
// go, and asks each by its name. (Amazon SageMaker AI Developer Guide, "Custom Containers Contract for Multi-Model
// Endpoints".)
//
//   POST   /models                {"model_name", "url"}: loads; 409 when it is loaded, 507 when there is no room
//   GET    /models                {"models": [{"modelName", "modelUrl"}], "nextPageToken"}; ?next_page_token=
//   GET    /models/NAME           {"modelName", "modelUrl"}; 404 when it is not loaded
//   DELETE /models/NAME           lets go; its memory is free when the reply comes; 404
//   POST   /models/NAME/invoke    as /invocations, for this model; 404, and 507 when it cannot come back for want of
//   room
//
// This is the book of what is loaded. Who loads is a ModelHost.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "assay/error.h"

namespace assay::server {

// Where a model's files are.
struct ModelFiles {
  std::string model;   // a GGUF
  std::string mmproj;  // its projector for images; empty: none
};

// Loads models and frees them. Thread-safe; a name is never started twice at a time.
class ModelHost {
 public:
  virtual ~ModelHost() = default;
  // Returns when the model answers. Errors: kOutOfMemory, kUnsupportedModel, kCancelled (`cancelled` said so), others;
  // then the model is not there.
  virtual Status start(const std::string& name, const ModelFiles& files, const std::function<bool()>& cancelled) = 0;
  // Returns when what the model held is free. A model that is not there is fine.
  virtual void stop(const std::string& name) = 0;
};

struct ModelReply {
  int status = 200;
  std::string body;  // JSON
};

// Thread-safe. Keeps a reference to the host, which must outlive it.
class MultiModel {
 public:
  // The files at a url, which is a path. Thread-safe. Errors: kNotFound, kInvalidArgument.
  using FindFiles = std::function<Result<ModelFiles>(const std::string& url)>;

  MultiModel(ModelHost& host, FindFiles find_files, std::size_t page_models_max = 100);

  // Blocks while the model is loaded. 200; 400 for a body that is wrong, a url without a model and a model that cannot
  // be served; 409 also while another request loads it; 507 for want of memory, and where the loading was broken off
  // from outside, most likely for the same want; 500.
  ModelReply load(const std::string& body, const std::function<bool()>& cancelled);
  // In the order of the names; `token`: empty, or a nextPageToken. 200, 400.
  ModelReply list(const std::string& token) const;
  ModelReply get(const std::string& name) const;  // 200, 404
  // Blocks until the model is gone; one that is loading is given up. 200, 404.
  ModelReply unload(const std::string& name);
  // What to answer instead of asking the model: nothing when it is loaded, else 404.
  std::optional<ModelReply> refusal_for(const std::string& name) const;
  // The status of a model that could not be started.
  static ModelReply failed(const std::string& name, const Error& error);

 private:
  enum class State { kLoading, kLoaded, kLeaving };
  struct Entry {
    std::string url;
    std::uint64_t number = 0;  // of its loading: the same name can come again
    State state = State::kLoading;
  };

  ModelHost& host_;
  const FindFiles find_files_;
  const std::size_t page_models_max_;
  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable gone_;
  std::uint64_t numbers_ = 0;
  std::map<std::string, Entry> models_;
};

}  // namespace assay::server
