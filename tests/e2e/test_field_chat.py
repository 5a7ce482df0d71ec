"""Field cases where chat and decisions meet: drafters (8), mixed load (40, 41, 43), and what is too long for one or the
other (53, 55, 56). The numbers are those of the list of field cases; test_field_cases.py has the others."""

import concurrent.futures
import json
import math
import re
import unittest

import harness
from test_field_cases import BODIES, PATHS, STATE, WISHES, probabilities, text_of

FLAGS = ("--threads", "1", "--no-readout-check")
HELLO = [{"role": "user", "content": "Say hello."}]


def decided(server, path, body):
    reply = server.post(body, path)
    assert reply.status == 200, f"{path} {reply}"
    return probabilities(path, reply.json())


def all_decided(server, state=STATE):
    return {(path, readout): decided(server, path, BODIES[path](WISHES, state, x_readout=readout))
            for path in PATHS for readout in ("letters", "text")}


class Drafters(unittest.TestCase):
    """Decisions have nothing to draft: with every kind of drafter they are what they are without."""

    def check(self, model, flags):
        plain = harness.tiny_server(model)
        try:
            expected = all_decided(plain)
        finally:
            plain.stop()
        server = harness.Server(harness.tiny(model), *FLAGS, *flags)
        try:
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                chat = pool.submit(server.post, {"messages": HELLO, "max_tokens": 48, "temperature": 0, "ignore_eos": True,
                                                 "logprobs": True}, "/v1/chat/completions")
                self.assertEqual(all_decided(server), expected)
                reply = chat.result()
            self.assertEqual(reply.status, 200, str(reply))
            self.assertEqual(all_decided(server), expected)
            told = server.post(BODIES["/v1/systemone"](WISHES, x_explain=True), "/v1/systemone").json()
            for option in told["answers"]["q"]["x_explain"]["options"]:
                self.assertLess(option["log_prob"], 0)
        finally:
            self.assertEqual(server.stop(), 0)

    def test_t08_decisions_ignore_a_drafting_model(self):
        self.check("tiny-attention", ("--spec-type", "draft-simple", "--model-draft", harness.tiny("tiny-attention"),
                                      "--spec-draft-n-max", "8"))

    def test_t08_decisions_ignore_drafts_out_of_the_text(self):
        self.check("tiny-attention", ("--spec-type", "ngram-simple"))

    def test_t08_decisions_ignore_drafts_with_recurrent_layers(self):
        self.check("tiny-hybrid", ("--spec-type", "ngram-simple"))


