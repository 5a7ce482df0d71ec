"""Over-long input is refused with both numbers and never cut (cases 53, 55, 56, T35)."""

import re
import unittest

import harness

LETTERS = ["refund", "info"]


class Limits(unittest.TestCase):
    def test_case_53_too_long_is_refused_with_both_counts(self):
        server = harness.shared("strict")
        limit = server.get("/health").json()["limits"]["context_tokens"]
        self.assertEqual(limit, 600)
        for readout in ("letters", "text"):
            reply = server.post(harness.body(LETTERS, readout, state="ANANAS-7734 " + "word " * 900))
            self.assertEqual((reply.status, reply.json()["code"]), (400, "too_long"), str(reply))
            counts = [int(number) for number in re.findall(r"\d+", reply.json()["error"])]
            self.assertIn(limit, counts)
            self.assertTrue(any(count > 900 for count in counts), reply.json())
            self.assertTrue(server.is_alive())

    def test_case_53_far_too_long_is_refused_quickly(self):
        server = harness.shared("default")
        limit = server.get("/health").json()["limits"]["context_tokens"]
        began = harness.time.monotonic()
        reply = server.post(harness.body(LETTERS, state="word " * 200_000))
        self.assertEqual((reply.status, reply.json()["code"]), (400, "too_long"), str(reply))
        self.assertIn(str(limit), reply.json()["error"])
        self.assertLess(harness.time.monotonic() - began, 10)

    def test_case_53_what_cannot_fit_is_not_even_tokenised(self):
        server = harness.shared("default")

        def peak_bytes():
            with open(f"/proc/{server.process.pid}/status", encoding="utf-8") as file:
                return int(re.search(r"VmHWM:\s+(\d+) kB", file.read()).group(1)) << 10

        before = peak_bytes()
        began = harness.time.monotonic()
        for readout in ("letters", "text"):
            told = server.post(harness.body(LETTERS, readout, state="a" * 20_000_000)).json()
            self.assertEqual((told["code"], told["field"]), ("too_long", "decision.state"), told)
            self.assertRegex(told["error"], r"at least \d+ tokens; the context window's limit is 8192 ")
        self.assertLess(harness.time.monotonic() - began, 8)
        self.assertLess(peak_bytes() - before, 300 << 20)

    def test_case_55_a_long_state_is_read_from_its_beginning(self):
        server = harness.shared("default")
        state = "ANANAS-7734 is the code of this file. " + "The weather was mild and nothing happened. " * 60
        for readout in ("letters", "text"):
            result = server.decide(self, harness.body(LETTERS, readout, explain=True, state=state))
            self.assertIn(state.strip(), result["x_explain"]["prompt"])
            self.assertEqual(len(result["x_explain"]["token_ids"]), result["input_tokens"])
            self.assertGreater(result["input_tokens"], 500)

    def test_case_56_a_request_may_have_all_of_the_limit(self):
        server = harness.shared("strict")
        limit = server.get("/health").json()["limits"]["context_tokens"]

        def ask(words):
            return server.post(harness.body(LETTERS, "letters", state="word" + " word" * words))

        base = ask(10).json()["result"]["input_tokens"]
        fits = ask(10 + limit - base)
        self.assertEqual(fits.status, 200, str(fits))
        self.assertEqual(fits.json()["result"]["input_tokens"], limit)
        too_long = ask(11 + limit - base)
        self.assertEqual(too_long.status, 400, str(too_long))
        self.assertIn(str(limit + 1), too_long.json()["error"])
        shared = server.post({"decisions": [harness.decision(LETTERS)]})
        self.assertEqual(shared.json()["timing"]["max_request_tokens"], limit)

    def test_case_53_what_is_too_long_is_named(self):
        server = harness.shared("strict")
        long = "word " * 900
        for body, place in ((harness.body(LETTERS, state=long), "state"), (harness.body(LETTERS, question=long), "question"),
                            (harness.body(["a", ("b", long)]), "options[1].description")):
            for readout in ("letters", "text"):
                with self.subTest(place=place, readout=readout):
                    told = server.post(dict(body, x_readout=readout)).json()
                    self.assertEqual((told["code"], told["field"]), ("too_long", "decision." + place), told)
        criteria = {"a": None, "b": long}
        told = server.post({"model": "jev-latest", "state": "x", "questions": {"q": {"type": "choice", "criteria": criteria}}},
                           path="/v1/systemone").json()
        self.assertTrue(told["detail"]["message"].startswith("questions.q.choice.criteria.b: "), told)

    def test_orders_of_options_count_as_questions(self):
        server = harness.shared("attention")
        decisions = [dict(harness.decision([str(i) for i in range(20)]), id=f"d{i}") for i in range(21)]
        told = server.post({"decisions": decisions, "x_permute": 20, "x_readout": "letters"})
        self.assertEqual((told.status, told.json()["field"]), (400, "decisions[0].x_permute"), str(told))
        self.assertIn("420", told.json()["error"])
        fits = server.post({"decisions": decisions[:2], "x_permute": 20, "x_readout": "letters"})
        self.assertEqual(fits.json()["results"][0]["x_orders"], 20, str(fits))
