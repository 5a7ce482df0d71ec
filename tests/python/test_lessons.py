"""Feedback, kept decisions and lessons."""

import unittest

import httpx
from support import CHOICE, Script, assay, both, error, reply, sent

TAUGHT = {**CHOICE, "x_calibrated": True, "x_decision": "escalate", "x_threshold": 0.75, "x_risk": 0.05,
          "x_fallback": "a", "x_lesson": {"name": "refunds", "version": 2, "sha256": "ab", "taught": True}}


def asked(request):
    return request.method, request.url.path, dict(request.url.params)


@both
class Answers:
    def test_an_answer_says_what_a_lesson_did(self):
        script = Script(reply({"q": TAUGHT}, x_decision_id="d-1"))
        answer = self.run_with(script, lambda client: client.decide("s", "?", ["a", "b"], lesson="refunds",
                                                                    calibrated=True))
        self.assertEqual((sent(script.requests[0])["x_lesson"], sent(script.requests[0])["x_calibrated"]),
                         ("refunds", True))
        self.assertEqual((answer.calibrated, answer.action, answer.threshold, answer.risk, answer.fallback),
                         (True, "escalate", 0.75, 0.05, "a"))
        self.assertEqual((answer.lesson.name, answer.lesson.version, answer.lesson.taught), ("refunds", 2, True))
        self.assertEqual((answer.decision_id, answer.question_id), ("d-1", "q"))

    def test_without_lessons_there_is_nothing(self):
        questions = {"q": assay.Choice("?", ["a"])}
        out = self.run_with(Script(reply({"q": CHOICE})), lambda client: client.ask("s", questions))
        answer = out.decision("q")
        self.assertEqual((out.decision_id, answer.decision_id, answer.lesson, answer.action, answer.calibrated),
                         (None, None, None, None, False))


@both
class Feedback:
    def test_an_answer_knows_its_decision_and_question(self):
        script = Script(reply({"q": CHOICE}, x_decision_id="d-1"))
        answer = self.run_with(script, lambda client: client.decide("s", "?", ["a", "b"]))
        script = Script(httpx.Response(200, json={"decision_id": "d-1", "result": "stored"}))
        result = self.run_with(script, lambda client: client.feedback(answer, "a", note="by phone"))
        self.assertEqual(result, "stored")
        self.assertEqual(asked(script.requests[0]), ("POST", "/v1/feedback", {}))
        self.assertEqual(sent(script.requests[0]),
                         {"decision_id": "d-1", "question_id": "q", "option": "a", "note": "by phone"})

    def test_options_are_said_as_the_server_knows_them(self):
        for option, text in ((True, "true"), (False, "false"), (2, "2"), ("a", "a")):
            script = Script(httpx.Response(200, json={"result": "known"}))
            self.assertEqual(self.run_with(script, lambda client: client.feedback("d-1", option)), "known")
            self.assertEqual(sent(script.requests[0]), {"decision_id": "d-1", "option": text})

    def test_many_are_one_request(self):
        counts = {"results": [], "stored": 2, "known": 0, "corrected": 0, "refused": 0}
        script = Script(httpx.Response(200, json=counts))
        out = self.run_with(script, lambda client: client.feedback_all(
            [{"decision": "d-1", "option": "a"}, {"decision": "d-2", "option": True, "question_id": "x", "note": "n"}]))
        self.assertEqual(out, counts)
        self.assertEqual(sent(script.requests[0]),
                         [{"decision_id": "d-1", "option": "a"},
                          {"decision_id": "d-2", "option": "true", "question_id": "x", "note": "n"}])

    def test_a_lost_reply_is_asked_for_again(self):
        script = Script(httpx.ReadError("gone"), httpx.Response(200, json={"result": "known"}))
        self.assertEqual(self.run_with(script, lambda client: client.feedback("d-1", "a")), "known")

    def test_what_was_not_kept_cannot_be_labelled(self):
        answer = self.run_with(Script(reply({"q": CHOICE})), lambda client: client.decide("s", "?", ["a", "b"]))
        with self.assertRaises(ValueError):
            self.run_with(Script(), lambda client: client.feedback(answer, "a"))
        with self.assertRaises(assay.NotFound):
            self.run_with(Script(error(404)), lambda client: client.feedback("d-2", "a"))

    def test_kept_and_forgotten(self):
        script = Script(httpx.Response(200, json={"id": "d/1"}))
        self.assertEqual(self.run_with(script, lambda client: client.kept("d/1")), {"id": "d/1"})
        self.assertEqual(script.requests[0].url.raw_path, b"/v1/decisions/d%2F1")
        script = Script(httpx.Response(200, json={"id": "d-1", "forgotten": True}))
        self.assertIsNone(self.run_with(script, lambda client: client.forget("d-1")))
        self.assertEqual(asked(script.requests[0]), ("DELETE", "/v1/decisions/d-1", {}))


@both
class Lessons:
    def test_each_call_is_its_route(self):
        cases = [
            (lambda lessons: lessons.list(), "GET", "/v1/lessons", {}, None),
            (lambda lessons: lessons.export("refunds"), "GET", "/v1/lessons/refunds", {}, None),
            (lambda lessons: lessons.export("refunds", 2), "GET", "/v1/lessons/refunds", {"version": "2"}, None),
            (lambda lessons: lessons.load({"name": "refunds"}, shadow=True), "POST", "/v1/lessons", {"shadow": "true"},
             {"name": "refunds"}),
            (lambda lessons: lessons.load(b'{"name": "x"}'), "POST", "/v1/lessons", {}, {"name": "x"}),
            (lambda lessons: lessons.fit("refunds"), "POST", "/v1/lessons/refunds/fit", {}, {}),
            (lambda lessons: lessons.fit("refunds", risk=0.05, level=0.9, method="lda", shadow=True), "POST",
             "/v1/lessons/refunds/fit", {}, {"risk": 0.05, "level": 0.9, "method": "lda", "shadow": True}),
            (lambda lessons: lessons.fit("refunds", method="add", without_thresholds=True), "POST",
             "/v1/lessons/refunds/fit", {}, {"method": "add", "without_thresholds": True}),
            (lambda lessons: lessons.activate("refunds", 1), "POST", "/v1/lessons/refunds/activate", {},
             {"version": 1}),
            (lambda lessons: lessons.promote("refunds"), "POST", "/v1/lessons/refunds/promote", {}, {"force": False}),
            (lambda lessons: lessons.drop_shadow("refunds"), "DELETE", "/v1/lessons/refunds/shadow", {}, None),
            (lambda lessons: lessons.health("refunds"), "GET", "/v1/lessons/refunds/health", {}, None),
        ]
        for use, method, path, query, body in cases:
            with self.subTest(path=path):
                script = Script(httpx.Response(200, json={"name": "refunds"}))
                self.assertEqual(self.run_with(script, lambda client: use(client.lessons)), {"name": "refunds"})
                self.assertEqual(asked(script.requests[0]), (method, path, query))
                if body is None:
                    self.assertEqual(script.requests[0].content, b"")
                else:
                    self.assertEqual(sent(script.requests[0]), body)

    def test_a_fit_is_not_begun_twice(self):
        script = Script(httpx.ReadError("gone"), httpx.Response(200, json={}))
        with self.assertRaises(assay.ConnectionFailed):
            self.run_with(script, lambda client: client.lessons.fit("refunds"))
        self.assertEqual(len(script.requests), 1)


if __name__ == "__main__":
    unittest.main()
