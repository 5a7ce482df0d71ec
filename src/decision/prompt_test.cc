#include "decision/prompt.h"

#include <gtest/gtest.h>

#include "decision/labels.h"

namespace assay::decision {
namespace {

Question refund_question() {
  return Question{.id = "q",
                  .text = "What does the customer want?",
                  .type = QuestionType::kChoice,
                  .options = {{"refund", "Wants \"money\" back"}, {"how_to", std::nullopt}}};
}

Question yes_no_question() {
  return Question{.id = "q", .text = "Is it open?", .type = QuestionType::kYesNo, .options = {}};
}

TEST(LettersPrompt, IsSemIfsDirectOptionsV1) {
  const Prompt prompt = letters_prompt(Value("Charged twice."), refund_question(), label_codes());
  EXPECT_EQ(prompt.version, "direct-options-v1");
  EXPECT_EQ(prompt.system,
            "Apply the supplied criterion to the supplied evidence. Choose exactly one listed option. Respond with "
            "only its uppercase letter, with no explanation or reasoning.");
  EXPECT_EQ(prompt.user,
            R"({"evidence": "Charged twice.", "criterion": "What does the customer want?", "options": )"
            R"([{"letter": "A", "description": "Wants \"money\" back"}, {"letter": "B", "description": "how_to"}]})");
  EXPECT_EQ(prompt.base_cue, "\nAnswer:");
}

TEST(LettersPrompt, KeepsAnObjectStateAsItIsAndInOrder) {
  const Value state(Value::Object{{"z", Value(1.0)}, {"a", Value(Value::Integer{"2"})}});
  const Prompt prompt = letters_prompt(state, refund_question(), label_codes());
  EXPECT_EQ(prompt.user.rfind(R"({"evidence": {"z": 1.0, "a": 2}, "criterion": )", 0), 0u);
}

TEST(LettersPrompt, SharesItsBeginningBetweenQuestionsOnOneState) {
  Question other = refund_question();
  other.text = "Other";
  const std::string shared = R"({"evidence": "same", "criterion": ")";
  EXPECT_EQ(letters_prompt(Value("same"), refund_question(), label_codes()).user.rfind(shared, 0), 0u);
  EXPECT_EQ(letters_prompt(Value("same"), other, label_codes()).user.rfind(shared, 0), 0u);
}

TEST(LettersPrompt, TakesTheLabelsThatItIsGiven) {
  const std::vector<std::string> labels = {"K", "AZ"};
  const Prompt prompt = letters_prompt(Value(""), refund_question(), labels);
  EXPECT_NE(prompt.user.find(R"("letter": "K")"), std::string::npos);
  EXPECT_NE(prompt.user.find(R"("letter": "AZ")"), std::string::npos);
}

std::string shared_part(const Prompt& prompt) { return prompt.user.substr(0, prompt.shared_bytes); }

TEST(LettersPrompt, QuestionFirstHasTheSameMembersInAnotherOrder) {
  const Prompt prompt =
      letters_prompt(Value("Charged twice."), refund_question(), label_codes(), Layout::kQuestionFirst);
  EXPECT_EQ(prompt.version, "direct-options-question-first-v1");
  EXPECT_EQ(prompt.system, letters_prompt(Value(""), refund_question(), label_codes()).system);
  EXPECT_EQ(prompt.user,
            R"({"criterion": "What does the customer want?", "options": )"
            R"([{"letter": "A", "description": "Wants \"money\" back"}, {"letter": "B", "description": "how_to"}], )"
            R"("evidence": "Charged twice."})");
  EXPECT_EQ(prompt.base_cue, "\nAnswer:");
}

TEST(LettersPrompt, SharesThroughTheStateOrThroughTheOptions) {
  EXPECT_EQ(shared_part(letters_prompt(Value("a \"b\""), refund_question(), label_codes())),
            R"({"evidence": "a \"b\"")");
  EXPECT_EQ(shared_part(letters_prompt(Value("a"), refund_question(), label_codes(), Layout::kQuestionFirst)),
            R"({"criterion": "What does the customer want?", "options": )"
            R"([{"letter": "A", "description": "Wants \"money\" back"}, {"letter": "B", "description": "how_to"}])");
}

