// Threads of a team meet: nobody goes on before all have come, and all see what the others wrote; with a core for each,
// with more threads than cores, and with one that comes so late that the others sleep.
#include "kernels/team_barrier.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <thread>
#include <vector>

namespace assay {
namespace {

struct Team {
  int arrived = 0;
  unsigned round = 0;
  std::vector<int> written;  // by each thread, in the round it is in; not atomic: the barrier is what orders it
};

bool somebody_sleeps(const unsigned& round) { return (__atomic_load_n(&round, __ATOMIC_ACQUIRE) & 1U) != 0; }

// Every thread writes its round, meets the others, reads what all wrote, and meets them again. Returns how many reads
// saw another round's value.
int wrong_reads(int threads, int rounds, int late_every) {
  Team team;
  team.written.assign(static_cast<std::size_t>(threads), -1);
  std::vector<int> wrong(static_cast<std::size_t>(threads), 0);
  std::vector<std::thread> running;
  for (int thread = 0; thread < threads; ++thread) {
    running.emplace_back([&, thread] {
      const auto own = static_cast<std::size_t>(thread);
      for (int round = 0; round < rounds; ++round) {
        if (late_every > 0 && thread == round % threads && round % late_every == 0) {
          while (!somebody_sleeps(team.round)) std::this_thread::yield();
        }
        team.written[own] = round;
        assay_team_barrier(&team.arrived, &team.round, threads);
        for (const int value : team.written) wrong[own] += value == round ? 0 : 1;
        assay_team_barrier(&team.arrived, &team.round, threads);
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  int sum = 0;
  for (const int count : wrong) sum += count;
  EXPECT_EQ(team.arrived, 0);
  EXPECT_EQ(team.round & 1U, 0U) << "somebody is still said to sleep";
  EXPECT_EQ(team.round, 4U * static_cast<unsigned>(rounds));
  return sum;
}

TEST(TeamBarrier, NobodyGoesOnBeforeAllHaveCome) {
  EXPECT_EQ(wrong_reads(1, 1000, 0), 0);
  EXPECT_EQ(wrong_reads(2, 20000, 0), 0);
}

TEST(TeamBarrier, MoreThreadsThanCores) { EXPECT_EQ(wrong_reads(assay_cores() * 2 + 1, 500, 0), 0); }

TEST(TeamBarrier, ALateThreadWakesThoseWhoSleep) {
  EXPECT_EQ(wrong_reads(2, 300, 10), 0);
  EXPECT_EQ(wrong_reads(5, 100, 7), 0);
}

// Who waits long leaves the core to others.
TEST(TeamBarrier, SleepsWhereOneStandsStill) {
  int arrived = 0;
  unsigned round = 0;
  std::thread waiting([&] { assay_team_barrier(&arrived, &round, 2); });
  while (!somebody_sleeps(round)) std::this_thread::yield();
  assay_team_barrier(&arrived, &round, 2);
  waiting.join();
  EXPECT_EQ(round, 2U);
}

TEST(TeamBarrier, TheRoundMayOverflow) {
  int arrived = 0;
  unsigned round = ~0U - 5;  // even
  std::thread other([&] {
    for (int i = 0; i < 10; ++i) assay_team_barrier(&arrived, &round, 2);
  });
  for (int i = 0; i < 10; ++i) assay_team_barrier(&arrived, &round, 2);
  other.join();
  EXPECT_EQ(round, ~0U - 5 + 20);
}

}  // namespace
}  // namespace assay
