#include "server/wires/openai_values.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace assay::server {
namespace {

std::vector<DeclaredValue> declared(std::vector<Value> values) {
  std::vector<DeclaredValue> list;
  for (Value& value : values) list.push_back({.value = std::move(value), .description = std::nullopt});
  return list;
}

// "id|id=description|…", or the refusal. Ids are what a decider takes.
std::string options_of(std::vector<Value> values) {
  const Result<std::vector<Option>> options = options_of_values(declared(std::move(values)));
  if (!options.ok()) return options.error().field + " " + options.error().message;
  const Question question{.id = "q", .text = "?", .options = options.value()};
  EXPECT_TRUE(validate_request({.state = Value("s"), .questions = {question}}, RequestLimits()).ok());
  std::string text;
  for (const Option& option : options.value()) {
    text += (text.empty() ? "" : "|") + option.id;
    if (option.description.has_value()) text += "=" + *option.description;
  }
  return text;
}

Value integer(const std::string& digits) { return Value(Value::Integer{digits}); }

TEST(OpenAiValues, AValueIsItsOwnId) {
  EXPECT_EQ(options_of({Value("a b"), Value(true), integer("12"), Value(2.0), Value()}), "a b|true|12|2.0|null");
}

TEST(OpenAiValues, AStringThatReadsAsAnotherValueGetsQuotes) {
  EXPECT_EQ(options_of({Value("true"), Value(true)}), R"("true"|true)");
  EXPECT_EQ(options_of({integer("1"), Value("1"), Value("\"1\"")}), R"(1|"\"1\""|"1")");
  EXPECT_EQ(options_of({Value("true"), Value("false")}), "true|false") << "there is nothing to be told from";
}

TEST(OpenAiValues, RefusesRepeatedAndEmptyValues) {
  EXPECT_EQ(options_of({Value("a"), Value("b"), Value("a")}), "[2] repeats the value of [0]");
  EXPECT_EQ(options_of({Value(true), Value(true)}), "[1] repeats the value of [0]");
  EXPECT_EQ(options_of({Value("a"), Value("")}), "[1] must not be an empty string");
}

TEST(OpenAiValues, AValueTooLongForAnIdIsReadAllTheSame) {
  const std::string text(5000, 'a');
  EXPECT_EQ(options_of({Value(text), Value("value 0")}), "value 0'=" + text + "|value 0");
}

TEST(OpenAiValues, TrueAndFalseAreToldByTheirType) {
  EXPECT_TRUE(are_true_and_false(declared({Value(false), Value(true)})));
  EXPECT_FALSE(are_true_and_false(declared({Value("false"), Value(true)})));
  EXPECT_FALSE(are_true_and_false(declared({Value(true)})));
  EXPECT_FALSE(are_true_and_false(declared({Value(true), Value(false), Value("x")})));
}

}  // namespace
}  // namespace assay::server
