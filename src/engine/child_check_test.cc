#include "engine/child_check.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace assay::engine {
namespace {

using Kind = ChildOutcome::Kind;

TEST(RunInChild, TellsWhatTheWorkReturned) {
  const ChildOutcome outcome = run_in_child([] { return 4; }, 60000);
  EXPECT_EQ(outcome.kind, Kind::kExited);
  EXPECT_EQ(outcome.exit_code, 4);
}

TEST(RunInChild, SurvivesTheSignalsOfABrokenBuild) {
  for (const int signal_number : {SIGILL, SIGSEGV, SIGABRT, SIGFPE, SIGKILL}) {
    EXPECT_EQ(run_in_child([=] { return raise(signal_number); }, 60000).kind, Kind::kDied) << signal_number;
  }
}

TEST(RunInChild, DoesNotWaitForever) {
  const ChildOutcome outcome = run_in_child(
      [] {
        while (true) pause();
        return 0;
      },
      50);
  EXPECT_EQ(outcome.kind, Kind::kTimedOut);
}

TEST(RunInChild, TheParentKeepsItsMemory) {
  int number = 1;
  const ChildOutcome outcome = run_in_child([&] { return number = 2; }, 60000);
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(number, 1);
}

}  // namespace
}  // namespace assay::engine
