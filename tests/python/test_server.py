"""Both clients against the built program on the default model."""

import asyncio
import os
import pathlib
import unittest

from support import ROOT, assay

MODEL = os.environ.get("ASSAY_MODEL") or os.path.join(ROOT, "models", "SmolLM2-135M-Instruct.Q4_1.gguf")
CHECK_DIR = os.path.join(ROOT, "build", "e2e", "check")
THREADS = os.environ.get("ASSAY_E2E_THREADS") or "0"
TICKET = "I was charged twice for the same order and I want the second payment back."
WISH = assay.Choice("What does the customer want?", {"refund": "Wants money back", "info": "Asks how something works",
                                                     "cancel": "Wants to end the contract"})
QUESTIONS = {"wish": WISH, "angry": assay.YesNo("Is the customer angry?"),
             "urgency 🎯": assay.Score("How urgent is it?", ["can wait", "today", "at once"])}


class AgainstTheProgram(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            assay.binary()
        except FileNotFoundError as missing:
            raise unittest.SkipTest(str(missing)) from missing
        if not os.path.exists(MODEL):
            raise unittest.SkipTest("no default model: run tools/setup, or set ASSAY_MODEL")
        os.makedirs(CHECK_DIR, exist_ok=True)
        cls.server = assay.Server(MODEL, "--threads", THREADS, "--check-dir", CHECK_DIR, api_key="a key")

    @classmethod
    def tearDownClass(cls):
        code = cls.server.stop()
        assert code == 0, f"the server ended with {code}"

    def test_a_decision(self):
        answer = self.server.client.decide(TICKET, WISH.question, WISH.options)
        self.assertEqual((answer.choice, list(answer.probabilities)), ("refund", ["refund", "info", "cancel"]))
        self.assertAlmostEqual(sum(answer.probabilities.values()), 1, delta=1e-9)
        self.assertEqual(answer.probability, answer.probabilities["refund"])
        self.assertAlmostEqual(answer.confidence, (3 * answer.probability - 1) / 2, delta=1e-9)

    def test_many_questions_and_the_same_bits_as_a_stream(self):
        reply = self.server.client.ask(TICKET, QUESTIONS)
        self.assertEqual(list(reply), list(QUESTIONS))
        self.assertGreater(reply.usage.input_tokens, 0)
        self.assertTrue(reply.request_id)
        score = reply.score("urgency 🎯")
        self.assertAlmostEqual(float(score), sum(i * p for i, p in score.probabilities.items()), delta=1e-6)
        streamed = dict(self.server.client.stream(TICKET, QUESTIONS))
        self.assertEqual(set(streamed), set(QUESTIONS))
        for name, answer in streamed.items():
            self.assertEqual(answer.probabilities, reply[name].probabilities, name)

    def test_map_gives_what_one_by_one_gives(self):
        states = [TICKET, "How do I change my address?", "I want to end my contract."] * 4
        answers = self.server.client.map(states, WISH, concurrency=6)
        for state, answer in zip(states[:3], answers[:3]):
            self.assertEqual(answer.probabilities, self.server.client.decide(state, WISH.question, WISH.options)
                             .probabilities)
        self.assertEqual([answer.probabilities for answer in answers[:3]] * 4,
                         [answer.probabilities for answer in answers])

    def test_the_async_client_has_the_same_numbers(self):
        async def go():
            async with self.server.new_async_client() as client:
                one, many = await asyncio.gather(client.yes_no(TICKET, "Is the customer angry?"),
                                                 client.map([TICKET] * 3, QUESTIONS["angry"]))
                told = [name async for name, _ in client.stream(TICKET, QUESTIONS)]
                return one, many, told

        one, many, told = asyncio.run(go())
        self.assertEqual([answer.probability for answer in many], [one] * 3)
        self.assertEqual(sorted(told), sorted(QUESTIONS))
        self.assertEqual(one, self.server.client.yes_no(TICKET, "Is the customer angry?"))

    def test_abstaining(self):
        answer = self.server.client.decide(TICKET, WISH.question, WISH.options, min_confidence=1.0)
        self.assertTrue(answer.abstained)
        self.assertIsNone(answer.choice)
        self.assertEqual(answer.best, "refund")

    def test_none_of_these_is_one_more_option(self):
        answer = self.server.client.decide(TICKET, WISH.question, ["weather", "sports"], none_of_these=True)
        self.assertEqual(list(answer.probabilities), ["weather", "sports", "none_of_these"])

    def test_models_and_health(self):
        names = [model.name for model in self.server.client.models()]
        self.assertIn("jev-latest", names)
        self.assertEqual(self.server.client.ask(TICKET, {"q": WISH}).model, names[0])
        self.assertIsInstance(self.server.client.health(), dict)

    def test_errors_are_typed(self):
        with self.server.new_client(model="no-such-model") as client, self.assertRaises(assay.BadRequest) as caught:
            client.yes_no(TICKET, "?")
        self.assertEqual(caught.exception.status, 400)
        with self.assertRaises(assay.BadRequest) as caught:
            self.server.client.ask(TICKET, {"q": WISH}, extra={"questions": {"q": {"type": "choice", "criteria": {}}}})
        self.assertEqual((caught.exception.status, caught.exception.field), (422, "questions.q.choice.criteria"))
        self.assertTrue(caught.exception.request_id)
        with assay.Client(self.server.base_url, "wrong key") as client, self.assertRaises(assay.Unauthorized):
            client.yes_no(TICKET, "?")
        with self.assertRaises(assay.TooLong):
            self.server.client.yes_no("word " * 200_000, "Is it long?")

    def test_a_deadline_that_cannot_be_kept(self):
        with self.assertRaises((assay.DeadlineExceeded, assay.RateLimited)):
            self.server.client.decide("word " * 1500, "Is it long?", [f"option {i}" for i in range(50)], timeout_ms=1)


class Seeing(unittest.TestCase):
    """A tiny model with a tiny projector. The picture is llama.cpp's."""

    def test_images_reach_the_model_by_place_and_by_name(self):
        folder = os.environ.get("ASSAY_TINY_DIR") or os.path.join(ROOT, "build", "release", "tiny")
        model, projector = (os.path.join(folder, name) for name in ("tiny-attention.gguf", "tiny-mmproj.gguf"))
        picture = pathlib.Path(ROOT, "third_party", "llama.cpp", "tools", "mtmd", "test-1.jpeg")
        try:
            assay.binary()
        except FileNotFoundError as missing:
            raise unittest.SkipTest(str(missing)) from missing
        if not (os.path.exists(model) and os.path.exists(projector) and picture.exists()):
            raise unittest.SkipTest("no tiny models: the release build makes them")
        flags = ("--threads", "1", "--no-readout-check", "-c", "2048")

        def chances(server, **images):
            return server.client.decide("See img-1.", "What is it?", ["cat", "dog"], **images).probabilities

        with assay.Server(model, *flags, "--mmproj", projector) as server:
            blind = chances(server)
            listed = chances(server, images=[picture])
            self.assertEqual(listed, chances(server, images=[picture.read_bytes()]))
            named = chances(server, assets={"img-1": picture})
            self.assertEqual(len({str(entry) for entry in (blind, listed, named)}), 3)
            with self.assertRaises(assay.BadRequest) as caught:
                chances(server, assets={"img-2": picture})
            self.assertIn("img-2", str(caught.exception))
        with assay.Server(model, *flags) as server, self.assertRaises(assay.BadRequest):
            chances(server, images=[picture])


if __name__ == "__main__":
    unittest.main()
