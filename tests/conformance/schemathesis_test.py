#!/usr/bin/env python3
"""For whoever changes a route: schemathesis reads /openapi.json and sends what it makes of it, good and bad.

    tests/conformance/schemathesis_test.py --url http://127.0.0.1:8080 [--examples 60] [--seed 20261129] [--key KEY]

What only this server knows, its model's names, is filled into the document first. No reply may be a server error, or
have a status, a media type, a header or a body that the document does not name; a method that a route does not have is
a 405 that says which it has; and each route must have accepted something, or all of it would only have tested
refusals. The seed is fixed. Use a server with a tiny model: a few thousand requests are sent. The last line is
`N passed, N failed, N skipped`, counted in requests; exit code 1 when one failed.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import urllib.request

SERVERS = ("tiny",)  # for run.py: a few thousand decisions are asked for
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.join(ROOT, "third_party", "conformance", "bin", "schemathesis")
CHECKS = ["not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
          "response_schema_conformance", "unsupported_method", "allow_header_conformance"]
SHOWN_BYTES = 20000
LEAST_MS = 60000
LIST_MAX = 64
# Methods that a route does not have. One that HTTP/1.1 does not know is refused before the route is known.
CONFIG = """
[phases.coverage]
unexpected-methods = ["PUT", "PATCH", "DELETE", "TRACE", "OPTIONS"]
"""
# Other names of routes that are tried field by field under their first name.
for path in ("/api/v1/systemone", "/api/alpha/decisions", "/decisions", "/invocations"):
    CONFIG += f"""
[[operations]]
include-path = "{path}"
phases.coverage.enabled = false
"""


def parse_arguments():
    parser = argparse.ArgumentParser(description="schemathesis against a running server")
    parser.add_argument("--url", required=True, help="address of the server, without a path")
    parser.add_argument("--key", help="API key, where the server wants one")
    parser.add_argument("--examples", type=int, default=60, help="random requests for each route (default: 60)")
    parser.add_argument("--seconds", type=int, default=300, help="longer than this is a failure (default: 300)")
    parser.add_argument("--seed", type=int, default=20261129)
    parser.add_argument("--route", help="only this path")
    return parser.parse_args()


def get_json(arguments, path):
    headers = {"Authorization": "Bearer " + arguments.key} if arguments.key else {}
    with urllib.request.urlopen(urllib.request.Request(arguments.url.rstrip("/") + path, headers=headers)) as reply:
        return json.load(reply)


def parts_of(item):
    """Every object below, itself included."""
    if isinstance(item, dict):
        yield item
    for child in item.values() if isinstance(item, dict) else item if isinstance(item, list) else ():
        yield from parts_of(child)


def fill_in(document, names):
    """Makes most of what is generated answerable: a model that is there, time enough, and no list of a thousand."""
    components = document["components"]
    for schema in components["schemas"].values():
        properties = schema.get("properties", {})
        if "messages" in properties or "questions" in properties:
            properties["model"] = {"enum": names}
        if "x_lesson" in properties:  # a server that keeps none knows none by name, and calibrates nothing
            properties["x_lesson"] = {"enum": ["auto", "none"]}
            properties["x_calibrated"]["enum"] = [False]
        if "timeout_ms" in properties:
            properties["timeout_ms"]["minimum"] = LEAST_MS
            properties["x_timeout_ms"]["minimum"] = LEAST_MS
    for part in parts_of(components["schemas"]):
        if isinstance(part.get("maxItems"), int) and part["maxItems"] > LIST_MAX:
            del part["maxItems"]
    components["parameters"]["TimeoutMs"]["schema"]["minimum"] = LEAST_MS
    return document


def write_text(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def command_line(arguments, folder):
    names = [model["name"] for model in get_json(arguments, "/v1/models")["models"]]
    document = json.dumps(fill_in(get_json(arguments, "/openapi.json"), names))
    command = [PROGRAM, "--no-color", "--config-file", write_text(folder, "schemathesis.toml", CONFIG),
               "run", write_text(folder, "openapi.json", document), "--url", arguments.url.rstrip("/"),
               "--checks", ",".join(CHECKS), "--phases", "examples,coverage,fuzzing", "--mode", "all",
               "--max-examples", str(arguments.examples), "--exclude-tag", "Lessons",
               "--seed", str(arguments.seed), "--generation-database", "none", "--continue-on-failure",
               "--suppress-health-check", "all", "--request-timeout", "60", "--warnings", "off",
               "--report", "json", "--report-json-path", os.path.join(folder, "report.json")]
    if arguments.key:
        command += ["--header", "Authorization: Bearer " + arguments.key]
    if arguments.route:
        command += ["--include-path", arguments.route]
    return command


def read_report(folder):
    path = os.path.join(folder, "report.json")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def never_accepted(report):
    """Routes with a body that took none of the random requests that were made to be right."""
    return [name for name, phases in report["valid_rates"].items()
            if name.startswith("POST ") and phases.get("fuzzing", {}).get("accepted", 0) == 0]


def verdict(report, exit_code):
    """(passed, failed): requests, and each route that was only refused is one that failed."""
    cases = report["test_cases"]
    failed = cases["with_failures"] + cases["errored"]
    for failure in report["failures"]:
        print(f"FAIL: {failure['title']} ({failure['count']}): {', '.join(failure['operations'])}")
    for name in never_accepted(report):
        print(f"FAIL: {name} accepted no request at all: the document asks for something else than the server")
        failed += 1
    if failed == 0 and (exit_code != 0 or not report["complete"]):
        print(f"FAIL: schemathesis ended with {exit_code}, {report['stop_reason']}")
        failed = 1
    return cases["generated"] - cases["with_failures"], failed


def main():
    arguments = parse_arguments()
    if not os.access(PROGRAM, os.X_OK):
        print("schemathesis: the conformance environment is missing: run tools/setup --dev")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(command_line(arguments, folder), cwd=folder, stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                  timeout=arguments.seconds)
        except subprocess.TimeoutExpired:
            print(f"FAIL: not done within {arguments.seconds} s")
            print("0 passed, 1 failed, 0 skipped")
            return 1
        report = read_report(folder)
    if report is None or done.returncode != 0:
        print(done.stdout[-SHOWN_BYTES:])
    if report is None:
        print("0 passed, 1 failed, 0 skipped")
        return 1
    passed, failed = verdict(report, done.returncode)
    print(f"{passed} passed, {failed} failed, {report['operations']['skipped']} skipped")
    return 1 if failed or passed == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
