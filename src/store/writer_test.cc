// What goes away by itself: decisions above their number, and those above their age.

#include "store/writer.h"

#include <gtest/gtest.h>

#include <atomic>

#include "store/testing/store_fixture.h"

namespace assay::store {
namespace {

using WriterTest = StoreTest;

TEST_F(WriterTest, KeepsTheNewestAndAllThatHaveFeedback) {
  options_.writer.decisions_max = 5;
  options_.writer.keep = Keep::kTexts;
  DecisionStore& store = open();
  store.record(plain_record("labelled"));
  ASSERT_TRUE(store.add_feedback({.decision_id = "labelled", .question_id = "", .option = "info", .note = ""}).ok());
  for (int i = 0; i < 20; i++)
    store.record(plain_record("d" + std::to_string(i), "\"state " + std::to_string(i) + "\""));
  store.close();
  EXPECT_EQ(store.stats().writer.expired, 15u);
  DecisionStore& again = open();
  EXPECT_TRUE(again.find("labelled").value().has_value());
  EXPECT_FALSE(again.find("d14").value().has_value());
  EXPECT_TRUE(again.find("d15").value().has_value());
  EXPECT_TRUE(again.find("d19").value().has_value());
  EXPECT_EQ(all_bytes().find("state 14"), std::string::npos);
}

TEST_F(WriterTest, RemovesWhatIsTooOldWithItsFeedback) {
  std::atomic<std::int64_t> now_ms{1'700'000'000'123};
  options_.writer.age_ms_max = 1000;
  options_.writer.now_ms = [&now_ms] { return now_ms.load(); };
  DecisionStore& store = open();
  store.record(plain_record("d1"));
  ASSERT_TRUE(store.add_feedback({.decision_id = "d1", .question_id = "", .option = "info", .note = ""}).ok());
  EXPECT_TRUE(store.find("d1").value().has_value());
  store.close();
  now_ms += 1001;
  DecisionStore& again = open();  // looks when it starts
  again.close();
  EXPECT_EQ(again.stats().writer.expired, 1u);
  now_ms -= 1001;
  DecisionStore& last = open();
  EXPECT_FALSE(last.find("d1").value().has_value());
  last.close();  // its thread looks at the clock above
}

TEST_F(WriterTest, ACallThatFailsIsUndoneAlone) {
  Result<std::unique_ptr<Database>> database = Database::open(path(), 20);
  ASSERT_TRUE(database.ok());
  ASSERT_TRUE((*database)->execute("CREATE TABLE decision(labelled); CREATE TABLE t(x)").ok());
  Writer writer(std::move(database).value(), {});
  const auto insert = [](Database& inner) { return inner.execute("INSERT INTO t VALUES(1)"); };
  EXPECT_TRUE(writer.call({}, insert).ok());
  const Status failed = writer.call({}, [&insert](Database& inner) {
    static_cast<void>(insert(inner));
    return Status(invalid_argument("x", "no"));
  });
  EXPECT_EQ(failed.error().field, "x");
  EXPECT_TRUE(writer.call({}, insert).ok());
  writer.close();
  EXPECT_EQ(other_program()->integer_of("SELECT count(*) FROM t").value(), 2);
  EXPECT_EQ(writer.call({}, insert).error().code, ErrorCode::kUnavailable);
}

TEST_F(WriterTest, WorkThatThrowsIsAnError) {
  Result<std::unique_ptr<Database>> database = Database::open(path(), 20);
  ASSERT_TRUE(database.ok());
  Writer writer(std::move(database).value(), {});
  const Status failed = writer.call({"d"}, [](Database&) -> Status { throw std::bad_alloc(); });
  EXPECT_EQ(failed.error().code, ErrorCode::kOutOfMemory);
}

}  // namespace
}  // namespace assay::store
