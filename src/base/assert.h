#pragma once
// ASSAY_ASSERT: a fault of ours. On in release builds too; prints where and ends the process.

#include <cstdio>
#include <cstdlib>

#define ASSAY_ASSERT(condition)                                                                       \
  do {                                                                                                \
    if (!(condition)) {                                                                               \
      std::fprintf(stderr, "assay: assertion failed: %s at %s:%d\n", #condition, __FILE__, __LINE__); \
      std::abort();                                                                                   \
    }                                                                                                 \
  } while (false)
