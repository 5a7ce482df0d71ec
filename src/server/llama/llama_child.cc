// What server.cpp does with its server_child. server_child::setup() is not used: it ends the process on the spot when
// the router is gone, from a thread that nothing can join. At an upgrade compare the command below with
// server-models.cpp.
#include "server/llama/llama_child.h"

#include <arg.h>
#include <common.h>
#include <server-common.h>
#include <server-models.h>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <thread>
#include <utility>

#include "base/log.h"

namespace assay::server {
namespace {

constexpr const char* kExitCommand = "cmd_router_to_child:exit";
constexpr std::size_t kLineBytesMax = 64 * 1024;

// True when there is nothing more to read: the router said so, or its end of the pipe is closed.
bool read_end(std::string& line) {
  std::array<char, 512> piece{};
  const ssize_t count = read(STDIN_FILENO, piece.data(), piece.size());
  if (count < 0) return errno != EINTR && errno != EAGAIN;
  if (count == 0) return true;
  line.append(piece.data(), static_cast<std::size_t>(count));
  if (line.find(kExitCommand) != std::string::npos) return true;
  if (line.size() > kLineBytesMax) line.erase(0, line.size() - kLineBytesMax / 2);
  return false;
}

}  // namespace

struct LlamaChild::Parts {
  server_child child;
  int end_fd = -1;
  std::thread watcher;

  void wait_for_end(const std::function<void()>& stop) const {
    std::array<pollfd, 2> ready = {pollfd{STDIN_FILENO, POLLIN, 0}, pollfd{end_fd, POLLIN, 0}};
    std::string line;
    while (true) {
      if (poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) return;
      if ((ready[1].revents & POLLIN) != 0) return;
      if (ready[0].revents == 0 || !read_end(line)) continue;
      log_line(LogLevel::kInfo, "the router ends this model");
      stop();
      return;
    }
  }
};

LlamaChild::LlamaChild(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

LlamaChild::~LlamaChild() {
  if (parts_->end_fd < 0) return;
  const std::uint64_t one = 1;
  // An eventfd's counter is at 0 here, so the write always fits.
  const ssize_t written = write(parts_->end_fd, &one, sizeof one);
  static_cast<void>(written);
  if (parts_->watcher.joinable()) parts_->watcher.join();
  close(parts_->end_fd);
}

std::unique_ptr<LlamaChild> LlamaChild::attach() {
  auto parts = std::make_unique<Parts>();
  if (!parts->child.is_child()) return nullptr;
  parts->end_fd = eventfd(0, EFD_CLOEXEC);
  return std::unique_ptr<LlamaChild>(new LlamaChild(std::move(parts)));
}

bool LlamaChild::only_downloads() const { return parts_->child.get_mode() == SERVER_CHILD_MODE_DOWNLOAD; }

int LlamaChild::download(const std::vector<std::string>& words) {
  common_params params;
  std::vector<std::string> all = {"assay"};
  all.insert(all.end(), words.begin(), words.end());
  std::vector<char*> pointers;
  for (std::string& word : all) pointers.push_back(word.data());
  if (!common_params_parse(static_cast<int>(pointers.size()), pointers.data(), params, LLAMA_EXAMPLE_SERVER)) return 1;
  return parts_->child.run_download(params);
}

void LlamaChild::tell(const std::string& state, const std::string& payload) {
  parts_->child.notify_to_router(state, json::parse(payload));
}

void LlamaChild::watch(std::function<void()> stop) {
  if (parts_->end_fd < 0) return;  // no file can be opened any more: the router kills what does not end
  parts_->watcher = std::thread([this, stop = std::move(stop)] { parts_->wait_for_end(stop); });
}

}  // namespace assay::server
