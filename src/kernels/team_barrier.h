#pragma once
// Where the threads of one computation meet: after each node of a graph, some thousand times for each token. They spin
// for a while, then sleep. C as well as C++: the build gives it to ggml's CPU code in place of OpenMP's barrier
// (cmake/ggml_barrier.cmake), which hardly spins once the process has more OpenMP threads than cores. Chat and
// decisions have a team each, though only one computes at a time, so a chat's threads slept at every node.

#if defined(__linux__)

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

// A team that has a core for each thread spins this many pauses before it sleeps: 30 to 110 microseconds, longer than
// threads with equal shares of a node are apart, and short beside a turn of somebody else's, for which one stands still
// here.
enum { kTeamBarrierSpins = 1 << 11, kTeamBarrierSpinsCrowded = 100 };

static inline void assay_cpu_relax(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield" ::: "memory");
#endif
}

// Cores that this process may run on, as it was asked first; at least 1.
static inline int assay_cores(void) {
  static int cores = 0;
  int known = __atomic_load_n(&cores, __ATOMIC_RELAXED);
  if (known == 0) {
    unsigned long mask[128] = {0};  // 8,192 cores
    const long word_bytes = sizeof mask[0];
    const long bytes = syscall(SYS_sched_getaffinity, 0, sizeof mask, mask);
    for (long word = 0; word < bytes / word_bytes; ++word) known += __builtin_popcountl(mask[word]);
    if (known == 0) known = 1;
    __atomic_store_n(&cores, known, __ATOMIC_RELAXED);
  }
  return known;
}

// Waits until all `threads` (1 and up) of a team have called it; what each wrote before, all see after. `arrived` and
// `round` belong to the team, begin as 0 and are touched by nothing else. `round` counts by twos; its lowest bit says
// that somebody sleeps. Both must outlive the call of every thread.
static inline void assay_team_barrier(int* arrived, unsigned* round, int threads) {
  const unsigned mine = __atomic_load_n(round, __ATOMIC_RELAXED) & ~1U;
  if (__atomic_add_fetch(arrived, 1, __ATOMIC_ACQ_REL) == threads) {
    __atomic_store_n(arrived, 0, __ATOMIC_RELAXED);
    const unsigned before = __atomic_exchange_n(round, mine + 2, __ATOMIC_ACQ_REL);
    if ((before & 1U) != 0) syscall(SYS_futex, round, FUTEX_WAKE_PRIVATE, threads, 0, 0, 0);
    return;
  }
  for (int left = threads <= assay_cores() ? kTeamBarrierSpins : kTeamBarrierSpinsCrowded; left > 0; --left) {
    if ((__atomic_load_n(round, __ATOMIC_ACQUIRE) & ~1U) != mine) return;
    assay_cpu_relax();
  }
  for (;;) {
    // To mine | 1, unless it is that or has moved on.
    const unsigned seen = __sync_val_compare_and_swap(round, mine, mine | 1U);
    if ((seen & ~1U) != mine) return;
    syscall(SYS_futex, round, FUTEX_WAIT_PRIVATE, mine | 1U, 0, 0, 0);
    if ((__atomic_load_n(round, __ATOMIC_ACQUIRE) & ~1U) != mine) return;
  }
}

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // __linux__
