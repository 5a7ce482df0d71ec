// The letters prompt against SemIf's: tests/data/semif_prompts.jsonl, framed as Qwen3.5's chat template frames it with
// thinking off. The hash of the first row is published by SemIf, so equal hashes mean equal bytes.

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "assay/decision.h"
#include "base/sha256.h"
#include "decision/labels.h"
#include "decision/prompt.h"
#include "server/wires/wire_json.h"

namespace assay::server {
namespace {

std::string string_of(const Value& row, std::string_view key) {
  const Value* member = row.find(key);
  EXPECT_TRUE(member != nullptr && member->is_string()) << key;
  return member != nullptr && member->is_string() ? *member->string() : std::string();
}

std::vector<Value> golden_rows() {
  std::ifstream file(std::string(ASSAY_SOURCE_DIR) + "/tests/data/semif_prompts.jsonl", std::ios::binary);
  std::vector<Value> rows;
  for (std::string line; std::getline(file, line);) {
    Result<Value> row = parse_json(line);
    EXPECT_TRUE(row.ok()) << line;
    if (row.ok()) rows.push_back(std::move(*row));
  }
  return rows;
}

Question question_of(const Value& row) {
  Question question;
  question.id = string_of(row, "id");
  question.text = string_of(row, "question");
  const Value* options = row.find("options");
  EXPECT_TRUE(options != nullptr && options->is_array());
  if (options == nullptr || !options->is_array()) return question;
  for (const Value& option : *options->array()) {
    question.options.push_back({string_of(option, "id"), string_of(option, "description")});
  }
  return question;
}

std::string framed(const decision::Prompt& prompt) {
  return "<|im_start|>system\n" + prompt.system + "<|im_end|>\n<|im_start|>user\n" + prompt.user +
         "<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n";
}

// What stands between `<|im_start|>ROLE\n` and the next `<|im_end|>`.
std::string turn(const std::string& prompt, const std::string& role) {
  const std::string open = "<|im_start|>" + role + "\n";
  const std::size_t begin = prompt.find(open) + open.size();
  return prompt.substr(begin, prompt.find("<|im_end|>", begin) - begin);
}

TEST(SemIfPrompts, EqualOursByteForByte) {
  const std::vector<Value> rows = golden_rows();
  ASSERT_EQ(rows.size(), 4u);
  for (const Value& row : rows) {
    SCOPED_TRACE(string_of(row, "id"));
    ASSERT_NE(row.find("state"), nullptr);
    const decision::Prompt prompt =
        decision::letters_prompt(*row.find("state"), question_of(row), decision::label_codes());
    const std::string golden = string_of(row, "prompt");
    EXPECT_EQ(prompt.system, turn(golden, "system"));
    EXPECT_EQ(prompt.user, turn(golden, "user"));
    EXPECT_EQ(framed(prompt), golden);
    EXPECT_EQ(sha256_hex(framed(prompt)), string_of(row, "prompt_sha256"));
  }
}

TEST(SemIfPrompts, HoldTheHashThatSemIfPublished) {
  const std::vector<Value> rows = golden_rows();
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(string_of(rows[0], "id"), "a3f18f3a63d45345942b");
  EXPECT_EQ(string_of(rows[0], "prompt_sha256"), "3cc9e3d1e4e07885afb7652e9c5f92a5b28168362a3d8e7f6e32e5189a4fccde");
}

}  // namespace
}  // namespace assay::server
