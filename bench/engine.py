"""Many requests: Assay against llama-server of the same tree, same GGUF, same machine, same tokens (docs/benchmarks.md).

  1   21 questions of ~40 tokens on one 1,000-token state, in one request; llama-server fresh and with its cache
  2   50 rubrics of ~300 tokens by Zipf's law, states of ~80 tokens, 16 at once, question first: rate and p95
  3   states against one rubric of 77 options, text readout: what priors cost once, a row's cost, ratio to letters
  4   unrelated cold prompts of 200 to 800 tokens, 16 at once
  5   one short request at a time: p50
  6   hybrid shape: 8 questions on one 1,000-token state
  7   24 short requests at a low fixed rate, alone and with an 8,000-token one always in flight; about five minutes
  9   cold and warm cache: a repeated request, questions on one state one by one, states on one rubric
  10  short cold prompts at 1, 2, 4, 8 and 16 clients, for bench/plots.py

`--only 1,4` chooses workloads. 1, 2, 4 and 5 run on the default model and on a random-weight Qwen3-0.6B shape, 6 on a random-weight
Qwen3.5-0.8B shape (made on demand, bench/make_shapes.py), the rest on the default model; --quick: few requests, default model only.
8, idle connections and a soak, is `bench/run soak`.
Environment: ASSAY_BENCH_MODELS (such as default,qwen3-0.6b: only these), ASSAY_BENCH_FLAGS (more flags for `assay serve`),
ASSAY_LLAMA_SERVER (default: bin/llama-server beside the binary).
"""

import os
import subprocess

import _frame
import _servers
import _streams
import _workloads
import make_shapes

PYTHON = os.path.join(_frame.ROOT, "third_party", "venv", "bin", "python3")
DEFAULT = "default"
DENSE, HYBRID = "qwen3-0.6b", "qwen3.5-0.8b"
WORKLOADS = {
    "1": (_workloads.many_questions, (DEFAULT, DENSE)),
    "2": (_workloads.zipf_rubrics, (DEFAULT, DENSE)),
    "3": (_workloads.text_stream, (DEFAULT,)),
    "4": (_workloads.cold_prompts, (DEFAULT, DENSE)),
    "5": (_workloads.one_at_a_time, (DEFAULT, DENSE)),
    "6": (_workloads.hybrid_questions, (HYBRID,)),
    "7": (_streams.short_beside_long, (DEFAULT,)),
    "9": (_workloads.cache_rows, (DEFAULT,)),
    "10": (_workloads.sweep, (DEFAULT,)),
}


def model_path(name):
    """The model's file, made first when it is a shape."""
    if name == DEFAULT:
        if not os.path.exists(_frame.MODEL):
            raise _frame.Skip("no default model: run tools/setup, or set ASSAY_MODEL")
        return _frame.MODEL
    path = make_shapes.path_of(name)
    if not os.path.exists(path):
        if not os.path.exists(PYTHON):
            raise _frame.Skip(f"no {os.path.basename(path)}, and no third_party/venv to make it: run tools/setup --dev")
        done = subprocess.run([PYTHON, make_shapes.__file__, name], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            raise _frame.Skip(f"{os.path.basename(path)} cannot be made: {done.stderr.strip()[-200:]}")
    return path


def chosen_models(bench, models):
    if bench.quick:
        models = tuple(model for model in models if model == DEFAULT)
    wanted = os.environ.get("ASSAY_BENCH_MODELS")
    return [model for model in models if not wanted or model in wanted.split(",")]


def run(bench):
    if not os.path.exists(_frame.BINARY):
        raise _frame.Skip("no build/release/assay: run make build")
    if not os.path.exists(_servers.LLAMA_SERVER):
        raise _frame.Skip("no bin/llama-server beside the binary: cmake --build build/release --target llama-server")
    unknown = [number for number in bench.only if number not in WORKLOADS]
    if unknown:
        raise RuntimeError(f"no workload {unknown[0]!r}; there are {', '.join(WORKLOADS)}")
    failed = []
    for number, (workload, models) in WORKLOADS.items():
        if bench.only and number not in bench.only:
            continue
        chosen = chosen_models(bench, models)
        if not chosen:
            why = "--quick uses the default model only" if bench.quick else "not in ASSAY_BENCH_MODELS"
            bench.say(f"{number}: skipped: {why}, and this one is for {', '.join(models)}")
        for model in chosen:
            name = number if model == DEFAULT else f"{number}, {model}"
            try:
                workload(bench, name, model_path(model))
            except _frame.Skip as skip:
                bench.say(f"{name}: skipped: {skip}")
            except (OSError, RuntimeError, KeyError, ValueError) as error:
                bench.say(f"{name}: failed: {type(error).__name__}: {error}")
                failed.append(name)
            bench.show()
    if failed:
        raise RuntimeError("workloads that failed: " + "; ".join(failed))
