#include <gtest/gtest.h>

#include "decision/prompt.h"

namespace assay::decision {
namespace {

const Question kQuestion = {.id = "q", .text = "What is it?", .options = {{"a", {}}, {"b", {}}}};

std::vector<Image> images_named(const std::vector<std::string>& names) {
  std::vector<Image> images;
  for (const std::string& name : names) images.push_back({.file = nullptr, .name = name});
  return images;
}

TEST(ImagePrompt, AnImageStandsBeforeAllWords) {
  const Prompt plain = text_prompt(Value("A box."), kQuestion);
  const Prompt seen = with_images(plain, images_named({""}));
  EXPECT_EQ(seen.user, "\nA box.\n\nWhat is it?");
  EXPECT_EQ(seen.image_slots, std::vector<std::size_t>{0});
  EXPECT_EQ(seen.version, "option-text-v1+images-v1");
  EXPECT_EQ(seen.fixed_bytes, plain.fixed_bytes + 1);
  EXPECT_EQ(seen.shared_bytes, plain.shared_bytes + 1);
}

TEST(ImagePrompt, NamesStandBeforeTheirImages) {
  const Prompt seen = with_images(text_prompt(Value("s"), kQuestion), images_named({"img-1", "", "b"}));
  EXPECT_EQ(seen.user, "img-1: \n\nb: \ns\n\nWhat is it?");
  EXPECT_EQ(seen.image_slots, (std::vector<std::size_t>{7, 8, 12}));
}

TEST(ImagePrompt, WithoutImagesNothingChanges) {
  const Prompt plain = letters_prompt(Value("s"), kQuestion, std::vector<std::string>{"A", "B"});
  const Prompt same = with_images(plain, {});
  EXPECT_EQ(same.user, plain.user);
  EXPECT_EQ(same.version, plain.version);
  EXPECT_TRUE(same.image_slots.empty());
}

TEST(ImagePrompt, QuestionFirstHasItsImagesInFrontToo) {
  const Prompt seen =
      with_images(letters_prompt(Value("s"), kQuestion, std::vector<std::string>{"A", "B"}, Layout::kQuestionFirst),
                  images_named({""}));
  EXPECT_TRUE(seen.user.starts_with("\n{\"criterion\": "));
  EXPECT_EQ(seen.fixed_bytes, std::string("\n{\"criterion\": \"").size());
}

}  // namespace
}  // namespace assay::decision
