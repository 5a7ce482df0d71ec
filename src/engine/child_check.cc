#include "engine/child_check.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

namespace assay::engine {
namespace {

[[noreturn]] void be_child(const std::function<int()>& work) {
  // Nobody waits for this child's words, and its crash is an answer, not a case for the parent's handlers.
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (nowhere >= 0) {
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
  }
  for (const int signal_number : {SIGSEGV, SIGILL, SIGABRT, SIGBUS, SIGFPE}) signal(signal_number, SIG_DFL);
  _exit(work());
}

}  // namespace

ChildOutcome run_in_child(const std::function<int()>& work, int patience_ms) {
  int pipe_ends[2] = {-1, -1};
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return {};
  const pid_t child = fork();
  if (child == 0) be_child(work);
  // The child's end of the pipe closes when it ends, however it ends.
  close(pipe_ends[1]);
  bool timed_out = false;
  if (child > 0) {
    pollfd waiting = {.fd = pipe_ends[0], .events = POLLIN, .revents = 0};
    timed_out = poll(&waiting, 1, patience_ms) == 0;
    if (timed_out) kill(child, SIGKILL);
  }
  close(pipe_ends[0]);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return {};
  if (timed_out) return {.kind = ChildOutcome::Kind::kTimedOut, .exit_code = 0};
  if (!WIFEXITED(status)) return {.kind = ChildOutcome::Kind::kDied, .exit_code = 0};
  return {.kind = ChildOutcome::Kind::kExited, .exit_code = WEXITSTATUS(status)};
}

}  // namespace assay::engine
