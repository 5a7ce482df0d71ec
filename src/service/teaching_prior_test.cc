// The zero-shot readout's part in a taught head, and what is told of more labels.
#include <gtest/gtest.h>

#include <atomic>
#include <random>

#include "assay/teaching.h"
#include "decision/readout.h"

namespace assay {
namespace {

const Question kQuestion = {
    .id = "q", .text = "Which?", .options = {{"apple", {}}, {"banana", {}}, {"cherry", {}}}, .cues = {}};

// Knows an option by its name in the state. Hidden states and scores favour it by so much, more or less by what is
// drawn from the state's text.
class MarkedDecider final : public Decider {
 public:
  MarkedDecider(double states_strength, double scores_strength)
      : states_strength_(states_strength), scores_strength_(scores_strength) {
    report_.id = "marked";
    report_.sha256 = "of marked";
  }

  Result<DecisionReply> decide(const DecisionRequest& request) override {
    const std::string text = to_json_text(request.state);
    const Question& question = request.questions[0];
    unsigned seed = 17;
    for (const char c : text) seed = seed * 31 + static_cast<unsigned char>(c);
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    Answer answer{.readout = Readout::kText};
    std::vector<double> scores;
    std::vector<float> state;
    for (const Option& option : question.options) {
      const bool is_it = text.find(option.id) != std::string::npos;
      state.push_back(static_cast<float>(normal(random) + (is_it ? states_strength_ : 0)));
      scores.push_back(normal(random) + (is_it ? scores_strength_ : 0));
    }
    if (question.scored) asked_++;
    const auto probabilities = decision::probabilities(scores, 1);
    for (std::size_t i = 0; i < scores.size(); i++)
      answer.options.push_back({.id = question.options[i].id, .probability = (*probabilities)[i], .score = scores[i]});
    answer.best = decision::best_option(*probabilities);
    answer.cue_states.assign(question.cues.size(), state);
    return DecisionReply{.answers = {answer}};
  }
  const ModelReport& report() const override { return report_; }
  std::size_t in_flight() const override { return 0; }
  bool healthy() const override { return true; }
  EngineStats stats() const override { return {}; }
  void drain(double) override {}
  int asked() const { return asked_; }  // without a lesson

 private:
  const double states_strength_, scores_strength_;
  ModelReport report_;
  std::atomic<int> asked_ = 0;
};

TeachReport taught(MarkedDecider& decider, std::size_t zero_shot_rows, bool learning_curve = false,
                   std::size_t count = 150) {
  std::vector<LabelledQuestion> rows;
  for (std::size_t i = 0; i < count; i++)
    rows.push_back({.state = Value(kQuestion.options[i % 3].id + " " + std::to_string(i)),
                    .question = kQuestion,
                    .expected = i % 3,
                    .where = "row " + std::to_string(i)});
  TeachOptions options{.learn = {.name = "t", .created = "2026-11-30T12:00:00Z"},
                       .cues = {"{state}"},
                       .zero_shot_rows = zero_shot_rows,
                       .learning_curve = learning_curve};
  Result<TeachReport> report = learn_lesson(decider, kQuestion, rows, options);
  EXPECT_TRUE(report.ok()) << report.error().message;
  return report.ok() ? std::move(*report) : TeachReport{};
}

TEST(TeachingPrior, IsTakenWhereItTellsMoreAndThenAllRowsAreAsked) {
  MarkedDecider decider(0.7, 2);
  const TeachReport report = taught(decider, 100);
  ASSERT_TRUE(report.learn.lesson.head.has_value());
  EXPECT_GT(report.learn.lesson.head->prior_weight, 0);
  EXPECT_EQ(report.prior_rows, 100U);
  ASSERT_EQ(report.priors.size(), 4U);
  EXPECT_LT(report.priors.back().change, 0);
  EXPECT_EQ(decider.asked(), 150);
  MarkedDecider alone(0.7, 2);
  const TeachReport without = taught(alone, 0);
  EXPECT_EQ(without.learn.lesson.head->prior_weight, 0);
  EXPECT_TRUE(without.priors.empty());
  EXPECT_EQ(alone.asked(), 0);
  EXPECT_GT(report.learn.lesson.accuracy, without.learn.lesson.accuracy);
}

TEST(TeachingPrior, IsLeftOutWhereItTellsNothing) {
  MarkedDecider decider(2, 0);
  const TeachReport report = taught(decider, 60);
  ASSERT_TRUE(report.learn.lesson.head.has_value());
  EXPECT_EQ(report.learn.lesson.head->prior_weight, 0);
  EXPECT_EQ(report.priors.size(), 4U);
  EXPECT_EQ(decider.asked(), 60);
  // What chance makes of the calibration error is that of the rows that are shown.
  EXPECT_EQ(report.learn.after.size(), 60U);
  EXPECT_GT(report.learn.floor.mean, 0);
}

TEST(TeachingCurve, SaysWhatFewerLabelsWereWorthAndWhatMoreWouldBring) {
  MarkedDecider decider(1.5, 0);
  const TeachReport report = taught(decider, 0, true);
  std::vector<double> labels;
  for (const CurvePoint& point : report.curve) labels.push_back(point.labels_by_option);
  EXPECT_EQ(labels, (std::vector<double>{1, 2, 3, 5, 10, 20, 30, 50}));
  EXPECT_LT(report.curve.front().accuracy, report.curve.back().accuracy);
  EXPECT_DOUBLE_EQ(report.curve.back().accuracy, report.learn.lesson.accuracy);
  ASSERT_TRUE(report.accuracy_with_50_more.has_value());
  EXPECT_GE(*report.accuracy_with_50_more, *report.accuracy_with_50_more_low);
  EXPECT_LE(*report.accuracy_with_50_more, *report.accuracy_with_50_more_high);
  EXPECT_GT(*report.accuracy_with_50_more_low, 0.5);
  MarkedDecider alone(1.5, 0);
  EXPECT_TRUE(taught(alone, 0).curve.empty());
}

TEST(TeachingLift, ProbabilitiesAreOfTheHeadThatHasAllLabels) {
  MarkedDecider vague(0.2, 0);
  const TeachReport few = taught(vague, 10, false, 10);  // three labels an option, and four of one
  const auto mean_left_out = [](const TeachReport& report) {
    double sum = 0;
    for (const Outcome& outcome : report.learn.after) sum += outcome.probabilities[outcome.predicted];
    return sum / static_cast<double>(report.learn.after.size());
  };
  ASSERT_EQ(few.learn.after.size(), 10U);
  EXPECT_LT(few.learn.lesson.accuracy, 0.7);
  EXPECT_GT(few.learn.lesson.mean_confidence, mean_left_out(few) + 0.01);
  ASSERT_FALSE(few.learn.notes.empty());
  EXPECT_NE(few.learn.notes[0].find("of new rows about"), std::string::npos) << few.learn.notes[0];
  MarkedDecider clear(0.7, 0);
  const TeachReport many = taught(clear, 150);
  EXPECT_NEAR(many.learn.lesson.mean_confidence, mean_left_out(many), 1e-9);
  EXPECT_TRUE(many.learn.notes.empty());
}

}  // namespace
}  // namespace assay
