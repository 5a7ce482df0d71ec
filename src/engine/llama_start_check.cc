#include "engine/llama_start_check.h"

#include <fcntl.h>
#include <llama.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <vector>

#include "assay/build.h"
#include "engine/llama_computed.h"
#include "engine/logits.h"

namespace assay::engine {
namespace {

constexpr std::int32_t kRows = 64;
constexpr int kPatienceMs = 180000;  // a 64-token decode of the largest model that fits 24 GiB takes seconds

std::atomic<bool> computed_before{false};

int decode_once(const LlamaModel& model) {
  Result<std::unique_ptr<Decoder>> decoder = model.make_decoder();
  if (!decoder.ok()) return 2;
  const DecoderLimits limits = (*decoder)->limits();
  std::vector<BatchRow> rows;
  for (std::int32_t i = 0; i < std::min(kRows, limits.batch_rows_max); i++) {
    rows.push_back({.token = (i * 7 + 3) % limits.vocabulary_tokens, .position = i, .sequences = {0}, .output = false});
  }
  rows.back().output = true;
  if (!(*decoder)->decode(rows, false).ok()) return 3;
  return read_logits((*decoder)->logits(rows.size() - 1), {}).ok() ? 0 : 4;
}

[[noreturn]] void be_child(const LlamaModel& model) {
  // Nobody waits for this child's words, and a crash must not start a debugger.
  setenv("GGML_NO_BACKTRACE", "1", 1);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) {
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
  }
  for (const int signal_number : {SIGSEGV, SIGILL, SIGABRT, SIGBUS, SIGFPE}) signal(signal_number, SIG_DFL);
  _exit(decode_once(model));
}

}  // namespace

void note_computed() { computed_before = true; }

StartCheck try_decode_in_child(const LlamaModel& model) {
  if (computed_before) return StartCheck::kSkipped;
  int pipe_ends[2] = {-1, -1};
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return StartCheck::kSkipped;
  const pid_t child = fork();
  if (child < 0) {
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    return StartCheck::kSkipped;
  }
  if (child == 0) be_child(model);
  // The child's end of the pipe closes when it ends, however it ends.
  close(pipe_ends[1]);
  pollfd waiting = {.fd = pipe_ends[0], .events = POLLIN, .revents = 0};
  if (poll(&waiting, 1, kPatienceMs) <= 0) kill(child, SIGKILL);
  close(pipe_ends[0]);
  int status = 0;
  if (waitpid(child, &status, 0) != child) return StartCheck::kSkipped;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? StartCheck::kPassed : StartCheck::kDied;
}

std::string start_check_machine() {
  const BuildReport build = build_report();
  std::string machine = build.version + " " + build.llama_version + " " + build.compiler + " " + build.build_type;
  for (const std::string& feature : build.cpu_features) machine += " " + feature;
  return machine;
}

}  // namespace assay::engine
