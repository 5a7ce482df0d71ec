#include "service/job_builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace assay::service {
namespace {

using engine::EncodedPrompt;
using engine::Job;
using engine::Keep;
using engine::Segment;
using engine::TokenId;
using engine::Tokens;

// Cut behind 2 and 4 of its tokens.
EncodedPrompt prompt_of(Tokens tokens) {
  return {.text = {}, .tokens = std::move(tokens), .head_tokens = 2, .shared_tokens = 4};
}

// The tokens from the root to a row.
Tokens path_to(const Job& job, std::int32_t segment, std::int32_t offset) {
  const Segment& last = job.segments[segment];
  Tokens path(last.tokens.begin(), last.tokens.begin() + offset + 1);
  for (std::int32_t at = last.parent; at != Segment::kRoot; at = job.segments[at].parent)
    path.insert(path.begin(), job.segments[at].tokens.begin(), job.segments[at].tokens.end());
  return path;
}

// The path of the row after which a token is scored, and the token.
Tokens scored(const Job& job, const TokenRead& at) {
  const engine::Read& read = job.reads[at.read];
  Tokens path = path_to(job, read.segment, read.offset);
  path.push_back(read.targets[at.target]);
  return path;
}

TEST(JobBuilder, APromptIsCutWhereItsStructureSays) {
  JobBuilder builder;
  builder.add_prompt(prompt_of({1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(builder.prompt_tokens(), 7);
  const Job job = builder.take();
  ASSERT_EQ(job.segments.size(), 3u);
  const std::vector<Tokens> tokens = {{1, 2}, {3, 4}, {5, 6, 7}};
  const std::vector<Keep> keep = {Keep::kAlways, Keep::kAlways, Keep::kNever};
  for (std::int32_t i = 0; i < 3; i++) {
    EXPECT_EQ(job.segments[i].tokens, tokens[i]);
    EXPECT_EQ(job.segments[i].keep, keep[i]);
    EXPECT_EQ(job.segments[i].parent, i - 1);
  }
}

TEST(JobBuilder, ACutThatCutsNothingOffMakesNoSegment) {
  JobBuilder builder;
  builder.add_prompt({.text = {}, .tokens = {1, 2, 3}, .head_tokens = 0, .shared_tokens = 0});
  EXPECT_EQ(builder.take().segments.size(), 1u);
}

TEST(JobBuilder, PromptsShareTheSegmentsThatTheyBeginWith) {
  JobBuilder builder;
  builder.add_prompt(prompt_of({1, 2, 3, 4, 5, 6, 7}));
  builder.add_prompt(prompt_of({1, 2, 3, 4, 50, 6, 7}));
  builder.add_prompt(prompt_of({1, 2, 3, 4, 5, 6, 70}));
  EXPECT_EQ(builder.prompt_tokens(), 7 + 3 + 3);
  const Job job = builder.take();
  const std::vector<std::int32_t> parents = {Segment::kRoot, 0, 1, 1, 1};
  ASSERT_EQ(job.segments.size(), parents.size());
  for (std::size_t i = 0; i < parents.size(); i++) EXPECT_EQ(job.segments[i].parent, parents[i]) << i;
}

TEST(JobBuilder, EqualTokensWithOtherCutsShareNothing) {
  JobBuilder builder;
  builder.add_prompt(prompt_of({1, 2, 3, 4, 5, 6, 7}));
  builder.add_prompt({.text = {}, .tokens = {1, 2, 3, 4, 5, 6, 7}, .head_tokens = 3, .shared_tokens = 4});
  EXPECT_EQ(builder.prompt_tokens(), 14);
}

TEST(JobBuilder, FewSharedTokensAreNotCutOffWhereSaidSo) {
  for (const std::int32_t shared : {3, 4}) {
    JobBuilder builder(4);
    builder.add_prompt({.text = {}, .tokens = {1, 2, 3, 4, 5, 6, 7}, .head_tokens = 1, .shared_tokens = 1 + shared});
    const Job job = builder.take();
    ASSERT_EQ(job.segments.size(), shared < 4 ? 2u : 3u);
    EXPECT_EQ(job.segments[0].tokens, Tokens({1}));
    EXPECT_EQ(job.segments[1].keep, shared < 4 ? Keep::kNever : Keep::kAlways);
    EXPECT_EQ(job.segments[1].tokens, shared < 4 ? Tokens({2, 3, 4, 5, 6, 7}) : Tokens({2, 3, 4, 5}));
  }
}

TEST(JobBuilder, AnUnbranchedRunOfAnswersIsOneSegment) {
  JobBuilder builder;
  const RowRef prompt = builder.add_prompt(prompt_of({1, 2, 3, 4, 5, 6, 7}));
  builder.add_answer(prompt, {10, 11, 12, 13});  // 13 is read, not computed
  builder.add_answer(prompt, {10, 11, 22, 23});
  builder.add_answer(prompt, {30, 31});
  const Job job = builder.take();
  ASSERT_EQ(job.segments.size(), 3u + 4u);
  const std::vector<Tokens> tokens = {{10, 11}, {12}, {22}, {30}};
  const std::vector<std::int32_t> parents = {2, 3, 3, 2};
  for (std::size_t i = 0; i < tokens.size(); i++) {
    EXPECT_EQ(job.segments[3 + i].tokens, tokens[i]);
    EXPECT_EQ(job.segments[3 + i].parent, parents[i]);
    EXPECT_EQ(job.segments[3 + i].keep, Keep::kNever);
  }
}

TEST(JobBuilder, AnswersOfOneTokenAreOneReadOfThePromptsEnd) {
  JobBuilder builder;
  const RowRef prompt = builder.add_prompt(prompt_of({1, 2, 3, 4, 5, 6, 7}));
  for (const TokenId label : {40, 41, 40}) builder.add_answer(prompt, {label});
  builder.add_hidden_state(prompt);
  const Job job = builder.take();
  ASSERT_EQ(job.reads.size(), 1u);
  EXPECT_EQ(job.reads[0].targets, Tokens({40, 41}));
  EXPECT_TRUE(job.reads[0].hidden_state);
  EXPECT_EQ(path_to(job, job.reads[0].segment, job.reads[0].offset), Tokens({1, 2, 3, 4, 5, 6, 7}));
}

// A question's cuts must not depend on the others': in one tree 'red' beside 'rod' is cut, 'red' alone is not.
TEST(JobBuilder, AnswersBehindEqualPromptsAreCutAsIfEachWereAlone) {
  JobBuilder builder;
  const RowRef first = builder.add_prompt(prompt_of({1, 2, 3, 4, 5, 6, 7}));
  const RowRef second = builder.add_prompt(prompt_of({1, 2, 3, 4, 5, 6, 7}));
  const std::vector<TokenRead> of_first = builder.add_answer(first, {'r', 'e', 'd'});
  const std::vector<TokenRead> of_second = builder.add_answer(second, {'r', 'o', 'd'});
  const Job job = builder.take();
  ASSERT_EQ(job.segments.size(), 3u + 2u);
  EXPECT_EQ(job.segments[3].tokens, Tokens({'r', 'e'}));
  EXPECT_EQ(job.segments[4].tokens, Tokens({'r', 'o'}));
  EXPECT_EQ(of_first[0].read, of_second[0].read);  // the prompts' end is one row
  EXPECT_NE(of_first[1].read, of_second[1].read);
}

// Prompts over few tokens, so that many begin alike, with answers that begin alike.
struct RandomJob {
  explicit RandomJob(unsigned seed) : random(seed) {
    for (int i = 0; i < 6; i++) {
      const EncodedPrompt prompt = random_prompt();
      const RowRef row = builder.add_prompt(prompt);
      for (int a = 0; a < 5; a++) {
        const Tokens lead = random_tokens(below(3));
        const Tokens answer = random_tokens(1 + below(4));
        const std::vector<TokenRead> added = builder.add_answer(builder.add_lead(row, lead), answer);
        EXPECT_EQ(added.size(), answer.size());
        Tokens path = prompt.tokens;
        path.insert(path.end(), lead.begin(), lead.end());
        for (std::size_t t = 0; t < answer.size(); t++) {
          path.push_back(answer[t]);
          reads.push_back(added[t]);
          expected.push_back(path);
        }
      }
    }
  }
  std::int32_t below(std::int32_t limit) { return static_cast<std::int32_t>(random() % static_cast<unsigned>(limit)); }
  Tokens random_tokens(std::int32_t count) {
    Tokens tokens;
    for (std::int32_t i = 0; i < count; i++) tokens.push_back(below(2));
    return tokens;
  }
  EncodedPrompt random_prompt() {
    EncodedPrompt prompt{.text = {}, .tokens = random_tokens(4 + below(3))};
    prompt.head_tokens = below(2);
    prompt.shared_tokens = prompt.head_tokens + below(2);
    return prompt;
  }

  std::mt19937 random;
  JobBuilder builder;
  std::vector<TokenRead> reads;
  std::vector<Tokens> expected;  // of each read: the path and the scored token
};

// What the engine asks of a job.
void expect_sound(const Job& job) {
  std::map<std::pair<std::int32_t, std::int32_t>, int> read_rows;
  for (std::size_t i = 0; i < job.segments.size(); i++) {
    EXPECT_FALSE(job.segments[i].tokens.empty());
    EXPECT_LT(job.segments[i].parent, static_cast<std::int32_t>(i));
  }
  for (const engine::Read& read : job.reads) {
    EXPECT_EQ(job.segments[read.segment].keep, Keep::kNever);
    EXPECT_LT(read.offset, std::ssize(job.segments[read.segment].tokens));
    const int times = ++read_rows[{read.segment, read.offset}];
    EXPECT_EQ(times, 1) << "a row is read twice";
    Tokens targets = read.targets;
    std::sort(targets.begin(), targets.end());
    EXPECT_EQ(std::adjacent_find(targets.begin(), targets.end()), targets.end());
  }
}

TEST(JobBuilder, EveryReadStandsBehindItsOwnTokens) {
  for (unsigned seed = 0; seed < 200; seed++) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomJob made(seed);
    const Job job = made.builder.take();
    expect_sound(job);
    for (std::size_t i = 0; i < made.reads.size(); i++) ASSERT_EQ(scored(job, made.reads[i]), made.expected[i]) << i;
  }
}

}  // namespace
}  // namespace assay::service
