#!/usr/bin/env python3
"""End-to-end tests, for whoever changes Assay: tests/e2e/run.py [-k TEXT] [--check-dir DIR] [--again] [--slow N] [--list]

Runs the built program as its users do: as a server over HTTP and as commands, on the default model and on the tiny
ones. Servers are shared between tests. With --again a test that failed runs a second time when all others are done, with
servers of its own; one that fails then has failed, and one that does not is named as UNSTEADY. The last line is
`N passed, N failed, N skipped`; exit code 1 when one failed.

Environment: ASSAY_BINARY (default: build/release/assay), ASSAY_MODEL (the default model), ASSAY_TINY_DIR,
ASSAY_E2E_THREADS (threads for the default model; 1 on a busy machine).
"""

import argparse
import os
import re
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import counted
import harness


AGAIN_MAX = 5  # more is no chance


class Result(counted.Result):
    """Also how long each test took."""

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.seconds = []
        self._began = 0.0

    def startTest(self, test):
        self._began = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        self.seconds.append((time.monotonic() - self._began, test.id()))
        super().stopTest(test)
        self.stream.flush()


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tests/e2e/run.py", description=__doc__.split("\n\n")[1])
    parser.add_argument("-k", metavar="TEXT", action="append", help="only tests whose name has this text")
    parser.add_argument("--check-dir", metavar="DIR", help="where readout checks are kept (default: build/e2e/check)")
    parser.add_argument("--again", action="store_true", help="tests that failed run once more, after all others")
    parser.add_argument("--slow", type=int, default=0, metavar="N", help="show the N slowest tests at the end")
    parser.add_argument("--list", action="store_true", help="print the tests' names")
    return parser.parse_args()


def run(tests):
    """(result, ids of tests that failed, how many shared servers did not end well)."""
    try:
        result = counted.run(tests, Result)
    finally:
        codes = harness.stop_shared()
    bad = {name: code for name, code in codes.items() if code != 0}
    for name, code in bad.items():
        print(f"FAIL: the shared server '{name}' ended with {code}, not 0")
    return result, result.failed_ids(), len(bad)


def copies(ids):
    """{id: new copies of the tests that it names}: one test, or a whole class or module that could not be set up."""
    fresh = list(counted.tests_of(unittest.defaultTestLoader.discover(harness.HERE)))
    found = {}
    for name in ids:
        whole = re.match(r"(?:setUp|tearDown)(?:Class|Module) \((.+)\)$", name)
        found[name] = [test for test in fresh
                       if test.id() == name or (whole and test.id().startswith(whole[1] + "."))]
    return {name: tests for name, tests in found.items() if tests}


def run_again(failing):
    """(the ids among these that do not fail a second time, how many shared servers did not end well)."""
    print(f"once more: {len(failing)} that failed", flush=True)
    tests = copies(failing)
    _, still_failing, ended_badly = run(list({test.id(): test for some in tests.values() for test in some}.values()))
    steady = {name for name, some in tests.items()
              if name not in still_failing and not still_failing & {test.id() for test in some}}
    for name in sorted(steady):
        print(f"UNSTEADY: {name} failed, and then it did not")
    return steady, ended_badly


def main():
    arguments = parse_arguments()
    if arguments.check_dir:
        harness.CHECK_DIR = os.path.abspath(arguments.check_dir)
    if not os.access(harness.BINARY, os.X_OK):
        print(f"e2e: no program at {harness.BINARY}: build it, or set ASSAY_BINARY")
        return counted.summary(0, 1, 0)
    os.makedirs(harness.CHECK_DIR, exist_ok=True)
    os.chdir(harness.ROOT)
    tests = list(counted.tests_of(unittest.defaultTestLoader.discover(harness.HERE)))
    if arguments.k:
        tests = [test for test in tests if any(text in test.id() for text in arguments.k)]
    if arguments.list:
        print("\n".join(test.id() for test in tests))
        return 0
    result, failing, ended_badly = run(tests)
    passed, failed = result.passed, len(failing) + ended_badly
    if arguments.again and 0 < len(failing) <= AGAIN_MAX:
        steady, ended_badly_again = run_again(failing)
        passed += len(steady)
        failed += ended_badly_again - len(steady)
    for seconds, name in sorted(result.seconds, reverse=True)[:arguments.slow]:
        print(f"{seconds:7.1f} s  {name}")
    return counted.summary(passed, failed, len(result.skipped))


if __name__ == "__main__":
    sys.exit(main())