TEST(TextPrompt, QuestionFirstTurnsTheOrderRound) {
  const Prompt prompt = text_prompt(Value("Line"), refund_question(), Layout::kQuestionFirst);
  EXPECT_EQ(prompt.user, "What does the customer want?\n\nLine");
  EXPECT_EQ(prompt.version, "option-text-question-first-v1");
  EXPECT_EQ(prompt.system, "");
  EXPECT_EQ(prompt.base_cue, "\nAnswer:");
}

TEST(TextPrompt, SharesTheStateOrTheQuestion) {
  const Value state(Value::Array{Value("a"), Value(true)});
  EXPECT_EQ(shared_part(text_prompt(state, yes_no_question())), R"(["a", true])");
  EXPECT_EQ(shared_part(text_prompt(state, yes_no_question(), Layout::kQuestionFirst)), "Is it open?");
  EXPECT_EQ(shared_part(text_prompt(Value(""), yes_no_question())), "");
}

TEST(TextPrompt, ShowsTheStateAndTheQuestionButNoOption) {
  const Prompt prompt = text_prompt(Value("Line \"one\"\n"), refund_question());
  EXPECT_EQ(prompt.user, "Line \"one\"\n\n\nWhat does the customer want?");
  EXPECT_EQ(prompt.system, "");
  EXPECT_EQ(prompt.base_cue, "\nAnswer:");
  EXPECT_EQ(prompt.version, "option-text-v1");
}

TEST(TextPrompt, ShowsAStructuredStateAsJson) {
  const Value state(Value::Array{Value("a"), Value(true)});
  EXPECT_EQ(text_prompt(state, yes_no_question()).user, "[\"a\", true]\n\nIs it open?");
}

TEST(PromptDeathTest, ALayoutIsAlwaysNamed) {
  EXPECT_DEATH(text_prompt(Value("s"), yes_no_question(), Layout::kAuto), "");
  EXPECT_DEATH(letters_prompt(Value("s"), refund_question(), label_codes(), Layout::kAuto), "");
}

TEST(TextPrompt, HasNeutralStates) {
  ASSERT_EQ(neutral_states().size(), 2u);
  EXPECT_EQ(text_prompt(neutral_states()[0], yes_no_question()).user, "N/A\n\nIs it open?");
  EXPECT_EQ(text_prompt(neutral_states()[1], yes_no_question()).user, "\n\nIs it open?");
}

TEST(TextPrompt, TheFirstAnswerLeadIsNone) {
  ASSERT_FALSE(answer_leads().empty());
  EXPECT_EQ(answer_leads()[0], "");
}

TEST(OptionText, IsTheDescriptionWhenThereIsOne) {
  const Question question = refund_question();
  EXPECT_EQ(option_text(question, {"a_b", "Some_words"}), "Some_words");
  EXPECT_EQ(option_text(question, {"a_b", ""}), "a b");
  EXPECT_EQ(option_text(question, {"a_b-c", std::nullopt}), "a b c");
  EXPECT_EQ(option_text(question, {"Yes", std::nullopt}), "Yes");
  EXPECT_EQ(option_text(question, {"true", std::nullopt}), "true");
}

TEST(OptionText, OfYesAndNoIsOneWord) {
  const Question question = yes_no_question();
  for (const char* id : {"yes", "YES", "true", "True"}) EXPECT_EQ(option_text(question, {id, std::nullopt}), "Yes");
  for (const char* id : {"no", "No", "false", "FALSE"}) EXPECT_EQ(option_text(question, {id, ""}), "No");
  EXPECT_EQ(option_text(question, {"yes", "The shop is open"}), "The shop is open");
  EXPECT_EQ(option_text(question, {"not_sure", std::nullopt}), "not sure");
  EXPECT_EQ(option_text(question, {"yes ", std::nullopt}), "yes ");
}

TEST(OptionText, KeepsAMinusSignAndIdsOfSeparatorsOnly) {
  const Question question = refund_question();
  EXPECT_EQ(option_text(question, {"-1", std::nullopt}), "-1");
  EXPECT_EQ(option_text(question, {"-1-2", std::nullopt}), "-1 2");
  EXPECT_EQ(option_text(question, {"-a", std::nullopt}), " a");
  EXPECT_EQ(option_text(question, {"-", std::nullopt}), "-");
  EXPECT_EQ(option_text(question, {"_-_", std::nullopt}), "_-_");
}

}  // namespace
}  // namespace assay::decision
