#include "server/metrics.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace assay::server {
namespace {

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

bool has_line(const Metrics& metrics, const std::string& line) { return has_line(metrics.text({}), line); }

// The names in a text's lines of this kind ("HELP" or "TYPE").
std::vector<std::string> names_of(const std::string& text, const std::string& kind) {
  std::vector<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("# " + kind + " ")) continue;
    const std::size_t begin = kind.size() + 3;
    names.push_back(line.substr(begin, line.find(' ', begin) - begin));
  }
  return names;
}

TEST(Metrics, BeginAtZero) {
  const std::string text = Metrics().text({});
  EXPECT_TRUE(
      text.starts_with("# HELP assay_requests_total HTTP requests answered, by route and status.\n"
                       "# TYPE assay_requests_total counter\n"
                       "# HELP assay_requests_in_flight HTTP requests being answered now.\n"
                       "# TYPE assay_requests_in_flight gauge\n"
                       "assay_requests_in_flight 0\n"));
  for (const char* line :
       {"assay_input_tokens_total 0", "assay_computed_rows_total 0", "assay_queue_seconds_total 0",
        "assay_compute_seconds_total 0", "assay_queue_wait_seconds_bucket{le=\"+Inf\"} 0",
        "assay_queue_wait_seconds_sum 0", "assay_queue_wait_seconds_count 0", "assay_engine_rows_per_second 0"}) {
    EXPECT_TRUE(has_line(text, line)) << line;
  }
}

TEST(Metrics, HaveHelpAndTypeOnceEachAndCountersEndInTotal) {
  const std::string text = Metrics().text({});
  const std::vector<std::string> names = names_of(text, "TYPE");
  EXPECT_EQ(names_of(text, "HELP"), names);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  EXPECT_EQ(names.size(), 30u);
  for (const std::string& name : names) {
    EXPECT_TRUE(name.starts_with("assay_")) << name;
    EXPECT_EQ(text.find("# TYPE " + name + " counter\n") != std::string::npos, name.ends_with("_total")) << name;
  }
}

