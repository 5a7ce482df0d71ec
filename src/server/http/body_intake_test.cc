#include "server/http/body_intake.h"

#include <gtest/gtest.h>

#include <string>

#include "server/routes.h"
#include "server/testing/fake_decider.h"

namespace assay::server {
namespace {

class BodyIntakeTest : public ::testing::Test {
 protected:
  // How many bytes are read of a body that comes in pieces of 1000.
  std::size_t read(const std::string& path, const std::string& body, std::size_t bytes_max = 1 << 20) {
    HttpRequest request{.method = "POST", .path = path, .headers = {{"Content-Type", "application/json"}}, .body = ""};
    BodyBytes::Share share(all_);
    BodyIntake intake(request, share, bytes_max, routes_);
    for (std::size_t at = 0; at < body.size() && intake.append(std::string_view(body).substr(at, 1000));) at += 1000;
    status_ = intake.refusal() ? intake.refusal()->status : 0;
    return request.body.size();
  }
  static std::string decision_of(std::size_t bytes) { return R"({"decision": {"state": ")" + std::string(bytes, 'x'); }

  testing::FakeDecider decider_;
  Metrics metrics_;
  ManualClock clock_;
  Routes routes_{decider_, metrics_, clock_, {.request_id_seed = 1}};
  BodyBytes all_{std::size_t{1} << 21};
  int status_ = 0;
};

TEST_F(BodyIntakeTest, ADecisionWithoutAPlaceIsNotReadToItsEnd) {
  decider_.set_full(true);
  for (const char* path : {"/v1/decide", "/invocations"}) {
    EXPECT_EQ(read(path, decision_of(500'000)), 66'000u) << path;
    EXPECT_EQ(status_, 503) << path;
  }
  EXPECT_EQ(decider_.decided(), 0);
}

TEST_F(BodyIntakeTest, WhatMayHaveAPlaceIsRead) {
  decider_.set_full(true);
  EXPECT_EQ(read("/invocations", R"({"messages": [{"content": ")" + std::string(500'000, 'x')), 500'027u);
  EXPECT_EQ(read("/v1/chat/completions", decision_of(500'000)), decision_of(500'000).size());
  EXPECT_EQ(read("/v1/decide", decision_of(60'000)), decision_of(60'000).size()) << "so small that it does not matter";
  decider_.set_full(false);
  EXPECT_EQ(read("/v1/decide", decision_of(500'000)), decision_of(500'000).size());
  EXPECT_EQ(status_, 0);
}

TEST_F(BodyIntakeTest, ABodyHasALimitAndAllBodiesHaveOne) {
  EXPECT_EQ(read("/v1/decide", std::string(5000, 'x'), 2500), 2000u);
  EXPECT_EQ(status_, 413);
  BodyBytes::Share held(all_);
  held.add((std::size_t{1} << 21) - 1500);
  EXPECT_EQ(read("/v1/decide", std::string(5000, 'x')), 1000u);
  EXPECT_EQ(status_, 503);
}

}  // namespace
}  // namespace assay::server
