#include "server/http/idle_connections.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>

#include "server/testing/socket_pair.h"

namespace assay::server {
namespace {

// Gathers what became ready.
class Ready {
 public:
  std::function<void(std::unique_ptr<Connection>)> take() {
    return [this](std::unique_ptr<Connection> connection) {
      const std::lock_guard<std::mutex> lock(mutex_);
      came_.push_back(std::move(connection));
      changed_.notify_all();
    };
  }
  std::unique_ptr<Connection> wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return !came_.empty(); });
    std::unique_ptr<Connection> first = std::move(came_.front());
    came_.pop_front();
    return first;
  }
  bool empty() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return came_.empty();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::unique_ptr<Connection>> came_;
};

class IdleConnectionsTest : public ::testing::Test {
 protected:
  std::unique_ptr<Connection> connection_with(SocketPair& sockets) {
    const int socket = sockets.take_server();
    return std::make_unique<Connection>(socket, plain_transport(socket), ConnectionLimits{}, open_);
  }

  std::atomic<std::size_t> open_{0};
  Ready ready_;
};

constexpr double kLong = 3600;

TEST_F(IdleConnectionsTest, TheOneThatHasSomethingBecomesReady) {
  IdleConnections idle(ready_.take());
  std::array<SocketPair, 5> sockets;
  std::array<int, 5> numbers = {};
  for (std::size_t i = 0; i < sockets.size(); ++i) {
    std::unique_ptr<Connection> connection = connection_with(sockets[i]);
    numbers[i] = connection->socket();
    idle.add(std::move(connection), kLong);
  }
  for (const std::size_t i : {3u, 0u, 4u}) {
    sockets[i].send("x");
    EXPECT_EQ(ready_.wait()->socket(), numbers[i]);
  }
  EXPECT_EQ(open_.load(), 2u);
}

TEST_F(IdleConnectionsTest, TheEndOfAClientIsSomethingToo) {
  IdleConnections idle(ready_.take());
  SocketPair sockets;
  idle.add(connection_with(sockets), kLong);
  sockets.close_client();
  char byte = 0;
  EXPECT_EQ(ready_.wait()->read(&byte, 1), 0);
}

TEST_F(IdleConnectionsTest, BytesThatCameBeforeAreSeen) {
  IdleConnections idle(ready_.take());
  SocketPair sockets;
  sockets.send("x");
  idle.add(connection_with(sockets), kLong);
  EXPECT_TRUE(ready_.wait()->wait_for_bytes(0));
}

TEST_F(IdleConnectionsTest, AConnectionThatIsIdleTooLongIsClosedAndAnotherIsNot) {
  IdleConnections idle(ready_.take());
  SocketPair brief;
  SocketPair lasting;
  idle.add(connection_with(lasting), kLong);
  idle.add(connection_with(brief), 0.01);
  EXPECT_EQ(brief.receive(1), "");  // waits for the end
  EXPECT_TRUE(ready_.empty());
  lasting.send("x");
  EXPECT_NE(ready_.wait(), nullptr);
}

TEST_F(IdleConnectionsTest, OneMayComeBackAgainAndAgain) {
  IdleConnections idle(ready_.take());
  SocketPair sockets;
  idle.add(connection_with(sockets), kLong);
  for (int i = 0; i < 100; ++i) {
    sockets.send("x");
    std::unique_ptr<Connection> connection = ready_.wait();
    connection->begin_head();
    char byte = 0;
    EXPECT_EQ(connection->read(&byte, 1), 1);
    idle.add(std::move(connection), kLong);
  }
}

TEST_F(IdleConnectionsTest, StopClosesAllAndWhatComesLater) {
  IdleConnections idle(ready_.take());
  std::array<SocketPair, 3> sockets;
  idle.add(connection_with(sockets[0]), kLong);
  idle.add(connection_with(sockets[1]), kLong);
  idle.stop();
  idle.stop();
  idle.add(connection_with(sockets[2]), kLong);
  for (const SocketPair& pair : sockets) EXPECT_EQ(pair.receive(1), "");
  EXPECT_EQ(open_.load(), 0u);
  EXPECT_TRUE(ready_.empty());
}

}  // namespace
}  // namespace assay::server
