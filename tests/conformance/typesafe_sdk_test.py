#!/usr/bin/env python3
"""The golden pairs through the official Python SDK, whose response models are strict."""

import asyncio
import unittest

import httpx2
import typesafe_sdk as sdk

import part
import systemone

SERVERS = ("open", "keyed")


class Counting(httpx2.HTTPTransport):
    """Counts the requests that the client really sends."""

    def __init__(self):
        super().__init__()
        self.sent = 0

    def handle_request(self, request):
        self.sent += 1
        return super().handle_request(request)


def question_of(asked):
    """The SDK's object for a question that is written as JSON."""
    kinds = {"noul": sdk.Noul, "choice": sdk.Choice, "score": sdk.Score}
    return kinds[asked["type"]](**{name: value for name, value in asked.items() if name != "type"})


class Client(unittest.TestCase):
    def setUp(self):
        self.transport = Counting()
        self.client = self.client_with(transport=self.transport)

    def client_with(self, **more):
        settings = {"api_key": part.key or "any-key", "base_url": part.url, "timeout": part.REPLY_SECONDS,
                    "retry": sdk.RetryPolicy(timeout=None), "compression": False, **more}
        client = sdk.TypeSafeClient(**settings)
        self.addCleanup(client.close)
        return client

    def ask(self, asked, **more):
        """A request as JSON, sent through the SDK's objects; its parsed reply, checked."""
        questions = {name: question_of(question) for name, question in asked["questions"].items()}
        reply = self.client.system_one(state=asked["state"], questions=questions, **more)
        self.assertEqual(list(reply.answers), list(asked["questions"]))
        self.assertEqual(reply.model, self.client.models.list().models[0].name)
        self.assertGreater(reply.usage.input_tokens, 0)
        self.assertGreaterEqual(reply.usage.output_tokens, 0)
        self.assertTrue(reply.request_id)
        # What the SDK read is what was sent, and that is right.
        told = reply.raw_http_response.json()
        for name, question in asked["questions"].items():
            systemone.check_answer(self, question, told["answers"][name])
        return reply

    def refused(self, kind, sent=1, client=None, **request):
        before = self.transport.sent
        with self.assertRaises(kind) as caught:
            (client or self.client).system_one(**request)
        if client is None:
            self.assertEqual(self.transport.sent - before, sent)
        self.assertIs(type(caught.exception), kind)
        self.assertTrue(caught.exception.request_id)
        return caught.exception


class Golden(Client):
    def test_g1_noul(self):
        arrived = self.ask(systemone.G1).nouls["arrived"].noul
        missing = {**systemone.G1, "state": "The parcel left the depot at noon and is still missing."}
        self.assertLess(self.ask(missing).nouls["arrived"].noul, arrived)

    def test_g2_structured_and_one_sided_nouls(self):
        question = systemone.G2["questions"]["exchange"]
        for criteria in (question["criteria"], {"false": "wants something else"}, {}, None):
            with self.subTest(criteria=criteria):
                asked = {**systemone.G2, "questions": {"exchange": {**question, "criteria": criteria}}}
                self.assertIn("exchange", self.ask(asked).nouls)
        self.ask({**systemone.G2, "questions": {"exchange": {**question, "instructions": None}}})

    def test_g3_names_that_are_not_ascii(self):
        answer = self.ask(systemone.G3).choices["queue"]
        criteria = systemone.G3["questions"]["queue"]["criteria"]
        self.assertEqual(list(answer.probabilities), list(criteria))
        self.assertIn(answer.choice, criteria)

    def test_g4_score_has_whole_numbers_as_keys(self):
        answer = self.ask(systemone.G4).scores["urgency"]
        self.assertEqual(list(answer.probabilities), [0, 1, 2, 3, 4])
        self.assertEqual(list(answer.legend), [0, 1, 2, 3, 4])
        self.assertEqual(answer.legend[0], "not at all")
        self.assertAlmostEqual(answer.score, sum(level * p for level, p in answer.probabilities.items()), delta=1e-6)

    def test_g5_three_types_and_unknown_fields(self):
        reply = self.ask(systemone.G5, extra_body={"x_trace": "t-1", "seed": 7})
        self.assertEqual((list(reply.nouls), list(reply.choices), list(reply.scores)), (["q.2"], ["with space"], ["🎯"]))

    def test_g6_255_options_and_400_for_256(self):
        self.assertEqual(len(self.ask(systemone.g6(255)).choices["where"].probabilities), 255)
        asked = systemone.g6(256)
        error = self.refused(sdk.TypeSafeBadRequestError, state=asked["state"], questions=asked["questions"])
        self.assertIsInstance(error.body["detail"]["error_type"], str)
        self.assertIsInstance(error.body["detail"]["message"], str)

    def test_g7_a_body_that_fails_validation(self):
        asked = {"a": {"type": "boolean", "instructions": "Yes?"}}
        error = self.refused(sdk.TypeSafeUnprocessableEntityError, state="x", questions=asked)
        self.assertEqual(error.body["detail"][0]["loc"], ["body", "questions", "a"])
        self.assertIn("questions.a: ", str(error))

    def test_g8_an_unknown_model_is_one_request(self):
        error = self.refused(sdk.TypeSafeBadRequestError, state="x", questions=systemone.G8["questions"],
                             model="no-such-model")
        self.assertEqual(error.body["detail"]["error_type"], "api_usage_error")
        self.assertIn("no-such-model", str(error))

    def test_g8_every_name_of_the_model(self):
        own = self.ask(systemone.G1).model
        for name in ("jev-latest", "jev-preview", own):
            self.assertEqual(self.ask(systemone.G1, model=name).model, own)

    def test_g9_a_wrong_key(self):
        if not part.key:
            self.client_with(api_key="whatever").system_one(state="x", questions=systemone.G8["questions"])
            return
        wrong = self.client_with(api_key="wrong")
        error = self.refused(sdk.TypeSafeAuthenticationError, client=wrong, state="x",
                             questions=systemone.G8["questions"])
        self.assertEqual(error.body["detail"]["error_type"], "authentication_error")
        with self.assertRaises(sdk.TypeSafeAuthenticationError):
            wrong.models.list()

    def test_g10_models(self):
        listed = self.client.models.list()
        self.assertTrue(listed.request_id)
        names = [model.name for model in listed.models]
        self.assertEqual(len(set(names)), len(names))
        self.assertIn("jev-latest", names)
        for model in listed.models:
            self.assertTrue(model.description)
            self.assertRegex(model.release_date, r"^\d{4}-\d\d-\d\d$")
            self.ask(systemone.G1, model=model.name)


