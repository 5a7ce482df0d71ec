#include "engine/special_tokens.h"

#include <gtest/gtest.h>

#include <random>

namespace assay::engine {
namespace {

SpecialTokens chatml() {
  return SpecialTokens({{.id = 1, .text = "<|im_start|>"},
                        {.id = 2, .text = "<|im_end|>"},
                        {.id = 3, .text = "<think>", .user_defined = true},
                        {.id = 4, .text = "\n\n", .user_defined = true},
                        {.id = 5, .text = "<|end|>", .strips_left = true, .strips_right = true},
                        {.id = 6, .text = "<|im"}});
}

// [..] in the pattern marks content; everything else is the template's.
std::vector<Fragment> cut(std::string_view pattern, const SpecialTokens& specials) {
  std::string text;
  std::vector<bool> is_content;
  bool inside = false;
  for (const char character : pattern) {
    if (character == '[' || character == ']') {
      inside = character == '[';
      continue;
    }
    text.push_back(character);
    is_content.push_back(inside);
  }
  return cut_fragments(text, is_content, specials);
}

std::string shown(const std::vector<Fragment>& fragments) {
  std::string text;
  for (const Fragment& fragment : fragments)
    text += fragment.special != nullptr ? "#" + std::to_string(fragment.special->id) : "(" + fragment.text + ")";
  return text;
}

TEST(CutFragments, TakesSpecialsFromTheTemplateOnly) {
  const SpecialTokens specials = chatml();
  EXPECT_EQ(shown(cut("<|im_start|>user\n[hi]<|im_end|>\n", specials)), "#1(user\nhi)#2(\n)");
  EXPECT_EQ(shown(cut("<|im_start|>user\n[<|im_end|>]<|im_end|>", specials)), "#1(user\n<|im_end|>)#2");
}

TEST(CutFragments, ASpecialSplitBetweenTemplateAndContentIsText) {
  const SpecialTokens specials = chatml();
  EXPECT_EQ(shown(cut("<|im_[end|>]", specials)), "#6(_end|>)");  // the template's own shorter token still counts
  EXPECT_EQ(shown(cut("[<|im_]end|>", specials)), "(<|im_end|>)");
  EXPECT_EQ(shown(cut("[<|im_end|]>", specials)), "(<|im_end|>)");
}

TEST(CutFragments, PrefersTheLongestToken) { EXPECT_EQ(shown(cut("<|im_start|>", chatml())), "#1"); }

TEST(CutFragments, StripsTemplateWhiteSpaceButNeverContent) {
  const SpecialTokens specials = chatml();
  EXPECT_EQ(shown(cut("a \n<|end|> \nb", specials)), "(a)#5(b)");
  EXPECT_EQ(shown(cut("a[ \n]<|end|>[ \n]b", specials)), "(a \n)#5( \nb)");
}

TEST(SplitSpecials, LeavesNoPieceThatSpellsAUserDefinedToken) {
  const SpecialTokens specials = chatml();
  const auto pieces = split_specials("a <think> b <think>", specials, SplitAt::kUserDefined);
  EXPECT_EQ(pieces, (std::vector<std::string_view>{"a <", "think> b <", "think>"}));
}

TEST(SplitSpecials, LeavesControlTokensAloneUnlessAsked) {
  const SpecialTokens specials = chatml();
  EXPECT_EQ(split_specials("<|im_end|>", specials, SplitAt::kUserDefined).size(), 1u);
  EXPECT_EQ(split_specials("<|im_end|>", specials, SplitAt::kAnySpecial).size(), 2u);
}

TEST(SplitSpecials, KeepsEveryByteInOrder) {
  const SpecialTokens specials = chatml();
  std::mt19937 random(4);
  const std::vector<std::string> parts = {"<think>", "<thi", "nk>", "<", ">", "\n\n", "é", "🙂", "<|im_end|>", "x"};
  for (int round = 0; round < 500; round++) {
    std::string text;
    for (int i = 0; i < 12; i++) text += parts[random() % parts.size()];
    std::string joined;
    for (const std::string_view piece : split_specials(text, specials, SplitAt::kAnySpecial)) {
      joined += piece;
      EXPECT_EQ(first_special(piece, specials), nullptr) << piece;
    }
    EXPECT_EQ(joined, text);
  }
}

TEST(FirstSpecial, IgnoresRunsOfWhiteSpace) {
  const SpecialTokens specials = chatml();
  EXPECT_EQ(first_special("a\n\nb", specials), nullptr);
  ASSERT_NE(first_special("a\n\n<think>", specials), nullptr);
  EXPECT_EQ(first_special("a\n\n<think>", specials)->id, 3);
}

}  // namespace
}  // namespace assay::engine
