// What the encoder finds out about a template and a vocabulary at load: thinking, the beginning of text, the system
// role, whether text comes back. On the vocabularies and templates that lie in llama.cpp's models folder.

#include <gtest/gtest.h>
#include <llama.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <regex>
#include <sstream>

#include "engine/llama_encoder.h"
#include "engine/llama_model.h"

namespace assay::engine {
namespace {

const std::string kModels = std::string(ASSAY_LLAMA_SOURCE_DIR) + "/models/";

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::unique_ptr<LlamaModel> vocabulary(const std::string& name) {
  Result<std::unique_ptr<LlamaModel>> model = LlamaModel::load_vocabulary(kModels + "ggml-vocab-" + name + ".gguf");
  EXPECT_TRUE(model.ok()) << name;
  return model.ok() ? std::move(model).value() : nullptr;
}

// A template around the user's text: what it writes in front, and where the answer begins.
std::string around(const std::string& front, const std::string& answer) {
  return front + "{% for m in messages %}{{ '[' + m['role'] + ']' + m['content'] + '\n' }}{% endfor %}" + answer;
}

std::string prompt_text(const LlamaEncoder& encoder) {
  const Result<EncodedPrompt> prompt = encoder.encode_prompt({.system = "Decide.", .user = "parcel", .base_cue = ""});
  EXPECT_TRUE(prompt.ok());
  return prompt.ok() ? prompt->text : "";
}

TEST(LlamaTemplateFacts, ThinkingIsClosedOrRefusedForEveryFamilysTags) {
  const std::unique_ptr<LlamaModel> model = vocabulary("qwen2");
  const std::pair<std::string, std::string> tags[] = {{"<think>", "</think>"},
                                                      {"<|START_THINKING|>", "<|END_THINKING|>"},
                                                      {"<seed:think>", "</seed:think>"},
                                                      {"[THINK]", "[/THINK]"},
                                                      {"<thought>", "</thought>"},
                                                      {"<|channel>thought", "<channel|>"},
                                                      {"<|channel|>analysis", "<|end|>"},
                                                      {"<thinking>", "</thinking>"},
                                                      {"<reasoning>", "</reasoning>"},
                                                      {"Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"}};
  for (const auto& [open, close] : tags) {
    const auto always = LlamaEncoder::open(model->vocabulary(), around("", "Answer: " + open), true);
    ASSERT_FALSE(always.ok()) << open;
    EXPECT_EQ(always.error().code, ErrorCode::kUnsupportedModel);
    EXPECT_NE(always.error().message.find("always thinks"), std::string::npos) << always.error().message;
    const auto closed = LlamaEncoder::open(model->vocabulary(), around("", "Answer: " + open + close), true);
    ASSERT_TRUE(closed.ok()) << closed.error().message;
    EXPECT_EQ((*closed)->facts().thinking, "closed by the template") << open;
    EXPECT_TRUE(prompt_text(**closed).ends_with(open + close));
  }
}

TEST(LlamaTemplateFacts, ATemplateThatSpeaksOfThinkingWithoutASwitchIsAWarning) {
  const std::unique_ptr<LlamaModel> model = vocabulary("qwen2");
  const auto unsure = LlamaEncoder::open(model->vocabulary(), around("{# no think here #}", "Answer:"), true);
  ASSERT_TRUE(unsure.ok());
  EXPECT_EQ((*unsure)->facts().thinking, "not controlled by the template");
  ASSERT_EQ((*unsure)->facts().warnings.size(), 1u);
  EXPECT_NE((*unsure)->facts().warnings[0].find("no switch"), std::string::npos);
  const auto plain = LlamaEncoder::open(model->vocabulary(), around("", "Answer:"), true);
  ASSERT_TRUE(plain.ok());
  EXPECT_TRUE((*plain)->facts().warnings.empty());
}

TEST(LlamaTemplateFacts, EverySwitchOfThinkingIsTurnedOff) {
  const std::unique_ptr<LlamaModel> model = vocabulary("qwen2");
  const char* const on[] = {
      "enable_thinking",        "thinking", "reasoning", "thinking_budget != 0", "thinking_mode != 'disabled'",
      "thinking_option == 'on'"};
  for (const std::string condition : on) {
    const auto encoder = LlamaEncoder::open(
        model->vocabulary(), around("", "{% if " + condition + " %}<think>{% else %}</think>{% endif %}"), true);
    ASSERT_TRUE(encoder.ok()) << condition << ": " << encoder.error().message;
    EXPECT_EQ((*encoder)->facts().thinking, "closed by the template") << condition;
    EXPECT_TRUE(prompt_text(**encoder).ends_with("</think>")) << condition;
  }
}

// The last tag behind the user's text, of whatever family, must not be one that opens.
TEST(LlamaTemplateFacts, NoTemplateOfLlamaCppIsUsedWithAnOpenThinkingBlock) {
  const std::unique_ptr<LlamaModel> model = vocabulary("qwen2");
  const std::regex tag(R"([<\[]\|?(/?)([A-Za-z_:]*)(think|THINK|thought|reason)[A-Za-z_:]*\|?[>\]])");
  int closed = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kModels + "templates")) {
    if (entry.path().extension() != ".jinja") continue;
    const auto encoder = LlamaEncoder::open(model->vocabulary(), read_file(entry.path()), true);
    const std::string name = entry.path().stem().string();
    std::printf("%s: %s\n", name.c_str(),
                encoder.ok() ? (*encoder)->facts().thinking.c_str() : encoder.error().message.substr(0, 60).c_str());
    if (!encoder.ok()) continue;
    closed += (*encoder)->facts().thinking == "closed by the template" ? 1 : 0;
    const std::string text = prompt_text(**encoder);
    const std::string tail = text.substr(text.rfind("parcel"));
    bool open = false;
    for (std::sregex_iterator it(tail.begin(), tail.end(), tag), end; it != end; ++it)
      open = (*it)[1].length() == 0 && (*it)[2].str().find("END") == std::string::npos;
    EXPECT_FALSE(open) << name << ": " << tail;
    EXPECT_EQ(tail.find("reasoning steps"), std::string::npos) << name;
  }
  EXPECT_GE(closed, 10);
}

