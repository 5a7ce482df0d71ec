#include "cli/thread_wait.h"

#include <unistd.h>

#include <cstdlib>

namespace assay::cli {

void wait_with_short_spins(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  if (setenv("GOMP_SPINCOUNT", "1000", 0) != 0) return;
  execv("/proc/self/exe", argv);
}

}  // namespace assay::cli
