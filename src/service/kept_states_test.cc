#include "service/kept_states.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/sha256.h"
#include "store/testing/store_fixture.h"

namespace assay::service {
namespace {

const std::vector<std::string> kCues = {"A {state} a", "B {state} b"};
const HiddenStates::OfCues kStates = {{1.5F, -2}, {0, 1e-30F}};
const std::string kState = sha256_hex("\"charged twice\"");

Question question() { return {.id = "q", .text = "why", .options = {{"refund", {}}, {"info", {}}}}; }

class KeptStatesTest : public store::StoreTest {};

TEST_F(KeptStatesTest, GivesBackTheSameBits) {
  EXPECT_EQ(hidden_states_of(hidden_states_bytes(kStates), 2), kStates);
  EXPECT_EQ(hidden_states_of("", 2), std::nullopt);
  EXPECT_EQ(hidden_states_of("12345678", 3), std::nullopt);
  EXPECT_EQ(hidden_states_of(hidden_states_bytes({{std::numeric_limits<float>::infinity()}}), 1), std::nullopt);
}

TEST_F(KeptStatesTest, EverythingThatMovesBitsIsInTheKey) {
  const std::string key = hidden_states_key("bits", "why", kCues, kState);
  EXPECT_NE(key, hidden_states_key("other bits", "why", kCues, kState));
  EXPECT_NE(key, hidden_states_key("bits", "how", kCues, kState));
  EXPECT_NE(key, hidden_states_key("bits", "why", {kCues[0]}, kState));
  EXPECT_NE(key, hidden_states_key("bits", "why", {kCues[1], kCues[0]}, kState));
  EXPECT_NE(key, hidden_states_key("bits", "why", kCues, sha256_hex("\"other\"")));
  EXPECT_EQ(key, hidden_states_key("bits", "why", kCues, kState));
}

TEST_F(KeptStatesTest, ADecisionsGoWithItAndARowsOwnWithTheRow) {
  store::DecisionStore& store = open();
  store.record(store::plain_record("d1"));
  const std::string row = sha256_hex("\"a row\"");
  {
    KeptStates kept(store, "bits", "refunds");
    kept.keep(question(), kCues,
              {{.state_sha256 = kState, .decision_id = "d1", .states = kStates},
               {.state_sha256 = row, .decision_id = "", .states = kStates},
               {.state_sha256 = sha256_hex("\"gone\""), .decision_id = "d-unknown", .states = kStates}});
    EXPECT_EQ(kept.find(question(), kCues, kState), kStates);
    EXPECT_EQ(kept.find(question(), kCues, row), kStates);
    EXPECT_EQ(kept.find(question(), {kCues[0]}, row), std::nullopt);
    EXPECT_EQ(kept.find(question(), kCues, sha256_hex("\"gone\"")), std::nullopt);
    kept.end();
    EXPECT_EQ(kept.find(question(), kCues, row), kStates);
  }
  EXPECT_EQ(KeptStates(store, "another build", "refunds").find(question(), kCues, row), std::nullopt);
  EXPECT_TRUE(store.forget("d1").value());
  KeptStates later(store, "bits", "refunds");
  EXPECT_EQ(later.find(question(), kCues, kState), std::nullopt);
  // A fit of another lesson leaves the rows alone, one of this lesson that has other rows does not.
  KeptStates other(store, "bits", "others");
  other.end();
  EXPECT_EQ(later.find(question(), kCues, row), kStates);
  KeptStates without(store, "bits", "refunds");
  without.end();
  EXPECT_EQ(later.find(question(), kCues, row), std::nullopt);
}

}  // namespace
}  // namespace assay::service
