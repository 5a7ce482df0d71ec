"""Prefill, tokens per second: llama.cpp's own kernels, ik_llama.cpp, and ours on packed weights, in turns.

  MODEL, N tokens   plain decodes of one prompt: rates of the sides, ours over each of them
  MODEL, load       seconds until the model is there, packing in them, the same from the pack cache, memory at its height
  MODEL, first      seconds of the load and of the first decode, of the fewest tokens: what the first request of a start waits for
  unit              what the arithmetic unit itself gives, by a product that stays in the caches, and a whole one

Sizes 32, 64, 256 and 1,024. Models: default; gemma (gemma-3-270m Q4_K_M, where bench/fetch_gemma.py was run); qwen3-0.6b
and qwen3-4b, random weights (the 4B file, 2.5 GB, is made when it is named by --only or ASSAY_BENCH_MODELS; so are qwen3-moe, a
mixture of experts, qwen3-0.6b-f16, qwen3-0.6b-bf16 and the default model's weights as default-f16, default-bf16, default-f32).
--only chooses models;
--quick: the default model, fewer repetitions. ik_llama.cpp is built by bench/build_ik.py; without it its columns are left out.
Sides take turns: A B A B in one run, on all usable cores. Shapes are looked for in ASSAY_BENCH_SHAPES too.
"""

import json
import os
import subprocess
import tempfile

import build_ik
import fetch_gemma
import make_shapes
import quality

import _frame

PROGRAM = os.path.join(os.path.dirname(_frame.BINARY), "prefill_tokens")
UNIT_PROGRAM = os.path.join(os.path.dirname(_frame.BINARY), "kernels_bench")
SIZES = (32, 64, 256, 1024)
FLOATS = {"default-f16": "F16", "default-bf16": "BF16", "default-f32": "F32"}
# Ours over llama.cpp's and over ik_llama.cpp's at these sizes on a machine with AVX-512 VNNI.
GOALS = {("default", 256): (4.5, 1.2), ("qwen3-0.6b", 256): (1.9, 1.3), ("qwen3-0.6b", 1024): (2.0, 1.2), ("qwen3-4b", 256): (2.1, 1.6)}


def threads():
    return len(os.sched_getaffinity(0))


def chosen_models(bench):
    names = bench.only or os.environ.get("ASSAY_BENCH_MODELS", "").split(",")
    names = [name for name in names if name] or ["default", "gemma", "qwen3-0.6b"]
    return names[:1] if bench.quick and not bench.only else names


def path_of(bench, name):
    """The model's file, made first when it is a shape; another may be missing."""
    if name == "default":
        return _frame.MODEL
    if name == "gemma":
        return fetch_gemma.MODEL
    if name in FLOATS:
        return quality.model_as(FLOATS[name])
    file = make_shapes.FILES.get(name)
    if file is None:
        raise RuntimeError(f"no model {name!r}; there are default, gemma, {', '.join([*FLOATS, *make_shapes.FILES])}")
    other = os.path.join(os.environ.get("ASSAY_BENCH_SHAPES", ""), file)
    if os.path.exists(other):
        return other
    if not os.path.exists(make_shapes.path_of(name)):
        bench.say(f"making {file}")
        python = os.path.join(_frame.ROOT, "third_party", "venv", "bin", "python")
        subprocess.run([python, make_shapes.__file__, name], check=True, stdout=subprocess.DEVNULL)
    return make_shapes.path_of(name)


