#include "server/wires/chat_decide_schema.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

Value json(const std::string& text) {
  Result<Value> value = parse_json(text);
  EXPECT_TRUE(value.ok()) << text;
  return value.ok() ? std::move(value).value() : Value();
}

// "value|value=description|…", or the refusal.
std::string options_of(const std::string& schema) {
  const Result<ChatChoice> choice = read_choice_schema(json(schema));
  if (!choice.ok()) return choice.error().field + ": " + choice.error().message;
  std::string text;
  for (const DeclaredValue& declared : choice->values) {
    text += (text.empty() ? "" : "|") + to_display_text(declared.value);
    if (declared.description.has_value()) text += "=" + *declared.description;
  }
  return text;
}

std::string refusal_of(const std::string& schema) {
  const Result<ChatChoice> choice = read_choice_schema(json(schema));
  return choice.ok() ? "accepted" : choice.error().field + ": " + choice.error().message;
}

void refused(const std::string& schema, const std::string& field, const std::string& part) {
  const std::string said = refusal_of(schema);
  EXPECT_TRUE(said.starts_with(field + ": ")) << schema << "\n -> " << said;
  EXPECT_NE(said.find(part), std::string::npos) << schema << "\n -> " << said;
}

TEST(ChatSchema, SchemasOfOneValueAreRead) {
  const auto property = [](const std::string& schema, const std::string& more = "") {
    return options_of(R"({"type":"object","properties":{"p":)" + schema + "}" + more + "}");
  };
  EXPECT_EQ(property(R"({"enum":["a",1,2.5,true,null]})"), "a|1|2.5|true|null");
  EXPECT_EQ(property(R"({"type":"boolean"})"), "true|false");
  EXPECT_EQ(property(R"({"const":"only"})"), "only");
  EXPECT_EQ(property(R"({"enum":["a","b"],"enumDescriptions":["first",""]})"), "a=first|b");
  EXPECT_EQ(property(R"({"oneOf":[{"const":"a","description":"first"},{"const":"b","title":"second"},{"const":"c"}]})"),
            "a=first|b=second|c");
  EXPECT_EQ(property(R"({"anyOf":[{"enum":["a"],"description":"first"},{"type":"null"}]})"), "a=first|null");
  EXPECT_EQ(property(R"({"$ref":"#/$defs/W"})", R"(,"$defs":{"W":{"enum":["a","b"],"title":"W"}})"), "a|b");
  EXPECT_EQ(property(R"({"allOf":[{"$ref":"#/definitions/a~1b"}]})", R"(,"definitions":{"a/b":{"enum":["a"]}})"), "a");
}

TEST(ChatSchema, RefusesSchemasThatListNoValues) {
  refused(R"({"type":"string"})", "", "lists values");
  refused("true", "", "lists values");
  refused(R"({"type":"object"})", ".properties", "exactly one");
  refused(R"({"properties":{}})", ".properties", "exactly one");
  refused(R"({"properties":{"a":{"enum":["x"]},"b":{"enum":["y"]}}})", ".properties", "exactly one");
  refused(R"({"properties":{"p":{"type":"string"}}})", ".properties.p", "lists values");
  refused(R"({"properties":{"p":{"enum":[]}}})", ".properties.p.enum", "not empty");
  refused(R"({"properties":{"p":{"enum":"a"}}})", ".properties.p.enum", "array");
  refused(R"({"properties":{"p":{"enum":["a",["b"]]}}})", ".properties.p.enum[1]", "must be a string, a number");
  refused(R"({"properties":{"p":{"enum":["a","b"],"enumDescriptions":["x"]}}})", ".properties.p.enumDescriptions",
          "one");
  refused(R"({"properties":{"p":{"oneOf":[]}}})", ".properties.p.oneOf", "not empty");
  refused(R"({"properties":{"p":{"oneOf":[{"const":"a"},{"type":"string"}]}}})", ".properties.p.oneOf[1]", "values");
  refused(R"({"properties":{"p":{"enum":["a"]}},"required":["q"]})", ".required", "not the one property");
  refused(R"({"properties":{"p":{"$ref":"#/$defs/Q"}}})", ".properties.p", "leads nowhere");
  refused(R"({"properties":{"p":{"$ref":"other.json"}}})", ".properties.p", "leads nowhere");
  refused(R"({"properties":{"p":{"$ref":"#/properties/p"}}})", ".properties.p", "circles");
  refused(R"({"$ref":"#"})", "", "circles");
  EXPECT_TRUE(refusal_of(R"({"anyOf":[{"$ref":"#"}]})").ends_with("too deep"));
}

TEST(ChatSchema, ReferencesCannotMultiplyWithoutEnd) {
  std::string schema = R"({"anyOf":[{"$ref":"#/$defs/d0"}],"$defs":{)";
  for (int i = 0; i < 30; ++i) {
    const std::string next = R"({"$ref":"#/$defs/d)" + std::to_string(i + 1) + "\"}";
    schema += "\"d" + std::to_string(i) + R"(":{"anyOf":[)" + next + "," + next + "]},";
  }
  EXPECT_NE(refusal_of(schema + R"("d30":{"const":"a"}}})"), "accepted");
}

TEST(ChatSchema, ADescriptionIsThePropertysOrThatOfWhatItRefersTo) {
  const auto description = [](const std::string& schema) {
    const Result<ChatChoice> choice = read_choice_schema(json(schema));
    return choice.ok() ? choice->property + ": " + choice->description : choice.error().message;
  };
  EXPECT_EQ(description(R"({"properties":{"p":{"enum":["a"],"description":"The wish."}}})"), "p: The wish.");
  EXPECT_EQ(description(R"({"properties":{"p":{"$ref":"#/$defs/W"}},"$defs":{"W":{"enum":["a"],"description":"W."}}})"),
            "p: W.");
  EXPECT_EQ(description(R"({"properties":{"p":{"enum":["a"]}}})"), "p: ");
}

}  // namespace
}  // namespace assay::server
