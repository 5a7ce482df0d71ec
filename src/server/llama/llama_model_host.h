#pragma once
// Models that llama-server's router starts and ends when it is told to, each in a process of its own. They stand in
// none of the router's own sources (folder, presets, cache), so nothing may make it read these again.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/sagemaker/multi_model.h"

struct server_models;  // NOLINT(readability-identifier-naming): their name

namespace assay::server {

// Thread-safe. Keeps a reference to the router's models, which must outlive it.
class LlamaModelHost final : public ModelHost {
 public:
  // `words`: llama-server's, which all models get. Throws as llama.cpp does.
  LlamaModelHost(server_models& models, const std::vector<std::string>& words);
  ~LlamaModelHost() override;
  LlamaModelHost(const LlamaModelHost&) = delete;
  LlamaModelHost& operator=(const LlamaModelHost&) = delete;

  Status start(const std::string& name, const ModelFiles& files, const std::function<bool()>& cancelled) override;
  void stop(const std::string& name) override;
  // Brings a model back that has died since it was started; nothing where it lives. Errors: as start().
  Status revive(const std::string& name, const std::function<bool()>& cancelled);

 private:
  struct Parts;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace assay::server
