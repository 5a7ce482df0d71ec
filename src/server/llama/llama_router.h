#pragma once
// llama-server without a model of its own (its router mode): it knows many models (--models-dir, --models-preset, its
// download cache), starts a process of this program for each that is asked for, and hands requests on by the model that
// they name. Each of these processes chats and decides.
//
// A decision is for the model in the header x-assay-model, else for the one that the body's "model" names, else for the
// only one there is; else it is refused with the names of all. Other requests name a model as llama-server says.
//
// With RouterOptions::find_files it knows no model from the beginning: it has the routes of multi_model.h in the place
// of llama-server's own below /models, and serves what these load.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "assay/error.h"
#include "server/llama/chat_server.h"
#include "server/sagemaker/multi_model.h"

namespace assay::server {

struct RouterOptions {
  // The multi-model contract's: which files a url means. Empty: llama-server's router.
  MultiModel::FindFiles find_files;
};

// Thread-safe but for open() and start().
class LlamaRouter final : public ChatServer {
 public:
  // Looks for models, and loads none. The processes get llama-server's words, the environment as it is now, and the
  // address and the name that the router gives them. Errors: kInvalidArgument.
  static Result<std::unique_ptr<LlamaRouter>> open(const std::vector<std::string>& words, RouterOptions options = {});
  // As stop(0).
  ~LlamaRouter() override;
  LlamaRouter(const LlamaRouter&) = delete;
  LlamaRouter& operator=(const LlamaRouter&) = delete;

  std::vector<std::string> model_names();
  // Starts the models that a preset wants from the beginning. Errors: kIo.
  Status start();
  // No new work; waits up to grace_ms for what is at work, then breaks it off and ends all processes. Idempotent.
  void stop(double grace_ms);

  const std::vector<ChatRoute>& routes() const override;
  HttpReply handle(std::size_t route, const HttpRequest& request) override;
  bool healthy() const override { return true; }
  std::size_t in_flight() const override;
  HttpReply metrics() override { return {}; }
  bool decides() const override { return true; }

 private:
  struct Parts;
  explicit LlamaRouter(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace assay::server
