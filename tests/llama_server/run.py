#!/usr/bin/env python3
"""llama-server's own tests against `assay serve`: tests/llama_server/run.py [-k TEXT] [--list] [--stock [PATH]] [--all]

The tests are those of llama.cpp's tree (tools/server/tests/unit), run unchanged. tests.toml says of each whether it runs
here, and else why not; a test that it does not know, or one that is no longer there, counts as failed, so that an
upgrade of llama.cpp is noticed. The last line is `N passed, N failed, N skipped`; exit code 1 when one failed.

--stock runs the same against llama-server itself (default: build/release/bin/llama-server, built by
`cmake --build build/release --target llama-server`), --all runs what is skipped too: so the table is made.

Environment: ASSAY_BINARY (default: build/release/assay), ASSAY_TINY_DIR.
"""

import argparse
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "e2e"))
import harness

PYTHON = os.path.join(ROOT, "third_party", "conformance", "bin", "python")
LLAMA = os.environ.get("ASSAY_LLAMA_DIR") or os.path.join(ROOT, "third_party", "llama.cpp")
TESTS = os.path.join(LLAMA, "tools", "server", "tests")
STOCK = os.path.join(ROOT, "build", "release", "bin", "llama-server")
WORK = os.path.join(ROOT, "build", "llama_server")
TABLE = os.path.join(HERE, "tests.toml")
PAGE = os.path.join(ROOT, "docs", "llama-server.md")
RUN = "run"
SECONDS_MAX = 1800
# What llama-server has no word for, said before the test's own words; it gives nothing time to end.
SERVE = ["serve", "--no-readout-check", "--grace-seconds", "0", "--check-dir", harness.CHECK_DIR]


def read_table():
    """({test: "run" or a key of the reasons}, {key: reason})."""
    with open(TABLE, "rb") as file:
        table = tomllib.load(file)
    reasons = table.pop("reasons")
    tests = {f"{name}::{test}": word for name, entries in table.items() for test, word in entries.items()}
    unknown = sorted({word for word in tests.values() if word != RUN and word not in reasons})
    if unknown:
        sys.exit(f"{TABLE}: no reason {unknown[0]!r}")
    return tests, reasons


def word_of(test, tests):
    """What the table says of a test, or of all parameters of it; None when it says nothing."""
    return tests.get(test) or tests.get(test.split("#")[0])


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def write_wrapper(program, words):
    """The suite starts a program without a command's name: this stands between."""
    path = os.path.join(WORK, "server")
    with open(path, "w", encoding="utf-8") as file:
        # llama.cpp's helpers always ask for it: two seconds for each model loaded and each request of a router.
        file.write("#!/bin/sh\n[ -z \"$LLAMA_SUITE_QUICK\" ] || unset LLAMA_SERVER_DEBUG_FAKE_TIMING\n"
                   "exec '" + "' '".join([program, *words]) + "' \"$@\"\n")
    os.chmod(path, 0o755)
    return path


def run_pytest(server, chosen, scratch, more=()):
    """The plugin's result of one run of pytest: of the tests in `chosen`, with `scratch` for their own files."""
    paths = {name: os.path.join(WORK, name + ".json") for name in ("chosen", "result")}
    with open(paths["chosen"], "w", encoding="utf-8") as file:
        json.dump(chosen, file)
    if os.path.exists(paths["result"]):
        os.remove(paths["result"])
    environment = harness.environment(
        LLAMA_SERVER_BIN_PATH=server, LLAMA_SUITE_WORK=WORK, LLAMA_SUITE_CHOSEN=paths["chosen"],
        LLAMA_SUITE_RESULT=paths["result"], LLAMA_SUITE_CHAT_MODEL=harness.tiny("tiny-attention"),
        LLAMA_SUITE_RERANK_MODEL=harness.tiny("tiny-rerank"), LLAMA_SUITE_INFILL_MODEL=harness.tiny("tiny-infill"),
        LLAMA_CACHE=os.path.join(WORK, "cache"), PORT=str(free_port()), PYTHONDONTWRITEBYTECODE="1",
        NO_PROXY="127.0.0.1,localhost,::1",
        PYTHONPATH=os.pathsep.join([HERE, TESTS]))
    command = [PYTHON, "-m", "pytest", "-p", "local_models", "-p", "no:cacheprovider", "-p", "no:schemathesis",
               f"--basetemp={os.path.join(scratch, 'pytest')}", "--tb=short", "-q", "-ra", "unit", *more]
    subprocess.run(command, cwd=TESTS, env=environment, timeout=SECONDS_MAX, check=False)
    with open(paths["result"], encoding="utf-8") as file:
        return json.load(file)


