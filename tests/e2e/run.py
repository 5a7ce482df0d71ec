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

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness


class Result(unittest.TextTestResult):
    """Counts as the summary line wants them, and how long each test took."""

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.passed = 0
        self.seconds = []
        self._began = 0.0

    def startTest(self, test):
        self._began = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        self.seconds.append((time.monotonic() - self._began, test.id()))
        super().stopTest(test)
        self.stream.flush()

    def addSuccess(self, test):
        self.passed += 1
        super().addSuccess(test)

    def failed_tests(self):
        # A test with several failing parts is one failed test.
        tests = [getattr(test, "test_case", test) for test, _ in self.failures + self.errors]
        return {test.id() for test in tests}


def tests_of(suite):
    for entry in suite:
        if isinstance(entry, unittest.TestSuite):
            yield from tests_of(entry)
        else:
            yield entry


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
        print("0 passed, 1 failed, 0 skipped")
        return 1
    os.makedirs(harness.CHECK_DIR, exist_ok=True)
    os.chdir(harness.ROOT)
    tests = list(tests_of(unittest.defaultTestLoader.discover(harness.HERE)))
    if arguments.k:
        tests = [test for test in tests if any(text in test.id() for text in arguments.k)]
    if arguments.list:
        print("\n".join(test.id() for test in tests))
        return 0
    runner = unittest.TextTestRunner(stream=sys.stdout, resultclass=Result, verbosity=2)
    try:
        result = runner.run(unittest.TestSuite(tests))
    finally:
        codes = harness.stop_shared()
    failed = len(result.failed_tests())
    for name, code in codes.items():
        if code != 0:
            print(f"FAIL: the shared server '{name}' ended with {code}, not 0")
            failed += 1
    for seconds, name in sorted(result.seconds, reverse=True)[:arguments.slow]:
        print(f"{seconds:7.1f} s  {name}")
    print(f"{result.passed} passed, {failed} failed, {len(result.skipped)} skipped")
    return 1 if failed or result.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
