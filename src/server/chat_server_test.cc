#include "server/chat_server.h"

#include <gtest/gtest.h>

namespace assay::server {
namespace {

TEST(ChatRoute, MatchesWholeSegments) {
  EXPECT_TRUE(matches("/slots", "/slots"));
  EXPECT_FALSE(matches("/slots", "/slots/"));
  EXPECT_FALSE(matches("/slots", "/slots/1"));
  EXPECT_FALSE(matches("/slots", "/slot"));
  EXPECT_TRUE(matches("/slots/:id_slot", "/slots/12"));
  EXPECT_FALSE(matches("/slots/:id_slot", "/slots"));
  EXPECT_FALSE(matches("/slots/:id_slot", "/slots/"));
  EXPECT_FALSE(matches("/slots/:id_slot", "/slots/1/2"));
  EXPECT_FALSE(matches("/slots", ""));
}

TEST(ChatRoute, TellsWhatStandsInAVariableSegment) {
  EXPECT_EQ(segment_of("/slots/:id_slot", "/slots/12"), "12");
  EXPECT_EQ(segment_of("/slots", "/slots"), "");
}

}  // namespace
}  // namespace assay::server
