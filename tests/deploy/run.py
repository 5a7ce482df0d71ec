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
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import counted


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
    result = counted.run(loader.discover(HERE, pattern="*_test.py", top_level_dir=HERE))
    return counted.summary(result.passed, result.failed(), len(result.skipped))


if __name__ == "__main__":
    sys.exit(main())
