#include "server/wires/wire_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace assay::server {
namespace {

std::string digits_of(std::string_view text) {
  const Result<Value> value = parse_json(text);
  if (!value.ok()) return "error: " + value.error().message;
  const Value::Integer* integer = value.value().integer();
  return integer == nullptr ? "not an integer" : integer->digits;
}

double number_of(std::string_view text) {
  const Result<Value> value = parse_json(text);
  if (!value.ok() || value.value().number() == nullptr) return std::nan("");
  return *value.value().number();
}

std::string refusal_of(std::string_view text) {
  const Result<Value> value = parse_json(text);
  if (value.ok()) return "accepted";
  EXPECT_EQ(value.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(value.error().field, "");
  return value.error().message;
}

bool refuses(std::string_view text, std::string_view part) {
  const std::string message = refusal_of(text);
  EXPECT_NE(message.find(part), std::string::npos) << text << " -> " << message;
  return message != "accepted";
}

std::string nested(std::size_t levels) { return std::string(levels, '[') + std::string(levels, ']'); }

TEST(ParseJson, KeepsTheOrderOfKeys) {
  const Result<Value> value = parse_json(R"({"z":1,"a":{"y":null,"b":true},"m":[false,"x"]})");
  ASSERT_TRUE(value.ok());
  const Value::Object& object = *value.value().object();
  ASSERT_EQ(object.size(), 3u);
  EXPECT_EQ(object[0].first, "z");
  EXPECT_EQ(object[1].first, "a");
  EXPECT_EQ(object[2].first, "m");
  EXPECT_EQ((*object[1].second.object())[0].first, "y");
  EXPECT_TRUE((*object[1].second.object())[0].second.is_null());
  EXPECT_EQ(*(*object[2].second.array())[0].boolean(), false);
  EXPECT_EQ(*(*object[2].second.array())[1].string(), "x");
}

TEST(ParseJson, KeepsEveryDigitOfAnInteger) {
  EXPECT_EQ(digits_of("0"), "0");
  EXPECT_EQ(digits_of("-0"), "0");
  EXPECT_EQ(digits_of("-12"), "-12");
  EXPECT_EQ(digits_of("18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(digits_of("18446744073709551616"), "18446744073709551616");
  EXPECT_EQ(digits_of("-9223372036854775809"), "-9223372036854775809");
  EXPECT_EQ(digits_of("123456789012345678901234567890"), "123456789012345678901234567890");
  const std::string long_one = "-" + std::string(kJsonDigitsMax, '7');
  EXPECT_EQ(digits_of(long_one), long_one);
}

TEST(ParseJson, RefusesAnIntegerAboveTheDigitLimit) {
  EXPECT_TRUE(refuses(std::string(kJsonDigitsMax + 1, '7'), "4301 digits; the limit is 4300"));
  EXPECT_TRUE(refuses(std::string(100000, '7'), "the number is too large"));
}

TEST(ParseJson, ReadsDoublesToTheNearest) {
  EXPECT_EQ(number_of("1.0"), 1.0);
  EXPECT_EQ(number_of("1e22"), 1e22);
  EXPECT_EQ(number_of("0.1"), 0.1);
  EXPECT_EQ(number_of("5e-324"), 5e-324);
  EXPECT_EQ(number_of("1.7976931348623157e308"), 1.7976931348623157e308);
  // Rounding twice, over long double, would give the even neighbour here.
  EXPECT_EQ(number_of("9007199254740993.00000000000000000000001"), 9007199254740994.0);
  EXPECT_TRUE(std::signbit(number_of("-0.0")));
  EXPECT_TRUE(std::signbit(number_of("-1e-400")));
  EXPECT_EQ(number_of("1e-5000"), 0.0);
}

TEST(ParseJson, RefusesNumbersThatAreNotFinite) {
  EXPECT_TRUE(refuses("1e400", "does not fit a double"));
  EXPECT_TRUE(refuses("[-1e309]", "does not fit a double"));
  EXPECT_TRUE(refuses("1e999999", "too large"));
  for (const char* text : {"NaN", "Infinity", "-Infinity", "nan", "[1,NaN]"}) EXPECT_TRUE(refuses(text, "near byte"));
}

TEST(ParseJson, RefusesAKeyTwiceInOneObjectAndNamesIt) {
  EXPECT_TRUE(refuses(R"({"a":1,"b":2,"a":3})", "\"a\" appears twice"));
  EXPECT_TRUE(refuses(R"({"a":1,"b":2,"a":3})", "near byte 16"));
  EXPECT_TRUE(refuses(R"({"\u0061":1,"a":3})", "appears twice"));
  EXPECT_TRUE(parse_json(R"({"a":{"a":1},"b":[{"a":2},{"a":3}]})").ok());
}

TEST(ParseJson, RefusesMoreThanTheDepthLimit) {
  EXPECT_TRUE(parse_json(nested(kJsonDepthMax)).ok());
  EXPECT_TRUE(refuses(nested(kJsonDepthMax + 1), "more than 256 levels"));
  EXPECT_TRUE(refuses(std::string(1000000, '['), "more than 256 levels"));
  std::string objects;
  for (int i = 0; i < 300; ++i) objects += R"({"a":)";
  EXPECT_TRUE(refuses(objects, "more than 256 levels"));
}

TEST(ParseJson, RefusesInvalidUtf8AndLoneSurrogates) {
  EXPECT_TRUE(refuses("\"\xC0\x80\"", "UTF-8"));
  EXPECT_TRUE(refuses("\"\xED\xA0\x80\"", "UTF-8"));
  EXPECT_TRUE(refuses("\"caf\xC3\"", "UTF-8"));
  EXPECT_TRUE(refuses(R"("\ud800")", "surrogate"));
  EXPECT_TRUE(refuses(R"("\udc00")", "surrogate"));
  EXPECT_TRUE(refuses(R"({"\ud83d":1})", "surrogate"));
  const Result<Value> pair = parse_json(R"("\ud83d\ude42")");
  ASSERT_TRUE(pair.ok());
  EXPECT_EQ(*pair.value().string(), "\xF0\x9F\x99\x82");
}

TEST(ParseJson, KeepsEscapedControlCharacters) {
  const Result<Value> value = parse_json(R"("a\u0000b\n")");
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(*value.value().string(), std::string("a\0b\n", 4));
}

TEST(ParseJson, RefusesWhatIsLeftAfterTheValue) {
  EXPECT_TRUE(refuses("{} x", "near byte 4"));
  EXPECT_TRUE(refuses("1 2", "near byte"));
  EXPECT_TRUE(refuses(std::string_view("{}\0x", 4), "near byte 2: a zero byte"));
  EXPECT_TRUE(refuses(std::string_view("\0", 1), "a zero byte"));
  EXPECT_TRUE(parse_json(" \n{}\t ").ok());
}

TEST(ParseJson, RefusesWhatIsNotJson) {
  for (const char* text : {"", " ", "{", "[1,]", "{\"a\":1,}", "'a'", "{a:1}", "// x\n1", "01", "1.", ".5", "+1", "\"",
                           "\"a\nb\"", "tru", "[1 2]", "{\"a\"}", "]", "\"\\x\""}) {
    EXPECT_TRUE(refuses(text, "near byte")) << text;
  }
}

TEST(ParseJson, KeepsTheCallersTextOutOfItsMessages) {
  const std::string message = refusal_of("\"" + std::string(100000, 'x'));
  EXPECT_LT(message.size(), 200u) << message;
}

TEST(TextValue, ReplacesEachByteThatIsNotUtf8) {
  EXPECT_EQ(*text_value("caf\xC3\xA9").string(), "caf\xC3\xA9");
  EXPECT_EQ(*text_value("a\xFF\xFE"
                        "b\xC3")
                 .string(),
            "a\xEF\xBF\xBD\xEF\xBF\xBD"
            "b\xEF\xBF\xBD");
}

TEST(CountValue, WritesEveryDigit) {
  EXPECT_EQ(count_value(-3).integer()->digits, "-3");
  EXPECT_EQ(size_value(18446744073709551615u).integer()->digits, "18446744073709551615");
}

}  // namespace
}  // namespace assay::server
