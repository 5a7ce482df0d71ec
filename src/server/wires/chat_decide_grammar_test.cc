#include "server/wires/chat_decide_grammar.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace assay::server {
namespace {

std::string literals(const std::string& grammar) {
  const Result<std::vector<std::string>> read = read_choice_grammar(grammar);
  if (!read.ok()) return "refused";
  std::string text;
  for (const std::string& literal : read.value()) text += (text.empty() ? "" : "|") + literal;
  return text;
}

TEST(ChatGrammar, ReadsPlainAlternations) {
  EXPECT_EQ(literals(R"(root ::= "a")"), "a");
  EXPECT_EQ(literals("  root::=\"a\"|\"b\"  \n# the end"), "a|b");
  EXPECT_EQ(literals("# answers\nroot ::= (\"yes\" |\n  \"no\")\n"), "yes|no");
  EXPECT_EQ(literals(R"(root ::= (("a" | "b")))"), "a|b");
  EXPECT_EQ(literals(R"(root ::= "say \"hi\"\n\t\\" | "\x41\u00e4\U0001F600")"), "say \"hi\"\n\t\\|A\u00e4\U0001F600");
}

TEST(ChatGrammar, RefusesEverythingElse) {
  for (const std::string grammar : {"",
                                    "root",
                                    "root ::=",
                                    "root ::= a",
                                    R"(root ::= "a" |)",
                                    R"(root ::= | "a")",
                                    R"(root ::= "a" "b")",
                                    R"(root ::= "a"+)",
                                    R"(root ::= [a-z])",
                                    R"(root ::= "a" | other)",
                                    "root ::= \"a\"\nother ::= \"b\"",
                                    R"(start ::= "a")",
                                    R"(root ::= ("a")",
                                    R"(root ::= "a"))",
                                    R"(root ::= "a)",
                                    "root ::= \"a\nb\"",
                                    R"(root ::= "\q")",
                                    R"(root ::= "\x4")",
                                    R"(root ::= "\xzz")",
                                    R"(root ::= "\UFFFFFFFF")",
                                    R"(root ::= "\ud800")",
                                    R"(root ::= "a" || "b")"}) {
    EXPECT_EQ(literals(grammar), "refused") << grammar;
  }
  EXPECT_EQ(literals("root ::= \"" + std::string(2 * 1024 * 1024, 'a') + "\""), "refused");
}

}  // namespace
}  // namespace assay::server
