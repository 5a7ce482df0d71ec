"""How often a model is right under each readout, and how long it takes: `assay eval` on JevBench's public rows.

  all, FILE, TYPE   readout text:     right answers, calibration error, Brier score, p50 and p95 of one decision
  all, FILE, TYPE   readout letters:  the same, for comparison

Files: easy (48 rows), original (72), hard (111); --quick: easy only. Goals for text on the default model: easy 38,
original 39, hard 41; they are printed beside the numbers and never change the exit code. The rows lie in
../shared/data/jevbench beside the repository (ASSAY_JEVBENCH names another folder). One repetition by default: right
answers, calibration error and Brier score are the same in each; times are not.
"""

import json
import os
import subprocess

import _frame

FOLDER = os.environ.get("ASSAY_JEVBENCH") or os.path.join(_frame.ROOT, "..", "shared", "data", "jevbench")
FILES = ("easy", "original", "hard")
GOALS = {"easy": 38, "original": 39, "hard": 41}


def files_of(bench):
    paths = [os.path.join(FOLDER, name + ".jsonl") for name in (FILES[:1] if bench.quick else FILES)]
    for path in paths:
        if not os.path.exists(path):
            raise _frame.Skip(f"no {os.path.basename(path)} in ../shared/data/jevbench or $ASSAY_JEVBENCH")
    return paths


def evaluate(bench, readout, paths):
    """One run of `assay eval`; returns its JSON."""
    command = [_frame.BINARY, "eval", *paths, "--model", _frame.MODEL, "--readout", readout, "--json"]
    bench.say(f"readout {readout}, {len(paths)} files")
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=_frame.environment())
    if done.returncode != 0:
        raise RuntimeError(f"assay eval ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout)


def metrics_of(groups, goal=None):
    """`groups`: the same group's numbers in each repetition."""
    right = [group["correct"] for group in groups]
    metrics = {"right": _frame.numbers(right, "", of=groups[0]["n"])}
    if goal is not None:
        metrics["right"].update(goal=goal, reached=min(right) >= goal)
    for key, unit in (("ece", ""), ("brier", ""), ("p50_ms", "ms"), ("p95_ms", "ms"), ("refused", "rows")):
        metrics[key.removesuffix("_ms")] = _frame.numbers([group[key] for group in groups], unit)
    return metrics


def run(bench):
    if not os.path.exists(_frame.BINARY):
        raise _frame.Skip("no build/release/assay: run make build")
    if not os.path.exists(_frame.MODEL):
        raise _frame.Skip("no default model: run tools/setup, or set ASSAY_MODEL")
    paths = files_of(bench)
    default_model = os.path.basename(_frame.MODEL).startswith("SmolLM2-135M-Instruct")
    for readout in ("text", "letters"):
        results = [evaluate(bench, readout, paths) for _ in range(bench.times(1, 1))]
        flags = ["--readout", readout]
        with_goals = readout == "text" and default_model
        for kind in ("files", "types"):
            for group in results[0][kind]:
                name = group.removesuffix(".jsonl")
                goal = GOALS.get(name) if with_goals and kind == "files" else None
                bench.row(f"{readout}, {name}", metrics_of([r[kind][group] for r in results], goal), flags,
                          _frame.MODEL)
        goal = sum(GOALS.values()) if with_goals and len(paths) == len(FILES) else None
        bench.row(f"{readout}, all", metrics_of(results, goal), flags, _frame.MODEL)
