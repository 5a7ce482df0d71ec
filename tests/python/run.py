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
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import counted


def main():
    parser = argparse.ArgumentParser(prog="tests/python/run.py", description=__doc__.split("\n\n")[1])
    parser.add_argument("-k", metavar="TEXT", action="append", help="only tests whose name has this text")
    arguments = parser.parse_args()
    tests = list(counted.tests_of(unittest.defaultTestLoader.discover(HERE)))
    if arguments.k:
        tests = [test for test in tests if any(text in test.id() for text in arguments.k)]
    result = counted.run(tests)
    return counted.summary(result.passed, result.failed(), len(result.skipped))


if __name__ == "__main__":
    sys.exit(main())