TEST(LlamaTemplateFacts, TheBeginningOfTextStandsOnceWhoeverWritesIt) {
  struct Case {
    const char* vocabulary;  // llama-spm's tokenizer adds it, qwen2's does not
    std::string front;
    int count;
    const char* fact;
    bool warns;
  };
  const Case cases[] = {
      {"llama-spm", "", 1, "added", false},
      {"llama-spm", "{{ bos_token }}", 1, "written by the template and not added again", false},
      {"llama-spm", "{{ bos_token + bos_token }}", 1, "written by the template and not added again", true},
      {"qwen2", "", 0, "none", false},
      {"qwen2", "{{ bos_token }}", 1, "written by the template", false},
      {"qwen2", "{{ bos_token }}{{ bos_token }}{{ bos_token }}", 1, "written by the template", true}};
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.vocabulary) + " " + c.front);
    const std::unique_ptr<LlamaModel> model = vocabulary(c.vocabulary);
    const auto encoder = LlamaEncoder::open(model->vocabulary(), around(c.front, "Answer:"), true);
    ASSERT_TRUE(encoder.ok()) << encoder.error().message;
    const TokenId begin = llama_vocab_bos(model->vocabulary());
    const std::string spelt = (*encoder)->piece(begin);
    for (const std::string& user : {std::string("hello"), spelt + spelt + " hello"}) {
      const Result<EncodedPrompt> prompt = (*encoder)->encode_prompt({.system = "", .user = user, .base_cue = ""});
      ASSERT_TRUE(prompt.ok());
      EXPECT_EQ(std::count(prompt->tokens.begin(), prompt->tokens.end(), begin), c.count);
      if (c.count == 1) {
        EXPECT_EQ(prompt->tokens.front(), begin);
      }
    }
    EXPECT_EQ((*encoder)->facts().begin_of_text, c.fact);
    const std::vector<std::string>& warnings = (*encoder)->facts().warnings;
    const bool warned = std::any_of(warnings.begin(), warnings.end(), [](const std::string& warning) {
      return warning.find("writes the beginning of text") != std::string::npos;
    });
    EXPECT_EQ(warned, c.warns);
  }
}

TEST(LlamaTemplateFacts, ASystemTextThatATemplateRefusesOrDropsIsFoldedIntoTheUserTurn) {
  const std::unique_ptr<LlamaModel> model = vocabulary("gemma-4");
  const std::string drops =
      "{% for m in messages %}{% if m['role'] == 'user' %}{{ 'U:' + m['content'] + '\n' }}{% endif %}{% endfor %}";
  for (const std::string& source : {read_file(kModels + "templates/google-gemma-2-2b-it.jinja"), drops}) {
    ASSERT_FALSE(source.empty());
    const auto encoder = LlamaEncoder::open(model->vocabulary(), source, true);
    ASSERT_TRUE(encoder.ok()) << encoder.error().message;
    EXPECT_FALSE((*encoder)->facts().system_role);
    EXPECT_NE(prompt_text(**encoder).find("Decide.\n\nparcel"), std::string::npos) << prompt_text(**encoder);
  }
}

TEST(LlamaTemplateFacts, AVocabularyThatChangesTextIsAWarning) {
  // Not by load_vocabulary(), which refuses models that cannot decide, such as the last one.
  const auto warns = [](const char* name) {
    llama_model_params params = llama_model_default_params();
    params.vocab_only = true;
    const std::string path = kModels + "ggml-vocab-" + name + ".gguf";
    const std::unique_ptr<llama_model, decltype(&llama_model_free)> model(
        llama_model_load_from_file(path.c_str(), params), llama_model_free);
    EXPECT_NE(model, nullptr) << name;
    if (!model) return false;
    const auto encoder = LlamaEncoder::open(llama_model_get_vocab(model.get()), "", false);
    EXPECT_TRUE(encoder.ok()) << name;
    if (!encoder.ok()) return false;
    const std::vector<std::string>& warnings = (*encoder)->facts().warnings;
    return std::any_of(warnings.begin(), warnings.end(), [](const std::string& warning) {
      return warning.find("does not give a text back") != std::string::npos;
    });
  };
  for (const char* name :
       {"qwen2", "qwen35", "llama-spm", "llama-bpe", "gemma-4", "gpt-neox", "gpt-2", "phi-3", "deepseek-llm",
        "deepseek-coder", "baichuan", "falcon", "mpt", "refact", "starcoder", "command-r", "aquila"})
    EXPECT_FALSE(warns(name)) << name;
  EXPECT_TRUE(warns("bert-bge"));  // it makes all letters small
}

}  // namespace
}  // namespace assay::engine
