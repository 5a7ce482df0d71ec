#include "store/decision_store.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <thread>

#include "base/sha256.h"
#include "store/testing/store_fixture.h"

namespace assay::store {
namespace {

using DecisionStoreTest = StoreTest;

Feedback says(const std::string& id, const std::string& option, const std::string& note = "") {
  return {.decision_id = id, .question_id = "q1", .option = option, .note = note};
}

TEST_F(DecisionStoreTest, GivesBackWhatWasRecorded) {
  options_.writer.keep = Keep::kTexts;
  DecisionStore& store = open();
  DecisionRecord record = plain_record("d1", R"({"a": 123456789012345678901234567890})");
  record.allowed_mass = false;
  record.readout = Readout::kText;
  AnswerRecord& answer = record.answers.front();
  answer.calibrated = true;
  answer.abstained = true;
  answer.min_confidence = 0.9;
  answer.permute = 2;
  answer.readout = Readout::kText;
  answer.layout = Layout::kQuestionFirst;
  answer.lesson = {.used = LessonUse{.name = "refunds", .version = 3, .sha256 = std::string(64, 'f'), .taught = true},
                   .note = "",
                   .action = Action::kEscalate,
                   .threshold = 0.875,
                   .risk = 0.05,
                   .fallback = "info"};
  answer.zero_shot_scores = {-1.0, 1e-300};
  answer.shadow =
      ShadowAnswer{.lesson = "refunds", .version = 4, .best = 1, .confidence = 0.25, .probabilities = {0.375, 0.625}};
  ASSERT_TRUE(store.record(record));

  const auto found = open().find("d1");
  ASSERT_TRUE(found.ok() && found->has_value());
  const DecisionRecord& out = **found;
  EXPECT_EQ(out.state, record.state);
  EXPECT_EQ(out.state_sha256, sha256_hex(record.state));
  EXPECT_EQ(out.time_ms, record.time_ms);
  EXPECT_FALSE(out.allowed_mass);
  EXPECT_EQ(out.readout, Readout::kText);
  EXPECT_TRUE(out.receipt == record.receipt);
  ASSERT_EQ(out.answers.size(), 1u);
  const AnswerRecord& read = out.answers.front();
  EXPECT_EQ(read.question, "What does the customer want?");
  EXPECT_EQ(read.options[0].description, "Wants money back");
  EXPECT_EQ(read.options[1].description, std::nullopt);
  EXPECT_EQ(read.fingerprint, question_fingerprint(answer.question, answer.type, answer.options));
  EXPECT_EQ(read.scores, answer.scores);
  EXPECT_EQ(read.probabilities, answer.probabilities);
  EXPECT_EQ(read.zero_shot_scores, answer.zero_shot_scores);
  EXPECT_EQ(read.readout, Readout::kText);
  EXPECT_EQ(read.layout, Layout::kQuestionFirst);
  EXPECT_EQ(read.permute, 2);
  EXPECT_EQ(read.min_confidence, 0.9);
  EXPECT_TRUE(read.abstained && read.calibrated && read.lesson.used->taught);
  EXPECT_EQ(read.lesson.used->version, 3);
  EXPECT_EQ(read.lesson.action, Action::kEscalate);
  EXPECT_EQ(read.lesson.threshold, 0.875);
  EXPECT_EQ(read.lesson.fallback, "info");
  EXPECT_EQ(read.shadow->best, 1u);
  EXPECT_EQ(read.shadow->probabilities, answer.shadow->probabilities);
  EXPECT_FALSE(read.label.has_value());
}

TEST_F(DecisionStoreTest, KeepsNoTextUnlessAsked) {
  DecisionStore& store = open();
  ASSERT_TRUE(store.record(plain_record("d1", R"("my card 4000-1234")")));
  const auto found = store.find("d1");
  ASSERT_TRUE(found.ok() && found->has_value());
  EXPECT_EQ((*found)->state, "");
  EXPECT_EQ((*found)->state_sha256, sha256_hex(R"("my card 4000-1234")"));
  EXPECT_EQ((*found)->answers.front().question, "");
  EXPECT_EQ((*found)->answers.front().options[0].id, "refund");
  EXPECT_EQ((*found)->answers.front().options[0].description, std::nullopt);
  const std::string bytes = all_bytes();
  EXPECT_EQ(bytes.find("4000-1234"), std::string::npos);
  EXPECT_EQ(bytes.find("What does the customer"), std::string::npos);
  EXPECT_EQ(bytes.find("Wants money back"), std::string::npos);
}

TEST_F(DecisionStoreTest, TextsComeToAQuestionThatWasKeptWithoutThem) {
  open().record(plain_record("d1"));
  options_.writer.keep = Keep::kTexts;
  DecisionStore& store = open();
  store.record(plain_record("d2"));
  const auto questions = store.questions();
  ASSERT_TRUE(questions.ok());
  ASSERT_EQ(questions->size(), 1u);
  EXPECT_EQ(questions->front().question, "What does the customer want?");
  EXPECT_EQ(questions->front().options[0].description, "Wants money back");
  EXPECT_EQ(questions->front().answers, 2u);
}

TEST_F(DecisionStoreTest, FeedbackIsIdempotentAndCorrectionsAreCounted) {
  DecisionStore& store = open();
  store.record(plain_record("d1"));
  EXPECT_EQ(store.add_feedback(says("d1", "info", "called back")).value(), FeedbackResult::kStored);
  EXPECT_EQ(store.add_feedback(says("d1", "info", "called back")).value(), FeedbackResult::kKnown);
  EXPECT_EQ(store.add_feedback(says("d1", "info")).value(), FeedbackResult::kKnown);
  EXPECT_EQ(store.find("d1").value()->answers[0].label->note, "called back");
  EXPECT_EQ(store.add_feedback(says("d1", "refund")).value(), FeedbackResult::kCorrected);
  EXPECT_EQ(store.add_feedback(says("d1", "info", "no, info")).value(), FeedbackResult::kCorrected);
  const Label label = *open().find("d1").value()->answers[0].label;
  EXPECT_EQ(label.option, 1u);
  EXPECT_EQ(label.corrections, 2);
  EXPECT_EQ(label.note, "no, info");
}

TEST_F(DecisionStoreTest, FeedbackFindsADecisionThatStillWaits) {
  options_.writer.batch_ms = 1e9;  // nothing is written before somebody calls
  DecisionStore& store = open();
  for (int i = 0; i < 1000; i++) ASSERT_TRUE(store.record(plain_record("d" + std::to_string(i))));
  EXPECT_TRUE(store.add_feedback(says("d999", "info")).ok());
  EXPECT_EQ(store.stats().writer.written, 1000u);
  EXPECT_EQ(store.stats().writer.queued, 0u);
}

TEST_F(DecisionStoreTest, RefusesFeedbackThatFitsNothing) {
  DecisionStore& store = open();
  DecisionRecord record = plain_record("d1");
  record.answers.push_back(plain_answer("q2"));
  store.record(record);
  const auto field_of = [&store](const Feedback& feedback) { return store.add_feedback(feedback).error().field; };
  EXPECT_EQ(store.add_feedback(says("d2", "info")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(field_of(says("d2", "info")), "decision_id");
  EXPECT_EQ(field_of({.decision_id = "d1", .question_id = "q3", .option = "info", .note = ""}), "question_id");
  EXPECT_EQ(field_of({.decision_id = "d1", .question_id = "", .option = "info", .note = ""}), "question_id");
  EXPECT_EQ(field_of(says("d1", "Info")), "option");
  EXPECT_EQ(store.add_feedback(says("d1", "Info")).error().message,
            R"(is no option of the question; its options are "refund", "info")");
  EXPECT_EQ(field_of(says("d1", "")), "option");
  EXPECT_EQ(field_of(says("", "info")), "decision_id");
  EXPECT_EQ(field_of(says("d1", "info", "\xFF")), "note");
  EXPECT_EQ(store.add_feedback(says("d1", "info", std::string(4097, 'x'))).error().code, ErrorCode::kTooLong);
  EXPECT_EQ(store.stats().refused, 10u);
  EXPECT_TRUE(store.add_feedback({.decision_id = "d1", .question_id = "q2", .option = "info", .note = ""}).ok());
}

TEST_F(DecisionStoreTest, ManyLabelsAreOneCommit) {
  DecisionStore& store = open();
  DecisionRecord record = plain_record("d1");
  record.answers.push_back(plain_answer("q1"));  // two of one name
  store.record(record);
  store.record(plain_record("d2"));
  const auto results =
      store.add_feedback(std::vector<Feedback>{says("d2", "info"), says("d2", "info"), says("d2", "refund"),
                                               says("d2", "?"), says("d1", "info"), says("", "info")});
  ASSERT_EQ(results.size(), 6u);
  EXPECT_EQ(results[0].value(), FeedbackResult::kStored);
  EXPECT_EQ(results[1].value(), FeedbackResult::kKnown);
  EXPECT_EQ(results[2].value(), FeedbackResult::kCorrected);
  EXPECT_EQ(results[3].error().field, "option");
  EXPECT_EQ(results[4].error().field, "question_id");
  EXPECT_EQ(results[5].error().field, "decision_id");
  EXPECT_EQ(store.find("d2").value()->answers[0].label->option, 0u);
  EXPECT_EQ(store.stats().stored + store.stats().known + store.stats().corrected, 3u);
  EXPECT_TRUE(store.add_feedback(std::vector<Feedback>{}).empty());
}

TEST_F(DecisionStoreTest, ASecondRecordOfAnIdIsIgnored) {
  DecisionStore& store = open();
  store.record(plain_record("d1", R"("first")"));
  store.record(plain_record("d1", R"("second")"));
  EXPECT_EQ(store.find("d1").value()->state_sha256, sha256_hex(R"("first")"));
}

TEST_F(DecisionStoreTest, RefusesRecordsThatAreNotWhole) {
  DecisionStore& store = open();
  DecisionRecord record = plain_record("d1");
  record.answers[0].scores = {1.0};
  EXPECT_FALSE(store.record(record));
  record = plain_record("d1");
  record.answers[0].probabilities[0] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(store.record(record));
  record = plain_record("d1");
  record.answers[0].best = 2;
  EXPECT_FALSE(store.record(record));
  EXPECT_EQ(store.stats().writer.lost, 3u);
  EXPECT_FALSE(store.find("d1").value().has_value());
}

TEST_F(DecisionStoreTest, ForgetLeavesNothing) {
  options_.writer.keep = Keep::kTexts;
  DecisionStore& store = open();
  DecisionRecord record = plain_record("d1", R"("my card 4000-1234")");
  record.answers[0].bytes = {{.key = "k1", .bytes = "hidden-state-of-d1"}};
  store.record(record);
  store.record(plain_record("d2"));
  ASSERT_TRUE(store.add_feedback(says("d1", "info", "Mrs Miller called")).ok());
  ASSERT_NE(all_bytes().find("4000-1234"), std::string::npos);

  EXPECT_TRUE(store.forget("d1").value());
  for (const char* text : {"4000-1234", "Mrs Miller", "hidden-state-of-d1"}) {
    EXPECT_EQ(all_bytes().find(text), std::string::npos) << text;
  }
  EXPECT_FALSE(store.find("d1").value().has_value());
  EXPECT_FALSE(store.bytes("k1").value().has_value());
  EXPECT_FALSE(store.forget("d1").value());
  EXPECT_TRUE(store.find("d2").value().has_value());
  EXPECT_EQ(store.questions()->size(), 1u);  // d2 still asks it
  EXPECT_TRUE(store.forget("d2").value());
  EXPECT_TRUE(store.questions()->empty());
  EXPECT_EQ(all_bytes().find("What does the customer"), std::string::npos);
}

TEST_F(DecisionStoreTest, ForgetsWhatStillWaits) {
  options_.writer.batch_ms = 1e9;
  DecisionStore& store = open();
  store.record(plain_record("d1"));
  EXPECT_TRUE(store.forget("d1").value());
  EXPECT_FALSE(store.find("d1").value().has_value());
}

TEST_F(DecisionStoreTest, BytesGoWithTheLastDecisionThatHasThem) {
  DecisionStore& store = open();
  store.record(plain_record("d1"));
  store.record(plain_record("d2"));
  ASSERT_TRUE(store.put_bytes({{"d1", {"k", "numbers"}}, {"d2", {"k", "others"}}, {"gone", {"g", "numbers"}}}).ok());
  EXPECT_EQ(store.bytes("k").value(), "numbers");
  EXPECT_FALSE(store.bytes("g").value().has_value());
  EXPECT_TRUE(store.forget("d1").value());
  EXPECT_EQ(store.bytes("k").value(), "numbers");
  EXPECT_TRUE(store.forget("d2").value());
  EXPECT_FALSE(store.bytes("k").value().has_value());
}

TEST_F(DecisionStoreTest, ReadsLabelledAnswersOfOneQuestionInPages) {
  DecisionStore& store = open();
  for (int i = 0; i < 6; i++) {
    DecisionRecord record = plain_record("d" + std::to_string(i));
    if (i == 3) record.answers[0].question = "Something else?";
    store.record(record);
    if (i == 1) continue;
    ASSERT_TRUE(store.add_feedback(says("d" + std::to_string(i), i % 2 == 0 ? "refund" : "info")).ok());
  }
  const AnswerRecord asked = plain_answer();
  const std::string fingerprint = question_fingerprint(asked.question, asked.type, asked.options);
  const auto ids = [&store](const AnswerFilter& filter) {
    std::vector<std::string> out;
    for (std::optional<std::int64_t> after;;) {
      const auto page = store.answers(filter, after, 2);
      EXPECT_TRUE(page.ok());
      for (const AnswerRow& row : *page) out.push_back(row.decision_id);
      if (page->empty()) return out;
      after = page->back().place;
    }
  };
  using Ids = std::vector<std::string>;
  EXPECT_EQ(ids({.fingerprint = fingerprint, .labelled_only = true}), (Ids{"d0", "d2", "d4", "d5"}));
  EXPECT_EQ(ids({.fingerprint = fingerprint, .newest_first = true}), (Ids{"d5", "d4", "d2", "d1", "d0"}));
  EXPECT_EQ(ids({.fingerprint = "", .labelled_only = true, .newest_first = true}), (Ids{"d5", "d4", "d3", "d2", "d0"}));
  EXPECT_EQ(ids({.fingerprint = std::string(64, '0')}), Ids{});
  EXPECT_EQ(ids({}).size(), 6u);
  const auto questions = store.questions();
  ASSERT_EQ(questions->size(), 2u);
  EXPECT_EQ(questions->front().answers, 5u);
  EXPECT_EQ(questions->front().labelled, 4u);
  EXPECT_EQ(questions->front().labelled_by_option, (std::vector<std::size_t>{3, 1}));
}

TEST_F(DecisionStoreTest, MarksTellWhatIsLabelledOfAllQuestions) {
  DecisionStore& store = open();
  for (int i = 0; i < 4; i++) {
    DecisionRecord record = plain_record("d" + std::to_string(i));
    if (i == 2) record.answers[0].question = "Something else?";
    store.record(record);
    if (i == 1) continue;
    ASSERT_TRUE(store.add_feedback(says("d" + std::to_string(i), i == 0 ? "refund" : "info")).ok());
  }
  const auto told = [&store](std::int64_t after, std::size_t marks_max) {
    std::string out;
    const auto marks = store.label_marks(after, marks_max);
    EXPECT_TRUE(marks.ok());
    for (const LabelMark& mark : *marks) {
      const AnswerRow row = store.answers({.fingerprint = mark.fingerprint}, mark.answer - 1, 1)->front();
      out += row.decision_id + ":" + std::to_string(mark.option) + " ";
    }
    return out;
  };
  EXPECT_EQ(told(0, 10), "d0:0 d2:1 d3:1 ");
  EXPECT_EQ(told(0, 2), "d0:0 d2:1 ");
  EXPECT_EQ(told(store.label_marks(0, 2)->back().answer, 10), "d3:1 ");
  ASSERT_TRUE(store.add_feedback(says("d0", "info")).ok());
  ASSERT_TRUE(store.forget("d2").value());
  EXPECT_EQ(told(0, 10), "d0:1 d3:1 ");
}

TEST_F(DecisionStoreTest, ManyThreadsAtOnce) {
  DecisionStore& store = open();
  std::vector<std::thread> threads;
  std::atomic<int> stored{0};
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&store, &stored, t] {
      for (int i = 0; i < 50; i++) {
        const std::string id = std::to_string(t) + "-" + std::to_string(i);
        store.record(plain_record(id));
        const Result<FeedbackResult> result = store.add_feedback(says(id, "info"));
        if (result.ok() && *result == FeedbackResult::kStored) ++stored;
        EXPECT_TRUE(store.find(id).value().has_value());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(stored.load(), 200);
  EXPECT_EQ(store.questions()->front().labelled, 200u);
}

}  // namespace
}  // namespace assay::store
