#!/usr/bin/env python3
"""Everything in deploy/, for whoever changes it: tests/deploy/run.py [-k TEXT]

Runs every test in *_test.py here in the environment that tools/setup --dev made of requirements.txt. The last line
is `N passed, N failed, N skipped`; exit code 1 when one failed. What a test needs and this machine lacks (buildah, Go,
a model) is said where it is skipped.

Environment: ASSAY_BINARY (default: build/release/assay), ASSAY_MODEL (the default model).
"""

import argparse
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
PYTHON = os.path.join(ROOT, "third_party", "deploy", "bin", "python")


class Result(unittest.TextTestResult):
    """Counts what passed too."""

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.passed = 0

    def addSuccess(self, test):
        self.passed += 1
        super().addSuccess(test)


def main() -> int:
    environment = os.path.dirname(os.path.dirname(PYTHON))
    if os.path.exists(PYTHON) and os.path.realpath(sys.prefix) != os.path.realpath(environment):
        os.execv(PYTHON, [PYTHON, *sys.argv])
    parser = argparse.ArgumentParser(prog="tests/deploy/run.py", description=__doc__.split("\n\n")[1])
    parser.add_argument("-k", metavar="TEXT", action="append", help="only tests whose name has this text")
    arguments = parser.parse_args()
    loader = unittest.TestLoader()
    if arguments.k:
        loader.testNamePatterns = [f"*{text}*" for text in arguments.k]
    sys.path.insert(0, HERE)
    suite = loader.discover(HERE, pattern="*_test.py", top_level_dir=HERE)
    result = unittest.TextTestRunner(verbosity=2, resultclass=Result, stream=sys.stdout).run(suite)
    failed = len({getattr(test, "test_case", test).id() for test, _ in result.failures + result.errors})
    print(f"{result.passed} passed, {failed} failed, {len(result.skipped)} skipped")
    return 1 if failed or result.passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
