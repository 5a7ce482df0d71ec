"""What becomes of replies."""

import math
import unittest

import httpx
from support import CHOICE, NOUL, SCORE, Script, answer_all, assay, both, reply, reply_body, sent

QUESTIONS = {"n": assay.YesNo("?"), "c": assay.Choice("?", ["a", "b"]), "s": assay.Score("?", ["low", "mid", "high"])}


@both
class Answers:
    def test_a_decision_has_all_that_was_promised(self):
        answer = self.run_with(Script(answer_all), lambda client: client.decide("s", "?", ["a", "b"]))
        self.assertIsInstance(answer, assay.Decision)
        self.assertEqual((answer.choice, answer.best, answer.probability, answer.confidence, answer.abstained),
                         ("b", "b", 0.75, 0.5, False))
        self.assertEqual(list(answer.probabilities.items()), [("a", 0.25), ("b", 0.75)])

    def test_yes_no_is_a_probability(self):
        self.assertEqual(self.run_with(Script(answer_all), lambda client: client.yes_no("s", "?")), 0.75)

    def test_a_score_has_whole_numbers_for_levels(self):
        answer = self.run_with(Script(answer_all), lambda client: client.score("s", "?", ["low", "mid", "high"]))
        self.assertEqual((answer.score, float(answer), answer.best, answer.probability, answer.share),
                         (1.25, 1.25, 2, 0.5, 0.625))
        self.assertEqual(answer.legend, {0: "low", 1: "mid", 2: "high"})
        self.assertEqual(answer.probabilities, {0: 0.25, 1: 0.25, 2: 0.5})

    def test_many_answers_are_a_mapping_in_request_order(self):
        out = self.run_with(Script(lambda request: answer_all(request, x_calibrated=False, x_receipt={"model": "ab"})),
                            lambda client: client.ask("s", QUESTIONS, receipt=True))
        self.assertEqual(list(out), ["n", "c", "s"])
        self.assertEqual(len(out), 3)
        self.assertTrue(out.yes_no("n").yes)
        self.assertEqual((out.decision("c").choice, out.score("s").score), ("b", 1.25))
        with self.assertRaises(TypeError):
            out.decision("n")
        self.assertEqual((out.model, out.usage.input_tokens, out.request_id), ("m-1", 7, "r-1"))
        self.assertEqual((out.receipt, out.calibrated), ({"model": "ab"}, False))

    def test_an_answer_that_abstained_still_tells_its_numbers(self):
        abstained = {"x_abstained": True, "x_reason": "abstained", "x_readout": "text", "x_allowed_mass": 0.5}
        answers = {"n": {"type": "noul", "noul": None, "x_confidence": 0.25, "x_noul": 0.625, **abstained},
                   "c": {**CHOICE, "choice": None, **abstained}, "s": {**SCORE, "score": None, **abstained}}
        out = self.run_with(Script(reply(answers)), lambda client: client.ask("s", QUESTIONS))
        for answer in out.values():
            self.assertTrue(answer.abstained)
            self.assertEqual((answer.readout, answer.allowed_mass), ("text", 0.5))
            self.assertEqual(answer.model_extra["x_reason"], "abstained")
        self.assertTrue(math.isnan(float(out.yes_no("n"))))
        self.assertEqual(out.yes_no("n").probability, 0.625)
        self.assertFalse(out.yes_no("n").yes)
        self.assertEqual(out.yes_no("n").confidence, 0.25)
        self.assertEqual((out.decision("c").choice, out.decision("c").best, str(out["c"])), (None, "b", "abstained"))
        self.assertTrue(math.isnan(float(out.score("s"))))

    def test_every_digit_survives(self):
        numbers = [0.1, 1 / 3, 5e-324, 0.983984727987858, 1 - 2 ** -53]
        for number in numbers:
            answer = {"type": "choice", "choice": "a", "probabilities": {"a": number}, "confidence": number}
            out = self.run_with(Script(reply({"q": answer})), lambda client: client.decide("s", "?", ["a"]))
            self.assertEqual((out.probabilities["a"], out.confidence), (number, number))

    def test_what_is_no_reply_is_told_as_such(self):
        wrong = [
            httpx.Response(200, text="<html>", headers={"x-request-id": "r-9"}),
            httpx.Response(200, json=[]),
            httpx.Response(200, json=reply_body({"q": {"type": "novel", "noul": 1}})),
            httpx.Response(200, json=reply_body({"q": {"type": "noul", "noul": "much"}})),
            httpx.Response(200, json=reply_body({"other": NOUL})),
        ]
        for step in wrong:
            with self.assertRaises(assay.InvalidReply):
                self.run_with(Script(step), lambda client: client.yes_no("s", "?"))

    def test_models_and_health(self):
        models = {"models": [{"name": "m-1", "description": "d", "release_date": "2026-11-01"}], "data": []}
        out = self.run_with(Script(httpx.Response(200, json=models)), lambda client: client.models())
        self.assertEqual([(model.name, model.description) for model in out], [("m-1", "d")])
        out = self.run_with(Script(httpx.Response(200, json={"status": "ok"})), lambda client: client.health())
        self.assertEqual(out, {"status": "ok"})
        with self.assertRaises(assay.Overloaded):  # loading: told at once, not waited for
            self.run_with(Script(httpx.Response(503, json={})), lambda client: client.health())
        self.assertEqual(self.waits, [])