class MixedLoad(unittest.TestCase):
    """Chats, with and without log-probabilities, streamed and whole, beside decisions on all wires."""

    def chats(self, n):
        base = {"messages": [{"role": "system", "content": f"You serve tenant {n}."}, *HELLO], "max_tokens": 12,
                "temperature": 0, "ignore_eos": True}
        kinds = ({}, {"logprobs": True, "top_logprobs": 3}, {"stream": True}, {"stream": True, "logprobs": True})
        return "/v1/chat/completions", {**base, **kinds[n % len(kinds)]}

    def completion(self, n):
        return "/completion", {"prompt": f"Tenant {n}, one, two,", "n_predict": 8, "temperature": 0, "ignore_eos": True,
                               "n_probs": 2 * (n % 2)}

    def check_chat(self, asked, reply):
        path, body = asked
        self.assertEqual(reply.status, 200, f"{body} {reply}")
        self.assertNotIn(b"NaN", reply.body)
        if body.get("stream"):
            self.assertIn(b"data: [DONE]", reply.body)
            return
        told = reply.json()
        if path == "/completion":
            self.assertEqual(told["tokens_predicted"], 8)
            self.assertTrue(told["prompt"].endswith(body["prompt"]), "another one's prompt")
            return
        choice = told["choices"][0]
        self.assertEqual(told["usage"]["completion_tokens"], 12)
        if body.get("logprobs"):
            self.assertEqual(len(choice["logprobs"]["content"]), 12)
            for token in choice["logprobs"]["content"]:
                self.assertTrue(math.isfinite(token["logprob"]) and token["logprob"] <= 0, token)

    def check(self, model):
        server = harness.tiny_server(model)
        try:
            decisions = [(path, BODIES[path](WISHES, f"Tenant {n}. {STATE}", x_readout=("letters", "text")[n % 2]))
                         for path in PATHS for n in range(6)]
            alone = [decided(server, *asked) for asked in decisions]
            chats = [asked for n in range(12) for asked in (self.chats(n), self.completion(n))]
            mixed = [asked for pair in zip(decisions, chats) for asked in pair] * 2
            with concurrent.futures.ThreadPoolExecutor(12) as pool:
                replies = list(pool.map(lambda asked: server.post(asked[1], asked[0]), mixed))
            for i, (asked, reply) in enumerate(zip(mixed, replies)):
                if i % 2 == 1:
                    self.check_chat(asked, reply)
                    continue
                self.assertEqual(reply.status, 200, str(reply))
                self.assertEqual(probabilities(asked[0], reply.json()), alone[i // 2 % len(alone)], asked)
            self.assertTrue(server.is_alive())
        finally:
            self.assertEqual(server.stop(), 0)

    def test_t43_chats_and_decisions_at_once(self):
        self.check("tiny-attention")

    def test_t43_chats_and_decisions_at_once_with_recurrent_layers(self):
        self.check("tiny-hybrid")


class TooLong(unittest.TestCase):
    """A context of 512 tokens, two slots for chat: decisions have all of it, chats what their slot has."""

    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server(harness.tiny("tiny-attention"), *FLAGS, "-c", "512", "--parallel", "2")
        cls.limits = cls.server.get("/health").json()["limits"]

    @classmethod
    def tearDownClass(cls):
        if cls.server.stop() != 0:
            raise AssertionError("it did not end well")

    def test_t56_health_tells_what_one_request_may_have(self):
        self.assertEqual(self.limits["context_tokens"], 512)
        slots = self.server.get("/slots").json()
        self.assertEqual([slot["n_ctx"] for slot in slots], [self.limits["chat_context_tokens"]] * 2)

    def test_t56_a_decision_has_all_of_it_also_beside_others(self):
        def ask(words):
            return self.server.post(harness.body(["a", "b"], "letters", state="word" + " word" * words))

        room = 512 - ask(10).json()["result"]["input_tokens"]
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            for reply in pool.map(ask, [10 + room] * 12):
                self.assertEqual(reply.status, 200, str(reply))
                self.assertEqual(reply.json()["result"]["input_tokens"], 512)
        self.assertEqual(ask(11 + room).status, 400)

    def test_t53_a_decision_that_is_too_long_has_both_counts_on_every_wire(self):
        for path in PATHS:
            for readout in ("letters", "text"):
                with self.subTest(path=path, readout=readout):
                    reply = self.server.post(BODIES[path](WISHES, "ANANAS-7734 " + "word " * 700, x_readout=readout), path)
                    self.assertEqual(reply.status, 413 if path == "/v1/systemone" else 400, str(reply))
                    counts = [int(count) for count in re.findall(r"\d+", text_of(path, reply.json()))]
                    self.assertIn(512, counts)
                    self.assertTrue(any(count > 700 for count in counts), counts)

    def test_t55_a_long_question_option_or_list_is_refused_too(self):
        long = "word " * 700
        for asked in (harness.body(["a", "b"], question=long), harness.body([("a", long), "b"]),
                      harness.body(["a", "b" + long[:3500]], "text"),
                      {"decisions": [harness.decision(["a", "b"]), dict(harness.decision(["a", "b"], question=long), id="2")]}):
            reply = self.server.post(asked)
            self.assertEqual((reply.status, reply.json()["code"]), (400, "too_long"), str(reply))
            self.assertIn("512", reply.json()["error"])

    def test_t53_a_chat_that_is_too_long_is_refused_with_both_counts_and_never_cut(self):
        long = "ANANAS-7734 " + "word " * 700
        messages = [{"role": "user", "content": long}]
        for path, body in (("/v1/chat/completions", {"messages": messages, "max_tokens": 4}),
                           ("/v1/chat/completions", {"messages": messages, "max_tokens": 4, "stream": True}),
                           ("/v1/completions", {"prompt": long, "max_tokens": 4}),
                           ("/completion", {"prompt": long, "n_predict": 4}),
                           ("/v1/responses", {"input": long, "max_output_tokens": 4}),
                           ("/v1/messages", {"model": "x", "max_tokens": 4, "messages": messages})):
            with self.subTest(path=path, stream=body.get("stream")):
                reply = self.server.post(body, path)
                self.assertEqual(reply.status, 400, str(reply))
                counts = [int(count) for count in re.findall(r"\d+", json.dumps(reply.json()["error"]))]
                self.assertIn(self.limits["chat_context_tokens"], counts)
                self.assertTrue(any(count > 700 for count in counts), counts)
        self.assertTrue(self.server.is_alive())
        reply = self.server.post({"messages": HELLO, "max_tokens": 4}, "/v1/chat/completions")
        self.assertEqual(reply.status, 200, str(reply))

    def test_t53_commands_say_both_counts_too(self):
        done = harness.run("decide", *harness.tiny_flags(), "--context-tokens", "512", "--state", "word " * 700,
                           "--question", "Which?", "--option", "a", "--option", "b")
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertRegex(done.stderr, r"\b7\d\d\b")
        self.assertRegex(done.stderr, r"\b512\b")


if __name__ == "__main__":
    unittest.main()
