#include "server/http/listening.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace assay::server {
namespace {

// A listening Unix socket in a folder of its own.
class UnixSocket : public ::testing::Test {
 public:
  UnixSocket() {
    std::string pattern = (std::filesystem::temp_directory_path() / "assay-listening-XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
    path_ = (folder_ / "x.sock").string();
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
    socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(bind(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(listen(socket_, 1), 0);
  }
  ~UnixSocket() override {
    close_socket();
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

 protected:
  void close_socket() {
    if (socket_ >= 0) close(socket_);
    socket_ = -1;
  }

  std::filesystem::path folder_;
  std::string path_;
  int socket_ = -1;
};

TEST_F(UnixSocket, IsRemovedOnceNobodyListens) {
  remove_dead_socket(path_);
  EXPECT_TRUE(std::filesystem::exists(path_));
  close_socket();
  remove_dead_socket(path_);
  EXPECT_FALSE(std::filesystem::exists(path_));
  remove_dead_socket(path_);
}

TEST_F(UnixSocket, OnlySocketsAreRemoved) {
  const std::string file = (folder_ / "file.sock").string();
  std::ofstream(file) << "text";
  remove_dead_socket(file);
  EXPECT_TRUE(std::filesystem::exists(file));
  remove_dead_socket((folder_ / std::string(300, 'a')).string());
}

TEST(Listening, AddressesAreAsClientsWriteThem) {
  EXPECT_EQ(address_of("127.0.0.1", 80, false), "http://127.0.0.1:80");
  EXPECT_EQ(address_of("::1", 443, true), "https://[::1]:443");
  EXPECT_EQ(address_of("[::1]", 443, true), "https://[::1]:443");
  EXPECT_EQ(address_of("/run/x.sock", 8080, false), "unix:///run/x.sock");
  EXPECT_TRUE(is_unix_socket_path("x.sock"));
  EXPECT_FALSE(is_unix_socket_path("sock.example"));
}

TEST(Listening, SomeConnectionsAreAlwaysAllowed) {
  EXPECT_EQ(allow_connections(1), 1u);
  EXPECT_GE(allow_connections(1'000'000'000), 1u);
}

}  // namespace
}  // namespace assay::server
