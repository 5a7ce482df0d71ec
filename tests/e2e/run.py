#!/usr/bin/env python3
"""End-to-end tests, for whoever changes Assay: tests/e2e/run.py [-k TEXT] [--check-dir DIR] [--slow N] [--list]

Runs the built program as its users do: as a server over HTTP and as commands, on the default model and on the tiny
ones. Servers are shared between tests. The last line is `N passed, N failed, N skipped`; exit code 1 when one failed.

Environment: ASSAY_BINARY (default: build/release/assay), ASSAY_MODEL (the default model), ASSAY_TINY_DIR,
ASSAY_E2E_THREADS (threads for the default model; 1 on a busy machine).
"""

import argparse
import os
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import counted
import harness


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
    parser.add_argument("--slow", type=int, default=0, metavar="N", help="show the N slowest tests at the end")
    parser.add_argument("--list", action="store_true", help="print the tests' names")
    return parser.parse_args()


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
    try:
        result = counted.run(tests, Result)
    finally:
        codes = harness.stop_shared()
    failed = result.failed()
    for name, code in codes.items():
        if code != 0:
            print(f"FAIL: the shared server '{name}' ended with {code}, not 0")
            failed += 1
    for seconds, name in sorted(result.seconds, reverse=True)[:arguments.slow]:
        print(f"{seconds:7.1f} s  {name}")
    return counted.summary(result.passed, failed, len(result.skipped))


if __name__ == "__main__":
    sys.exit(main())
