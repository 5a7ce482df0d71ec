"""The x_ fields on System One: abstaining, none of these, option orders, readouts and what is told on request."""

import math
import unittest

import harness
import systemone
from systemone import PATH

STATE = "My card was charged twice for the same order and I want the second payment back."
WISHES = {"refund": "Wants money back", "info": "Asks how something works", "cancel": "Wants to end the contract"}
WISH = systemone.choice(WISHES, "What does the customer want?")
URGENT = systemone.noul("Is it urgent?")
ANGER = systemone.score(["calm", "annoyed", "furious"], "How angry is the customer?")


class Extensions(unittest.TestCase):
    def setUp(self):
        self.server = harness.shared("default")

    def post(self, questions, **more):
        reply = self.server.post(systemone.body(questions, STATE, **more), PATH)
        self.assertEqual(reply.status, 200, str(reply))
        return systemone.strict_json(reply.body)

    def answer(self, question, **more):
        return self.post(question, **more)["answers"]["q"]

    def refused(self, asked, place):
        told = systemone.check_refusal(self, self.server.post(asked, PATH), 422)
        self.assertEqual(systemone.places_of(told), [place])

    def test_every_answer_says_how_it_was_read(self):
        told = self.post({"a": URGENT, "b": WISH, "c": ANGER})
        self.assertIs(told["x_calibrated"], False)
        for answer in told["answers"].values():
            self.assertIn(answer["x_readout"], ("letters", "text"))
            self.assertIn(answer["x_reliability"], ("reliable", "unreliable", "unknown"))

    def test_entropy_is_that_of_the_probabilities(self):
        for question in (WISH, ANGER):
            answer = self.answer(question)
            values = answer["probabilities"].values()
            entropy = -math.fsum(value * math.log(value) for value in values if value > 0)
            self.assertAlmostEqual(answer["x_entropy"], entropy, delta=1e-9)

    def test_readout_is_the_one_asked_for(self):
        answers = {readout: self.answer(WISH, x_readout=readout) for readout in ("letters", "text")}
        for readout, answer in answers.items():
            self.assertEqual(answer["x_readout"], readout)
            systemone.check_answer(self, WISH, answer)
        self.assertNotEqual(answers["letters"]["probabilities"], answers["text"]["probabilities"])

    def test_min_confidence_abstains_below_it_only(self):
        plain = self.answer(WISH)
        for bound in (1, min(1, plain["confidence"] + 1e-6)):
            told = self.answer({**WISH, "x_min_confidence": bound})
            self.assertIsNone(told["choice"])
            self.assertEqual((told["x_abstained"], told["x_reason"]), (True, "abstained"))
            self.assertEqual(told["probabilities"], plain["probabilities"])
            self.assertEqual(told["confidence"], plain["confidence"])
        told = self.answer({**WISH, "x_min_confidence": plain["confidence"]})
        self.assertEqual((told["choice"], told["x_abstained"]), (plain["choice"], False))
        self.assertNotIn("x_reason", told)

    def test_min_confidence_of_noul_and_score(self):
        told = self.answer({**URGENT, "x_min_confidence": 1})
        self.assertIsNone(told["noul"])
        self.assertEqual(told["x_noul"], self.answer(URGENT)["noul"])
        self.assertTrue(0 <= told["x_confidence"] < 1)
        told = self.answer({**ANGER, "x_min_confidence": 1})
        self.assertIsNone(told["score"])
        self.assertEqual(told["x_reason"], "abstained")

    def test_min_confidence_for_all_questions_and_for_one(self):
        told = self.post({"a": WISH, "b": {**WISH, "x_min_confidence": 0}}, x_min_confidence=1)["answers"]
        self.assertIsNone(told["a"]["choice"])
        self.assertIn(told["b"]["choice"], WISHES)

    def test_none_of_these_is_one_more_option_and_not_abstaining(self):
        told = self.answer({**WISH, "x_none_of_these": True})
        self.assertEqual(list(told["probabilities"]), [*WISHES, "none_of_these"])
        self.assertLessEqual(abs(math.fsum(told["probabilities"].values()) - 1), 1e-6)
        self.assertNotIn("x_reason", told)
        sure = self.answer({**WISH, "x_none_of_these": True, "x_min_confidence": 1})
        self.assertEqual(list(sure["probabilities"]), [*WISHES, "none_of_these"])
        self.assertIsNone(sure["choice"])

    def test_none_of_these_can_be_chosen_and_worded(self):
        question = systemone.choice({"red": None, "green": None}, "Which colour does the customer name?",
                                    x_none_of_these="The customer names no colour")
        told = self.answer(question, x_readout="letters", x_explain=True)
        self.assertEqual(list(told["probabilities"]), ["red", "green", "none_of_these"])
        self.assertIn("The customer names no colour", told["x_explain"]["prompt"])

    def test_none_of_these_for_all_touches_the_choices_only(self):
        told = self.post({"a": URGENT, "b": WISH, "c": ANGER}, x_none_of_these=True)["answers"]
        self.assertIn("none_of_these", told["b"]["probabilities"])
        self.assertEqual(list(told["c"]["probabilities"]), ["0", "1", "2"])
        systemone.check_answer(self, URGENT, told["a"])

    def test_permute_is_the_mean_over_orders_with_letters(self):
        plain = self.answer(WISH, x_readout="letters")
        mean = self.answer({**WISH, "x_permute": 3}, x_readout="letters")
        self.assertEqual(mean["x_orders"], 3)
        self.assertNotIn("x_orders", plain)
        self.assertNotEqual(mean["probabilities"], plain["probabilities"])
        systemone.check_answer(self, WISH, mean)
        # Two options have two orders, so the mean over both cannot depend on the one that was sent.
        two = systemone.choice({"refund": None, "info": None}, WISH["instructions"], x_permute=2)
        other = systemone.choice({"info": None, "refund": None}, WISH["instructions"], x_permute=2)
        one, again = (self.answer(question, x_readout="letters")["probabilities"] for question in (two, other))
        for name in one:
            self.assertAlmostEqual(one[name], again[name], delta=1e-9)

    def test_permute_changes_nothing_with_text(self):
        plain = self.answer(WISH, x_readout="text")
        mean = self.answer({**WISH, "x_permute": 3}, x_readout="text")
        for name, value in plain["probabilities"].items():
            self.assertAlmostEqual(mean["probabilities"][name], value, delta=1e-9)

    def test_permute_costs_more_and_the_usage_says_so(self):
        asked = systemone.body(WISH, STATE + " Of usage.", x_readout="letters")
        plain = systemone.ask(self, self.server, asked)["usage"]["input_tokens"]
        mean = systemone.ask(self, self.server, {**asked, "x_permute": 3})["usage"]["input_tokens"]
        self.assertGreater(mean, plain)

    def test_allowed_mass_comes_on_request_with_letters(self):
        self.assertNotIn("x_allowed_mass", self.answer(WISH, x_readout="letters"))
        mass = self.answer(WISH, x_readout="letters", x_allowed_mass=True)["x_allowed_mass"]
        self.assertTrue(0 < mass <= 1, mass)
        self.assertNotIn("x_allowed_mass", self.answer(WISH, x_readout="text", x_allowed_mass=True))

    def test_allowed_mass_moves_probabilities_by_little(self):
        plain, told = (self.answer(WISH, x_readout="letters", x_allowed_mass=wanted) for wanted in (False, True))
        self.assertEqual(told["choice"], plain["choice"])
        for name, value in plain["probabilities"].items():
            self.assertAlmostEqual(told["probabilities"][name], value, delta=0.03)

    def test_allowed_mass_changes_no_bit_without_the_option_head(self):
        flags = ("--threads", "1", "--no-readout-check", "--option-head", "off")
        server = harness.Server(harness.tiny("tiny-attention"), *flags)
        self.addCleanup(server.stop)
        asked = systemone.body(WISH, STATE, x_readout="letters")
        plain, told = (systemone.ask(self, server, {**asked, "x_allowed_mass": wanted})["answers"]["q"]
                       for wanted in (False, True))
        self.assertTrue(0 < told.pop("x_allowed_mass") <= 1)
        self.assertEqual(told, plain)

    def test_a_receipt_comes_on_request(self):
        one, two = (self.post(WISH, x_receipt=True)["x_receipt"] for _ in range(2))
        self.assertEqual(set(one), {"model", "build", "settings", "tokens", "scores"})
        self.assertEqual(one, two)
        self.assertNotIn("x_receipt", self.post(WISH))

    def test_x_calibrated_true_is_answered_or_refused_in_words(self):
        reply = self.server.post(systemone.body(WISH, STATE, x_calibrated=True), PATH)
        if reply.status == 200:
            self.assertIs(type(reply.json()["x_calibrated"]), bool)
        else:
            self.assertEqual(systemone.places_of(systemone.check_refusal(self, reply, 422)), [["x_calibrated"]])

    def test_other_unknown_x_fields_are_nobodys_business(self):
        systemone.ask(self, self.server, systemone.body({**WISH, "x_note": [1]}, STATE, x_customer={"id": 7}))

    def test_wrong_values_are_422_at_their_place(self):
        for field, value in (("x_readout", "logits"), ("x_readout", 1), ("x_permute", 0), ("x_permute", 1.5),
                             ("x_permute", "2"), ("x_min_confidence", 2), ("x_min_confidence", -0.1),
                             ("x_min_confidence", "high"), ("x_none_of_these", 1), ("x_allowed_mass", "yes"),
                             ("x_receipt", 1), ("x_explain", None), ("timeout_ms", 0), ("x_priority", "urgent"),
                             ("x_layout", "sideways")):
            with self.subTest(field=field, value=value):
                self.refused(systemone.body(WISH, STATE, **{field: value}), [field])

    def test_wrong_values_in_a_question_are_422_at_their_place(self):
        for field, value in (("x_permute", 0), ("x_permute", 4), ("x_min_confidence", 2), ("x_none_of_these", 7)):
            with self.subTest(field=field, value=value):
                self.refused(systemone.body({**WISH, field: value}, STATE), ["questions", "q", "choice", field])
        self.refused(systemone.body({**ANGER, "x_none_of_these": True}, STATE),
                     ["questions", "q", "score", "x_none_of_these"])
        for field, value in (("x_readout", "letters"), ("x_calibrated", True), ("x_timeout_ms", 5)):  # of requests
            self.refused(systemone.body({**WISH, field: value}, STATE), ["questions", "q", "choice", field])
        taken = systemone.choice(["a", "none_of_these"], x_none_of_these=True)
        self.refused(systemone.body(taken, STATE), ["questions", "q", "choice", "x_none_of_these"])

    def test_a_deadline_in_body_or_header(self):
        asked = systemone.body(WISH, "A story that nobody told before. " * 300, timeout_ms=1)
        reply = self.server.post(asked, PATH)
        self.assertIn(reply.status, (429, 504), str(reply))
        told = systemone.check_refusal(self, reply, reply.status)
        self.assertEqual("retry-after" in reply.headers, reply.status == 429)
        self.assertTrue(told["detail"]["error_type"])

    def test_hidden_state_and_explanation_come_on_request(self):
        answer = self.answer(WISH, x_hidden_state=True, x_explain=True)
        self.assertGreater(len(answer["x_hidden_state"]), 1)
        self.assertIn(STATE, answer["x_explain"]["prompt"])
        self.assertEqual(len(answer["x_explain"]["options"]), 3)


