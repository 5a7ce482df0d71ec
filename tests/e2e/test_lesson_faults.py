"""Bad days of lessons as users meet them: each is a clear error that names the row or the file, and the server goes on."""

import json
import os
import sqlite3
import tempfile
import unittest

import harness

QUESTION = "What does the customer want?"
OPTIONS = ["refund", "info", "cancel"]
JSON = {"Content-Type": "application/json"}


def labelled_rows(count=30):
    return [{"state": f"Message {i}", "expected": OPTIONS[i % 3], "question": QUESTION, "options": OPTIONS}
            for i in range(count)]


def teach(folder, model, rows, name="wishes", *more):
    """`assay teach` of rows; (the finished command, the folder of lessons)."""
    labelled, lessons = os.path.join(folder, "labelled.jsonl"), os.path.join(folder, "lessons")
    with open(labelled, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    done = harness.run("teach", labelled, "--name", name, "-m", model, "--lessons", lessons, "--method", "lda",
                       "--zero-shot-rows", "0", "--no-curve", "--keep-rows", *more)
    return done, lessons


def asked(state, **more):
    return {"decision": {"id": "wish", "state": state, "question": QUESTION,
                         "options": [{"id": option} for option in OPTIONS]}, **more}


class Faults(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="assay-faults-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.model = harness.tiny("tiny-attention")

    def taught(self):
        done, lessons = teach(self.folder, self.model, labelled_rows())
        self.assertEqual(done.returncode, 0, done.stderr)
        return lessons

    def serve(self, lessons, *more):
        server = harness.Server(self.model, "--threads", "1", "--no-readout-check", "--chat", "off", "--lessons", lessons,
                                *(more or ("--keep-decisions", "texts")))
        self.addCleanup(server.stop)
        return server

    def call(self, server, method, path, body=None, status=200):
        data = None if body is None else json.dumps(body).encode()
        reply = server.request(method, path, data, JSON if data else {})
        self.assertEqual(reply.status, status, str(reply))
        return reply.json()

    def decided(self, server, state, status=200, **more):
        return self.call(server, "POST", "/v1/decide", asked(state, **more), status)

    def test_a_damaged_lesson_and_another_models_are_told_and_not_used(self):
        lessons = self.taught()
        good = os.path.join(lessons, "wishes.v1.lesson.json")
        with open(good, encoding="utf-8") as file:
            lesson = json.load(file)
        damaged = json.loads(json.dumps(dict(lesson, name="damaged")))
        numbers = damaged["head"]["weights"]["f32"]
        damaged["head"]["weights"]["f32"] = ("B" if numbers[0] == "A" else "A") + numbers[1:]
        of_another = dict(lesson, name="of-another", model={"id": "another", "sha256": "0" * 64})
        for made in (damaged, of_another):
            with open(os.path.join(lessons, made["name"] + ".v1.lesson.json"), "w", encoding="utf-8") as file:
                json.dump(made, file)
        server = self.serve(lessons)
        self.assertEqual(self.decided(server, "Money!")["result"]["x_lesson"]["name"], "wishes")
        problems = self.call(server, "GET", "/v1/lessons")["problems"]
        for file, why in (("damaged.v1.lesson.json", "head.weights.f32"), ("of-another.v1.lesson.json", "another model")):
            self.assertTrue(any(file in problem and why in problem for problem in problems), problems)
            self.assertTrue(any("warn" in line and file in line for line in server.log), "".join(server.log))
        self.assertIn("damaged", self.decided(server, "Money!", 400, x_lesson="damaged")["error"])
        self.assertIn("another model", self.decided(server, "Money!", 400, x_lesson="of-another")["error"])
        # The same over HTTP.
        self.assertEqual(self.call(server, "POST", "/v1/lessons", damaged, 400)["field"], "head.weights.f32")
        self.assertEqual(self.call(server, "POST", "/v1/lessons", of_another, 400)["field"], "model.sha256")
        # Without any that can be used it answers as the model does, and says why.
        server.stop()
        os.unlink(good)
        server = self.serve(lessons)
        result = self.decided(server, "Money!")["result"]
        self.assertNotIn("x_lesson", result)
        self.assertIn("another model", result["x_lesson_note"])

    def test_a_row_of_the_folder_that_is_none_is_named(self):
        lessons = self.taught()
        rows = os.path.join(lessons, "wishes.rows.jsonl")
        server = self.serve(lessons)
        for line, why in (('{"state": "x", "expected": "praise"}', "praise"), ('{"state": "x"', "no labelled row"),
                          ('{"state": NaN, "expected": "info"}', "no labelled row")):
            with open(rows, encoding="utf-8") as file:
                before = file.read()
            with open(rows, "a", encoding="utf-8") as file:
                file.write(line + "\n")
            for method in ("update", "add"):
                told = self.call(server, "POST", "/v1/lessons/wishes/fit", {"method": method}, 400)["error"]
                self.assertIn("wishes.rows.jsonl', line 31", told)
                self.assertIn(why, told)
            with open(rows, "w", encoding="utf-8") as file:
                file.write(before)
        self.assertEqual(self.call(server, "POST", "/v1/lessons/wishes/fit", {"method": "update"})["labels"], 30)

    def test_what_cannot_be_learnt_is_named_by_its_row(self):
        row, *others = labelled_rows()
        for bad, why in ((dict(row, expected="praise"), "row 31"), (dict(row, expected="info"), "row 31"),
                         (dict(row, state=float("nan")), "row 31")):
            done, _ = teach(self.folder, self.model, [row, *others, bad])
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(why, done.stderr)
        done, _ = teach(self.folder, self.model, [row, dict(row, state="Another one.")])
        self.assertIn("one label", done.stderr)
        done, lessons = teach(self.folder, harness.tiny("tiny-nan"), [row, *others])
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("row ", done.stderr)
        self.assertFalse(os.path.exists(os.path.join(lessons, "wishes.v1.lesson.json")))

    def test_a_locked_database_refuses_feedback_and_answers_go_on(self):
        lessons = self.taught()
        server = self.serve(lessons)
        wanted = self.decided(server, "Money!")["x_decision_id"]
        self.call(server, "GET", f"/v1/decisions/{wanted}")  # it is in the file
        other = sqlite3.connect(os.path.join(lessons, "decisions.sqlite"), isolation_level=None)
        self.addCleanup(other.close)
        other.execute("BEGIN IMMEDIATE")
        label = {"decision_id": wanted, "option": "refund"}
        refused = self.call(server, "POST", "/v1/feedback", label, 503)
        self.assertIn("lock", refused["error"])
        self.assertEqual(self.decided(server, "Money again!")["result"]["x_lesson"]["name"], "wishes")
        other.execute("ROLLBACK")
        self.assertEqual(self.call(server, "POST", "/v1/feedback", label)["result"], "stored")

    def test_a_file_of_decisions_that_is_none(self):
        lessons = self.taught()
        path = os.path.join(lessons, "decisions.sqlite")
        with open(path, "w", encoding="utf-8") as file:
            file.write("no database at all, and longer than a header of SQLite is: " + "x" * 200)
        server = self.serve(lessons)
        reply = self.decided(server, "Money!")
        self.assertEqual(reply["result"]["x_lesson"]["name"], "wishes")
        self.assertNotIn("x_decision_id", reply)
        self.assertTrue(any("warn" in line and "decisions.sqlite" in line for line in server.log), "".join(server.log))
        self.call(server, "POST", "/v1/lessons/wishes/fit", {"method": "add"}, 503)
        # Named by somebody, it is an error at the start.
        done = harness.run("serve", self.model, "--port", "0", "--no-readout-check", "--lessons", lessons, "--decisions", path)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("decisions.sqlite", done.stderr)

    def test_lessons_are_for_recurrent_models_too(self):
        self.model = harness.tiny("tiny-hybrid")
        lessons = self.taught()
        answers = []
        for _ in range(2):
            server = self.serve(lessons)
            answers.append(self.decided(server, "Money!")["result"])
            server.stop()
        self.assertEqual(answers[0]["x_lesson"]["taught"], True)
        self.assertEqual(answers[0]["option_logits"], answers[1]["option_logits"])


if __name__ == "__main__":
    unittest.main()