@both
class Maps:
    def test_results_are_in_the_order_of_the_states(self):
        def handler(request):
            return reply({"q": {"type": "noul", "noul": sent(request)["state"]["i"] / 100}})

        states = [{"i": i} for i in range(57)]
        out = self.run_with(handler, lambda client: client.map(states, assay.YesNo("?"), concurrency=5))
        self.assertEqual([answer.probability for answer in out], [i / 100 for i in range(57)])

    def test_a_dict_of_questions_gives_replies(self):
        out = self.run_with(answer_all, lambda client: client.map(["x", "y"], QUESTIONS))
        self.assertEqual([list(one) for one in out], [["n", "c", "s"]] * 2)

    def test_no_states_are_no_results(self):
        self.assertEqual(self.run_with(answer_all, lambda client: client.map([], QUESTIONS)), [])

    def test_errors_take_the_place_of_their_answers(self):
        def handler(request):
            if b'"bad"' in request.content:
                return httpx.Response(422, json={"error": "no", "code": "invalid_argument"})
            return answer_all(request)

        out = self.run_with(handler, lambda client: client.map(["a", "bad", "b"], assay.YesNo("?"), errors="return"))
        self.assertEqual([type(one) for one in out], [assay.YesNoAnswer, assay.BadRequest, assay.YesNoAnswer])

    def test_an_error_ends_the_rest(self):
        seen = []

        def handler(request):
            seen.append(request)
            return httpx.Response(422, json={"error": "no"}) if len(seen) == 3 else answer_all(request)

        with self.assertRaises(assay.BadRequest):
            self.run_with(handler, lambda client: client.map(["a"] * 1000, assay.YesNo("?"), concurrency=2))
        self.assertLess(len(seen), 100)

    def test_the_callers_mistake_is_raised_in_either_mode(self):
        with self.assertRaises(ValueError):
            self.run_with(answer_all, lambda client: client.map(["a", float("nan")], assay.YesNo("?"), errors="return"))
        for use in (lambda client: client.map("abc", assay.YesNo("?")),
                    lambda client: client.map({"a": 1}, assay.YesNo("?"))):
            with self.assertRaises(TypeError):
                self.run_with(answer_all, use)
        for more in ({"concurrency": 0}, {"errors": "ignore"}):
            with self.assertRaises(ValueError):
                self.run_with(answer_all, lambda client, more=more: client.map(["a"], assay.YesNo("?"), **more))


if __name__ == "__main__":
    unittest.main()
