#include "server/sagemaker/oip.h"

#include <gtest/gtest.h>

namespace assay::server {
namespace {

const std::vector<std::string> kNames = {"smol", "jev-latest"};

TEST(Oip, LiveDoesNotDependOnTheModel) {
  EXPECT_EQ(oip_reply("/v2/health/live", false, kNames).status, 200);
  EXPECT_EQ(oip_reply("/v2/health/live", false, kNames).body, "{\"live\": true}");
}

TEST(Oip, ReadySaysWhetherItDecides) {
  for (const char* path : {"/v2/health/ready", "/v2/models/smol/ready"}) {
    EXPECT_EQ(oip_reply(path, true, kNames).status, 200);
    EXPECT_EQ(oip_reply(path, false, kNames).status, 503);
    EXPECT_EQ(oip_reply(path, false, kNames).body, "{\"ready\": false}");
  }
}

TEST(Oip, KnowsItsModels) {
  EXPECT_NE(oip_reply("/v2/models/smol", true, kNames).body.find("\"name\": \"smol\""), std::string::npos);
  EXPECT_EQ(oip_reply("/v2/models/jev-latest/ready", true, kNames).status, 200);
  EXPECT_EQ(oip_reply("/v2/models/other", true, kNames).status, 404);
  const HttpReply reply = oip_reply("/v2/models/o\xFFther/ready", true, kNames);
  EXPECT_EQ(reply.status, 404);
  EXPECT_NE(reply.body.find("\"error\""), std::string::npos);
}

TEST(Oip, SaysWhatItIs) { EXPECT_NE(oip_reply("/v2", true, kNames).body.find("\"version\": \""), std::string::npos); }

}  // namespace
}  // namespace assay::server