def markdown(tests, reasons, collected):
    """The table of docs/llama-server.md."""
    lines = ["| file | runs | skipped |", "|---|---|---|"]
    for name in dict.fromkeys(test.split("::")[0] for test in collected):
        words = [word_of(test, tests) for test in collected if test.startswith(name + "::")]
        skipped = ", ".join(f"{words.count(key)} {key}" for key in reasons if key in words)
        lines.append(f"| {name} | {words.count(RUN)} | {skipped or '0'} |")
    runs = sum(word_of(test, tests) == RUN for test in collected)
    lines.append(f"| all | {runs} | {len(collected) - runs} |")
    return "\n".join(lines + [""] + [f"- *{key}*: {reason}" for key, reason in reasons.items()])


def check_lists(tests, reasons, collected):
    """What is wrong with the table or the page, a line each."""
    wrong = [f"{test}: not in tests.toml" for test in collected if word_of(test, tests) is None]
    names = set(collected) | {test.split("#")[0] for test in collected}
    wrong += [f"{test}: in tests.toml, not in llama.cpp's tests" for test in tests if test not in names]
    if wrong:
        return wrong
    with open(PAGE, encoding="utf-8") as file:
        good = markdown(tests, reasons, collected) in file.read()
    return [] if good else ["docs/llama-server.md: its table is not what tests/llama_server/run.py --list prints"]


def parse_arguments():
    parser = argparse.ArgumentParser(prog="tests/llama_server/run.py", description=__doc__.split("\n\n")[1])
    parser.add_argument("-k", metavar="TEXT", action="append", help="only tests that have this text in FILE::TEST")
    parser.add_argument("--list", action="store_true", help="print the table of the page, run nothing")
    parser.add_argument("--stock", nargs="?", const=STOCK, metavar="PATH", help="run llama-server instead")
    parser.add_argument("--all", action="store_true", help="also what is skipped")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    program = arguments.stock or harness.BINARY
    lacking = [path for path in (program, PYTHON) if not os.access(path, os.X_OK)]
    if lacking:
        print(f"llama_server: no program at {lacking[0]}: build it, and run tools/setup --dev")
        print("0 passed, 1 failed, 0 skipped")
        return 1
    shutil.rmtree(WORK, ignore_errors=True)
    os.makedirs(os.path.join(WORK, "tmp"))
    os.makedirs(harness.CHECK_DIR, exist_ok=True)
    server = write_wrapper(program, [] if arguments.stock else SERVE)
    # Not below this tree: the server's own tools look at no file that git ignores.
    scratch = tempfile.mkdtemp(prefix="llama_server")
    try:
        return run_all(arguments, server, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def run_all(arguments, server, scratch):
    tests, reasons = read_table()
    collected = run_pytest(server, [], scratch, ["--collect-only", "-qq"])["collected"]
    if arguments.list:
        print(markdown(tests, reasons, collected))
        return 0
    wrong = check_lists(tests, reasons, collected)
    chosen = [test for test in collected if arguments.all or word_of(test, tests) == RUN]
    chosen = [test for test in chosen if not arguments.k or any(text in test for text in arguments.k)]
    ended = run_pytest(server, chosen, scratch)["ended"]
    for line in wrong:
        print("FAIL: " + line)
    outcomes = [ended.get(test, "failed") for test in chosen]
    failed = outcomes.count("failed") + len(wrong)
    skipped = outcomes.count("skipped") + sum(word_of(test, tests) not in (RUN, None) and test not in chosen
                                              for test in collected)
    print(f"{outcomes.count('passed')} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or "passed" not in outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
