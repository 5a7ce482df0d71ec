"""What every benchmark shares: the facts that each row carries, numbers with their spread, tables and JSON lines.

A benchmark is a module bench/NAME.py with a list of its workloads in its docstring and one function:

    def run(bench):
        bench.row("easy, text", {"right": numbers([39], "rows"), "p50": numbers([12.1, 12.3], "ms")}, flags=[...])

Rows are printed and stored as they come, so a run that is stopped has not been for nothing.
"""

import functools
import hashlib
import json
import math
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BINARY = os.environ.get("ASSAY_BINARY") or os.path.join(ROOT, "build", "release", "assay")
MODEL = os.environ.get("ASSAY_MODEL") or os.path.join(ROOT, "models", "SmolLM2-135M-Instruct.Q4_1.gguf")
RESULTS = os.path.join(ROOT, "bench", "results")


def numbers(samples, unit, **more):
    """One measured number: mean and spread over the repetitions. `more` goes into the row beside them."""
    mean = math.fsum(samples) / len(samples)
    variance = math.fsum((x - mean) ** 2 for x in samples) / (len(samples) - 1) if len(samples) > 1 else 0.0
    return {"unit": unit, "repetitions": len(samples), "mean": mean, "stdev": math.sqrt(variance),
            "min": min(samples), "max": max(samples), **more}


def percentile(values, q):
    """Linear between order statistics, as `assay eval` has it."""
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def environment():
    """Settings for child processes: none of the caller's own ASSAY_* settings, which would change what is measured."""
    return {key: value for key, value in os.environ.items() if not key.startswith("ASSAY_")}


def _output(command):
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return done.stdout.strip() if done.returncode == 0 else ""


def _commit():
    commit = _output(["git", "rev-parse", "--short=12", "HEAD"]) or "unknown"
    return commit + ("+changes" if _output(["git", "status", "--porcelain"]) else "")


def _cpu_model():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            for line in info:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return os.uname().machine


def machine():
    """CPU, usable cores, the CPU code that the binary uses, and what else was running."""
    facts = {"cpu": _cpu_model(), "cores": len(os.sched_getaffinity(0)),
             "load_before": round(os.getloadavg()[0], 2)}
    try:
        build = json.loads(_output([BINARY, "version", "--json"]))
        facts["units"] = " ".join(build["cpu_features"])
        facts["build"] = f"assay {build['version']}, llama.cpp {build['llama_version']}, {build['compiler']}, " \
                         f"{build['build_type']}"
    except (OSError, ValueError, KeyError):
        facts["units"] = facts["build"] = "unknown"
    return facts


@functools.cache
def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


class Skip(Exception):
    """A benchmark cannot run here; its text says what is missing."""


class Bench:
    """One run of one benchmark: settings in, rows out."""

    def __init__(self, name, quick, as_json, repetitions):
        self.name = name
        self.quick = quick
        self.as_json = as_json
        self.repetitions = repetitions  # 0: the benchmark's own default
        self.only = []  # names of workloads; empty: all
        self._common = {"benchmark": name, "commit": _commit(), "quick": quick,
                        "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "machine": machine()}
        self._rows = []
        os.makedirs(RESULTS, exist_ok=True)
        self.path = os.path.join(RESULTS, f"{name}-{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}.jsonl")

    def times(self, default, quick):
        return self.repetitions or (quick if self.quick else default)

    def say(self, text):
        """Progress, on standard error so that --json stays clean."""
        print(f"{self.name}: {text}", file=sys.stderr, flush=True)

    def row(self, workload, metrics, flags=(), model=None):
        """`model` is the path of a GGUF, or nothing when no model was involved."""
        row = dict(self._common, workload=workload, flags=list(flags), metrics=metrics)
        row["model"] = {"file": os.path.basename(model), "sha256": sha256_of(model)} if model else None
        self._rows.append(row)
        line = json.dumps(row, ensure_ascii=False)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(line + "\n")
        if self.as_json:
            print(line, flush=True)

    def show(self):
        """Prints the rows since the last call as a table, for a benchmark whose workloads measure different things."""
        if self._rows and not self.as_json:
            print(table(self._rows), flush=True)
        self._rows = []

    def finish(self):
        self.show()
        if os.path.exists(self.path) and not self.as_json:
            print(f"rows: {os.path.relpath(self.path, ROOT)}", flush=True)


def _short(value):
    if isinstance(value, int) or float(value).is_integer() and abs(value) < 1e6:
        return str(int(value))
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.3g}"


def cell(metric):
    text = _short(metric["mean"])
    if metric.get("of") is not None:
        text += f"/{metric['of']}"
    elif metric["repetitions"] > 1:
        text += f" ±{_short(metric['stdev'])} ({_short(metric['min'])}..{_short(metric['max'])})"
    if metric.get("goal") is not None:
        text += f" {'reached' if metric['reached'] else 'MISSED'}: {metric['goal']}"
    return text


def table(rows):
    """Rows of one benchmark for people: what they share above, a line for each workload below."""
    first = rows[0]
    facts = first["machine"]
    lines = [f"== {first['benchmark']}, commit {first['commit']}{', quick' if first['quick'] else ''}",
             f"   {facts['cpu']}, {facts['cores']} cores, {facts['units']}, load {facts['load_before']}",
             f"   {facts['build']}"]
    for model in {row["model"]["file"]: row["model"]["sha256"] for row in rows if row["model"]}.items():
        lines.append(f"   model {model[0]}, sha256 {model[1]}")
    names = list(dict.fromkeys(name for row in rows for name in row["metrics"]))
    grid = [["workload"] + [_heading(rows, name) for name in names]]
    for row in rows:
        grid.append([row["workload"]] + [cell(row["metrics"][n]) if n in row["metrics"] else "" for n in names])
    widths = [max(len(line[i]) for line in grid) for i in range(len(grid[0]))]
    for line in grid:
        lines.append("  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip())
    return "\n".join(lines)


def _heading(rows, name):
    unit = next(row["metrics"][name]["unit"] for row in rows if name in row["metrics"])
    return f"{name} [{unit}]" if unit else name
