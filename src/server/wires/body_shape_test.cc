#include "server/wires/body_shape.h"

#include <gtest/gtest.h>

#include <string>

namespace assay::server {
namespace {

TEST(ShapeOfBody, SeesTheKeysAtTheTop) {
  const BodyShape one = shape_of_body(R"( {"model":"m", "state":{"input":[1,"}"]}, "questions":{"a":{}}} )");
  EXPECT_TRUE(one.state && one.questions_object);
  EXPECT_FALSE(one.input || one.questions_list || one.decisions || one.messages);
  const BodyShape openai = shape_of_body(R"({"questions" : [ {"state":1} ] , "input":"x"})");
  EXPECT_TRUE(openai.input && openai.questions_list);
  EXPECT_FALSE(openai.state || openai.questions_object);
  EXPECT_TRUE(shape_of_body(R"({"decision":{}})").decisions);
  EXPECT_TRUE(shape_of_body(R"({"decisions":[]})").decisions);
  EXPECT_TRUE(shape_of_body(R"({"messages":[]})").messages);
  EXPECT_TRUE(shape_of_body("\xEF\xBB\xBF{\"state\":1}").state);
}

TEST(ShapeOfBody, IsNotFooledByTextAndDepth) {
  const BodyShape shape = shape_of_body(R"({"a":"\",\"state\":1,","b":[[{"state":{"x":"]"}}],"{"],"decision":1})");
  EXPECT_TRUE(shape.decisions);
  EXPECT_FALSE(shape.state);
  EXPECT_FALSE(shape_of_body(R"({"a":"state","b":"input"})").state);
}

TEST(ShapeOfBody, StopsWhereTheTextIsNoObject) {
  for (const char* body : {"", "[", "{", R"({"state")", R"({"state":)", R"({"a":"\)", R"({"a":1}"state":2)", "null",
                           R"(["state"])", R"({"a":1]"state":1})"}) {
    const BodyShape shape = shape_of_body(body);
    EXPECT_FALSE(shape.decisions || shape.input || shape.questions_object) << body;
  }
  EXPECT_FALSE(shape_of_body(std::string(1000000, '[')).state);
  EXPECT_FALSE(shape_of_body("{\"a\":" + std::string(1000000, '[')).state);
}

}  // namespace
}  // namespace assay::server
