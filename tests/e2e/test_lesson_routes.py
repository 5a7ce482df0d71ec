"""The routes of kept decisions and lessons keep to /openapi.json; what is kept outlives the server and is verified."""

import json
import os
import re
import tempfile
import unittest

import harness
import sagemaker
from openapi_document import Document, schema_checker

QUESTION = "What does the customer want?"
OPTIONS = ["refund", "info", "cancel"]
JSON = {"Content-Type": "application/json"}


def semif(state, **more):
    return {"decision": {"id": "wish", "state": state, "question": QUESTION,
                         "options": [{"id": option} for option in OPTIONS]}, **more}


class Kept(unittest.TestCase):
    """A server that keeps texts, with one lesson, "wishes"."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="assay-kept-")
        cls.addClassCleanup(folder.cleanup)
        cls.model = harness.tiny("tiny-attention")
        cls.lessons = os.path.join(folder.name, "lessons")
        labelled = os.path.join(folder.name, "labelled.jsonl")
        with open(labelled, "w", encoding="utf-8") as file:
            for i in range(30):
                row = {"state": f"Message {i}", "expected": OPTIONS[i % 3], "question": QUESTION, "options": OPTIONS}
                file.write(json.dumps(row) + "\n")
        made = harness.run("teach", labelled, "--name", "wishes", "-m", cls.model, "--lessons", cls.lessons,
                           "--zero-shot-rows", "0", "--no-curve", "--risk", "0.3", "--keep-rows")
        assert made.returncode == 0, made.stderr
        cls.start()

    @classmethod
    def start(cls):
        cls.server = harness.Server(cls.model, "--threads", "1", "--no-readout-check", "--chat", "off", "--lessons",
                                    cls.lessons, "--keep-decisions", "texts")

    @classmethod
    def tearDownClass(cls):
        assert cls.server.stop() == 0

    def setUp(self):
        self.checker = schema_checker()
        if self.checker is None:
            self.skipTest("no jsonschema: tools/setup --dev makes the conformance environment that has it")
        self.document = Document(self.server.get("/openapi.json").body)

    def ask(self, method, path, route, body=None, status=200):
        """A reply that is documented on the route, closed for what no schema names."""
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        reply = self.server.request(method, path, data, JSON if data else {})
        self.assertEqual(reply.status, status, str(reply))
        schema = self.document.response(route, method, status)["content"]["application/json"]["schema"]
        self.assertEqual(self.document.errors_of(reply.json(), schema, self.checker, strict=True), [], str(reply))
        return reply

    def decided(self, state, **more):
        reply = self.ask("POST", "/v1/decide", "/v1/decide", semif(state, **more))
        self.assertEqual(reply.headers["x-decision-id"], reply.json()["x_decision_id"])
        return reply.json()

    def test_what_a_lesson_did_is_documented_on_every_wire(self):
        told = self.decided("Money!", x_calibrated=True)["result"]
        self.assertEqual((told["x_lesson"]["name"], told["probability_status"]), ("wishes", "calibrated"))
        wish = {"type": "choice", "instructions": QUESTION, "criteria": dict.fromkeys(OPTIONS)}
        body = {"model": "jev-latest", "state": "Money!", "questions": {"wish": wish}}
        reply = self.ask("POST", "/v1/systemone", "/v1/systemone", body).json()
        self.assertEqual(reply["answers"]["wish"]["x_lesson"], told["x_lesson"])
        self.assertIs(reply["x_calibrated"], True)
        body = {"input": "Money!", "questions": [{"type": "choice", "name": "wish", "instructions": QUESTION,
                                                  "choices": [{"value": option} for option in OPTIONS]}]}
        reply = self.ask("POST", "/v1/decisions", "/v1/decisions", body).json()
        self.assertEqual(reply["answers"][0]["x_lesson"], told["x_lesson"])
        body = {"x_decide": True, "guided_choice": OPTIONS, "messages": [
            {"role": "system", "content": QUESTION}, {"role": "user", "content": "Money!"}]}
        reply = self.ask("POST", "/v1/chat/completions", "/v1/chat/completions", body).json()
        self.assertRegex(reply["x_decision_id"], "^d-[0-9a-f]{32}$")

    def test_feedback_and_what_is_kept(self):
        wanted = self.decided("I want my money back.")["x_decision_id"]
        label = {"decision_id": wanted, "question_id": "wish", "option": "refund", "note": "by phone"}
        results = [self.ask("POST", "/v1/feedback", "/v1/feedback", body).json()["result"] for body in
                   (label, label, {**label, "option": "info"}, {"decision_id": wanted, "option": "refund"})]
        self.assertEqual(results, ["stored", "known", "corrected", "corrected"])
        many = self.ask("POST", "/v1/feedback", "/v1/feedback", [label, {**label, "option": "?"},
                                                                 {**label, "decision_id": "d-0"}]).json()
        self.assertEqual((many["known"], many["refused"]), (1, 2))
        kept = self.ask("GET", f"/v1/decisions/{wanted}", "/v1/decisions/{id}").json()
        self.assertEqual(kept["request"]["decision"]["state"], "I want my money back.")
        answer, = kept["answers"]
        self.assertEqual((answer["feedback"]["option"], answer["feedback"]["corrections"]), ("refund", 2))
        self.assertEqual([option["id"] for option in answer["options"]], OPTIONS)
        metrics = self.server.get("/metrics").body.decode()
        self.assertRegex(metrics, r'assay_feedback_total\{result="corrected"\} [1-9]')
        self.assertIn('assay_lesson_answers_total{lesson="wishes"', metrics)

    def test_every_wire_s_questions_can_be_named(self):
        body = {"model": "jev-latest", "state": "s", "questions": {
            "angry": {"type": "noul", "instructions": "Angry?"},
            "how": {"type": "score", "criteria": ["low", "mid", "high"]}}}
        decision = self.ask("POST", "/v1/systemone", "/v1/systemone", body).json()["x_decision_id"]
        self.ask("POST", "/v1/feedback", "/v1/feedback", [
            {"decision_id": decision, "question_id": "angry", "option": "true"},
            {"decision_id": decision, "question_id": "how", "option": "2"}])
        kept = self.ask("GET", f"/v1/decisions/{decision}", "/v1/decisions/{id}").json()
        self.assertEqual([(answer["question_id"], answer["feedback"]["option"]) for answer in kept["answers"]],
                         [("angry", "true"), ("how", "2")])
        missing = self.ask("POST", "/v1/feedback", "/v1/feedback", {"decision_id": decision, "option": "2"}, 400)
        self.assertEqual(missing.json()["field"], "question_id")

    def test_a_kept_decision_is_verified(self):
        lines = []
        for state, more in (("I want my money back.", {"x_receipt": True}), ("Where is it?", {"x_allowed_mass": False}),
                            ("End it.", {"x_lesson": "none"}), ("End it now.", {"x_readout": "letters"})):
            decision = self.decided(state, **more)["x_decision_id"]
            lines.append(self.server.get(f"/v1/decisions/{decision}").body.decode())
        body = {"model": "jev-latest", "state": "", "questions": {
            "a": {"type": "noul", "instructions": "Angry?"}, "b": {"type": "noul", "instructions": "Here?"}}}
        decision = self.server.post(body, "/v1/systemone").json()["x_decision_id"]
        lines.append(self.server.get(f"/v1/decisions/{decision}").body.decode())
        path = harness.write_file("kept.jsonl", "\n".join(lines) + "\n")
        done = harness.run("verify", path, *harness.tiny_flags("tiny-attention"), "--lessons", self.lessons)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("5 receipts, 5 equal", done.stdout)

    def last_place(self):
        """Of the newest decision, so that a test can export its own alone."""
        decision = self.decided("Where does the log end?")["x_decision_id"]
        return self.server.get(f"/v1/decisions/{decision}").json()["place"]

    def test_an_export_is_verified_unchanged(self):
        begin = self.last_place()
        wanted = [self.decided(f"Message {i}", **more)["x_decision_id"] for i, more in enumerate(
            ({}, {"x_explain": True, "x_receipt": True}, {"x_lesson": "none", "x_explain": True}, {"x_readout": "text"},
             {"x_allowed_mass": False}, {"x_readout": "letters", "x_permute": 2}))]
        self.ask("POST", "/v1/feedback", "/v1/feedback", {"decision_id": wanted[2], "option": "cancel"})
        reply = self.server.get(f"/v1/decisions/export?after={begin}")
        self.assertEqual((reply.status, reply.headers["content-type"]), (200, "application/jsonlines"))
        lines = [json.loads(line) for line in reply.body.splitlines()]
        self.assertEqual([line["id"] for line in lines], wanted)
        page = self.server.get(f"/v1/decisions/export?after={lines[1]['place']}&limit=2").body.splitlines()
        self.assertEqual([json.loads(line)["id"] for line in page], wanted[2:4])
        labelled = self.server.get(f"/v1/decisions/export?after={begin}&labelled=true").body.splitlines()
        self.assertEqual([json.loads(line)["id"] for line in labelled], [wanted[2]])
        # The command reads the same file while the server writes to it.
        path = harness.work_path("exported.jsonl")
        done = harness.run("decisions", "export", "--from", self.lessons, "--after", str(begin), "-o", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), reply.body)
        # Each line is asked of the version that answered it, whichever is active by now.
        route = "/v1/lessons/{name}"
        fitted = self.ask("POST", "/v1/lessons/wishes/fit", route + "/fit", {"risk": 0.3}).json()
        self.addCleanup(self.ask, "POST", "/v1/lessons/wishes/activate", route + "/activate", {"version": 1})
        self.assertNotEqual(fitted["version"], 1)
        done = harness.run("verify", path, *harness.tiny_flags("tiny-attention"), "--lessons", self.lessons)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("6 receipts, 6 equal", done.stdout)

    def test_a_taught_answer_that_was_explained_is_verified(self):
        lines = []
        for more in ({}, {"x_explain": True}, {"x_hidden_state": True}):
            request = semif("Explain it to me.", x_receipt=True, x_lesson="wishes", **more)
            lines.append({"request": request, "receipt": self.server.post(request).json()["x_receipt"]})
        path = harness.write_file("explained.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
        done = harness.run("verify", path, *harness.tiny_flags("tiny-attention"), "--lessons", self.lessons)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("3 receipts, 3 equal", done.stdout)
        scores = {json.dumps(self.decided("Explain it to me.", **more)["result"]["option_logits"])
                  for more in ({}, {"x_explain": True})}
        self.assertEqual(len(scores), 1, "an explanation moves no bit of the answer")

    def test_a_stream_says_the_decision_s_id(self):
        headers = {**JSON, "Accept": "text/event-stream"}
        for path, body in (("/v1/decide", semif("Money!")), ("/v1/systemone", {
                "model": "jev-latest", "state": "Money!", "questions": {"a": {"type": "noul", "instructions": "Angry?"}}})):
            reply = self.server.request("POST", path, json.dumps(body).encode(), headers)
            self.assertEqual(reply.headers["content-type"], "text/event-stream")
            last = re.findall(r"event: done\ndata: (.*)\n\n", reply.body.decode())
            decision = json.loads(last[0])["x_decision_id"]
            self.assertEqual(self.server.get(f"/v1/decisions/{decision}").status, 200)

    def test_what_is_kept_outlives_the_server(self):
        kept = self.decided("Before the end.")["x_decision_id"]
        self.ask("POST", "/v1/feedback", "/v1/feedback", {"decision_id": kept, "option": "cancel"})
        gone = self.decided("To be forgotten: 4000-1234")["x_decision_id"]
        self.assertEqual(self.ask("DELETE", f"/v1/decisions/{gone}", "/v1/decisions/{id}").json(),
                         {"id": gone, "forgotten": True})
        self.ask("DELETE", f"/v1/decisions/{gone}", "/v1/decisions/{id}", status=404)
        for name in os.listdir(self.lessons):
            with open(os.path.join(self.lessons, name), "rb") as file:
                self.assertNotIn(b"4000-1234", file.read(), name)
        unlabelled = self.decided("Just before the end.")["x_decision_id"]
        self.assertEqual(self.server.stop(), 0)
        self.start()
        answer, = self.ask("GET", f"/v1/decisions/{kept}", "/v1/decisions/{id}").json()["answers"]
        self.assertEqual(answer["feedback"]["option"], "cancel")
        self.ask("GET", f"/v1/decisions/{unlabelled}", "/v1/decisions/{id}")
        self.ask("GET", f"/v1/decisions/{gone}", "/v1/decisions/{id}", status=404)

    def test_lessons(self):
        route = "/v1/lessons/{name}"
        listed = self.ask("GET", "/v1/lessons", "/v1/lessons").json()["lessons"]
        self.assertEqual([lesson["name"] for lesson in listed], ["wishes"])
        file = self.ask("GET", "/v1/lessons/wishes?version=1", route).body
        fitted = self.ask("POST", "/v1/lessons/wishes/fit", route + "/fit", {"risk": 0.3, "shadow": True}).json()
        self.assertEqual(fitted["name"], "wishes")
        self.ask("POST", "/v1/lessons/wishes/promote", route + "/promote", status=400)
        self.ask("POST", "/v1/lessons/wishes/promote", route + "/promote", {"force": True})
        self.ask("POST", "/v1/lessons/wishes/activate", route + "/activate", {"version": 1})
        imported = self.ask("POST", "/v1/lessons?shadow=true", "/v1/lessons", file).json()
        self.assertGreater(imported["version"], fitted["version"])
        self.assertEqual(self.ask("DELETE", "/v1/lessons/wishes/shadow", route + "/shadow").json(),
                         {"name": "wishes", "shadow": None})
        self.ask("DELETE", "/v1/lessons/wishes/shadow", route + "/shadow", status=400)
        self.ask("GET", "/v1/lessons/wishes/health", route + "/health")

    def test_bad_requests(self):
        route = "/v1/lessons/{name}"
        cases = [
            ("POST", "/v1/feedback", "/v1/feedback", {"decision_id": "d-0", "option": "a"}, 404),
            ("POST", "/v1/feedback", "/v1/feedback", {"decision_id": "d-0", "option": "a", "x": 1}, 400),
            ("POST", "/v1/feedback", "/v1/feedback", [], 400),
            ("GET", "/v1/decisions/d-0", "/v1/decisions/{id}", None, 404),
            ("GET", "/v1/decisions/%22", "/v1/decisions/{id}", None, 404),
            ("GET", "/v1/decisions/export?after=x", "/v1/decisions/export", None, 400),
            ("GET", "/v1/decisions/export?limit=-1", "/v1/decisions/export", None, 400),
            ("GET", "/v1/decisions/export?labelled=1", "/v1/decisions/export", None, 400),
            ("GET", "/v1/decisions/export?before=1", "/v1/decisions/export", None, 400),
            ("POST", "/v1/lessons/wishes/fit", route + "/fit", {"method": "svm"}, 400),
            ("POST", "/v1/lessons/wishes/fit", route + "/fit", {"method": "add", "risk": 0.3}, 400),
            ("POST", "/v1/lessons/wishes/fit", route + "/fit", {"without_thresholds": True}, 400),
            ("POST", "/v1/lessons", "/v1/lessons", {"name": "x"}, 400),
            ("POST", "/v1/lessons?shadow=1", "/v1/lessons", {"name": "x"}, 400),
            ("GET", "/v1/lessons/wishes?version=x", route, None, 400),
            ("GET", "/v1/lessons/wishes?version=99", route, None, 404),
            ("GET", "/v1/lessons/UPPER", route, None, 404),
            ("POST", "/v1/lessons/none-such/fit", route + "/fit", {}, 404),
            ("POST", "/v1/lessons/wishes/fit", route + "/fit", {"risk": 1.5}, 400),
            ("POST", "/v1/lessons/wishes/activate", route + "/activate", {"version": 99}, 404),
            ("GET", "/v1/lessons/none-such/health", route + "/health", None, 404)]
        for method, path, documented, body, status in cases:
            with self.subTest(method=method, path=path, body=body):
                self.ask(method, path, documented, body, status)
        for bad in ({"x_lesson": "none-such"}, {"x_lesson": "No!"}, {"x_lesson": "wishes@99"}, {"x_lesson": "wishes@0"}):
            self.ask("POST", "/v1/decide", "/v1/decide", semif("s", **bad), 400)

    def test_the_log_does_not_hold_answers_up(self):
        # No number is promised here; what is not written yet is found all the same.
        ids = [self.decided(f"Message {i}")["x_decision_id"] for i in range(20)]
        for decision in ids:
            self.assertEqual(self.ask("GET", f"/v1/decisions/{decision}", "/v1/decisions/{id}").json()["id"], decision)
        self.assertTrue(all(re.match("^d-[0-9a-f]{32}$", decision) for decision in ids))


def taught(folder, model):
    """A folder of lessons with "wishes" and its rows."""
    lessons = os.path.join(folder, "lessons")
    labelled = os.path.join(folder, "labelled.jsonl")
    with open(labelled, "w", encoding="utf-8") as file:
        for i in range(30):
            row = {"state": f"Message {i}", "expected": OPTIONS[i % 3], "question": QUESTION, "options": OPTIONS}
            file.write(json.dumps(row) + "\n")
    made = harness.run("teach", labelled, "--name", "wishes", "-m", model, "--lessons", lessons, "--zero-shot-rows", "0",
                       "--no-curve", "--keep-rows")
    assert made.returncode == 0, made.stderr
    return lessons


class HiddenStates(unittest.TestCase):
    """A server that keeps hidden states and no texts learns from them, over its end, and forgets them."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="assay-states-")
        self.addCleanup(folder.cleanup)
        self.model = harness.tiny("tiny-attention")
        self.lessons = taught(folder.name, self.model)

    def serve(self, *more):
        return harness.Server(self.model, "--threads", "1", "--no-readout-check", "--chat", "off", "--lessons",
                              self.lessons, "--keep-decisions", "states", *more)

    def call(self, server, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        reply = server.request(method, path, data, JSON if data else {})
        self.assertEqual(reply.status, 200, str(reply))
        return reply.json()

    def labelled(self, server, count):
        ids = [self.call(server, "POST", "/v1/decide", semif(f"Secret {i}"))["x_decision_id"] for i in range(count)]
        self.call(server, "POST", "/v1/feedback",
                  [{"decision_id": decision, "option": OPTIONS[i % 3]} for i, decision in enumerate(ids)])
        return ids

    def engine_rows(self, server):
        return float(re.search(r"^assay_engine_rows_total (\S+)$", server.get("/metrics").body.decode(), re.M)[1])

    def test_a_fit_learns_from_what_was_kept(self):
        server = self.serve()
        ids = self.labelled(server, 6)
        first = self.call(server, "POST", "/v1/lessons/wishes/fit", {})
        self.assertEqual((first["labels"], first["rows_left_out"]), (36, 0))
        self.assertEqual(first["rows_kept"], 6, "those that were answered are there, the file's rows are read once")
        self.assertEqual(first["rows_read"], 33)
        self.assertEqual(server.stop(), 0)
        server = self.serve()
        before = self.engine_rows(server)
        second = self.call(server, "POST", "/v1/lessons/wishes/fit", {})
        self.assertEqual((second["rows_read"], second["rows_kept"]), (0, 39))
        self.assertEqual(self.engine_rows(server), before, "a second fit on the same rows computes nothing")
        one, two = (self.call(server, "GET", f"/v1/lessons/wishes?version={version}") for version in
                    (first["version"], second["version"]))
        self.assertEqual(one["head"], two["head"])
        metrics = server.get("/metrics").body.decode()
        self.assertIn('assay_fit_rows_total{source="kept"} 39', metrics)
        self.assertRegex(metrics, r"assay_hidden_states_bytes [1-9]")
        self.call(server, "DELETE", f"/v1/decisions/{ids[0]}")
        refused = server.request("POST", "/v1/lessons/wishes/fit", b"{}", JSON)
        self.assertEqual(refused.status, 400, str(refused))  # a row less than the version before
        self.assertEqual(server.stop(), 0)
        for name in os.listdir(self.lessons):
            if name.startswith("decisions.sqlite"):
                with open(os.path.join(self.lessons, name), "rb") as file:
                    self.assertNotIn(b"Secret", file.read(), name)

    def test_a_label_more_is_added(self):
        fit = "/v1/lessons/wishes/fit"
        server = self.serve()
        fitted = self.call(server, "POST", fit, {"method": "lda", "risk": 0.3})
        self.labelled(server, 2)
        refused = server.request("POST", fit, b'{"method": "add"}', JSON)
        self.assertEqual((refused.status, refused.json()["field"]), (400, "without_thresholds"))
        self.assertIn("update", refused.json()["error"])
        order = {"method": "add", "without_thresholds": True}
        added = self.call(server, "POST", fit, order)
        self.assertEqual((added["method"], added["version"], added["labels"]), ("add", fitted["version"] + 1, 32))
        self.assertEqual((added["rows_added"], added["thresholds"]), (2, []))
        self.assertEqual(added["calibrated_at_version"], fitted["version"])
        before = self.engine_rows(server)
        again = self.call(server, "POST", fit, order)
        self.assertEqual((again["version"], again["rows_added"], self.engine_rows(server)), (added["version"], 0, before))
        answer = self.call(server, "POST", "/v1/decide", semif("Something else"))["result"]
        self.assertEqual(answer["x_lesson"]["version"], added["version"])
        self.assertNotIn("x_decision", answer)
        self.assertEqual(server.stop(), 0)
        server = self.serve()
        once_more = self.call(server, "POST", "/v1/decide", semif("Something else"))["result"]
        self.assertEqual(once_more["option_logits"], answer["option_logits"])
        self.labelled(server, 11)  # nine states that are new: a quarter more
        whole = self.call(server, "POST", fit, order)
        self.assertEqual((whole["method"], whole["labels"], whole["calibrated_at_version"]),
                         ("update", 41, whole["version"]))
        self.assertEqual([threshold["risk"] for threshold in whole["thresholds"]], [0.3])
        self.assertEqual(server.stop(), 0)

    def test_counts_outlive_the_server(self):
        server = self.serve()
        self.labelled(server, 3)
        before = self.call(server, "GET", "/v1/lessons/wishes/health")
        self.assertEqual(server.stop(), 0)
        server = self.serve("--keep-days", "30", "--promote-by", "labels", "--promote-error", "0.01")
        self.assertEqual(self.call(server, "GET", "/v1/lessons/wishes/health"), before)
        self.assertEqual(before["answers"], 3)
        file = server.get("/v1/lessons/wishes").body
        self.assertEqual(server.request("POST", "/v1/lessons?shadow=true", file, JSON).status, 200)
        shadow = self.call(server, "GET", "/v1/lessons/wishes/health")["shadow"]
        self.assertIn("0.01", shadow["rule"])
        self.assertFalse(shadow["rule_met"])
        self.assertEqual(server.stop(), 0)

    def test_a_container_of_sagemaker_s_has_lessons(self):
        server = sagemaker.Container(sagemaker.tiny_folder("lessons"), "--keep-days", "7", ASSAY_LESSONS=self.lessons,
                                     ASSAY_KEEP_DECISIONS="texts")
        reply = server.request("POST", "/invocations", json.dumps(semif("Money!")).encode(), JSON).json()
        self.assertEqual(reply["result"]["x_lesson"]["name"], "wishes")
        self.call(server, "POST", "/v1/feedback", {"decision_id": reply["x_decision_id"], "option": "refund"})
        kept = self.call(server, "GET", f"/v1/decisions/{reply['x_decision_id']}")
        self.assertEqual(kept["request"]["decision"]["state"], "Money!")
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
