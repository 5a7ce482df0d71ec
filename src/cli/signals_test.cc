#include "cli/signals.h"

#include <csignal>
#include <cstdlib>

#include <gtest/gtest.h>
#include <unistd.h>

namespace assay::cli {
namespace {

// Each runs in a process of its own, because the signals go to the whole process.
class SignalsDeathTest : public ::testing::Test {
 protected:
  SignalsDeathTest() { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

TEST_F(SignalsDeathTest, FirstSignalStopsAndWakesTheWaiter) {
  EXPECT_EXIT(
      {
        {
          auto watcher = SignalWatcher::open();
          (*watcher)->expect();
          if ((*watcher)->stopped()) _exit(1);
          kill(getpid(), SIGTERM);
          (*watcher)->wait();
          if (!(*watcher)->stopped()) _exit(2);
        }
        _exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(SignalsDeathTest, SecondSignalEndsAtOnce) {
  EXPECT_EXIT(
      {
        auto watcher = SignalWatcher::open();
        (*watcher)->expect();
        kill(getpid(), SIGINT);
        (*watcher)->wait();
        kill(getpid(), SIGINT);
        pause();
      },
      ::testing::ExitedWithCode(130), "");
}

TEST_F(SignalsDeathTest, UnexpectedSignalEndsAtOnce) {
  EXPECT_EXIT(
      {
        auto watcher = SignalWatcher::open();
        kill(getpid(), SIGTERM);
        pause();
      },
      ::testing::ExitedWithCode(143), "");
}

}  // namespace
}  // namespace assay::cli
