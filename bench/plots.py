#!/usr/bin/env python3
"""Draws what `bench/run engine` measured: third_party/venv/bin/python3 bench/plots.py [ROWS.jsonl...] [--out FOLDER]

Without files: the newest bench/results/engine-*.jsonl that has rows of workload 10 (short cold prompts at 1 to 16 clients). With
several files their rows are taken together; of a side and a number of clients the last row counts. Writes into FOLDER (default:
bench/results)

  engine-throughput.png   requests a second against clients, a line for each side
  engine-latency.png      p50, p95 and p99 against clients

Needs bench/requirements.txt in third_party/venv. Bars show the least and the greatest repetition.
"""

import argparse
import glob
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(HERE, "results")
SWEEP = "10"
COLOURS = {"assay": "#c0392b", "np 8": "#2c3e50", "np 16": "#2980b9", "defaults": "#7f8c8d"}
PERCENTILES = ("p50", "p95", "p99")


def read_rows(paths):
    rows = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            rows += [json.loads(line) for line in file if line.strip()]
    return rows


def flag(row, name):
    return next((text.split("=", 1)[1] for text in row["flags"] if text.startswith(name + "=")), None)


def sweep_of(rows):
    """{side: {clients: metrics}} of workload 10, and the last row, for what is written under the plots."""
    sides, last = {}, None
    for row in rows:
        if row["benchmark"] == "engine" and row["workload"].split(",")[0] == SWEEP and flag(row, "clients"):
            sides.setdefault(flag(row, "side"), {})[int(flag(row, "clients"))] = row["metrics"]
            last = row
    return sides, last


def newest():
    for path in sorted(glob.glob(os.path.join(RESULTS, "engine-*.jsonl")), reverse=True):
        if sweep_of(read_rows([path]))[0]:
            return [path]
    return []


def series(by_clients, name):
    """(clients, means, [distances down, distances up]) of one metric, by clients."""
    clients = sorted(by_clients)
    metrics = [by_clients[count][name] for count in clients]
    means = [metric["mean"] for metric in metrics]
    return clients, means, [[metric["mean"] - metric["min"] for metric in metrics],
                            [metric["max"] - metric["mean"] for metric in metrics]]


def caption(row):
    machine = row["machine"]
    return (f"{row['model']['file']}, commit {row['commit']}{', quick' if row['quick'] else ''}, {machine['cpu']}, "
            f"{machine['cores']} cores; short cold prompts, {row['metrics']['rate']['repetitions']} repetitions")


def dress(axes, clients, title, unit):
    axes.set_title(title)
    axes.set_xscale("log", base=2)
    axes.set_xticks(clients, [str(count) for count in clients])
    axes.set_xlabel("clients")
    axes.set_ylabel(unit)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)


def draw_line(axes, side, by_clients, name):
    clients, means, bars = series(by_clients, name)
    label = side if side == "assay" else f"llama-server, {side}"
    axes.errorbar(clients, means, yerr=bars, marker="o", capsize=3, label=label, color=COLOURS.get(side))


def draw(sides, row, folder):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    clients = sorted({count for by_clients in sides.values() for count in by_clients})

    def save(figure, name):
        figure.text(0.01, 0.01, caption(row), fontsize=7, color="#555555")
        figure.tight_layout(rect=(0, 0.03, 1, 1))
        path = os.path.join(folder, name)
        figure.savefig(path, dpi=130)
        print(path)

    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    for side, by_clients in sides.items():
        draw_line(axes, side, by_clients, "rate")
    dress(axes, clients, "Throughput against concurrency", "requests a second")
    axes.legend()
    save(figure, "engine-throughput.png")

    figure, panels = pyplot.subplots(1, len(PERCENTILES), figsize=(12, 4.5), sharey=True)
    for axes, name in zip(panels, PERCENTILES):
        for side, by_clients in sides.items():
            draw_line(axes, side, by_clients, name)
    for axes, name in zip(panels, PERCENTILES):  # after all lines: the panels share one scale
        dress(axes, clients, name, "ms" if name == PERCENTILES[0] else "")
    panels[0].legend()
    save(figure, "engine-latency.png")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], epilog=__doc__.split("\n\n", 1)[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="ROWS.jsonl")
    parser.add_argument("--out", default=RESULTS, metavar="FOLDER")
    arguments = parser.parse_args()
    sides, row = sweep_of(read_rows(arguments.files or newest()))
    if not sides:
        sys.exit("plots: no rows of workload 10: bench/run engine --only 10")
    os.makedirs(arguments.out, exist_ok=True)
    try:
        draw(sides, row, arguments.out)
    except ImportError as error:
        sys.exit(f"plots: {error}: third_party/venv/bin/python3 -m pip install --no-deps -r bench/requirements.txt")


if __name__ == "__main__":
    main()
