#!/usr/bin/env python3
"""OpenAI's Python client on POST /v1/decisions and on a chat completion that is one decision."""

import json
import math
import unittest

import httpx2
import openai

import part
import systemone

SERVERS = ("open", "keyed")

TICKET = "My card was charged twice for the same order and I want the second payment back."
WISHES = [{"value": "refund", "description": "Wants money back"}, {"value": "info", "description": "Asks a question"},
          {"value": "cancel"}]
PREDICATE = {"type": "predicate", "name": "money", "instructions": "The customer wants money back."}
CHOICE = {"type": "choice", "name": "wish", "instructions": "What does the customer want?", "choices": WISHES}
SCORE = {"type": "score", "name": "anger", "instructions": "How angry is the customer?",
         "levels": [{"label": "calm"}, {"label": "annoyed", "description": "complains"}, {"label": "furious"}]}


def schema(names, key="wish"):
    """What a structured-output caller sends for one property with an enum."""
    inner = {"type": "object", "properties": {key: {"type": "string", "enum": names}}, "required": [key],
             "additionalProperties": False}
    return {"type": "json_schema", "json_schema": {"name": "decision", "strict": True, "schema": inner}}


class Counting(httpx2.HTTPTransport):
    """Counts the requests that the client really sends."""

    def __init__(self):
        super().__init__()
        self.sent = 0

    def handle_request(self, request):
        self.sent += 1
        return super().handle_request(request)


class Client(unittest.TestCase):
    def setUp(self):
        self.transport = Counting()
        self.client = self.client_with()
        self.model = self.client.models.list().data[0].id
        self.transport.sent = 0

    def client_with(self, **more):
        settings = {"api_key": part.key or "any-key", "base_url": part.url + "/v1", "timeout": part.REPLY_SECONDS,
                    "http_client": httpx2.Client(transport=self.transport), **more}
        client = openai.OpenAI(**settings)
        self.addCleanup(client.close)
        return client

    def refused(self, kind, call, status):
        with self.assertRaises(kind) as caught:
            call()
        self.assertIs(type(caught.exception), kind)
        self.assertEqual(caught.exception.status_code, status)
        self.assertEqual(self.transport.sent, 1, "it is not asked again")
        self.assertTrue(caught.exception.body["message"])
        return caught.exception


