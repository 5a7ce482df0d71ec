"""Two processes with one folder of lessons: a server that fits, and `assay teach` that writes there meanwhile."""

import hashlib
import json
import os
import subprocess
import tempfile
import unittest

import harness

QUESTION = "What does the customer want?"
OPTIONS = ["refund", "info", "cancel"]
JSON = {"Content-Type": "application/json"}


class Writers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="assay-writers-")
        self.addCleanup(folder.cleanup)
        self.model = harness.tiny("tiny-attention")
        self.lessons = os.path.join(folder.name, "lessons")
        self.labelled = os.path.join(folder.name, "labelled.jsonl")
        with open(self.labelled, "w", encoding="utf-8") as file:
            for i in range(30):
                row = {"state": f"Message {i}", "expected": OPTIONS[i % 3], "question": QUESTION, "options": OPTIONS}
                file.write(json.dumps(row) + "\n")
        done = harness.run(*self.teach())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.server = harness.Server(self.model, "--threads", "1", "--no-readout-check", "--chat", "off", "--lessons",
                                     self.lessons, "--keep-decisions", "texts")
        self.addCleanup(self.server.stop)

    def teach(self):
        return ["teach", self.labelled, "--name", "wishes", "-m", self.model, "--lessons", self.lessons, "--method", "lda",
                "--zero-shot-rows", "0", "--no-curve", "--keep-rows", "--threads", "1"]

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        reply = self.server.request(method, path, data, JSON if data else {})
        self.assertEqual(reply.status, 200, str(reply))
        return reply.json()

    def listed(self):
        lesson, = self.call("GET", "/v1/lessons")["lessons"]
        return lesson["versions"], lesson["active"]

    def answered_by(self):
        decision = {"id": "q", "state": "Money!", "question": QUESTION, "options": [{"id": option} for option in OPTIONS]}
        return self.call("POST", "/v1/decide", {"decision": decision})["result"]["x_lesson"]["version"]

    def test_a_server_takes_up_what_another_process_taught(self):
        self.assertEqual(harness.run(*self.teach()).returncode, 0)
        self.assertEqual(self.answered_by(), 1, "nobody has asked for the lessons yet")
        self.assertEqual(self.listed(), ([1, 2], 2))
        self.assertEqual(self.answered_by(), 2)
        self.assertTrue(any("another process" in line and "version 2" in line for line in self.server.log),
                        "".join(self.server.log))
        self.assertEqual(harness.run(*self.teach()).returncode, 0)
        self.assertEqual(self.call("POST", "/v1/lessons/wishes/fit", {"method": "update"})["version"], 4)
        self.assertEqual(self.listed(), ([1, 2, 3, 4], 4))
        self.assertEqual(harness.run(*self.teach()).returncode, 0)
        self.call("POST", "/v1/lessons/wishes/activate", {"version": 5})
        self.assertEqual(self.answered_by(), 5)

    def test_both_at_once_lose_no_version(self):
        others = [subprocess.Popen([harness.BINARY, *self.teach()], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   text=True, env=harness.environment()) for _ in range(3)]
        told = {}
        while any(process.poll() is None for process in others):
            fitted = self.call("POST", "/v1/lessons/wishes/fit", {"method": "update"})
            self.assertNotIn(fitted["version"], told)
            told[fitted["version"]] = fitted["sha256"]
        for process in others:
            self.assertEqual(process.returncode, 0, process.stderr.read())
            process.stderr.close()
        versions, active = self.listed()
        self.assertEqual(versions, list(range(1, 1 + 1 + len(others) + len(told))))
        self.assertEqual(active, versions[-1])
        for version, sha256 in told.items():
            with open(os.path.join(self.lessons, f"wishes.v{version}.lesson.json"), "rb") as file:
                self.assertEqual(hashlib.sha256(file.read()).hexdigest(), sha256)
        self.assertEqual([name for name in os.listdir(self.lessons) if ".part-" in name], [])


if __name__ == "__main__":
    unittest.main()
