#include "service/receipt.h"

#include <gtest/gtest.h>

namespace assay::service {
namespace {

Answer answer_with_scores(const std::vector<double>& scores) {
  Answer answer;
  for (const double score : scores) {
    OptionAnswer option;
    option.score = score;
    answer.options.push_back(option);
  }
  return answer;
}

// The expected hashes are Python's:
//   sha256 = lambda data: hashlib.sha256(data).hexdigest()
//   tokens = lambda lists: sha256(struct.pack("<Q", len(lists)) +
//                                 b"".join(struct.pack("<Q%di" % len(l), len(l), *l) for l in lists))
//   scores: the same with "<Q%dd"
TEST(Receipt, HashesTokensWithTheirCounts) {
  EXPECT_EQ(tokens_sha256({}), "af5570f5a1810b7af78caf4bc70a660f0df51e42baf91d4de5b2328de0e83dfc");
  const std::vector<TokenList> lists = {{1, 2, 70000}, {}, {-1}};  // tokens([[1, 2, 70000], [], [-1]])
  EXPECT_EQ(tokens_sha256(lists), "2923592c18699d3e93371a86d798ded98e7478f225cbcc8c903dcca70034cc9c");
}

TEST(Receipt, ListsThatJoinToTheSameTokensDiffer) {
  const std::vector<TokenList> one = {{1, 2}, {3}};
  const std::vector<TokenList> two = {{1}, {2, 3}};
  const std::vector<TokenList> three = {{1, 2, 3}};
  EXPECT_NE(tokens_sha256(one), tokens_sha256(two));
  EXPECT_NE(tokens_sha256(one), tokens_sha256(three));
}

TEST(Receipt, HashesTheBitsOfTheScores) {
  const std::vector<Answer> answers = {answer_with_scores({1.5, -0.25}), answer_with_scores({0.0})};
  // scores([[1.5, -0.25], [0.0]])
  EXPECT_EQ(scores_sha256(answers), "72f0dc1404163d0d3ee7ccf1e4b5a3b3461cec4d6222fdec554bdb56432dbadc");
  const std::vector<Answer> last_bit = {answer_with_scores({1.5000000000000002, -0.25}), answer_with_scores({0.0})};
  EXPECT_NE(scores_sha256(last_bit), scores_sha256(answers));
  const std::vector<Answer> split = {answer_with_scores({1.5}), answer_with_scores({-0.25, 0.0})};
  EXPECT_NE(scores_sha256(split), scores_sha256(answers));
}

TEST(Receipt, HashesSettingsInTheOrderOfTheirKeys) {
  // sha256(b"layout=state_first\nreadout=text\nthreads=2\n")
  EXPECT_EQ(settings_sha256({{"threads", "2"}, {"readout", "text"}, {"layout", "state_first"}}),
            "971ef6decfc45950a418fdbbb5e05a20bac8ea3ca3817a7154feae6b15110039");
}

TEST(Receipt, HasAHashForEachPart) {
  const std::vector<TokenList> tokens = {{1, 2, 70000}, {}, {-1}};
  const std::vector<Answer> answers = {answer_with_scores({1.5, -0.25}), answer_with_scores({0.0})};
  const Receipt receipt = make_receipt({.model_sha256 = "00ff",
                                        .build = "assay 0.1.0",
                                        .settings = {{"layout", "state_first"}, {"readout", "text"}, {"threads", "2"}},
                                        .tokens = tokens,
                                        .answers = answers});
  EXPECT_EQ(receipt.model, "00ff");
  EXPECT_EQ(receipt.build,
            "1d30be6bc3288bdd8099091c00cc7f25cd228dd5db6792369139375ceaf4e91e");  // sha256(b"assay 0.1.0")
  EXPECT_EQ(receipt.settings, "971ef6decfc45950a418fdbbb5e05a20bac8ea3ca3817a7154feae6b15110039");
  EXPECT_EQ(receipt.tokens, tokens_sha256(tokens));
  EXPECT_EQ(receipt.scores, scores_sha256(answers));
}

TEST(ReceiptDeathTest, ASettingIsOneLine) {
  EXPECT_DEATH(settings_sha256({{"template", "two\nlines"}}), "");
  EXPECT_DEATH(settings_sha256({{"a=b", "c"}}), "");
}

}  // namespace
}  // namespace assay::service
