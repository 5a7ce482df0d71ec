#!/usr/bin/env python3
"""Tests of the Python client, for whoever changes it: third_party/conformance/bin/python tests/python/run.py [-k TEXT]

Most talk to a pretended server; test_server.py starts the built program. The last line is
`N passed, N failed, N skipped`; exit code 1 when one failed.

Environment: ASSAY_BINARY (default: build/release/assay), ASSAY_MODEL (the default model), ASSAY_TEST_INSTALLED (1: test
the installed package and its program, not those of the tree).
"""

import argparse
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)


class Result(unittest.TextTestResult):
    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.passed = 0

    def addSuccess(self, test):
        self.passed += 1
        super().addSuccess(test)


def tests_of(suite):
    for entry in suite:
        if isinstance(entry, unittest.TestSuite):
            yield from tests_of(entry)
        else:
            yield entry


def main():
    parser = argparse.ArgumentParser(prog="tests/python/run.py", description=__doc__.split("\n\n")[1])
    parser.add_argument("-k", metavar="TEXT", action="append", help="only tests whose name has this text")
    arguments = parser.parse_args()
    tests = list(tests_of(unittest.defaultTestLoader.discover(HERE)))
    if arguments.k:
        tests = [test for test in tests if any(text in test.id() for text in arguments.k)]
    runner = unittest.TextTestRunner(stream=sys.stdout, resultclass=Result, verbosity=2)
    result = runner.run(unittest.TestSuite(tests))
    failed = len({getattr(test, "test_case", test).id() for test, _ in result.failures + result.errors})
    print(f"{result.passed} passed, {failed} failed, {len(result.skipped)} skipped")
    return 1 if failed or result.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
