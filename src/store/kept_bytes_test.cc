#include "store/kept_bytes.h"

#include <gtest/gtest.h>

#include "store/testing/store_fixture.h"

namespace assay::store {
namespace {

using KeptBytesTest = StoreTest;

Feedback says(const std::string& id) { return {.decision_id = id, .question_id = "", .option = "info", .note = ""}; }

DecisionRecord record_with(const std::string& id, std::size_t bytes) {
  DecisionRecord record = plain_record(id);
  record.answers[0].bytes = {{.key = "s/" + id, .bytes = std::string(bytes, 'x')}};
  return record;
}

TEST_F(KeptBytesTest, AboveTheLimitTheOldestWithoutALabelGoFirst) {
  options_.writer.states_bytes_max = 1000;
  DecisionStore& store = open();
  store.record(record_with("labelled", 200));
  ASSERT_TRUE(store.add_feedback(says("labelled")).ok());
  for (int i = 0; i < 4; i++) store.record(record_with("d" + std::to_string(i), 200));
  ASSERT_TRUE(store.flush().ok());
  EXPECT_TRUE(store.bytes("s/d0").value().has_value());  // 1000 are no more than 1000
  store.record(record_with("d4", 200));
  store.close();
  DecisionStore& again = open();
  EXPECT_FALSE(again.bytes("s/d0").value().has_value());
  EXPECT_FALSE(again.bytes("s/d1").value().has_value());  // a twentieth more goes with them
  for (const char* id : {"d2", "d3", "d4", "labelled"}) {
    EXPECT_TRUE(again.bytes(std::string("s/") + id).value().has_value()) << id;
  }
  EXPECT_TRUE(again.find("d0").value().has_value());  // the decision stays
  again.close();
  EXPECT_EQ(again.stats().writer.state_bytes, 800u);
}

TEST_F(KeptBytesTest, LabelledOnesGoWhenNothingElseIsLeft) {
  DecisionStore& store = open();
  for (const char* id : {"a", "b", "c"}) {
    store.record(record_with(id, 200));
    ASSERT_TRUE(store.add_feedback(says(id)).ok());
  }
  store.close();
  options_.writer.states_bytes_max = 500;
  DecisionStore& limited = open();
  ASSERT_TRUE(limited.flush().ok());
  limited.close();
  DecisionStore& again = open();
  EXPECT_FALSE(again.bytes("s/a").value().has_value());
  EXPECT_TRUE(again.bytes("s/b").value().has_value());
  EXPECT_TRUE(again.bytes("s/c").value().has_value());
}

TEST_F(KeptBytesTest, NobodysBytesStayUntilTheyAreErasedByName) {
  DecisionStore& store = open();
  ASSERT_TRUE(store
                  .put_bytes({{"", {"r/one/a/1", "x"}},
                              {"", {"r/one/a/2", "x"}},
                              {"", {"r/one/b/1", "x"}},
                              {"", {"r/onetwo/c/1", "x"}}})
                  .ok());
  ASSERT_TRUE(store.erase_other_bytes("r/one/", {"a"}).ok());
  EXPECT_TRUE(store.bytes("r/one/a/1").value().has_value());
  EXPECT_TRUE(store.bytes("r/one/a/2").value().has_value());
  EXPECT_FALSE(store.bytes("r/one/b/1").value().has_value());
  EXPECT_TRUE(store.bytes("r/onetwo/c/1").value().has_value());
}

TEST_F(KeptBytesTest, NotesComeWithTheirRecordTakeEachOthersPlaceAndAreNotTrimmed) {
  options_.writer.states_bytes_max = 10;
  DecisionStore& store = open();
  for (const char* text : {"first", "second, which is longer than what is kept"}) {
    DecisionRecord record = plain_record(text);
    record.notes = {{.key = "watch/1", .bytes = text}};
    store.record(record);
  }
  store.record(record_with("large", 100));
  store.close();
  DecisionStore& again = open();
  EXPECT_EQ(again.note("watch/1").value(), "second, which is longer than what is kept");
  EXPECT_FALSE(again.bytes("s/large").value().has_value());
  EXPECT_FALSE(again.note("watch/2").value().has_value());
  EXPECT_FALSE(again.bytes("watch/1").value().has_value());
}

TEST_F(KeptBytesTest, AShadowsAnswerStandsBesideTheAnswer) {
  DecisionStore& store = open();
  DecisionRecord record = plain_record("d1");
  record.answers.push_back(plain_answer("q2"));
  for (AnswerRecord& answer : record.answers)
    answer.lesson.used = LessonUse{.name = "refunds", .version = 1, .sha256 = "ab", .taught = true};
  store.record(record);
  const ShadowAnswer shadow{
      .lesson = "refunds", .version = 2, .best = 1, .confidence = 0.5, .probabilities = {0.25, 0.75}};
  const auto note = [] { return StoredBytes{.key = "watch/2", .bytes = "n"}; };
  ASSERT_TRUE(store.put_shadow({.decision_id = "d1", .question = 1}, shadow, note).ok());
  ASSERT_TRUE(store.put_shadow({.decision_id = "d1", .question = 2}, shadow, note).ok());  // there is none
  ASSERT_TRUE(store.put_shadow({.decision_id = "gone", .question = 0}, shadow, note).ok());
  const DecisionRecord kept = *store.find("d1").value();
  EXPECT_FALSE(kept.answers[0].shadow.has_value());
  EXPECT_EQ(kept.answers[1].shadow->version, 2);
  EXPECT_EQ(kept.answers[1].shadow->probabilities, shadow.probabilities);
  EXPECT_EQ(store.note("watch/2").value(), "n");

  // The answer was "refund", the shadow's is "info".
  EXPECT_EQ(store.shadow_labels("refunds", 1, 2)->labelled, 0u);
  ASSERT_TRUE(store.add_feedback({.decision_id = "d1", .question_id = "q2", .option = "info", .note = ""}).ok());
  const ShadowLabels labels = store.shadow_labels("refunds", 1, 2).value();
  EXPECT_EQ(labels.labelled, 1u);
  EXPECT_EQ(labels.shadow_right, 1u);
  EXPECT_EQ(labels.shadow_alone, 1u);
  EXPECT_EQ(labels.active_right + labels.active_alone, 0u);
  EXPECT_EQ(store.shadow_labels("refunds", 2, 1)->labelled, 0u);
  EXPECT_EQ(store.shadow_labels("others", 1, 2)->labelled, 0u);
}

}  // namespace
}  // namespace assay::store
