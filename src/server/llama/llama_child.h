#pragma once
// This process as one of those that a router (llama_router.h) started: it tells the router its state on what was its
// standard output, and ends when the router says so on its standard input, or is gone.

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace assay::server {

// Exit codes that tell the router why a model could not be served: there is not memory enough; the model itself.
inline constexpr int kChildOutOfMemory = 12;
inline constexpr int kChildBadModel = 13;

// Thread-safe but for attach() and watch().
class LlamaChild {
 public:
  // nullptr where no router started this process. From then on what is written to standard output goes to standard
  // error.
  static std::unique_ptr<LlamaChild> attach();
  ~LlamaChild();
  LlamaChild(const LlamaChild&) = delete;
  LlamaChild& operator=(const LlamaChild&) = delete;

  // It is here to download a model and to end.
  bool only_downloads() const;
  // Its exit code. `words`: llama-server's.
  int download(const std::vector<std::string>& words);

  // `state` as llama.cpp names it ("loading", "ready", "sleeping"), with a JSON object.
  void tell(const std::string& state, const std::string& payload);
  // Calls `stop` once, from another thread, when the process is to end. Call it once.
  void watch(std::function<void()> stop);

 private:
  struct Parts;
  explicit LlamaChild(std::unique_ptr<Parts> parts);

  const std::unique_ptr<Parts> parts_;
};

}  // namespace assay::server