class Decisions(Client):
    def decide(self, questions, given=TICKET, **more):
        reply = self.client.decisions.create(**{"model": self.model, "input": given, "questions": questions, **more})
        self.assertEqual(reply.model, self.model)
        self.assertEqual(len(reply.answers), len(questions))
        usage = reply.usage
        self.assertEqual(usage.total_tokens, usage.input_tokens + usage.output_tokens)
        self.assertGreater(usage.input_tokens, 0)
        for name in ("cached_tokens", "cache_write_tokens"):
            self.assertIs(type(getattr(usage.input_tokens_details, name)), int)
        self.assertEqual(usage.output_tokens_details.reasoning_tokens, 0)
        for question, answer in zip(questions, reply.answers):
            self.assertEqual(answer.type, question["type"])
            self.assertEqual(answer.name, question.get("name"))
            self.check_answer(question, answer)
        return reply

    def check_answer(self, question, answer):
        if answer.type == "predicate":
            self.assertTrue(0 <= answer.probability <= 1)
            return
        values = [entry.probability for entry in answer.probabilities]
        self.assertTrue(all(0 <= value <= 1 for value in values))
        self.assertLessEqual(abs(math.fsum(values) - 1), 1e-6)
        if answer.type == "choice":
            declared = [choice["value"] for choice in question["choices"]]
            told = [entry.value for entry in answer.probabilities]
            self.assertEqual([(type(value), value) for value in told], [(type(value), value) for value in declared])
            best = declared[values.index(max(values))]
            self.assertEqual((type(answer.choice), answer.choice), (type(best), best))
            self.assertAlmostEqual(answer.confidence, systemone.peak(values), delta=1e-6)
        else:
            labels = [level["label"] for level in question["levels"]]
            self.assertEqual([entry.label for entry in answer.probabilities], labels)
            self.assertEqual([entry.value for entry in answer.probabilities], list(range(len(values))))
            self.assertAlmostEqual(answer.score, math.fsum(i * value for i, value in enumerate(values)), delta=1e-6)
            self.assertAlmostEqual(answer.confidence, systemone.distance(values), delta=1e-6)

    def test_predicate_choice_and_score_in_one_request(self):
        reply = self.decide([PREDICATE, CHOICE, SCORE])
        self.assertEqual(reply.answers[1].choice, "refund")

    def test_questions_without_names(self):
        self.decide([{name: value for name, value in question.items() if name != "name"} for question in (CHOICE, SCORE)])

    def test_a_string_and_a_boolean_with_the_same_text_are_two_choices(self):
        yes_no = {"type": "choice", "instructions": "Is money wanted?", "choices": [{"value": True}, {"value": False}]}
        mixed = {"type": "choice", "instructions": "Is money wanted?",
                 "choices": [{"value": True}, {"value": "true", "description": "somebody wrote the word true"},
                             {"value": False}]}
        self.decide([yes_no, mixed])

    def test_messages_calls_and_json_as_input(self):
        given = [{"role": "system", "content": "You read tickets."},
                 {"role": "user", "content": [{"type": "input_text", "text": TICKET},
                                              {"type": "input_json", "data": {"order": 77, "lines": ["lamp"]}}]},
                 {"type": "function_call", "call_id": "c1", "name": "find_order", "arguments": "{\"id\": 77}"},
                 {"type": "function_call_output", "call_id": "c1", "output": "paid twice"},
                 {"role": "assistant", "content": [{"type": "output_text", "text": "I see it."}]}]
        self.decide([PREDICATE], given)

    def test_openais_own_model_name_and_settings(self):
        reply = self.client.decisions.create(model="gpt-6-luna", input=TICKET, questions=[PREDICATE],
                                             prompt_cache_key="k", safety_identifier="user-1")
        self.assertEqual(reply.model, self.model)

    def test_255_choices_and_not_256(self):
        def question(count):
            return {**CHOICE, "choices": [{"value": f"shelf {n:03d}"} for n in range(count)]}

        self.decide([question(255)])
        self.transport.sent = 0
        error = self.refused(openai.BadRequestError, lambda: self.decide([question(256)]), 400)
        self.assertEqual(error.param, "questions[0].choices")

    def test_400_questions_and_not_401(self):
        def questions(count):
            # One after the other the same, so that most of the work is shared.
            return [{"type": "predicate", "name": str(n), "instructions": "The number is odd."} for n in range(count)]

        self.decide(questions(400), "The number is seven.")
        self.transport.sent = 0
        error = self.refused(openai.BadRequestError, lambda: self.decide(questions(401), "The number is seven."), 400)
        self.assertEqual(error.param, "questions")

    def test_the_same_request_has_the_same_answers(self):
        first, second = (self.decide([PREDICATE, CHOICE, SCORE]) for _ in range(2))
        self.assertEqual(first.answers, second.answers)

    def test_abstaining_is_a_refusal_of_one_question(self):
        sure = {**PREDICATE, "x_min_confidence": 0}
        reply = self.client.decisions.create(model=self.model, input=TICKET,
                                             questions=[{**CHOICE, "x_min_confidence": 1}, sure])
        self.assertEqual([answer.type for answer in reply.answers], ["refusal", "predicate"])
        self.assertEqual(reply.answers[0].name, "wish")

    def test_errors_have_their_classes(self):
        wrong = [(openai.NotFoundError, 404, "model", {"model": "gpt-none"}),
                 (openai.BadRequestError, 400, "questions", {"questions": []}),
                 (openai.BadRequestError, 400, "questions[0].type", {"questions": [{**PREDICATE, "type": "noul"}]}),
                 (openai.BadRequestError, 400, "questions[0].choices",
                  {"questions": [{**CHOICE, "choices": WISHES[:1]}]}),
                 (openai.BadRequestError, 400, "questions[0].choices[1]",
                  {"questions": [{**CHOICE, "choices": [{"value": "a"}, {"value": "a"}]}]}),
                 (openai.BadRequestError, 400, "questions[0].instructions", {"questions": [{"type": "predicate"}]}),
                 (openai.BadRequestError, 400, "input[0].content[0]",
                  {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "data:,"}]}]}),
                 (openai.BadRequestError, 400, "input", {"input": "word " * 200_000})]
        for kind, status, param, change in wrong:
            with self.subTest(param=param):
                self.transport.sent = 0
                asked = {"model": self.model, "input": TICKET, "questions": [PREDICATE], **change}
                error = self.refused(kind, lambda: self.client.decisions.create(**asked), status)
                self.assertEqual(error.param, param)
                self.assertTrue(error.code)

    def test_a_wrong_key(self):
        if not part.key:
            self.client_with(api_key="whatever").decisions.create(model=self.model, input=TICKET, questions=[PREDICATE])
            return
        wrong = self.client_with(api_key="wrong")
        error = self.refused(openai.AuthenticationError,
                             lambda: wrong.decisions.create(model=self.model, input=TICKET, questions=[PREDICATE]), 401)
        self.assertEqual(error.code, "invalid_api_key")