TEST(Metrics, AreAllExplained) {
  std::ifstream file(std::string(ASSAY_SOURCE_DIR) + "/docs/metrics.md");
  const std::string page((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  for (const std::string& name : names_of(Metrics().text({}), "TYPE")) {
    EXPECT_NE(page.find("`" + name + "`"), std::string::npos) << name;
  }
}

TEST(Metrics, TellWhatTheEngineSays) {
  const EngineStats engine{.queued = 1,
                           .running = 2,
                           .cells = 3,
                           .cells_used = 4,
                           .cached_prefixes = 5,
                           .cached_prefix_tokens = 6,
                           .rows_per_second = 7.5,
                           .steps = 8,
                           .rows = 9,
                           .padding_rows = 10,
                           .step_seconds = 11.25,
                           .jobs = 12,
                           .jobs_cancelled = 13,
                           .jobs_late = 14,
                           .failed_steps = 15,
                           .prefix_lookup_tokens = 16,
                           .prefix_hit_tokens = 17,
                           .prefix_evictions = 18,
                           .answer_cache_hits = 19,
                           .answer_cache_misses = 20};
  const std::string text = Metrics().text(engine);
  for (const char* line : {"assay_engine_queued 1",
                           "assay_engine_running 2",
                           "assay_engine_cells 3",
                           "assay_engine_cells_used 4",
                           "assay_engine_cached_prefixes 5",
                           "assay_engine_cached_prefix_tokens 6",
                           "assay_engine_rows_per_second 7.5",
                           "assay_engine_steps_total 8",
                           "assay_engine_rows_total 9",
                           "assay_engine_padding_rows_total 10",
                           "assay_engine_step_seconds_total 11.25",
                           "assay_engine_jobs_total 12",
                           "assay_engine_jobs_cancelled_total 13",
                           "assay_engine_jobs_late_total 14",
                           "assay_engine_failed_steps_total 15",
                           "assay_engine_prefix_lookup_tokens_total 16",
                           "assay_engine_prefix_hit_tokens_total 17",
                           "assay_engine_prefix_evictions_total 18",
                           "assay_answer_cache_hits_total 19",
                           "assay_answer_cache_misses_total 20"}) {
    EXPECT_TRUE(has_line(text, line)) << line;
  }
}

TEST(Metrics, SpreadTheWaitsOfReplies) {
  Metrics metrics;
  for (const double queue_ms : {0.0, 300.0, 300.0, 90000.0}) {
    metrics.count_reply({.answers = {}, .queue_ms = queue_ms});
  }
  EXPECT_TRUE(has_line(metrics, R"(assay_queue_wait_seconds_bucket{le="0.001"} 1)"));
  EXPECT_TRUE(has_line(metrics, R"(assay_queue_wait_seconds_bucket{le="0.25"} 1)"));
  EXPECT_TRUE(has_line(metrics, R"(assay_queue_wait_seconds_bucket{le="0.5"} 3)"));
  EXPECT_TRUE(has_line(metrics, R"(assay_queue_wait_seconds_bucket{le="60"} 3)"));
  EXPECT_TRUE(has_line(metrics, R"(assay_queue_wait_seconds_bucket{le="+Inf"} 4)"));
  EXPECT_TRUE(has_line(metrics, "assay_queue_wait_seconds_sum 90.6"));
  EXPECT_TRUE(has_line(metrics, "assay_queue_wait_seconds_count 4"));
}

TEST(Metrics, CountRequestsByRouteAndStatus) {
  Metrics metrics;
  metrics.start_request();
  metrics.start_request();
  EXPECT_TRUE(has_line(metrics, "assay_requests_in_flight 2"));
  metrics.finish_request({.route = "/v1/decide", .status = 200, .seconds = 0.5});
  metrics.finish_request({.route = "/v1/decide", .status = 400, .seconds = 0.5});
  EXPECT_TRUE(has_line(metrics, "assay_requests_in_flight 0"));
  EXPECT_TRUE(has_line(metrics, R"(assay_requests_total{route="/v1/decide",status="200"} 1)"));
  EXPECT_TRUE(has_line(metrics, R"(assay_requests_total{route="/v1/decide",status="400"} 1)"));
}

TEST(Metrics, FillCumulativeBuckets) {
  Metrics metrics;
  for (const double seconds : {0.001, 0.002, 0.4, 99.0}) {
    metrics.start_request();
    metrics.finish_request({.route = "/invocations", .readout = "text", .status = 200, .seconds = seconds});
  }
  const std::string labels = R"({route="/invocations",readout="text",le=)";
  EXPECT_TRUE(has_line(metrics, "assay_request_seconds_bucket" + labels + "\"0.001\"} 1"));  // the edge is inside
  EXPECT_TRUE(has_line(metrics, "assay_request_seconds_bucket" + labels + "\"0.0025\"} 2"));
  EXPECT_TRUE(has_line(metrics, "assay_request_seconds_bucket" + labels + "\"0.25\"} 2"));
  EXPECT_TRUE(has_line(metrics, "assay_request_seconds_bucket" + labels + "\"0.5\"} 3"));
  EXPECT_TRUE(has_line(metrics, "assay_request_seconds_bucket" + labels + "\"60\"} 3"));
  EXPECT_TRUE(has_line(metrics, "assay_request_seconds_bucket" + labels + "\"+Inf\"} 4"));
  EXPECT_TRUE(has_line(metrics, R"(assay_request_seconds_sum{route="/invocations",readout="text"} 99.403)"));
  EXPECT_TRUE(has_line(metrics, R"(assay_request_seconds_count{route="/invocations",readout="text"} 4)"));
}

TEST(Metrics, CountRefusalsByReason) {
  Metrics metrics;
  metrics.count_refusal(ErrorCode::kOverloaded);
  metrics.count_refusal(ErrorCode::kOverloaded);
  metrics.count_refusal(ErrorCode::kTooLong);
  EXPECT_TRUE(has_line(metrics, R"(assay_refusals_total{reason="overloaded"} 2)"));
  EXPECT_TRUE(has_line(metrics, R"(assay_refusals_total{reason="too_long"} 1)"));
}

TEST(Metrics, CountWhatAReplyCost) {
  Metrics metrics;
  DecisionReply reply{.answers = {}, .input_tokens = 40, .computed_rows = 44, .queue_ms = 250, .compute_ms = 1500};
  reply.answers.resize(3);
  reply.answers[2].readout = Readout::kText;
  metrics.count_reply(reply);
  metrics.count_reply(reply);
  EXPECT_TRUE(has_line(metrics, R"(assay_questions_total{readout="letters"} 4)"));
  EXPECT_TRUE(has_line(metrics, R"(assay_questions_total{readout="text"} 2)"));
  EXPECT_TRUE(has_line(metrics, "assay_input_tokens_total 80"));
  EXPECT_TRUE(has_line(metrics, "assay_computed_rows_total 88"));
  EXPECT_TRUE(has_line(metrics, "assay_queue_seconds_total 0.5"));
  EXPECT_TRUE(has_line(metrics, "assay_compute_seconds_total 3"));
}

TEST(Metrics, EscapeLabelValues) {
  EXPECT_EQ(escaped_label("a\\b\"c\nd"), "a\\\\b\\\"c\\nd");
  Metrics metrics;
  metrics.start_request();
  metrics.finish_request({.route = "a\"b", .status = 404, .seconds = 0});
  EXPECT_TRUE(has_line(metrics, R"(assay_requests_total{route="a\"b",status="404"} 1)"));
}

TEST(Metrics, LoseNothingBetweenThreads) {
  Metrics metrics;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&metrics] {
      for (int n = 0; n < 500; ++n) {
        metrics.start_request();
        metrics.finish_request({.route = "/ping", .status = 200, .seconds = 0});
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(has_line(metrics, R"(assay_requests_total{route="/ping",status="200"} 2000)"));
  EXPECT_TRUE(has_line(metrics, "assay_requests_in_flight 0"));
}

}  // namespace
}  // namespace assay::server
