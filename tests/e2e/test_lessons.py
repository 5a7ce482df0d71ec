"""Lessons as their users meet them: calibrated and taught from files, put on a server, learnt from feedback."""

import json
import os
import re
import subprocess
import tempfile
import unittest

import harness

QUESTION = "What does the customer want?"
STATES = {
    "refund": ["I want my money back.", "You charged me twice, please return the second payment.",
               "The parcel came broken and I would like a refund.", "Please pay back what I paid for this order.",
               "I returned the shoes; where is my money?", "Take it back and give me my money.",
               "This costs more than you said, I want the difference back.", "Refund my last invoice."],
    "cancel": ["Please end my subscription today.", "I do not want to be a member any longer.",
               "Stop my contract at the end of the month.", "Close my account for good.",
               "I want to cancel the newsletter plan.", "Terminate the agreement, I am leaving.",
               "No more deliveries from next week on, end it.", "I quit, cancel everything."],
    "info": ["How do I change my password?", "Which countries do you deliver to?", "When are you open on Sundays?",
             "What does the premium plan include?", "Can I pay with a gift card?", "How long does a delivery take?",
             "Where do I find my invoice number?", "Is there a discount for students?"],
}


def rows():
    return [{"state": state, "expected": label, "question": QUESTION, "options": list(STATES)}
            for label, states in STATES.items() for state in states]