class Chat(Client):
    def complete(self, names=("refund", "info", "cancel"), **more):
        settings = {"model": self.model, "response_format": schema(list(names)), "extra_body": {"x_decide": True},
                    "messages": [{"role": "system", "content": "What does the customer want?"},
                                 {"role": "user", "content": TICKET}], **more}
        return self.client.chat.completions.create(**settings)

    def check_content(self, content, names=("refund", "info", "cancel"), key="wish"):
        told = json.loads(content)
        self.assertEqual(list(told), [key])
        self.assertIn(told[key], names)
        return told[key]

    def test_one_decision_in_the_shape_of_a_completion(self):
        reply = self.complete()
        self.assertEqual((reply.object, reply.model, len(reply.choices)), ("chat.completion", self.model, 1))
        self.assertEqual(reply.choices[0].finish_reason, "stop")
        self.assertEqual(reply.choices[0].message.role, "assistant")
        self.assertEqual(self.check_content(reply.choices[0].message.content), "refund")
        self.assertEqual(reply.usage.total_tokens, reply.usage.prompt_tokens + reply.usage.completion_tokens)
        self.assertIsNone(reply.choices[0].logprobs)

    def test_logprobs_are_the_options_probabilities(self):
        names = ("refund", "info", "cancel")
        reply = self.complete(names, logprobs=True, top_logprobs=3)
        [decided] = reply.choices[0].logprobs.content  # the value is told as one token
        self.assertEqual(decided.token, self.check_content(reply.choices[0].message.content))
        self.assertEqual(bytes(decided.bytes), decided.token.encode())
        top = decided.top_logprobs
        self.assertEqual(sorted(entry.token for entry in top), sorted(names))
        self.assertEqual((decided.token, decided.logprob), (top[0].token, top[0].logprob))
        self.assertEqual([entry.logprob for entry in top], sorted((entry.logprob for entry in top), reverse=True))
        self.assertLessEqual(top[0].logprob, 0)
        self.assertLessEqual(abs(math.fsum(math.exp(entry.logprob) for entry in top) - 1), 1e-6)
        told = reply.model_extra["x_probabilities"]
        for entry in top:
            self.assertAlmostEqual(math.exp(entry.logprob), told[entry.token], delta=1e-9)

    def test_a_stream_has_the_same_content(self):
        plain = self.complete().choices[0].message.content
        chunks = list(self.complete(stream=True, stream_options={"include_usage": True}))
        self.assertTrue(all(chunk.object == "chat.completion.chunk" for chunk in chunks))
        self.assertEqual(len({chunk.id for chunk in chunks}), 1)
        pieces = [chunk.choices[0] for chunk in chunks if chunk.choices]
        self.assertEqual(pieces[0].delta.role, "assistant")
        self.assertEqual("".join(piece.delta.content or "" for piece in pieces), plain)
        self.assertEqual(pieces[-1].finish_reason, "stop")
        self.assertEqual([chunk.usage.prompt_tokens > 0 for chunk in chunks if chunk.usage], [True])

    def test_the_same_request_has_the_same_logprobs(self):
        first, second = (self.complete(logprobs=True, top_logprobs=3).choices[0].logprobs for _ in range(2))
        self.assertEqual(first, second)

    def test_the_clients_own_parser_reads_it(self):
        from typing import Literal

        import pydantic

        class Wish(pydantic.BaseModel):
            wish: Literal["refund", "info", "cancel"]

        reply = self.client.chat.completions.parse(model=self.model, response_format=Wish,
                                                   messages=[{"role": "user", "content": TICKET}],
                                                   extra_body={"x_decide": True})
        self.assertIn(reply.choices[0].message.parsed.wish, ("refund", "info", "cancel"))

    def test_what_is_no_single_decision_is_refused(self):
        for change in ({"extra_body": {"x_decide": 1}}, {"response_format": {"type": "json_object"}}, {"n": 2}):
            with self.subTest(change=change):
                self.transport.sent = 0
                error = self.refused(openai.BadRequestError, lambda: self.complete(**change), 400)
                self.assertTrue(error.param)

    def test_an_unknown_model(self):
        self.refused(openai.NotFoundError, lambda: self.complete(model="gpt-none"), 404)


class Models(Client):
    def test_models(self):
        self.assertEqual(self.client.models.list().data[0].object, "model")


if __name__ == "__main__":
    part.main()
