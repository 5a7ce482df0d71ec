#include "server/http/connection.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <string>
#include <thread>

#include "server/testing/socket_pair.h"

namespace assay::server {
namespace {

// A client and the connection that the server has with it.
struct Place {
  explicit Place(const ConnectionLimits& limits = {}) : connection(make(limits)) {}

  std::unique_ptr<Connection> make(const ConnectionLimits& limits) {
    const int socket = sockets.take_server();
    return std::make_unique<Connection>(socket, plain_transport(socket), limits, open);
  }
  std::string read(std::size_t size) const {
    std::string bytes(size, '\0');
    const ssize_t count = connection->read(bytes.data(), size);
    bytes.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return bytes;
  }

  SocketPair sockets;
  std::atomic<std::size_t> open{0};
  std::unique_ptr<Connection> connection;
};

constexpr ConnectionLimits kShort{.read_seconds = 0.02, .write_seconds = 0.02};

TEST(Connection, CountsItselfWhileItLives) {
  Place place;
  EXPECT_EQ(place.open.load(), 1u);
  place.connection.reset();
  EXPECT_EQ(place.open.load(), 0u);
  EXPECT_EQ(place.sockets.receive(1), "");
}

TEST(Connection, WhatCameTogetherIsReadInPieces) {
  const Place place;
  place.connection->begin_head();
  place.sockets.send("GET / HTTP/1.1\r\nbody");
  EXPECT_EQ(place.read(1), "G");
  EXPECT_EQ(place.connection->buffered(), "ET / HTTP/1.1\r\nbody");
  place.connection->consume(15);
  EXPECT_EQ(place.connection->bytes_read(), 16u);
  place.connection->begin_body();
  EXPECT_TRUE(place.connection->has_bytes());
  EXPECT_EQ(place.read(100), "body");
  EXPECT_FALSE(place.connection->has_bytes());
}

TEST(Connection, AClientThatClosesIsTheEndAndNoTimeout) {
  Place place;
  place.connection->begin_head();
  place.sockets.close_client();
  char byte = 0;
  EXPECT_EQ(place.connection->read(&byte, 1), 0);
  EXPECT_FALSE(place.connection->timed_out());
}

TEST(Connection, ASilentClientIsLetGo) {
  const Place place(kShort);
  char byte = 0;
  place.connection->begin_head();
  EXPECT_EQ(place.connection->read(&byte, 1), -1);
  EXPECT_TRUE(place.connection->timed_out());
  place.connection->begin_head();
  EXPECT_FALSE(place.connection->timed_out());
  place.connection->begin_body();
  EXPECT_EQ(place.connection->read(&byte, 1), -1);
  EXPECT_TRUE(place.connection->timed_out());
}

// Sends a byte each millisecond until the server hangs up.
void drip(int client) {
  pollfd entry{.fd = client, .events = POLLIN, .revents = 0};
  while (poll(&entry, 1, 1) == 0) {
    if (send(client, "x", 1, MSG_NOSIGNAL) != 1) return;
  }
}

TEST(Connection, AClientThatDripsIsLetGoToo) {
  Place place(kShort);
  std::thread client([&] { drip(place.sockets.client()); });
  place.connection->begin_head();
  char byte = 0;
  ssize_t count = 1;
  while (count > 0) count = place.connection->read(&byte, 1);
  EXPECT_EQ(count, -1);
  EXPECT_TRUE(place.connection->timed_out());
  place.connection.reset();
  client.join();
}

TEST(Connection, AHeadHasALimit) {
  const Place place;
  std::thread client([&] { place.sockets.send(std::string(kHeadBytesMax + 1000, 'x')); });
  place.connection->begin_head();
  char byte = 0;
  std::size_t read = 0;
  while (place.connection->read(&byte, 1) > 0) read++;
  EXPECT_TRUE(place.connection->head_too_big());
  EXPECT_FALSE(place.connection->timed_out());
  EXPECT_GE(read, kHeadBytesMax);
  EXPECT_LE(read, kHeadBytesMax + 8192) << "what was received already is handed out";
  place.connection->begin_body();
  while (read < kHeadBytesMax + 1000 && place.connection->read(&byte, 1) > 0) read++;
  EXPECT_EQ(read, kHeadBytesMax + 1000) << "a body is no head";
  client.join();
}

TEST(Connection, AClientThatDoesNotReadIsLetGo) {
  const Place place(kShort);
  EXPECT_TRUE(place.connection->write("short"));
  EXPECT_FALSE(place.connection->write(std::string(std::size_t{64} * 1024 * 1024, 'x')));
  EXPECT_GE(place.connection->bytes_written(), 5u);
}

TEST(Connection, EverythingIsWritten) {
  const Place place;
  const std::string text(3'000'000, 'x');
  std::string got;
  std::thread client([&] { got = place.sockets.receive(text.size()); });
  EXPECT_TRUE(place.connection->write(text));
  client.join();
  EXPECT_EQ(got, text);
}

TEST(Connection, RestKeepsWhatIsUnread) {
  const Place place;
  place.connection->begin_head();
  place.sockets.send("abc");
  EXPECT_EQ(place.read(1), "a");
  place.connection->rest();
  EXPECT_EQ(place.read(5), "bc");
  place.connection->rest();
  place.sockets.send("d");
  EXPECT_EQ(place.read(5), "d");
}

TEST(Connection, PeerIsGoneOnceItEndsItsSendingSide) {
  const Place place;
  const int socket = place.connection->socket();
  EXPECT_FALSE(is_peer_gone(socket));
  place.sockets.send("unread");
  EXPECT_FALSE(is_peer_gone(socket));
  place.sockets.end_sending();
  EXPECT_TRUE(is_peer_gone(socket));
}

TEST(Connection, FinishWaitsForTheClientAndNotForEver) {
  Place patient;
  patient.sockets.send("a body that nobody reads");
  std::thread client([&] {
    patient.sockets.receive(1);  // the end of the server's side
    patient.sockets.close_client();
  });
  patient.connection->finish(std::chrono::milliseconds(60'000));
  client.join();
  Place silent;
  silent.connection->finish(std::chrono::milliseconds(10));
  EXPECT_EQ(silent.sockets.receive(1), "");
}

}  // namespace
}  // namespace assay::server