def assay(*arguments, status=0):
    done = subprocess.run([harness.BINARY, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=harness.environment(), timeout=300)
    assert done.returncode == status, f"{arguments}: {done.returncode}, {done.stderr}"
    return done.stdout if status == 0 else done.stderr


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def call(server, method, path, content=None):
    data = None if content is None else json.dumps(content).encode()
    reply = server.request(method, path, data, {"Content-Type": "application/json"} if data else {})
    return reply.status, reply.json() if reply.body else None


def body(state, **fields):
    return {"decision": {"id": "q", "state": state, "question": QUESTION,
                         "options": [{"id": option} for option in STATES]}, **fields}


class Folder(unittest.TestCase):
    """A folder with labelled rows and one for lessons, the same for a whole class."""

    @classmethod
    def setUpClass(cls):
        cls.model = harness.default_model()
        cls.folder = tempfile.TemporaryDirectory(prefix="assay-lessons-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.labelled = os.path.join(cls.folder.name, "labelled.jsonl")
        cls.lessons = os.path.join(cls.folder.name, "lessons")
        with open(cls.labelled, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows())


class FromFiles(Folder):
    def test_teach_makes_the_answers_right_and_says_so(self):
        told = json.loads(assay("teach", self.labelled, "--name", "wishes", "-m", self.model, "--lessons", self.lessons,
                                "--zero-shot-rows", "6", "--json"))
        self.assertGreater(told["accuracy"], 0.7)
        self.assertEqual(told["labels"], 24)
        self.assertEqual([point["labels_by_option"] for point in told["curve"]], [1, 2, 3, 5, 8])
        answer = json.loads(assay("decide", "-m", self.model, "--lessons", self.lessons, "--json", "-q", QUESTION,
                                  *[f"--option={option}" for option in STATES], "--state",
                                  "Give me back the money I paid."))
        text = json.dumps(answer)
        self.assertIn("taught", text)

    def test_the_same_lesson_and_request_have_the_same_bits(self):
        path = os.path.join(self.folder.name, "twice.lesson.json")
        again = os.path.join(self.folder.name, "again.lesson.json")
        for where in (path, again):
            assay("teach", self.labelled, "--name", "twice", "-m", self.model, "-o", where, "--zero-shot-rows", "0",
                  "--no-curve")
        lessons = [read(where) for where in (path, again)]
        for lesson in lessons:
            lesson.pop("created")
        self.assertEqual(lessons[0], lessons[1])

    def test_calibrate_writes_a_lesson_for_its_kind_of_question(self):
        path = os.path.join(self.folder.name, "c.lesson.json")
        told = json.loads(assay("calibrate", self.labelled, "-m", self.model, "-o", path, "--json", "--risk", "0.2",
                                "--report", os.path.join(self.folder.name, "c.html")))
        self.assertEqual(told["rows"], 24)
        self.assertEqual(told["thresholds"][0]["risk"], 0.2)
        lesson = read(path)
        self.assertEqual(lesson["question"]["text"], QUESTION)
        with open(os.path.join(self.folder.name, "c.html"), encoding="utf-8") as page:
            self.assertIn("<svg", page.read())

    def test_bad_rows_are_named(self):
        bad = os.path.join(self.folder.name, "bad.jsonl")

        def refused(lines, *arguments):
            with open(bad, "w", encoding="utf-8") as file:
                file.writelines(json.dumps(line) + "\n" for line in lines)
            return assay(*arguments, status=2)

        teach = ("teach", bad, "--name", "bad", "-m", self.model)
        row = rows()[0]
        self.assertIn("row 2", refused([row, dict(row, expected="nothing")], *teach))
        self.assertIn("row 1", refused([{key: row[key] for key in row if key != "expected"}], *teach))
        self.assertIn("row 2", refused([row, dict(row, expected="info")], *teach))
        self.assertIn("one label", refused([row, dict(row, state="Another one.")], *teach))
        self.assertIn("--name", refused([row], "teach", bad, "-m", self.model))
        self.assertIn("--risk", refused([row], *teach, "--risk", "2"))
        self.assertIn("cue", refused(rows(), *teach, "--cue", "no state in it"))


class OnAServer(Folder):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        assay("teach", cls.labelled, "--name", "wishes", "-m", cls.model, "--lessons", cls.lessons, "--zero-shot-rows",
              "0", "--no-curve", "--risk", "0.2", "--keep-rows")
        cls.server = harness.default_server("--chat", "off", "--lessons", cls.lessons, "--keep-decisions", "texts")
        cls.addClassCleanup(cls.server.stop)

    def decide(self, state, **fields):
        status, reply = call(self.server, "POST", "/v1/decide", body(state, **fields))
        self.assertEqual(status, 200, reply)
        return reply

    def logged(self):
        """Decisions written to the log, or waiting to be."""
        metrics = self.server.get("/metrics").body.decode()
        return sum(int(number) for number in re.findall(r"^assay_decisions_(?:queued|logged_total\{.*\}) (\d+)$", metrics,
                                                        re.M))

    def test_answers_say_which_lesson_they_are_of(self):
        reply = self.decide("Give me back the money I paid.")
        result = reply["result"]
        self.assertEqual(result["readout"], "taught")
        self.assertEqual(result["x_lesson"]["name"], "wishes")
        self.assertEqual(result["probability_status"], "calibrated")
        self.assertIn(result["x_decision"], ("act", "escalate"))
        plain = self.decide("Give me back the money I paid.", x_lesson="none")["result"]
        self.assertNotIn("x_lesson", plain)

    def test_the_same_request_has_the_same_bits(self):
        first = self.decide("Please end it.")["result"]["option_logits"]
        for _ in range(3):
            self.assertEqual(self.decide("Please end it.")["result"]["option_logits"], first)

    def test_feedback_becomes_a_new_version_and_is_rolled_back(self):
        reply = self.decide("My money, please, all of it.")
        decision = reply["x_decision_id"]
        status, told = call(self.server, "POST", "/v1/feedback", {"decision_id": decision, "option": "refund"})
        self.assertEqual(status, 200, told)
        status, told = call(self.server, "POST", "/v1/feedback", {"decision_id": decision, "option": "refund"})
        self.assertEqual(status, 200, told)
        status, kept = call(self.server, "GET", f"/v1/decisions/{decision}")
        self.assertEqual(status, 200, kept)
        self.assertIn("My money, please", json.dumps(kept))
        logged = self.logged()
        status, fitted = call(self.server, "POST", "/v1/lessons/wishes/fit", {})
        self.assertEqual(status, 200, fitted)
        self.assertEqual(fitted["labels"], 25)
        self.assertEqual(self.logged(), logged, "what a fit asks for itself is no decision of anybody's")
        version = fitted["version"]
        self.assertEqual(self.decide("Give me back the money I paid.")["result"]["x_lesson"]["version"], version)
        status, _ = call(self.server, "POST", "/v1/lessons/wishes/activate", {"version": 1})
        self.assertEqual(status, 200)
        self.assertEqual(self.decide("Give me back the money I paid.")["result"]["x_lesson"]["version"], 1)
        status, _ = call(self.server, "DELETE", f"/v1/decisions/{decision}")
        self.assertEqual(status, 200)
        status, _ = call(self.server, "GET", f"/v1/decisions/{decision}")
        self.assertEqual(status, 404)

    def test_lessons_are_listed_and_have_a_health(self):
        self.decide("Give me back the money I paid.")
        status, listed = call(self.server, "GET", "/v1/lessons")
        self.assertEqual(status, 200)
        self.assertEqual([lesson["name"] for lesson in listed["lessons"]], ["wishes"])
        status, health = call(self.server, "GET", "/v1/lessons/wishes/health")
        self.assertEqual(status, 200)
        self.assertGreater(health["answers"], 0)
        self.assertFalse(health["drift"]["alarm"])

    def test_changed_options_are_answered_without_the_lesson_and_told(self):
        changed = body("Give me back the money I paid.")
        changed["decision"]["options"].append({"id": "praise"})
        status, reply = call(self.server, "POST", "/v1/decide", changed)
        self.assertEqual(status, 200)
        self.assertIn("praise", reply["result"]["x_lesson_note"])
        changed["x_lesson"] = "wishes"
        status, reply = call(self.server, "POST", "/v1/decide", changed)
        self.assertEqual(status, 400, reply)


if __name__ == "__main__":
    unittest.main()
