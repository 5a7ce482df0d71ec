#include "server/sagemaker/session_body.h"

#include <gtest/gtest.h>

namespace assay::server {
namespace {

std::string refusal(std::string_view body) {
  const Result<std::optional<SessionOrder>> order = session_order(body);
  return order.ok() ? "" : order.error().field;
}

TEST(SessionBody, AnOrderOpensOrCloses) {
  EXPECT_TRUE((*session_order(R"({"requestType": "NEW_SESSION"})"))->opens);
  EXPECT_EQ((*session_order(R"({"requestType": "NEW_SESSION", "state": "long"})"))->state, Value("long"));
  EXPECT_FALSE((*session_order(R"({"requestType": "CLOSE"})"))->opens);
  for (const char* body : {"{}", "", "[", R"({"state": 1, "questions": {}})"}) {
    EXPECT_FALSE(session_order(body)->has_value()) << body;
  }
}

TEST(SessionBody, ABadOrderIsRefused) {
  EXPECT_EQ(refusal(R"({"requestType": "OPEN"})"), "requestType");
  EXPECT_EQ(refusal(R"({"requestType": 1})"), "requestType");
  EXPECT_EQ(refusal(R"({"requestType": "NEW_SESSION", "other": 1})"), "other");
  EXPECT_EQ(refusal(R"({"requestType": "CLOSE", "state": "x"})"), "state");
  EXPECT_EQ(refusal(R"({"requestType": "NEW_SESSION", "state": 1})"), "state");
}

TEST(SessionBody, FindsTheState) {
  EXPECT_EQ(state_of_body(R"({"state": "a", "questions": {}})"), Value("a"));
  EXPECT_EQ(state_of_body(R"({"decision": {"state": "b"}})"), Value("b"));
  EXPECT_EQ(state_of_body(R"({"decisions": [{"state": "c"}, {"state": "d"}]})"), Value("c"));
  for (const char* body : {"{}", "", R"({"decisions": []})", R"({"decision": 1})", R"({"decisions": 1})"}) {
    EXPECT_TRUE(state_of_body(body).is_null()) << body;
  }
}

TEST(SessionBody, PutsItInWhereItIsLacking) {
  const Value state("s");
  EXPECT_EQ(with_state(R"({"questions": {"q": {"n": 123456789012345678901}}, "x": 1})", state),
            R"({"state": "s", "questions": {"q": {"n": 123456789012345678901}}, "x": 1})");
  EXPECT_EQ(with_state(R"({"decision": {"id": "1"}})", state), R"({"decision": {"state": "s", "id": "1"}})");
  EXPECT_EQ(with_state(R"({"decisions": [{"id": "1"}, {"state": "t", "id": "2"}, 3]})", state),
            R"({"decisions": [{"state": "s", "id": "1"}, {"state": "t", "id": "2"}, 3]})");
}

TEST(SessionBody, LeavesEverythingElseAlone) {
  for (const char* body :
       {R"({"state":"t","questions":{}})", R"({"messages":[]})", R"({"input":"a","questions":[]})", "{", ""}) {
    EXPECT_EQ(with_state(body, Value("s")), body);
  }
  EXPECT_EQ(with_state(R"({"questions":{}})", Value()), R"({"questions":{}})");
}

}  // namespace
}  // namespace assay::server
