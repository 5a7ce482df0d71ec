#include "server/http/connection_workers.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "server/testing/socket_pair.h"

namespace assay::server {
namespace {

// A place where workers wait until they are let on.
class Gate {
 public:
  void wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    inside_++;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_; });
  }
  void wait_for_inside(int count) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return inside_ >= count; });
  }
  int inside() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return inside_;
  }
  void open() {
    const std::lock_guard<std::mutex> lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;
  bool open_ = false;
};

class ConnectionWorkersTest : public ::testing::Test {
 protected:
  std::unique_ptr<Connection> connection() {
    SocketPair sockets;
    const int socket = sockets.take_server();
    return std::make_unique<Connection>(socket, plain_transport(socket), ConnectionLimits{}, open_);
  }

  std::atomic<std::size_t> open_{0};
  std::atomic<int> served_{0};
  Gate gate_;
};

TEST_F(ConnectionWorkersTest, EachBusyThreadMakesRoomForAnother) {
  ConnectionWorkers workers({.threads_kept = 1, .threads_max = 20}, [this](std::unique_ptr<Connection> /*one*/) {
    gate_.wait();
    served_++;
  });
  for (int i = 0; i < 20; ++i) EXPECT_EQ(workers.add(connection()), nullptr);
  gate_.wait_for_inside(20);  // all at once, though each holds its thread
  gate_.open();
  workers.finish();
  EXPECT_EQ(served_.load(), 20);
  EXPECT_EQ(open_.load(), 0u);
}

TEST_F(ConnectionWorkersTest, AboveTheLimitTheyWaitAndThenComeBack) {
  ConnectionWorkers workers({.threads_kept = 0, .threads_max = 2, .waiting_max = 3},
                            [this](std::unique_ptr<Connection> /*one*/) {
                              gate_.wait();
                              served_++;
                            });
  for (int i = 0; i < 2; ++i) EXPECT_EQ(workers.add(connection()), nullptr);
  gate_.wait_for_inside(2);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(workers.add(connection()), nullptr);
  EXPECT_NE(workers.add(connection()), nullptr);
  EXPECT_EQ(gate_.inside(), 2);
  gate_.open();
  workers.finish();
  EXPECT_EQ(served_.load(), 5);
}

TEST_F(ConnectionWorkersTest, FinishServesWhatWaitsAndTakesNoMore) {
  ConnectionWorkers workers({.threads_kept = 1, .threads_max = 1}, [this](std::unique_ptr<Connection> /*one*/) {
    gate_.wait();
    served_++;
  });
  for (int i = 0; i < 10; ++i) EXPECT_EQ(workers.add(connection()), nullptr);
  gate_.wait_for_inside(1);
  gate_.open();
  workers.finish();
  workers.finish();
  EXPECT_EQ(served_.load(), 10);
  EXPECT_NE(workers.add(connection()), nullptr);
}

TEST_F(ConnectionWorkersTest, ThreadsThatAreNotKeptEnd) {
  std::mutex mutex;
  std::condition_variable changed;
  std::set<std::thread::id> threads;
  ConnectionWorkers workers({.threads_kept = 0, .threads_max = 1, .idle_seconds_max = 0},
                            [&](std::unique_ptr<Connection> /*one*/) {
                              const std::lock_guard<std::mutex> lock(mutex);
                              served_++;
                              threads.insert(std::this_thread::get_id());
                              changed.notify_all();
                            });
  for (int i = 1; i <= 200; ++i) {
    EXPECT_EQ(workers.add(connection()), nullptr);
    std::unique_lock<std::mutex> lock(mutex);
    changed.wait(lock, [&] { return served_.load() == i; });
  }
  workers.finish();
  EXPECT_EQ(served_.load(), 200);
}

}  // namespace
}  // namespace assay::server