class OtherSettings(unittest.TestCase):
    def test_round_2_looks_like_jev(self):
        server = harness.Server(harness.tiny("tiny-attention"), "--threads", "1", "--no-readout-check", "--round", "2")
        self.addCleanup(server.stop)
        asked = systemone.body({"a": URGENT, "b": systemone.g6(64)["questions"]["where"], "c": ANGER}, STATE)
        reply = server.post(asked, PATH)
        self.assertEqual(reply.status, 200, str(reply))
        answers = systemone.strict_json(reply.body)["answers"]
        shown = [answers["a"]["noul"], answers["b"]["confidence"], answers["c"]["score"], answers["c"]["confidence"]]
        shown += [*answers["b"]["probabilities"].values(), *answers["c"]["probabilities"].values()]
        for number in shown:
            self.assertEqual(number, round(number, 2))
        for name in ("b", "c"):
            values = list(answers[name]["probabilities"].values())
            self.assertLessEqual(abs(math.fsum(values) - 1), 0.02, "what strict consumers take")
        full = systemone.ask(self, harness.shared("attention"), asked)["answers"]
        self.assertAlmostEqual(answers["c"]["score"], full["c"]["score"], delta=0.005 + 1e-9)
        self.assertAlmostEqual(answers["a"]["noul"], full["a"]["noul"], delta=0.005 + 1e-9)

    def test_more_options_where_the_server_allows_them(self):
        flags = ("--threads", "1", "--no-readout-check", "--max-options", "1024")
        server = harness.Server(harness.tiny("tiny-attention"), *flags)
        self.addCleanup(server.stop)
        for count in (256, 589, 1024):
            with self.subTest(options=count):
                asked = systemone.g6(count)
                asked["questions"]["where"]["criteria"] = {f"{n * 7919 % 100003:06d}": None for n in range(count)}
                systemone.ask(self, server, {**asked, "x_readout": "text"})
        told = systemone.check_refusal(self, server.post(systemone.g6(1025), PATH), 400)
        self.assertIn("1024", told["detail"]["message"])
