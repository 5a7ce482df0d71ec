#include "server/llama/chat_server.h"

#include <gtest/gtest.h>

namespace assay::server {
namespace {

TEST(ChatRoute, TellsWhatStandsInAVariableSegment) {
  EXPECT_EQ(segment_of("/slots/:id_slot", "/slots/12"), "12");
  EXPECT_EQ(segment_of("/slots", "/slots"), "");
}

}  // namespace
}  // namespace assay::server
