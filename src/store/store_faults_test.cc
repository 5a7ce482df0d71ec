// Everything that can be wrong with the file: locked, full, damaged, another's, newer, not to be written.

#include <gtest/gtest.h>

#include <random>

#include "store/decision_store.h"
#include "store/schema.h"
#include "store/testing/store_fixture.h"

namespace assay::store {
namespace {

using StoreFaultsTest = StoreTest;

Feedback says(const std::string& id, const std::string& option) {
  return {.decision_id = id, .question_id = "", .option = option, .note = ""};
}

TEST_F(StoreFaultsTest, ALockThatStaysIsUnavailableAndNothingIsLost) {
  DecisionStore& store = open();
  store.record(plain_record("d1"));
  ASSERT_TRUE(store.flush().ok());
  const std::unique_ptr<Database> other = other_program();
  ASSERT_TRUE(other->execute("BEGIN IMMEDIATE").ok());

  EXPECT_TRUE(store.record(plain_record("d2")));
  const Result<FeedbackResult> refused = store.add_feedback(says("d2", "info"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(refused.error().message.find("'decisions.db': another program holds its lock"), std::string::npos);
  EXPECT_EQ(refused.error().retry_after_seconds, 1);
  EXPECT_FALSE(store.forget("d1").ok());
  EXPECT_TRUE(store.find("d1").value().has_value());  // reading goes on
  EXPECT_EQ(store.find("d2").error().code, ErrorCode::kUnavailable);
  EXPECT_FALSE(store.stats().writer.last_error.empty());

  ASSERT_TRUE(other->execute("ROLLBACK").ok());
  EXPECT_EQ(store.add_feedback(says("d2", "info")).value(), FeedbackResult::kStored);
  EXPECT_TRUE(store.stats().writer.last_error.empty());
  EXPECT_EQ(store.stats().writer.lost + store.stats().writer.dropped, 0u);
}

TEST_F(StoreFaultsTest, AFullQueueDropsAndCountsAndTheRestIsWritten) {
  options_.writer.records_max = 3;
  DecisionStore& store = open();
  const std::unique_ptr<Database> other = other_program();
  ASSERT_TRUE(other->execute("BEGIN IMMEDIATE").ok());
  int kept = 0;
  for (int i = 0; i < 10; i++) kept += store.record(plain_record("d" + std::to_string(i))) ? 1 : 0;
  EXPECT_EQ(kept, 3);
  EXPECT_EQ(store.stats().writer.dropped, 7u);
  EXPECT_EQ(store.stats().writer.queued, 3u);
  ASSERT_TRUE(other->execute("ROLLBACK").ok());
  ASSERT_TRUE(store.flush().ok());
  EXPECT_EQ(store.stats().writer.written, 3u);
  EXPECT_TRUE(store.record(plain_record("d10")));
  EXPECT_EQ(store.add_feedback(says("d9", "info")).error().code, ErrorCode::kNotFound);
}

TEST_F(StoreFaultsTest, AQueueOfLargeRecordsIsBoundedByItsBytes) {
  options_.writer.bytes_max = 100'000;
  DecisionStore& store = open();
  const std::unique_ptr<Database> other = other_program();
  ASSERT_TRUE(other->execute("BEGIN IMMEDIATE").ok());
  EXPECT_TRUE(store.record(plain_record("d1", "\"" + std::string(60'000, 'x') + "\"")));
  EXPECT_FALSE(store.record(plain_record("d2", "\"" + std::string(60'000, 'x') + "\"")));
  ASSERT_TRUE(other->execute("ROLLBACK").ok());
}

TEST_F(StoreFaultsTest, WhatCannotBeWrittenBeforeTheEndIsCountedAsLost) {
  DecisionStore& store = open();
  const std::unique_ptr<Database> other = other_program();
  ASSERT_TRUE(other->execute("BEGIN IMMEDIATE").ok());
  store.record(plain_record("d1"));
  store.close();
  EXPECT_EQ(store.stats().writer.lost, 1u);
  EXPECT_FALSE(store.record(plain_record("d2")));
  EXPECT_EQ(store.add_feedback(says("d1", "info")).error().code, ErrorCode::kUnavailable);
}

TEST_F(StoreFaultsTest, AFullDiskRefusesFeedbackAndKeepsTheServerUp) {
  options_.writer.keep = Keep::kTexts;
  options_.file_bytes_max = 256 * 1024;
  DecisionStore& store = open();
  store.record(plain_record("d1", R"("a small one")"));
  ASSERT_TRUE(store.flush().ok());
  EXPECT_TRUE(store.record(plain_record("big", "\"" + std::string(400'000, 'x') + "\"")));
  const Result<FeedbackResult> refused = store.add_feedback(says("big", "info"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kIo);
  EXPECT_NE(refused.error().message.find(path() + "': the disk is full"), std::string::npos);
  EXPECT_EQ(store.flush().error().code, ErrorCode::kIo);
  EXPECT_EQ(store.stats().writer.queued, 1u);
  EXPECT_TRUE(store.find("d1").value().has_value());
  // What is small or erases is done nevertheless, though the record before it waits.
  EXPECT_EQ(store.add_feedback(says("d1", "info")).value(), FeedbackResult::kStored);
  EXPECT_TRUE(store.forget("d1").value());
  EXPECT_EQ(store.add_feedback(says("nobody", "info")).error().code, ErrorCode::kNotFound);
}

TEST_F(StoreFaultsTest, AFullDiskThatHasRoomAgainTakesWhatWaited) {
  options_.writer.keep = Keep::kTexts;
  options_.file_bytes_max = 512 * 1024;
  DecisionStore& store = open();
  store.record(plain_record("first", "\"" + std::string(300'000, 'x') + "\""));
  ASSERT_TRUE(store.flush().ok());
  store.record(plain_record("second", "\"" + std::string(300'000, 'y') + "\""));
  EXPECT_FALSE(store.flush().ok());
  EXPECT_TRUE(store.forget("first").value());
  EXPECT_TRUE(store.flush().ok());
  EXPECT_TRUE(store.find("second").value().has_value());
  EXPECT_EQ(store.stats().writer.lost, 0u);
}

TEST_F(StoreFaultsTest, AFileThatIsNoDatabaseIsNamed) {
  std::ofstream(path()) << std::string(5000, 'x');
  const auto opened = DecisionStore::open(path(), options_);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::kIo);
  EXPECT_NE(opened.error().message.find(path() + "': the file is no database, or damaged"), std::string::npos);
}

TEST_F(StoreFaultsTest, AnotherProgramsDatabaseStaysAsItIs) {
  ASSERT_TRUE(other_program()->execute("CREATE TABLE theirs(x)").ok());
  const auto opened = DecisionStore::open(path(), options_);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(other_program()->integer_of("SELECT count(*) FROM sqlite_master").value(), 1);
  EXPECT_EQ(other_program()->text_of("PRAGMA journal_mode").value(), "delete");
}

TEST_F(StoreFaultsTest, ANewerSchemaIsRefused) {
  open().close();
  store_.reset();
  ASSERT_TRUE(other_program()->execute("PRAGMA user_version=2").ok());
  const auto opened = DecisionStore::open(path(), options_);
  ASSERT_FALSE(opened.ok());
  EXPECT_EQ(opened.error().code, ErrorCode::kUnavailable);
  EXPECT_NE(opened.error().message.find("has schema 2, of a newer Assay"), std::string::npos);
}

TEST_F(StoreFaultsTest, PlacesThatCannotBeWrittenAreNamed) {
  for (const std::string& place : {folder_ + "/none/decisions.db", folder_, std::string("/proc/decisions.db")}) {
    const auto opened = DecisionStore::open(place, options_);
    ASSERT_FALSE(opened.ok()) << place;
    EXPECT_EQ(opened.error().code, ErrorCode::kIo);
    EXPECT_NE(opened.error().message.find("'" + place + "'"), std::string::npos) << opened.error().message;
  }
}

TEST_F(StoreFaultsTest, ALockWhileTheFileIsMadeIsUnavailable) {
  const std::unique_ptr<Database> other = other_program();
  ASSERT_TRUE(other->execute("BEGIN EXCLUSIVE; CREATE TABLE t(x)").ok());
  EXPECT_EQ(DecisionStore::open(path(), options_).error().code, ErrorCode::kUnavailable);
}

TEST_F(StoreFaultsTest, OnlyItsOwnerMayReadTheFile) {
  open().record(plain_record("d1"));
  ASSERT_TRUE(store_->flush().ok());
  for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
    EXPECT_EQ(entry.status().permissions() & std::filesystem::perms(0777), std::filesystem::perms(0600))
        << entry.path();
  }
}

// Whatever bytes are wrong, every call gives a result or an error.
TEST_F(StoreFaultsTest, DamagedBytesNeverCrash) {
  options_.writer.keep = Keep::kTexts;
  for (int i = 0; i < 40; i++) {
    const std::string id = "d" + std::to_string(i);
    if (i == 0) open();
    store_->record(plain_record(id));
    ASSERT_TRUE(store_->add_feedback(says(id, "info")).ok());
  }
  store_.reset();
  std::ostringstream text;
  text << std::ifstream(path(), std::ios::binary).rdbuf();
  const std::string good = text.str();
  const unsigned seed = 20261130;
  std::mt19937 random(seed);
  int failed = 0;
  for (int round = 0; round < 60; round++) {
    std::string bad = good;
    if (round % 6 == 5) bad.resize(random() % bad.size());
    for (int i = 0; i < 40 && !bad.empty(); i++) bad[random() % bad.size()] = static_cast<char>(random());
    for (const char* beside : {"-wal", "-shm"}) std::filesystem::remove(path() + beside);
    std::ofstream(path(), std::ios::binary) << bad;
    const auto opened = DecisionStore::open(path(), options_);
    if (!opened.ok()) {
      ++failed;
      continue;
    }
    bool good_so_far = (*opened)->answers({}, std::nullopt, 100).ok();
    good_so_far &= (*opened)->questions().ok();
    good_so_far &= (*opened)->export_lines({}, [](std::string_view) { return true; }).ok();
    good_so_far &= (*opened)->add_feedback(says("d7", "refund")).ok();
    good_so_far &= (*opened)->forget("d8").ok();
    (*opened)->record(plain_record("new"));
    failed += good_so_far ? 0 : 1;
  }
  EXPECT_GT(failed, 30) << "seed " << seed;
}

TEST(StoreError, SaysWhatSqlitesCodesMean) {
  const auto code = [](int sqlite_code) { return store_error(sqlite_code, "x.db", "writing", "detail").code; };
  EXPECT_EQ(code(5), ErrorCode::kUnavailable);           // SQLITE_BUSY
  EXPECT_EQ(code(5 | 2 << 8), ErrorCode::kUnavailable);  // SQLITE_BUSY_SNAPSHOT
  EXPECT_EQ(code(7), ErrorCode::kOutOfMemory);           // SQLITE_NOMEM
  EXPECT_EQ(code(8), ErrorCode::kIo);                    // SQLITE_READONLY
  EXPECT_EQ(code(10 | 4 << 8), ErrorCode::kIo);          // SQLITE_IOERR_FSYNC
  EXPECT_EQ(code(11), ErrorCode::kIo);                   // SQLITE_CORRUPT
  EXPECT_EQ(code(13), ErrorCode::kIo);                   // SQLITE_FULL
  EXPECT_EQ(code(14), ErrorCode::kIo);                   // SQLITE_CANTOPEN
  EXPECT_EQ(code(18), ErrorCode::kTooLong);              // SQLITE_TOOBIG
  EXPECT_EQ(code(19), ErrorCode::kInternal);             // SQLITE_CONSTRAINT
  EXPECT_EQ(store_error(8, "a/x.db", "writing", "").message,
            "writing failed: 'a/x.db': the file or its folder cannot be written");
}

}  // namespace
}  // namespace assay::store
