#!/usr/bin/env python3
"""Is acknowledged feedback there after kill -9? tests/soak/feedback_kill.py --tool PROGRAM [--rounds N] [--seed S]

Starts a program that gives feedback on several threads (tests/feedback_kill_tool.cc), kills it at a random moment,
opens the store again, and compares: each acknowledged label is there with the option that was said last (or the one
that was being said), none twice, and SQLite finds the file whole. The next round goes on with the same file. Prints the
seed, which draws what is written and how long each life is; where in its work a life ends is up to the machine.
"""

import argparse
import collections
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import time

ROUNDS_PER_FILE = 25
# Of one life: from when the store is open, so that there are hundreds of commits, or in one of four from the start.
SECONDS_MAX = 0.12
SHORT_SECONDS_MAX = 0.015


def one_life(command, short, seconds, log):
    """Runs the writer for so long, kills it, and returns the lines that it wrote."""
    with open(log, "wb") as out, subprocess.Popen(command, stdout=out, stderr=subprocess.PIPE, text=True) as process:
        said = "" if short else process.stderr.readline()
        try:
            code = process.wait(timeout=seconds)
            raise AssertionError(f"the writer ended by itself with code {code}: {said}{process.stderr.read()}")
        except subprocess.TimeoutExpired:
            process.kill()
    with open(log, encoding="utf-8") as lines:
        return lines.read().splitlines()


class Truth:
    """What may stand in the store for each decision, by what was said and what was acknowledged."""

    def __init__(self):
        self.allowed = collections.defaultdict(set)
        self.acknowledged = set()

    def read(self, lines):
        for line in lines:
            mark, name, option = line.split(" ")
            if mark == "?":
                self.allowed[name].add(option)
            else:
                self.allowed[name] = {option}
                self.acknowledged.add(name)

    def faults(self, labels):
        names = [name for name, _, _ in labels]
        found = {name: option for name, option, _ in labels}
        return {"lost": sum(name not in found for name in self.acknowledged),
                "wrong": sum(option not in self.allowed[name] for name, option in found.items()),
                "twice": len(names) - len(set(names))}


def checked(tool, path):
    """The labels as the store gives them; SQLite's own checks on the way."""
    output = subprocess.run([tool, "check", path], check=True, stdout=subprocess.PIPE, text=True).stdout
    with sqlite3.connect(path) as database:
        whole = database.execute("PRAGMA integrity_check").fetchone()[0]
        strays = database.execute("PRAGMA foreign_key_check").fetchall()
    database.close()
    if whole != "ok" or strays:
        raise AssertionError(f"the file is not whole: {whole}, {strays}")
    return [line.split(" ") for line in output.splitlines()]


def run(tool, rounds, seed, folder):
    """The sums of all rounds."""
    draw = random.Random(seed)
    sums = collections.Counter()
    truth = Truth()
    for number in range(rounds):
        if number % ROUNDS_PER_FILE == 0:
            path, truth = os.path.join(folder, f"{number}.db"), Truth()
        short = number % 4 == 0
        command = [tool, "write", path, str(draw.randrange(2**31)), f"r{number}"]
        seconds = draw.uniform(0, SHORT_SECONDS_MAX if short else SECONDS_MAX)
        lines = one_life(command, short, seconds, os.path.join(folder, "lines"))
        truth.read(lines)
        faults = truth.faults(checked(tool, path))
        if any(faults.values()):
            print(f"round {number}: {faults}")
        sums.update(faults)
        sums.update({"acknowledged": sum(line.startswith("!") for line in lines), "silent": not lines})
    return sums


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--tool", default="build/release/assay_feedback_kill_tool")
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**31)
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        sums = run(os.path.abspath(arguments.tool), arguments.rounds, arguments.seed, folder)
    print(f"{arguments.rounds} rounds, {sums['silent']} of them killed before the first feedback; "
          f"{sums['acknowledged']} acknowledged, {sums['lost']} lost, {sums['wrong']} with another option, "
          f"{sums['twice']} twice")
    return 1 if sums["lost"] + sums["wrong"] + sums["twice"] or not sums["acknowledged"] else 0


if __name__ == "__main__":
    sys.exit(main())