class Errors(Client):
    def test_a_path_that_is_not_there(self):
        elsewhere = self.client_with(base_url=part.url + "/elsewhere")
        self.refused(sdk.TypeSafeNotFoundError, client=elsewhere, state="x", questions=systemone.G8["questions"])

    def test_a_state_that_is_too_long(self):
        error = self.refused(sdk.TypeSafeAPIError, state="word " * 200_000, questions=systemone.G8["questions"])
        self.assertEqual(error.status, 413)
        self.assertEqual(error.body["detail"]["error_type"], "tokens_exceeded")

    def test_a_choice_without_criteria(self):
        asked = {"q": {"type": "choice", "instructions": "Which?", "criteria": None}}
        with self.assertRaises(sdk.TypeSafeError):  # the SDK's own check
            self.client.system_one(state="x", questions=asked)
        error = self.refused(sdk.TypeSafeUnprocessableEntityError, state="x", questions=systemone.G8["questions"],
                             extra_body={"questions": asked})
        self.assertEqual(error.body["detail"][0]["loc"], ["body", "questions", "q", "choice", "criteria"])

    def test_a_deadline_that_cannot_be_kept_is_an_error_and_no_hang(self):
        with self.assertRaises(sdk.TypeSafeAPIError) as caught:
            self.client.system_one(state="A long story. " * 400, questions=systemone.G8["questions"],
                                   extra_body={"timeout_ms": 1}, retry=sdk.RetryPolicy(max_retries=0))
        self.assertIn(caught.exception.status, (429, 504))

    def test_images_are_refused_and_not_ignored(self):
        image = {"type": "image", "format": "png", "data_base64": "iVBORw0KGgo="}
        with self.assertRaises(sdk.TypeSafeAPIError) as caught:
            self.client.system_one(state="See img-1.", questions=systemone.G8["questions"],
                                   extra_body={"assets": {"img-1": image}})
        self.assertIn(caught.exception.status, (400, 422))


class Form(Client):
    def test_compressed_bodies_are_read(self):
        # The SDK compresses bodies from 1 KiB on wherever Python can, as Python 3.14 always can.
        client = self.client_with(compression="zstd")
        reply = client.system_one(state="A short story. " * 100, questions=systemone.G8["questions"])
        self.assertEqual(list(reply.answers), ["a"])

    def test_the_asynchronous_client(self):
        async def both():
            settings = {"api_key": part.key or "any-key", "base_url": part.url, "timeout": part.REPLY_SECONDS,
                        "compression": False}
            async with sdk.AsyncTypeSafeClient(**settings) as client:
                asked = [client.system_one(state=pair["state"], questions=pair["questions"])
                         for pair in (systemone.G1, systemone.G3)]
                return await asyncio.gather(*asked), await client.models.list()

        (one, other), listed = asyncio.run(both())
        self.assertEqual((list(one.nouls), list(other.choices)), (["arrived"], ["queue"]))
        self.assertTrue(listed.models)

    def test_the_same_request_has_the_same_answer(self):
        first, second = (self.ask(systemone.G5) for _ in range(2))
        self.assertEqual(first.answers, second.answers)


if __name__ == "__main__":
    part.main()
