#include "server/metrics.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace assay::server {
namespace {

bool has_line(const Metrics& metrics, const std::string& line) {
  return ("\n" + metrics.text()).find("\n" + line + "\n") != std::string::npos;
}

TEST(Metrics, BeginAtZeroWithHelpAndType) {
  EXPECT_EQ(Metrics().text(),
            "# HELP assay_requests_total HTTP requests answered, by route and status.\n"
            "# TYPE assay_requests_total counter\n"
            "# HELP assay_requests_in_flight HTTP requests being answered now.\n"
            "# TYPE assay_requests_in_flight gauge\n"
            "assay_requests_in_flight 0\n"
            "# HELP assay_refusals_total Requests that ended with an error, by reason.\n"
            "# TYPE assay_refusals_total counter\n"
            "# HELP assay_questions_total Questions answered, by readout.\n"
            "# TYPE assay_questions_total counter\n"
            "# HELP assay_input_tokens_total Prompt tokens of answered requests, shared ones once.\n"
            "# TYPE assay_input_tokens_total counter\n"
            "assay_input_tokens_total 0\n"
            "# HELP assay_computed_rows_total Rows that the model computed for answered requests.\n"
            "# TYPE assay_computed_rows_total counter\n"
            "assay_computed_rows_total 0\n"
            "# HELP assay_queue_seconds_total Time that answered requests waited.\n"
            "# TYPE assay_queue_seconds_total counter\n"
            "assay_queue_seconds_total 0\n"
            "# HELP assay_compute_seconds_total Time that answered requests were computed.\n"
            "# TYPE assay_compute_seconds_total counter\n"
            "assay_compute_seconds_total 0\n"
            "# HELP assay_request_seconds Time from a request's body to its reply.\n"
            "# TYPE assay_request_seconds histogram\n");
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