def measure(model, packing, repeats, sizes, pack_cache=None):
    """One process of ours: what was loaded, and the rates of each size. `pack_cache`: its folder."""
    command = [PROGRAM, model, packing, str(threads()), str(repeats), *map(str, sizes)]
    environment = _frame.environment()
    if pack_cache is not None:
        environment["ASSAY_BENCH_PACK_CACHE"] = pack_cache
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    if done.returncode != 0:
        raise RuntimeError(f"prefill_tokens ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    rates = {line["tokens"]: [line["tokens"] / s for s in line["seconds"]] for line in lines if "tokens" in line}
    first = next(line["first_seconds"] for line in lines if "tokens" in line)
    return dict(lines[0], **lines[-1], first_seconds=lines[0]["load_seconds"] + first), rates


def measure_ik(model, repeats, sizes):
    command = [build_ik.PROGRAM, "-m", model, "-n", "0", "-p", ",".join(map(str, sizes)), "-r", str(repeats), "-t",
               str(threads()), "-fa", "1", "-o", "json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"ik_llama.cpp's llama-bench ended with {done.returncode}")
    return {row["n_prompt"]: row["samples_ts"] for row in json.loads(done.stdout)}


def add(into, rates):
    for size, samples in rates.items():
        into.setdefault(size, []).extend(samples)


def ratio(ours, theirs, goal=None):
    """Of pairs in order, with their spread."""
    metric = _frame.numbers([a / b for a, b in zip(ours, theirs)], "")
    return metric if goal is None else dict(metric, goal=goal, reached=metric["mean"] >= goal)


def loads_from_cache(model, sizes):
    """Facts of loads that find packed weights in a pack cache; a first one writes them."""
    with tempfile.TemporaryDirectory(dir=os.path.dirname(PROGRAM)) as folder:
        return [measure(model, "on", 1, sizes[:1], folder)[0] for _ in range(4)][1:]


def model_rows(bench, name, model, sizes):
    repeats = bench.times(3, 2)
    sides = {"llama.cpp": {}, "ik": {}, "ours": {}}
    loads = {"off": [], "on": []}
    with_ik = os.path.exists(build_ik.PROGRAM)
    for turn in (1, 2):
        bench.say(f"{name}, turn {turn} of 2")
        for packing, side in (("off", "llama.cpp"), ("on", "ours")):
            facts, rates = measure(model, packing, repeats, sizes)
            loads[packing].append(facts)
            add(sides[side], rates)
            if packing == "off" and with_ik:
                add(sides["ik"], measure_ik(model, repeats, sizes))
    cached = loads_from_cache(model, sizes)
    flags = [f"-t {threads()}", f"unit {loads['on'][0]['unit'] or 'none'}"]
    for size in sizes:
        metrics = {side: _frame.numbers(rates[size], "tokens/s") for side, rates in sides.items() if size in rates}
        over_llama, over_ik = (None, None) if bench.quick else GOALS.get((name, size), (None, None))
        metrics["ours/llama.cpp"] = ratio(sides["ours"][size], sides["llama.cpp"][size], over_llama)
        if with_ik:
            metrics["ours/ik"] = ratio(sides["ours"][size], sides["ik"][size], over_ik)
        bench.row(f"{name}, {size} tokens", metrics, flags, model)
    load_rows(bench, name, model, {"llama.cpp": loads["off"], "ours": loads["on"], "from the cache": cached}, flags)
    bench.show()


def load_rows(bench, name, model, sides, flags):
    ours = sides["ours"]
    bench.row(f"{name}, load", {
        **{side: _frame.numbers([f["load_seconds"] for f in facts], "s") for side, facts in sides.items()},
        "packing": _frame.numbers([f["packing_seconds"] for f in ours], "s"),
        "packed": _frame.numbers([ours[0]["packed_bytes"] / 2**20], "MiB"),
        "peak, llama.cpp": _frame.numbers([f["peak_mebibytes"] for f in sides["llama.cpp"]], "MiB"),
        "peak, ours": _frame.numbers([f["peak_mebibytes"] for f in ours], "MiB")}, flags, model)
    bench.row(f"{name}, first", {side: _frame.numbers([f["first_seconds"] for f in facts], "s")
                                 for side, facts in sides.items()}, flags, model)


def unit_rows(bench):
    done = subprocess.run([UNIT_PROGRAM, str(threads()), "3" if bench.quick else "8"], stdout=subprocess.PIPE, text=True,
                          env=_frame.environment())
    if done.returncode != 0:
        raise RuntimeError(f"kernels_bench ended with {done.returncode}")
    for line in done.stdout.splitlines():
        row = json.loads(line)
        metrics = {"rate": _frame.numbers([row["tops"]], "TOP/s")}
        if "share" in row:
            metrics["share of the limit"] = _frame.numbers([row["share"]], "")
        bench.row(f"unit {row['unit']}, {row['what']}", metrics, [f"-t {threads()}"])
    bench.show()


def run(bench):
    for path in (PROGRAM, UNIT_PROGRAM):
        if not os.path.exists(path):
            raise _frame.Skip(f"no {os.path.relpath(path, _frame.ROOT)}: cmake --build build/release")
    if not os.path.exists(build_ik.PROGRAM):
        bench.say("ik_llama.cpp is left out: bench/build_ik.py builds it")
    sizes = SIZES[1:3] if bench.quick else SIZES
    unit_rows(bench)
    for name in chosen_models(bench):
        model = path_of(bench, name)
        if not os.path.exists(model):
            bench.say(f"{name} is left out: no {os.path.basename(model)}")
            continue
        model_rows(bench, name, model, sizes)
