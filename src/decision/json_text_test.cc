#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "assay/value.h"

namespace assay {
namespace {

// Every expected text here was written by Python's json.dumps(value, ensure_ascii=False).

std::string number_text(double number) { return to_json_text(Value(number)); }

TEST(JsonText, WritesSmallAndLargeNumbersAsPythonRepr) {
  EXPECT_EQ(number_text(1.0), "1.0");
  EXPECT_EQ(number_text(-1.5), "-1.5");
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(123456.789), "123456.789");
  EXPECT_EQ(number_text(100.0), "100.0");
  EXPECT_EQ(number_text(1e22), "1e+22");
  EXPECT_EQ(number_text(1.5e300), "1.5e+300");
}

TEST(JsonText, SwitchesToAnExponentBelowOneTenThousandth) {
  EXPECT_EQ(number_text(0.0001), "0.0001");
  EXPECT_EQ(number_text(0.00015), "0.00015");
  EXPECT_EQ(number_text(0.00009999), "9.999e-05");
  EXPECT_EQ(number_text(0.00001), "1e-05");
}

TEST(JsonText, SwitchesToAnExponentAtTenToTheSixteenth) {
  EXPECT_EQ(number_text(1e15), "1000000000000000.0");
  EXPECT_EQ(number_text(9999999999999998.0), "9999999999999998.0");
  EXPECT_EQ(number_text(1e16), "1e+16");
  EXPECT_EQ(number_text(12345678901234568.0), "1.2345678901234568e+16");
}

TEST(JsonText, KeepsTheSignOfZero) {
  EXPECT_EQ(number_text(0.0), "0.0");
  EXPECT_EQ(number_text(-0.0), "-0.0");
}

TEST(JsonText, WritesTheEdgesOfDouble) {
  EXPECT_EQ(number_text(std::numeric_limits<double>::max()), "1.7976931348623157e+308");
  EXPECT_EQ(number_text(std::numeric_limits<double>::min()), "2.2250738585072014e-308");
  EXPECT_EQ(number_text(std::numeric_limits<double>::denorm_min()), "5e-324");
  EXPECT_EQ(number_text(0.1 + 0.2), "0.30000000000000004");
}

TEST(JsonText, KeepsEveryDigitOfAnInteger) {
  EXPECT_EQ(to_json_text(Value(Value::Integer{"0"})), "0");
  EXPECT_EQ(to_json_text(Value(Value::Integer{"-12345678901234567890123"})), "-12345678901234567890123");
}

TEST(JsonText, EscapesQuotesBackslashesAndControlCharacters) {
  EXPECT_EQ(to_json_text(Value("\"\\\n\r\t\f\b")), R"("\"\\\n\r\t\f\b")");
  EXPECT_EQ(to_json_text(Value(std::string("\0\x01\x0b\x1b\x1f", 5))), R"("\u0000\u0001\u000b\u001b\u001f")");
}

TEST(JsonText, LeavesEverythingElseAsItIs) {
  EXPECT_EQ(to_json_text(Value("/ \x7f é 漢 🙂 \xE2\x80\xA8")), "\"/ \x7f é 漢 🙂 \xE2\x80\xA8\"");
}

TEST(JsonText, SeparatesWithACommaOrColonAndOneSpace) {
  const Value value(Value::Object{{"b", Value(Value::Array{Value(true), Value(false), Value()})},
                                  {"a", Value(Value::Object{})},
                                  {"", Value(Value::Array{})}});
  EXPECT_EQ(to_json_text(value), R"({"b": [true, false, null], "a": {}, "": []})");
}

TEST(JsonText, EscapesKeysLikeStrings) {
  EXPECT_EQ(to_json_text(Value(Value::Object{{"a\"\n", Value("x")}})), R"({"a\"\n": "x"})");
}

TEST(DisplayText, ShowsAStringWithoutQuotesAndTheRestAsJson) {
  EXPECT_EQ(to_display_text(Value("a \"b\"\n")), "a \"b\"\n");
  EXPECT_EQ(to_display_text(Value("")), "");
  EXPECT_EQ(to_display_text(Value(Value::Array{Value("a"), Value(1.0)})), R"(["a", 1.0])");
}

}  // namespace
}  // namespace assay
