#!/usr/bin/env python3
"""Do processes that write lessons into one folder lose any? tests/soak/lesson_writers.py --tool PROGRAM [--rounds N] [--seed S]

Starts three programs that add versions of one lesson to one folder (tests/lesson_writer_tool.cc), kills them at random
moments, and looks: each version that was told to be there is there with its own content, no number was given twice, no
file is damaged, the version that answers is one of them and not older than the last one told, and what the dead left
beside goes with the next version. The next round goes on with the same folder. Prints the seed, which draws how long each
life is.
"""

import argparse
import collections
import os
import random
import subprocess
import sys
import tempfile
import time

WRITERS = 3
ROUNDS_PER_FOLDER = 10
SECONDS_MAX = 0.15


def started(tool, folder, mark, log):
    with open(log, "wb") as out:
        return subprocess.Popen([tool, "write", folder, mark], stdout=out, stderr=subprocess.PIPE, text=True)


def lives(tool, folder, number, draw, logs):
    """What the writers of a round told, killed one after another: [(version, note)]."""
    paths = [os.path.join(logs, str(writer)) for writer in range(WRITERS)]
    processes = [started(tool, folder, f"r{number}w{writer}", path) for writer, path in enumerate(paths)]
    try:
        processes[-1].stderr.readline()
        for process in processes:
            time.sleep(draw.uniform(0, SECONDS_MAX))
            if process.poll() is not None:
                raise AssertionError(f"a writer ended by itself with {process.returncode}: {process.stderr.read()}")
            process.kill()
    finally:
        for process in processes:
            process.kill()
            process.wait()
            process.stderr.close()
    told = []
    for path in paths:
        with open(path, encoding="utf-8") as lines:
            told += [tuple(line.split(" ", 1)) for line in lines.read().splitlines()]
    return [(int(version), note) for version, note in told]


def checked(tool, folder):
    """({version: note}, active, problems) as a program that opens the folder finds them."""
    output = subprocess.run([tool, "check", folder], check=True, stdout=subprocess.PIPE, text=True).stdout
    found, active, problems = {}, None, []
    for line in output.splitlines():
        word, rest = line.split(" ", 1)
        if word == "problem":
            problems.append(rest)
        elif word == "active":
            active = int(rest)
        else:
            found[int(word)] = rest
    return found, active, problems


def run(tool, rounds, seed, base):
    draw = random.Random(seed)
    sums = collections.Counter()
    told = {}
    for number in range(rounds):
        if number % ROUNDS_PER_FOLDER == 0:
            folder, told = os.path.join(base, f"lessons{number}"), {}
        new = lives(tool, folder, number, draw, base)
        faults = collections.Counter()
        for version, note in new:
            faults["twice"] += version in told
            told[version] = note
        found, active, problems = checked(tool, folder)
        faults["lost"] = sum(found.get(version) != note for version, note in told.items())
        faults["damaged"] = len(problems)
        faults["older"] = bool(told) and (active is None or active < max(told))
        # Each writer that was killed in the middle leaves one file at most; the next version removes it.
        faults["left"] = sum(".part-" in name for name in os.listdir(folder)) > WRITERS
        if any(faults.values()):
            print(f"round {number}: {dict(faults)} {problems}")
        sums.update(faults)
        sums["told"] += len(new)
    return sums


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--tool", default="build/release/assay_lesson_writer_tool")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**31)
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    with tempfile.TemporaryDirectory() as base:
        sums = run(os.path.abspath(arguments.tool), arguments.rounds, arguments.seed, base)
    bad = {name: sums[name] for name in ("twice", "lost", "damaged", "older", "left")}
    print(f"{arguments.rounds} rounds of {WRITERS} writers; {sums['told']} versions told, "
          + ", ".join(f"{count} {name}" for name, count in bad.items()))
    return 1 if any(bad.values()) or not sums["told"] else 0


if __name__ == "__main__":
    sys.exit(main())
