#pragma once
// A disk on which no file of this process grows, for as long as this lives.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>

namespace assay::service::testing {

// Writes fail with EFBIG, as they do with ENOSPC on a disk that is full; files can be made and renamed.
class FullDisk {
 public:
  FullDisk() {
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    EXPECT_EQ(getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit none{.rlim_cur = 0, .rlim_max = before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &none), 0);
  }
  ~FullDisk() {
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before_), 0);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_ = {};
  void (*handler_)(int) = nullptr;
};

}  // namespace assay::service::testing
