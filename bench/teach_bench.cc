// What learning and a learnt answer cost, on random numbers, on one thread.
//
//   AddLabel   LdaTeacher::add() and head(): one label more, 770 rows and 77 options before it
//   OpenTeacher, FitHead   all 770 rows at once
//   ChooseHead the whole search over three cues
//   Answer     head_scores() and calibrated(): what a taught answer takes beside its forward pass

#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "teach/apply.h"
#include "teach/cross_validate.h"
#include "teach/lda_teacher.h"

namespace {

using assay::teach::HeadMethod;
using assay::teach::TeachingRow;

constexpr std::size_t kOptions = 77;
constexpr std::size_t kRows = 770;

std::vector<TeachingRow> drawn(std::size_t rows, std::size_t cues, std::size_t width) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<std::vector<float>> marks(kOptions, std::vector<float>(width));
  for (auto& mark : marks) {
    for (float& value : mark) value = normal(random) / 2;
  }
  std::vector<TeachingRow> out(rows);
  for (std::size_t i = 0; i < rows; i++) {
    out[i].option = i % kOptions;
    out[i].by_cue.assign(cues, std::vector<float>(width));
    for (auto& x : out[i].by_cue) {
      for (std::size_t d = 0; d < width; d++) x[d] = marks[i % kOptions][d] + normal(random);
    }
  }
  return out;
}

std::size_t width_of(const benchmark::State& state) { return static_cast<std::size_t>(state.range(0)); }

void AddLabel(benchmark::State& state) {
  const auto rows = drawn(kRows, 1, width_of(state));
  auto teacher = assay::teach::LdaTeacher::open(rows, {0}, 0.5);
  std::size_t next = 0;
  for (auto _ : state) {
    if (next == 100) {  // back to 770 rows
      state.PauseTiming();
      teacher = assay::teach::LdaTeacher::open(rows, {0}, 0.5);
      next = 0;
      state.ResumeTiming();
    }
    if (!(*teacher)->add(rows[next++]).ok()) state.SkipWithError("not added");
    benchmark::DoNotOptimize((*teacher)->head());
  }
}
BENCHMARK(AddLabel)->Arg(576)->Arg(1152)->Arg(2560)->Iterations(100)->Unit(benchmark::kMillisecond);

void OpenTeacher(benchmark::State& state) {
  const auto rows = drawn(kRows, 1, width_of(state));
  for (auto _ : state) benchmark::DoNotOptimize(assay::teach::LdaTeacher::open(rows, {0}, 0.5));
}
BENCHMARK(OpenTeacher)->Arg(576)->Arg(1152)->Unit(benchmark::kMillisecond);

void FitHead(benchmark::State& state) {
  const auto rows = drawn(kRows, 1, width_of(state));
  for (auto _ : state) benchmark::DoNotOptimize(assay::teach::fit_head(rows, {0}, HeadMethod::kLda, 0.5, 0));
}
BENCHMARK(FitHead)->Arg(576)->Arg(1152)->Unit(benchmark::kMillisecond);

void ChooseHead(benchmark::State& state) {
  const auto rows = drawn(kRows, 3, width_of(state));
  for (auto _ : state) benchmark::DoNotOptimize(assay::teach::choose_head(rows, kOptions));
}
BENCHMARK(ChooseHead)->Arg(576)->Iterations(2)->Unit(benchmark::kMillisecond);

void Answer(benchmark::State& state) {
  const auto rows = drawn(kRows, 1, width_of(state));
  const auto head = assay::teach::fit_head(rows, {0}, HeadMethod::kLda, 0.5, 0);
  assay::Calibration calibration;
  calibration.temperature = 1.3;
  calibration.isotonic = {{0.1, 0.2}, {0.5, 0.6}, {0.9, 0.95}};
  for (auto _ : state) {
    const auto scores = assay::teach::head_scores(*head, rows[0].by_cue[0], kOptions, {});
    if (!scores.ok()) state.SkipWithError("no scores");
    benchmark::DoNotOptimize(assay::teach::calibrated(calibration, *scores));
  }
}
BENCHMARK(Answer)->Arg(576)->Arg(1152)->Arg(2560)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
