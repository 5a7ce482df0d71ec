#include "assay/value.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(Value, FindsAMemberByItsExactKey) {
  const Value value(Value::Object{{"a", Value("first")}, {"A", Value("second")}, {"", Value(true)}});
  ASSERT_NE(value.find("A"), nullptr);
  EXPECT_EQ(*value.find("A")->string(), "second");
  ASSERT_NE(value.find(""), nullptr);
  EXPECT_TRUE(*value.find("")->boolean());
}

TEST(Value, FindsNothingForAMissingKey) {
  const Value value(Value::Object{{"a", Value("x")}});
  EXPECT_EQ(value.find("b"), nullptr);
  EXPECT_EQ(value.find("a "), nullptr);
}

TEST(Value, FindsNothingInWhatIsNotAnObject) {
  EXPECT_EQ(Value().find("a"), nullptr);
  EXPECT_EQ(Value("a").find("a"), nullptr);
  EXPECT_EQ(Value(Value::Array{Value("a")}).find("a"), nullptr);
}

TEST(Value, TellsAnIntegerFromANumber) {
  EXPECT_FALSE(Value(1.0) == Value(Value::Integer{"1"}));
  EXPECT_TRUE(Value(Value::Integer{"1"}) == Value(Value::Integer{"1"}));
}

}  // namespace
}  // namespace assay
