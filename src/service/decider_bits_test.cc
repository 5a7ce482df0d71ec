// A request's numbers, to the bit, whatever else is there: other requests, other questions of its own, other caches.
// The fake decoder's bits depend on where rows lie and how many stand in a decode, as a real one's do.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "service/testing/decider_fixture.h"

namespace assay::service {
namespace {

using testing::decided;
using testing::Fixture;
using testing::FixtureOptions;
using testing::numbers_of;

constexpr Readout kReadouts[] = {Readout::kLetters, Readout::kText};
constexpr Layout kLayouts[] = {Layout::kStateFirst, Layout::kQuestionFirst};

FixtureOptions moving_bits(std::int32_t cache_tokens = 4096) {
  FixtureOptions options;
  options.limits.sequences_max = 64;
  options.layout_moves_bits = true;
  options.scheduler.engine.cache_tokens = cache_tokens;
  return options;
}

// Long enough that what it is shared in is a segment of its own also where a question is alone (kSharedTokensMin).
std::string asked(const std::string& words) { return words + " " + std::string(kSharedTokensMin, '?'); }

// Questions of different lengths; two with the same words and different options, whose answers begin alike.
std::vector<Question> many_questions() {
  return {{.id = "a", .text = asked("colour"), .options = {{"red", {}}, {"blue", {}}}},
          {.id = "b", .text = asked("colour"), .options = {{"rod", {}}, {"reed", {}}, {"red", {}}}},
          {.id = "c", .text = asked(std::string(90, 'l')), .options = {{"one", {}}, {"only", {}}, {"two", {}}}},
          {.id = "d", .text = asked("single"), .options = {{"nothing else", {}}}},
          {.id = "e", .text = asked("Is it"), .type = QuestionType::kYesNo, .options = {{"yes", {}}, {"no", {}}}},
          {.id = "f", .text = asked("colour"), .options = {{"red", {}}, {"blue", {}}}}};
}

DecisionRequest request_with(std::vector<Question> questions, Readout readout, Layout layout) {
  return {.state = Value("The parcel left at noon. " + std::string(130, 'x')),
          .questions = std::move(questions),
          .readout = readout,
          .explain = true,
          .hidden_state = true,
          .layout = layout};
}

TEST(DeciderBits, AQuestionBesideOthersEqualsTheQuestionAlone) {
  for (const Readout readout : kReadouts) {
    for (const Layout layout : kLayouts) {
      Fixture together(moving_bits());
      const DecisionReply all = decided(*together.decider, request_with(many_questions(), readout, layout));
      for (std::size_t i = 0; i < many_questions().size(); i++) {
        Fixture alone(moving_bits());
        const DecisionReply one = decided(*alone.decider, request_with({many_questions()[i]}, readout, layout));
        EXPECT_EQ(numbers_of(all.answers[i]), numbers_of(one.answers[0]))
            << readout_name(readout) << " " << layout_name(layout) << " " << i;
        EXPECT_EQ(all.answers[i].prompt, one.answers[0].prompt);
      }
      EXPECT_EQ(together.decoder->faults(), std::vector<std::string>());
    }
  }
}

// That the test above can fail: the engine keeps to rules that are not those of the machine.
TEST(DeciderBits, WrongRulesChangeThem) {
  const DecisionRequest request = request_with(many_questions(), Readout::kText, Layout::kStateFirst);
  const DecisionReply right = decided(*Fixture(moving_bits()).decider, request);
  FixtureOptions wrong = moving_bits();
  wrong.limits.rules = {
      .tile_cells = 32, .page_cells = 8, .rows_min = 16, .rows_multiple = 1, .outputs_min = 1, .outputs_multiple = 1};
  Fixture fixture(wrong);
  fixture.decoder->real_rules = {};
  EXPECT_NE(numbers_of(decided(*fixture.decider, request)), numbers_of(right));
}

TEST(DeciderBits, ColdWarmAndWithoutACacheAreTheSame) {
  for (const Readout readout : kReadouts) {
    for (const Layout layout : kLayouts) {
      const DecisionRequest request = request_with(many_questions(), readout, layout);
      std::vector<double> expected;
      for (const std::int32_t cache_tokens : {0, 150, 300, 4096}) {
        Fixture fixture(moving_bits(cache_tokens));
        for (int time = 0; time < 3; time++) {
          const DecisionReply reply = decided(*fixture.decider, request);
          if (expected.empty()) expected = numbers_of(reply);
          EXPECT_EQ(numbers_of(reply), expected) << cache_tokens << " tokens of cache, time " << time;
          // Question first, these questions have only the template's head in common.
          const bool warm = cache_tokens == 4096 && time > 0 && layout == Layout::kStateFirst;
          EXPECT_GE(reply.cached_tokens, warm ? 100 : 0);
          EXPECT_LE(reply.cached_tokens, cache_tokens);
        }
        EXPECT_EQ(fixture.decoder->faults(), std::vector<std::string>());
      }
    }
  }
}

// Requests of both readouts and layouts over few states and questions, so that prefixes are shared.
std::vector<DecisionRequest> mixed_requests(std::mt19937& random) {
  std::vector<DecisionRequest> requests;
  for (int i = 0; i < 24; i++) {
    std::vector<Question> questions;
    for (const Question& question : many_questions()) {
      if (random() % 3 == 0) questions.push_back(question);
    }
    if (questions.empty()) questions.push_back(many_questions()[random() % many_questions().size()]);
    DecisionRequest request = request_with(std::move(questions), kReadouts[random() % 2], kLayouts[random() % 2]);
    request.state = Value("state " + std::to_string(random() % 3) + std::string(random() % 2 * 200, 's'));
    request.priority = random() % 4 == 0 ? Priority::kBulk : Priority::kInteractive;
    request.client = std::to_string(random() % 3);
    requests.push_back(std::move(request));
  }
  return requests;
}

TEST(DeciderBits, ManyThreadsGetTheBitsThatTheyGetAloneWhateverTheCacheHolds) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const std::vector<DecisionRequest> requests = mixed_requests(random);
  std::vector<std::vector<double>> expected;
  for (const DecisionRequest& request : requests)
    expected.push_back(numbers_of(decided(*Fixture(moving_bits(0)).decider, request)));
  for (const std::int32_t cache_tokens : {0, 200, 4096}) {
    Fixture fixture(moving_bits(cache_tokens));
    std::atomic<int> changed{0};
    std::atomic<int> lost{0};
    std::vector<std::thread> clients;
    for (unsigned client = 0; client < 8; client++) {
      clients.emplace_back([&, client] {
        std::mt19937 order(seed + client);
        for (int i = 0; i < 12; i++) {
          const std::size_t which = order() % requests.size();
          const Result<DecisionReply> reply = fixture.decider->decide(requests[which]);
          if (!reply.ok()) lost++;
          if (reply.ok() && numbers_of(*reply) != expected[which]) changed++;
        }
      });
    }
    for (std::thread& client : clients) client.join();
    EXPECT_EQ(changed, 0) << cache_tokens;
    EXPECT_EQ(lost, 0) << cache_tokens;
    EXPECT_EQ(fixture.decoder->faults(), std::vector<std::string>());
  }
}

}  // namespace
}  // namespace assay::service
