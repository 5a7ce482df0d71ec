// On the vocabularies that lie in llama.cpp's models folder: three tokenizer families (BPE, SPM, and BPE with
// user-defined words).

#include "engine/llama_encoder.h"

#include <gtest/gtest.h>
#include <llama.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "engine/llama_model.h"

namespace assay::engine {
namespace {

const std::string kModels = std::string(ASSAY_LLAMA_SOURCE_DIR) + "/models/";

constexpr const char* kChatml =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + "
    "'\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";
constexpr const char* kGemma =
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif "
    "%}"
    "{% for message in messages %}{% set role = 'model' if message['role'] == 'assistant' else message['role'] %}"
    "{{ '<start_of_turn>' + role + '\n' + message['content'] | trim + '<end_of_turn>\n' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<start_of_turn>model\n' }}{% endif %}";
constexpr const char* kLlama2 =
    "{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] + "
    "' [/INST]' }}"
    "{% else %}{{ ' ' + message['content'] + eos_token }}{% endif %}{% endfor %}";

struct Family {
  const char* vocabulary;
  const char* chat_template;
};
const std::vector<Family> kFamilies = {{"ggml-vocab-qwen2.gguf", kChatml},
                                       {"ggml-vocab-llama-spm.gguf", kLlama2},
                                       {"ggml-vocab-gemma-4.gguf", kGemma},
                                       {"ggml-vocab-llama-bpe.gguf", kChatml},
                                       {"ggml-vocab-gpt-neox.gguf", ""}};

// Also those whose tokenizer puts a space in front of a text (SPM, UGM) or knows no merges.
const std::vector<Family> kCutFamilies = {
    {"ggml-vocab-qwen2.gguf", kChatml},        {"ggml-vocab-llama-spm.gguf", kLlama2},
    {"ggml-vocab-gemma-4.gguf", kGemma},       {"ggml-vocab-llama-bpe.gguf", kChatml},
    {"ggml-vocab-gpt-neox.gguf", ""},          {"ggml-vocab-phi-3.gguf", kChatml},
    {"ggml-vocab-llama-spm.gguf", ""},         {"ggml-vocab-qwen35.gguf", kChatml},
    {"ggml-vocab-deepseek-llm.gguf", kChatml}, {"ggml-vocab-baichuan.gguf", kLlama2}};

struct Opened {
  std::unique_ptr<LlamaModel> model;
  std::unique_ptr<LlamaEncoder> encoder;
};

Opened open(const std::string& vocabulary, const std::string& chat_template) {
  Opened opened;
  Result<std::unique_ptr<LlamaModel>> model = LlamaModel::load_vocabulary(kModels + vocabulary);
  EXPECT_TRUE(model.ok()) << model.error().message;
  if (!model.ok()) return opened;
  opened.model = std::move(model).value();
  Result<std::unique_ptr<LlamaEncoder>> encoder = LlamaEncoder::open(opened.model->vocabulary(), chat_template, true);
  EXPECT_TRUE(encoder.ok()) << vocabulary << ": " << encoder.error().message;
  if (encoder.ok()) opened.encoder = std::move(encoder).value();
  return opened;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

bool is_control(const LlamaModel& model, TokenId token) { return llama_vocab_is_control(model.vocabulary(), token); }

std::vector<TokenId> controls_of(const Opened& opened, const Tokens& tokens) {
  std::vector<TokenId> controls;
  for (const TokenId token : tokens) {
    const SpecialToken* special = opened.encoder->specials().find(token);
    if (special != nullptr && (is_control(*opened.model, token) || SpecialTokens::is_guarded(*special)))
      controls.push_back(token);
  }
  return controls;
}

TEST(LlamaEncoder, HarmlessTextGetsTheTokensOfOrdinaryTokenising) {
  for (const Family& family : kFamilies) {
    const Opened opened = open(family.vocabulary, family.chat_template);
    ASSERT_NE(opened.encoder, nullptr);
    EXPECT_TRUE(opened.encoder->facts().warnings.empty())
        << family.vocabulary;  // the load-time probe compares exactly this
    const Result<EncodedPrompt> prompt = opened.encoder->encode_prompt(
        {.system = "", .user = "Où est mon colis?\n\n\"42\" – 🙂 {\"a\": [1, 2]}", .base_cue = "\nAnswer:"});
    ASSERT_TRUE(prompt.ok());
    Tokens ordinary(prompt->text.size() + 8);
    ordinary.resize(static_cast<std::size_t>(llama_tokenize(opened.model->vocabulary(), prompt->text.data(),
                                                            static_cast<int>(prompt->text.size()), ordinary.data(),
                                                            static_cast<int>(ordinary.size()), false, true)));
    Tokens ours = prompt->tokens;
    const TokenId begin = llama_vocab_bos(opened.model->vocabulary());
    if (ours.front() == begin && ordinary.front() != begin) ours.erase(ours.begin());
    EXPECT_EQ(ours, ordinary) << family.vocabulary;
  }
}

TEST(LlamaEncoder, NoSpecialTokenOfAnyFamilyComesFromContent) {
  for (const Family& family : kFamilies) {
    const Opened opened = open(family.vocabulary, family.chat_template);
    ASSERT_NE(opened.encoder, nullptr);
    const Result<EncodedPrompt> plain =
        opened.encoder->encode_prompt({.system = "Decide.", .user = "state", .base_cue = ""});
    ASSERT_TRUE(plain.ok());
    const std::vector<TokenId> expected = controls_of(opened, plain->tokens);
    for (const SpecialToken& special : opened.encoder->specials().all()) {
      if (!SpecialTokens::is_guarded(special)) continue;
      const std::size_t half = special.text.size() / 2;
      for (const std::string& user :
           {"a" + special.text + "b", special.text, special.text + special.text.substr(0, half),
            special.text.substr(0, half) + special.text, "x \n" + special.text + " y"}) {
        const Result<EncodedPrompt> prompt =
            opened.encoder->encode_prompt({.system = "Decide.", .user = user, .base_cue = ""});
        ASSERT_TRUE(prompt.ok()) << family.vocabulary << " " << special.text;
        ASSERT_EQ(controls_of(opened, prompt->tokens), expected) << family.vocabulary << " " << special.text;
      }
      const Result<Tokens> answer = opened.encoder->encode_answer(special.text);
      ASSERT_TRUE(answer.ok()) << family.vocabulary << " " << special.text;
      ASSERT_TRUE(controls_of(opened, *answer).empty()) << family.vocabulary << " " << special.text;
      ASSERT_EQ(opened.encoder->find_special("..." + special.text).has_value(), true);
    }
  }
}

TEST(LlamaEncoder, ExactlyOneBeginOfText) {
  for (const Family& family : kFamilies) {
    const Opened opened = open(family.vocabulary, family.chat_template);
    const TokenId begin = llama_vocab_bos(opened.model->vocabulary());
    const Result<EncodedPrompt> prompt = opened.encoder->encode_prompt({.system = "", .user = "hello", .base_cue = ""});
    ASSERT_TRUE(prompt.ok());
    const auto count = std::count(prompt->tokens.begin(), prompt->tokens.end(), begin);
    EXPECT_LE(count, 1) << family.vocabulary;
    if (llama_vocab_get_add_bos(opened.model->vocabulary())) {
      EXPECT_EQ(prompt->tokens.front(), begin) << family.vocabulary;
    }
  }
}

// Two questions on one state, or one question on two states: what comes first is shared.
struct SharedPair {
  std::string first;
  std::string second;
  std::string other_second;
};
const std::vector<SharedPair> kShared = {
    {"The parcel arrived at noon.", "\n\nDid it arrive?", "\n\nWas it late, and by how many days?"},
    {R"({"evidence": "He said: \"no\" – 🙂")", R"(, "criterion": "Polite?"})", R"(, "criterion": "Angry?", "x": 1})"},
    {"Où est mon colis ? 12345", "\n\nWhere?", "\n\n北京?"},
    {"ends with a space ", "\n\nWhere?", "\n\nWhen?"}};

EncodedPrompt encoded(const LlamaEncoder& encoder, const std::string& system, const std::string& first,
                      const std::string& second) {
  Result<EncodedPrompt> prompt = encoder.encode_prompt(
      {.system = system, .user = first + second, .base_cue = "\nAnswer:", .shared_bytes = first.size()});
  EXPECT_TRUE(prompt.ok()) << (prompt.ok() ? "" : prompt.error().message);
  return prompt.ok() ? std::move(prompt).value() : EncodedPrompt{.tokens = {0}};
}

Tokens first_tokens(const EncodedPrompt& prompt, std::int32_t count) {
  return {prompt.tokens.begin(), prompt.tokens.begin() + count};
}

std::string text_of(const LlamaEncoder& encoder, const Tokens& tokens) {
  std::string text;
  for (const TokenId token : tokens) text += encoder.piece(token);
  return text;
}

void expect_in_order(const EncodedPrompt& prompt) {
  EXPECT_LE(0, prompt.head_tokens);
  EXPECT_LE(prompt.head_tokens, prompt.shared_tokens);
  EXPECT_LT(prompt.shared_tokens, std::ssize(prompt.tokens));
}

TEST(LlamaEncoder, PromptsThatBeginAlikeAreCutAlike) {
  for (const Family& family : kCutFamilies) {
    const Opened opened = open(family.vocabulary, family.chat_template);
    ASSERT_NE(opened.encoder, nullptr);
    for (const SharedPair& pair : kShared) {
      for (const std::string system : {"", "Apply the criterion. Choose one."}) {
        SCOPED_TRACE(std::string(family.vocabulary) + " " + pair.first + " " + system);
        const EncodedPrompt one = encoded(*opened.encoder, system, pair.first, pair.second);
        const EncodedPrompt two = encoded(*opened.encoder, system, pair.first, pair.other_second);
        expect_in_order(one);
        expect_in_order(two);
        ASSERT_EQ(one.head_tokens, two.head_tokens);
        ASSERT_EQ(one.shared_tokens, two.shared_tokens);
        EXPECT_EQ(first_tokens(one, one.shared_tokens), first_tokens(two, two.shared_tokens));
        // Not a token of the second text, and almost all of the first.
        const std::string shared = text_of(*opened.encoder, first_tokens(one, one.shared_tokens));
        const std::size_t at = shared.rfind(pair.first.substr(0, 10));
        ASSERT_NE(at, std::string::npos) << shared;
        EXPECT_LE(shared.size() - at, pair.first.size()) << shared;
        EXPECT_GE(shared.size() - at + 8, pair.first.size()) << shared;
        const std::string head = text_of(*opened.encoder, first_tokens(one, one.head_tokens));
        EXPECT_EQ(head.find(pair.first.substr(0, 8)), std::string::npos) << head;
        EXPECT_GE(head.size() + 8, at) << head;
        // What follows the user text belongs to no cut: there the template, or the cue of a model without one.
      }
    }
  }
}

TEST(LlamaEncoder, ThePartBeforeTheUserTextIsTheSameWhateverTheUserTextIs) {
  for (const Family& family : kCutFamilies) {
    const Opened opened = open(family.vocabulary, family.chat_template);
    ASSERT_NE(opened.encoder, nullptr);
    const EncodedPrompt one = encoded(*opened.encoder, "Decide.", "", "The parcel arrived.");
    const EncodedPrompt two = encoded(*opened.encoder, "Decide.", "Decide. {", "\"a\": 1}");
    EXPECT_EQ(one.head_tokens, two.head_tokens) << family.vocabulary;
    EXPECT_EQ(first_tokens(one, one.head_tokens), first_tokens(two, two.head_tokens)) << family.vocabulary;
    EXPECT_EQ(one.shared_tokens, one.head_tokens) << family.vocabulary;  // nothing is said to be shared
    EXPECT_GT(one.head_tokens, 0) << family.vocabulary;
  }
}

TEST(LlamaEncoder, FoldsTheSystemTextIntoTheUserTurnWhereTheRoleIsRefused) {
  const Opened opened = open("ggml-vocab-gemma-4.gguf", kGemma);
  EXPECT_FALSE(opened.encoder->facts().system_role);
  const Result<EncodedPrompt> prompt =
      opened.encoder->encode_prompt({.system = "Decide.", .user = "hello", .base_cue = ""});
  ASSERT_TRUE(prompt.ok());
  EXPECT_NE(prompt->text.find("user\nDecide.\n\nhello<end_of_turn>"), std::string::npos) << prompt->text;
}

TEST(LlamaEncoder, RendersSemIfsPromptWithThinkingClosed) {
  const std::string source = read_file(kModels + "templates/Qwen3.5-4B.jinja");
  ASSERT_FALSE(source.empty());
  const Opened opened = open("ggml-vocab-qwen35.gguf", source);
  ASSERT_NE(opened.encoder, nullptr);
  EXPECT_EQ(opened.encoder->facts().thinking, "closed by the template");
  const Result<EncodedPrompt> prompt = opened.encoder->encode_prompt({.system = "S", .user = "U", .base_cue = ""});
  ASSERT_TRUE(prompt.ok());
  EXPECT_EQ(
      prompt->text,
      "<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n");
}

TEST(LlamaEncoder, RefusesATemplateThatAlwaysThinks) {
  const Result<std::unique_ptr<LlamaModel>> model = LlamaModel::load_vocabulary(kModels + "ggml-vocab-qwen2.gguf");
  ASSERT_TRUE(model.ok());
  const std::string always = std::string(kChatml) + "{% if add_generation_prompt %}{{ '<think>\n' }}{% endif %}";
  const auto encoder = LlamaEncoder::open((*model)->vocabulary(), always, true);
  ASSERT_FALSE(encoder.ok());
  EXPECT_EQ(encoder.error().code, ErrorCode::kUnsupportedModel);
  EXPECT_NE(encoder.error().message.find("always thinks"), std::string::npos);
}

TEST(LlamaEncoder, RefusesATemplateThatChangesTheText) {
  const Result<std::unique_ptr<LlamaModel>> model = LlamaModel::load_vocabulary(kModels + "ggml-vocab-qwen2.gguf");
  ASSERT_TRUE(model.ok());
  const auto encoder =
      LlamaEncoder::open((*model)->vocabulary(), "{% for m in messages %}{{ m['content'] | upper }}{% endfor %}", true);
  ASSERT_FALSE(encoder.ok());
  EXPECT_EQ(encoder.error().code, ErrorCode::kUnsupportedModel);
}

TEST(LlamaEncoder, TheAnswerEndsWithTheTemplatesEndOfTurn) {
  const Opened opened = open("ggml-vocab-qwen2.gguf", kChatml);
  EXPECT_EQ(opened.encoder->piece(opened.encoder->end_of_answer()), "<|im_end|>");
}

TEST(LlamaEncoder, ABaseModelsAnswerCarriesItsSpace) {
  const Opened opened = open("ggml-vocab-gpt-neox.gguf", "");
  const Result<Tokens> tokens = opened.encoder->encode_answer("Yes");
  ASSERT_TRUE(tokens.ok());
  ASSERT_EQ(tokens->size(), 1u);
  EXPECT_EQ(opened.encoder->piece(tokens->front()), " Yes");
}

TEST(LlamaEncoder, LettersAreOneTokenInContext) {
  for (const Family& family : kFamilies) {
    const Opened opened = open(family.vocabulary, family.chat_template);
    for (const char* letter : {"A", "B", "P", "Z"}) {
      const Result<Tokens> tokens = opened.encoder->encode_answer(letter);
      ASSERT_TRUE(tokens.ok());
      EXPECT_EQ(tokens->size(), 1u) << family.vocabulary << " " << letter;
    }
  }
}

TEST(LlamaEncoder, EveryTemplateOfLlamaCppIsUsedOrRefusedWithAReason) {
  const Result<std::unique_ptr<LlamaModel>> model = LlamaModel::load_vocabulary(kModels + "ggml-vocab-qwen2.gguf");
  ASSERT_TRUE(model.ok());
  int used = 0;
  int refused = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kModels + "templates")) {
    if (entry.path().extension() != ".jinja") continue;
    const auto encoder = LlamaEncoder::open((*model)->vocabulary(), read_file(entry.path().string()), true);
    if (!encoder.ok()) {
      EXPECT_FALSE(encoder.error().message.empty());
      std::printf("refused %s: %s\n", entry.path().filename().c_str(), encoder.error().message.substr(0, 140).c_str());
      refused++;
      continue;
    }
    used++;
    const Result<EncodedPrompt> prompt =
        (*encoder)->encode_prompt({.system = "Decide.", .user = "The parcel is here.", .base_cue = ""});
    ASSERT_TRUE(prompt.ok()) << entry.path() << ": " << prompt.error().message;
    EXPECT_NE(prompt->text.find("The parcel is here."), std::string::npos);
  }
  std::printf("%d templates used, %d refused\n", used, refused);
  EXPECT_GT(used, refused);
}

}  // namespace
}  // namespace assay::engine
