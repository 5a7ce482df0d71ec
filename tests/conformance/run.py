#!/usr/bin/env python3
"""Published clients against a running server, for whoever changes a wire: tests/conformance/run.py [-k TEXT] [--list]

Starts `assay serve` and runs every script NAME_test.py here against it, each in the environment that tools/setup --dev
made of requirements.txt and node/. A script may name the kinds of server that it wants in a line of its own,
SERVERS = ("open", "keyed"); without it, it is run against "open". It finds the kind in CONFORMANCE_KIND. The last line is `N passed, N failed, N skipped`;
exit code 1 when one failed.

Environment: ASSAY_BINARY (default: build/release/assay), ASSAY_MODEL (the default model), ASSAY_TINY_DIR,
ASSAY_E2E_THREADS (threads for the default model).
"""

import argparse
import ast
import os
import re
import secrets
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
import harness

PYTHON = os.path.join(ROOT, "third_party", "conformance", "bin", "python")
SCRIPT_SECONDS = 1800
SUMMARY = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$")
KEY = "conformance-" + secrets.token_hex(8)

# Kind of server: (how it is started, the key that it wants).
KINDS = {
    "open": (lambda: harness.default_server(), None),
    "keyed": (lambda: harness.default_server("--api-key", KEY), KEY),
    # As many options as the server can take, where the others refuse more than the contract's 255.
    "wide": (lambda: harness.default_server("--max-options", "1024"), None),
    "wide_keyed": (lambda: harness.default_server("--max-options", "1024", "--api-key", KEY), KEY),
    # Decisions alone, which are what /openapi.json describes.
    "tiny": (lambda: harness.Server(harness.tiny("tiny-attention"), "--threads", "1", "--no-readout-check", "--chat", "off"),
             None),
}


def kinds_of(path):
    """What a script's SERVERS says, without running it."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", None) == "SERVERS":
            return ast.literal_eval(node.value)
    return ("open",)


def wanted_runs(texts):
    """(kind, script) of every run, those of one kind together."""
    scripts = sorted(name for name in os.listdir(HERE) if name.endswith("_test.py"))
    runs = [(kind, name) for kind in KINDS for name in scripts if kind in kinds_of(os.path.join(HERE, name))]
    return [(kind, name) for kind, name in runs if not texts or any(text in f"{name}[{kind}]" for text in texts)]


def run_script(name, kind, server):
    """(passed, failed, skipped) of one script; its output is shown."""
    key = KINDS[kind][1]
    command = [PYTHON, os.path.join(HERE, name), "--url", f"http://127.0.0.1:{server.port}"]
    if key:
        command += ["--key", key]
    environment = harness.environment(PATH=os.path.dirname(PYTHON) + os.pathsep + os.environ.get("PATH", ""),
                                      CONFORMANCE_KIND=kind)
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=SCRIPT_SECONDS)
    except subprocess.TimeoutExpired as error:
        print((error.stdout or b"").decode(errors="replace"))
        print(f"FAIL: {name} was still running after {SCRIPT_SECONDS} s")
        return 0, 1, 0
    print(done.stdout, end="", flush=True)
    lines = done.stdout.splitlines() or [""]
    match = SUMMARY.match(lines[-1])
    counts = tuple(map(int, match.groups())) if match else (0, 0, 0)
    if done.returncode != 0 and counts[1] == 0:
        print(f"FAIL: {name} ended with {done.returncode}")
        counts = (counts[0], 1, counts[2])
    return counts


def run_kind(kind, scripts):
    """The counts of all scripts on one server of this kind."""
    try:
        server = KINDS[kind][0]()
    except unittest.SkipTest as reason:
        print(f"FAIL: no server of the kind '{kind}': {reason}")
        return [(0, 1, 0)]
    counts = []
    try:
        for name in scripts:
            print(f"== {name} on a server of the kind '{kind}'", flush=True)
            began = time.monotonic()
            counts.append(run_script(name, kind, server))
            print(f"== {name}: {counts[-1][0]} passed, {counts[-1][1]} failed, {counts[-1][2]} skipped "
                  f"({time.monotonic() - began:.0f} s)", flush=True)
            if server.process.poll() is not None:
                print(f"FAIL: the server did not outlive {name}:\n" + "".join(server.log[-20:]))
                counts.append((0, 1, 0))
                break
    finally:
        code = server.stop()
    if code != 0:
        print(f"FAIL: the server of the kind '{kind}' ended with {code}, not 0")
        counts.append((0, 1, 0))
    return counts


def main():
    parser = argparse.ArgumentParser(prog="tests/conformance/run.py", description=__doc__.split("\n\n")[1])
    parser.add_argument("-k", metavar="TEXT", action="append", help="only runs whose SCRIPT[KIND] has this text")
    parser.add_argument("--list", action="store_true", help="print the runs")
    arguments = parser.parse_args()
    runs = wanted_runs(arguments.k)
    if arguments.list:
        print("\n".join(f"{name}[{kind}]" for kind, name in runs))
        return 0
    lacking = [path for path in (harness.BINARY, PYTHON) if not os.access(path, os.X_OK)]
    if lacking:
        print(f"conformance: no program at {lacking[0]}: build it (or set ASSAY_BINARY), and run tools/setup --dev")
        print("0 passed, 1 failed, 0 skipped")
        return 1
    os.makedirs(harness.CHECK_DIR, exist_ok=True)
    counts = []
    for kind in dict.fromkeys(kind for kind, _ in runs):
        counts += run_kind(kind, [name for other, name in runs if other == kind])
    passed, failed, skipped = (sum(column) for column in zip(*counts)) if counts else (0, 0, 0)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
