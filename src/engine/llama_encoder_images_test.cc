// Prompts with images on real vocabularies, three tokenizer families and a base model.

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "engine/llama_encoder.h"
#include "engine/llama_model.h"

namespace assay::engine {
namespace {

constexpr const char* kChatml =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + "
    "'\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";
constexpr const char* kTrims =
    "{{ bos_token }}{% for message in messages %}{{ '[INST] ' + message['content'] | trim + ' [/INST]' }}{% endfor %}";

struct Family {
  const char* vocabulary;
  const char* chat_template;
};

class EncoderImages : public ::testing::TestWithParam<Family> {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<LlamaModel>> model =
        LlamaModel::load_vocabulary(std::string(ASSAY_LLAMA_SOURCE_DIR) + "/models/" + GetParam().vocabulary);
    ASSERT_TRUE(model.ok()) << model.error().message;
    model_ = std::move(model).value();
    Result<std::unique_ptr<LlamaEncoder>> encoder =
        LlamaEncoder::open(model_->vocabulary(), GetParam().chat_template, true);
    ASSERT_TRUE(encoder.ok()) << encoder.error().message;
    encoder_ = std::move(encoder).value();
  }

  EncodedPrompt encoded(const PromptText& prompt) const {
    Result<EncodedPrompt> encoded = encoder_->encode_prompt(prompt);
    EXPECT_TRUE(encoded.ok()) << encoded.error().message;
    return encoded.ok() ? std::move(encoded).value() : EncodedPrompt();
  }

  std::unique_ptr<LlamaModel> model_;
  std::unique_ptr<LlamaEncoder> encoder_;
};

INSTANTIATE_TEST_SUITE_P(Families, EncoderImages,
                         ::testing::Values(Family{"ggml-vocab-qwen2.gguf", kChatml},
                                           Family{"ggml-vocab-llama-spm.gguf", kTrims},
                                           Family{"ggml-vocab-llama-bpe.gguf", kChatml},
                                           Family{"ggml-vocab-gpt-neox.gguf", ""}));

std::vector<TokenId> images_of(const Tokens& tokens) {
  std::vector<TokenId> images;
  std::copy_if(tokens.begin(), tokens.end(), std::back_inserter(images), is_image_token);
  return images;
}

TEST_P(EncoderImages, EachSlotIsOneTokenInOrder) {
  const EncodedPrompt prompt = encoded({.user = "a: \nb: \nA red box.\n\nWhat is it?",
                                        .base_cue = "\nAnswer:",
                                        .fixed_bytes = 8,
                                        .shared_bytes = 18,
                                        .image_slots = {3, 7}});
  EXPECT_EQ(images_of(prompt.tokens), (std::vector<TokenId>{image_token(0), image_token(1)}));
  EXPECT_NE(prompt.text.find("a: <__media__>\nb: <__media__>\nA red box."), std::string::npos) << prompt.text;
  // Both images are in what questions on one state share.
  const auto last = std::find(prompt.tokens.begin(), prompt.tokens.end(), image_token(1)) - prompt.tokens.begin();
  EXPECT_LE(last + 1, prompt.shared_tokens);
  EXPECT_LE(prompt.head_tokens, prompt.shared_tokens);
}

TEST_P(EncoderImages, WhatStandsAroundTheImageHasItsOwnTokens) {
  const EncodedPrompt plain = encoded({.user = "\nWhat is it?", .base_cue = {}});
  const EncodedPrompt seen =
      encoded({.user = "\nWhat is it?", .base_cue = {}, .fixed_bytes = 1, .shared_bytes = 1, .image_slots = {0}});
  const auto at = std::find(seen.tokens.begin(), seen.tokens.end(), image_token(0));
  ASSERT_NE(at, seen.tokens.end());
  // The end of the template's turn is the same, whatever stands before it.
  ASSERT_GE(plain.tokens.size(), 3U);
  EXPECT_TRUE(std::equal(plain.tokens.end() - 3, plain.tokens.end(), seen.tokens.end() - 3));
}

TEST_P(EncoderImages, TextThatSpellsTheMarkStaysText) {
  const EncodedPrompt prompt = encoded({.user = "\n<__media__> <__media_0__> A red box.",
                                        .base_cue = {},
                                        .fixed_bytes = 1,
                                        .shared_bytes = 1,
                                        .image_slots = {0}});
  EXPECT_EQ(images_of(prompt.tokens), std::vector<TokenId>{image_token(0)});
  EXPECT_NE(prompt.text.find("<__media__>\n<__media__> <__media_0__> A red box."), std::string::npos) << prompt.text;
}

TEST_P(EncoderImages, TheSamePromptHasTheSameTokens) {
  const PromptText prompt = {
      .user = "\nA box.", .base_cue = {}, .fixed_bytes = 1, .shared_bytes = 1, .image_slots = {0}};
  EXPECT_EQ(encoded(prompt).tokens, encoded(prompt).tokens);
}

}  // namespace
}  // namespace assay::engine
