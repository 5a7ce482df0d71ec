#!/usr/bin/env python3
"""RULE 8.2: the conformance suite of the ecosystem, all of its sections, as its users start it."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

import part

SERVERS = ("open", "wide", "wide_keyed")

# Either a server wants keys or it does not, so of each pair one cannot be tested.
NOT_WITH_KEY = {"auth.ignored-when-off"}
NOT_WITHOUT_KEY = {"auth.bearer", "auth.missing", "auth.invalid"}
# Above 255 options and 10 levels the contract's answer is the live API's 400 with an object (RULE 1.4, G6); the suite
# would have 422 with a list, as a SHOULD of its own. A server that takes more options answers both and fails nothing:
# those are the kinds "wide" and "wide_keyed", where nothing is excused.
BY_CONTRACT = {("errors.validation-shape", "out-of-range:choice-256"),
               ("errors.validation-shape", "out-of-range:score-11")}


def run_suite():
    """(exit code, what it printed, its report)."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        command = [os.path.join(os.path.dirname(sys.executable), "jevcompat"), "test", part.url, "--json", path,
                   "--timeout", str(part.REPLY_SECONDS), "--evidence", "9"]
        environment = dict(os.environ)
        if part.key:
            command += ["--key-env", "CONFORMANCE_KEY"]
            environment["CONFORMANCE_KEY"] = part.key
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        print(done.stdout)
        if not os.path.exists(path):
            raise AssertionError(f"jevcompat wrote no report and ended with {done.returncode}")
        with open(path, encoding="utf-8") as file:
            return done.returncode, done.stdout, json.load(file)


class Jevcompat(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.code, cls.text, cls.report = run_suite()

    def findings(self, level):
        return [finding for result in self.report["results"] if result["level"] == level
                for finding in result["findings"]]

    def test_it_says_conformant(self):
        self.assertEqual((self.code, self.report["summary"]["verdict"]), (0, "conformant"), self.text[-400:])

    def test_it_was_tested_whole(self):
        self.assertIsNone(self.report["aborted"])
        self.assertEqual(self.report["case_errors"], [])
        self.assertEqual(self.report["inconclusive"], [])
        self.assertEqual(len(self.report["results"]), 48)
        skipped = {result["id"] for result in self.report["results"] if result["status"] == "skip"}
        self.assertEqual(skipped, NOT_WITH_KEY if part.key else NOT_WITHOUT_KEY)

    def test_no_must_fails(self):
        self.assertEqual(self.findings("MUST"), [])

    def test_no_should_fails(self):
        found = {(finding["req"], finding["case"]) for finding in self.findings("SHOULD")}
        excused = set() if os.environ.get("CONFORMANCE_KIND", "").startswith("wide") else BY_CONTRACT
        self.assertEqual(found, excused)


if __name__ == "__main__":
    part.main()
