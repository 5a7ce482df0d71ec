#include "server/request_log.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace assay::server {
namespace {

TEST(RequestLog, ADecisionHasItsCounts) {
  EXPECT_EQ(request_line({.id = "r1",
                          .inference_id = "i1",
                          .method = "POST",
                          .route = "/invocations",
                          .status = 200,
                          .ms = 12.34567,
                          .readout = "letters",
                          .input_tokens = 54,
                          .cached_tokens = 40,
                          .queue_ms = 0.5,
                          .compute_ms = 11}),
            R"({"event": "request", "id": "r1", "inference_id": "i1", "method": "POST", "route": "/invocations", )"
            R"("status": 200, "ms": 12.346, "readout": "letters", "input_tokens": 54, "cached_tokens": 40, )"
            R"("queue_ms": 0.5, "compute_ms": 11.0})");
}

TEST(RequestLog, WhatIsNotKnownIsLeftOut) {
  EXPECT_EQ(request_line({.id = "r", .inference_id = "", .method = "GET", .route = "other", .status = 404, .ms = 0}),
            R"({"event": "request", "id": "r", "method": "GET", "route": "other", "status": 404, "ms": 0.0})");
}

TEST(RequestLog, IsJsonWhateverCame) {
  const std::string line = request_line({.id = "a\"\n\xFF",
                                         .inference_id = "",
                                         .method = "P\nT",
                                         .route = "other",
                                         .status = 1,
                                         .ms = std::numeric_limits<double>::quiet_NaN()});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(line.find("nan"), std::string::npos);
}

TEST(RequestLog, ReadySaysWhatServes) {
  ModelReport model;
  model.id = "smol";
  model.sha256 = "b179";
  model.threads = 2;
  const std::string line = ready_line(model, "CPU", "http://0.0.0.0:8080");
  for (const char* part : {R"("event": "ready")", R"("model": "smol")", R"("sha256": "b179")", R"("threads": 2)",
                           R"("device": "CPU")", R"("address": "http://0.0.0.0:8080")"}) {
    EXPECT_NE(line.find(part), std::string::npos) << part;
  }
}

}  // namespace
}  // namespace assay::server
