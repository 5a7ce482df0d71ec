#include "server/sagemaker/sessions.h"

#include <regex>

#include <gtest/gtest.h>

namespace assay::server {
namespace {

class SessionsTest : public ::testing::Test {
 protected:
  ManualClock clock_;
  Sessions sessions_{{.idle_seconds_max = 10, .sessions_max = 2, .bytes_max = 40}, clock_};
};

TEST_F(SessionsTest, RemembersAStateUntilItIsClosed) {
  const Result<std::string> id = sessions_.open(Value("long text"));
  ASSERT_TRUE(id.ok());
  EXPECT_TRUE(std::regex_match(*id, std::regex("[0-9a-f]{32}")));
  EXPECT_EQ(sessions_.use(*id)->state, Value("long text"));
  const std::weak_ptr<const void> hold = sessions_.use(*id)->hold;
  EXPECT_FALSE(hold.expired()) << "as long as the session";
  EXPECT_TRUE(sessions_.close(*id).ok());
  EXPECT_TRUE(hold.expired());
  EXPECT_EQ(sessions_.use(*id).error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(sessions_.close(*id).ok());
  EXPECT_EQ(sessions_.count(), 0u);
}

TEST_F(SessionsTest, EndsWhenItIsNotUsed) {
  const std::string id = *sessions_.open(Value("x"));
  clock_.advance_ms(9'999);
  ASSERT_TRUE(sessions_.use(id).ok());
  clock_.advance_ms(9'999);
  ASSERT_TRUE(sessions_.use(id).ok()) << "each use begins it anew";
  clock_.advance_ms(10'000);
  EXPECT_FALSE(sessions_.use(id).ok());
  EXPECT_EQ(sessions_.count(), 0u);
}

TEST_F(SessionsTest, ALimitRefusesAndGivesRoomAgain) {
  const std::string first = *sessions_.open(Value());
  const std::string second = *sessions_.open(Value());
  EXPECT_NE(first, second);
  const Result<std::string> third = sessions_.open(Value());
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().code, ErrorCode::kOverloaded);
  EXPECT_EQ(third.error().retry_after_seconds, 10);
  ASSERT_TRUE(sessions_.close(first).ok());
  EXPECT_TRUE(sessions_.open(Value()).ok());
  clock_.advance_ms(10'000);
  EXPECT_TRUE(sessions_.open(Value()).ok());
  EXPECT_EQ(sessions_.count(), 1u);
}

TEST_F(SessionsTest, StatesAreBoundedTogether) {
  const std::string id = *sessions_.open(Value(std::string(30, 'x')));  // 32 bytes with its quotes
  EXPECT_FALSE(sessions_.open(Value(std::string(7, 'x'))).ok());
  EXPECT_TRUE(sessions_.open(Value(std::string(6, 'x'))).ok());
  ASSERT_TRUE(sessions_.close(id).ok());
  EXPECT_TRUE(sessions_.open(Value(std::string(30, 'x'))).ok());
}

TEST(Sessions, NoneWithoutATime) {
  const ManualClock clock;
  Sessions none({}, clock);
  EXPECT_FALSE(none.enabled());
  EXPECT_EQ(none.open(Value()).error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(none.use("x").ok());
  EXPECT_FALSE(none.close("x").ok());
}

TEST(Sessions, TheHeaderSaysWhenItEnds) {
  EXPECT_EQ(utc_text(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(utc_text(1'795'914'123), "2026-11-29T01:02:03Z");
  EXPECT_EQ(utc_text(951'782'400), "2000-02-29T00:00:00Z");
  EXPECT_EQ(new_session_header("abc", 0), "abc; Expires=1970-01-01T00:00:00Z");
}

}  // namespace
}  // namespace assay::server
