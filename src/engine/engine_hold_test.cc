// Kept segments that somebody holds although no job stands on them now (JobTerms::hold).
#include <gtest/gtest.h>

#include <memory>

#include "engine/testing/engine_rig.h"

namespace assay::engine {
namespace {

using testing::attention_limits;
using testing::chain_job;
using testing::EngineRig;
using testing::run_of;

// Thirty tokens that are kept.
Job prompt(TokenId first) { return chain_job({run_of(30, first), {1}}, {Keep::kAlways}); }

TEST(EngineHold, OutlivesTheTrafficOfOthersAsLongAsItsOwner) {
  EngineRig rig(attention_limits(), {.cache_tokens = 70});
  auto session = std::make_shared<const int>(1);
  Job held = prompt(1);
  held.terms.hold = session;
  ASSERT_TRUE(rig.run(held).ok());
  for (const TokenId other : {2, 3, 4, 2}) EXPECT_EQ(rig.run(prompt(other))->cached_tokens, 0);
  EXPECT_EQ(rig.run(prompt(1))->cached_tokens, 30);
  // A second one is more than half of the cache: the older of the two gives way.
  Job second = prompt(5);
  second.terms.hold = session;
  ASSERT_TRUE(rig.run(second).ok());
  EXPECT_EQ(rig.run(prompt(6))->cached_tokens, 0);
  EXPECT_EQ(rig.run(prompt(5))->cached_tokens, 30);
  EXPECT_EQ(rig.run(prompt(1))->cached_tokens, 0);
  held.terms.hold = second.terms.hold = nullptr;
  session.reset();
  for (const TokenId other : {2, 3}) ASSERT_TRUE(rig.run(prompt(other)).ok());
  EXPECT_EQ(rig.run(prompt(5))->cached_tokens, 0);
}

}  // namespace
}  // namespace assay::engine
