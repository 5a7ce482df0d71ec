// Tokens per second of plain prefills, for bench/prefill.py: prefill_tokens MODEL PACKING THREADS REPEATS TOKENS...
//
// Prints one JSON object a line: first what was loaded, then each size's seconds, one number a repeat after one that is
// not counted. PACKING is off (llama.cpp's kernels), panel or on.

#include <llama.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/sha256.h"
#include "engine/llama_model.h"
#include "engine/llama_packing.h"
#include "engine/llama_runtime.h"

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

assay::Packing packing_of(const std::string& name) {
  if (name == "on") return assay::Packing::kOn;
  return name == "panel" ? assay::Packing::kPanel : assay::Packing::kOff;
}

long peak_mebibytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss / 1024;
}

bool decode(llama_context* context, std::vector<llama_token>& tokens) {
  llama_memory_clear(llama_get_memory(context), true);
  return llama_decode(context, llama_batch_get_one(tokens.data(), static_cast<std::int32_t>(tokens.size()))) == 0;
}

int measure(llama_context* context, std::int32_t vocabulary, int count, int repeats) {
  std::vector<llama_token> tokens;
  for (int i = 0; i < count; i++) tokens.push_back(100 + (i * 7919) % (vocabulary - 200));
  const double first = now();
  if (!decode(context, tokens)) return 1;
  std::printf("{\"tokens\": %d, \"first_seconds\": %.6f, \"seconds\": [", count, now() - first);
  for (int i = 0; i < repeats; i++) {
    const double begin = now();
    if (!decode(context, tokens)) return 1;
    std::printf("%s%.6f", i == 0 ? "" : ", ", now() - begin);
  }
  std::printf("]}\n");
  std::fflush(stdout);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  assay::ModelOptions options;
  options.path = argv[1];
  options.packing = packing_of(argv[2]);
  options.threads = std::atoi(argv[3]);
  options.check_memory = false;
  if (const char* const dir = std::getenv("ASSAY_BENCH_PACK_CACHE"); dir != nullptr) {
    options.pack_cache_dir = dir;
    options.file_sha256 = assay::sha256_hex_of_file(options.path);  // a server has it from its check record
  }
  const double begin = now();
  const auto model = assay::engine::LlamaModel::load(options);
  if (!model.ok()) {
    std::fprintf(stderr, "%s\n", model.error().message.c_str());
    return 1;
  }
  const double load_seconds = now() - begin;
  int most = 0;
  for (int i = 5; i < argc; i++) most = std::max(most, std::atoi(argv[i]));
  llama_context_params params = llama_context_default_params();
  params.n_ctx = static_cast<std::uint32_t>(most);
  params.n_batch = params.n_ctx;
  params.n_ubatch = 512;
  params.n_threads = params.n_threads_batch = options.threads;
  params.no_perf = true;
  llama_context* const context = llama_init_from_model((*model)->handle(), params);
  if (context == nullptr) return 1;
  const auto& packing = (*model)->packing();
  std::printf(
      "{\"packing\": \"%s\", \"unit\": \"%s\", \"packed_bytes\": %llu, \"packing_seconds\": %.3f, \"load_seconds\": "
      "%.3f}\n",
      assay::engine::packing_name(packing.mode), packing.unit.c_str(), static_cast<unsigned long long>(packing.bytes),
      packing.seconds, load_seconds);
  const std::int32_t vocabulary = llama_vocab_n_tokens((*model)->vocabulary());
  for (int i = 5; i < argc; i++) {
    if (measure(context, vocabulary, std::atoi(argv[i]), std::atoi(argv[4])) != 0) return 1;
  }
  std::printf("{\"peak_mebibytes\": %ld}\n", peak_mebibytes());
  llama_free(context);
  return 0;
}
