// Where the time of one request goes, without sockets and without a model.
//
//   Handle   Routes::handle(), the whole way: wire, plan, queue, engine thread, reply
//   Decide   LocalDecider::decide(): plan, queue, engine thread
//   Parse    the body to a request
//   Plan     words to prompts and tokens, labels and options included
//   Queue    a job of one row through the engine thread and back: two thread switches and a very small decode
//   Reply    the answer to a body
//   Ping     Routes::handle() of GET /ping: the frame around everything
//
// What is left of Handle without the others is the fake decoder's own arithmetic.

#include <benchmark/benchmark.h>

#include <memory>
#include <utility>

#include "bench/fake_stack.h"
#include "server/wires/wire.h"
#include "server/wires/wire_reply.h"
#include "service/question_plan.h"

namespace {

using assay::bench::FakeStack;

// A failed step would be measured as a very fast one.
template <typename T>
bool good(benchmark::State& state, const T& result) {
  if (!result.ok()) state.SkipWithError(result.error().message.c_str());
  return result.ok();
}

void Handle(benchmark::State& state) {
  const FakeStack stack;
  const assay::server::HttpRequest request = assay::bench::sample_request();
  for ([[maybe_unused]] auto _ : state) {
    const assay::server::HttpReply reply = stack.routes->handle(request);
    if (reply.status != 200) return state.SkipWithError(reply.body.c_str());
  }
}
BENCHMARK(Handle)->UseRealTime();

void Decide(benchmark::State& state) {
  const FakeStack stack;
  const auto wire = assay::server::parse_semif_request(assay::bench::sample_body(), {});
  if (!good(state, wire)) return;
  for ([[maybe_unused]] auto _ : state) {
    if (!good(state, stack.decider->decide(wire->request))) return;
  }
}
BENCHMARK(Decide)->UseRealTime();

void Parse(benchmark::State& state) {
  const std::string body = assay::bench::sample_body();
  for ([[maybe_unused]] auto _ : state) {
    const auto wire = assay::server::parse_semif_request(body, {});
    benchmark::DoNotOptimize(&wire);
  }
}
BENCHMARK(Parse)->UseRealTime();

void Plan(benchmark::State& state) {
  const assay::engine::testing::FakeEncoder encoder;
  const assay::service::Labels labels = assay::service::find_labels(encoder);
  const auto wire = assay::server::parse_semif_request(assay::bench::sample_body(), {});
  if (!good(state, wire)) return;
  for ([[maybe_unused]] auto _ : state) {
    const auto plan = assay::service::plan_question(wire->request.state, wire->request.questions.front(),
                                                    assay::Readout::kText, assay::Layout::kStateFirst, labels, encoder);
    if (!good(state, plan)) return;
  }
}
BENCHMARK(Plan)->UseRealTime();

void Queue(benchmark::State& state) {
  const assay::SteadyClock clock;
  assay::engine::Scheduler scheduler(std::make_unique<assay::engine::testing::FakeDecoder>(assay::bench::fake_limits()),
                                     clock, {});
  assay::engine::Job job;
  job.segments.push_back({.tokens = {7}});
  job.reads.push_back({.segment = 0, .offset = 0, .targets = {8}, .hidden_state = false});
  for ([[maybe_unused]] auto _ : state) {
    if (!good(state, scheduler.run(job))) return;
  }
}
BENCHMARK(Queue)->UseRealTime();

void Reply(benchmark::State& state) {
  const FakeStack stack;
  const auto wire = assay::server::parse_semif_request(assay::bench::sample_body(), {});
  if (!good(state, wire)) return;
  const auto decided = stack.decider->decide(wire->request);
  if (!good(state, decided)) return;
  for ([[maybe_unused]] auto _ : state) {
    if (!good(state, assay::server::semif_reply(*wire, *decided, stack.decider->report()))) return;
  }
}
BENCHMARK(Reply)->UseRealTime();

void Ping(benchmark::State& state) {
  const FakeStack stack;
  const assay::server::HttpRequest request{.method = "GET", .path = "/ping", .headers = {}, .body = ""};
  for ([[maybe_unused]] auto _ : state) {
    const assay::server::HttpReply reply = stack.routes->handle(request);
    benchmark::DoNotOptimize(&reply);
  }
}
BENCHMARK(Ping)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
