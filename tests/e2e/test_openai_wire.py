"""POST /v1/decisions and chat requests with x_decide, as plain HTTP: every reply is compared key by key with the shapes
that OpenAI's client declares."""

import json
import math
import unittest

import harness

CHOICE = {"type": "choice", "name": "wish", "instructions": harness.WANTED,
          "choices": [{"value": "refund", "description": "Wants money back"}, {"value": True}, {"value": "true"}]}
PREDICATE = {"type": "predicate", "instructions": "The customer is angry."}
SCORE = {"type": "score", "name": "urgency", "instructions": "How urgent is it?",
         "levels": [{"label": "low"}, {"label": "normal"}, {"label": "high", "description": "Needs a person today"}]}
IMAGE = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
CONVERSATION = [
    {"role": "developer", "content": "Judge the ticket."},
    {"role": "user", "content": [{"type": "input_text", "text": harness.TICKET},
                                 {"type": "input_json", "data": {"order": 7, "paid": [12.5, 12.5]}}]},
    {"type": "function_call", "call_id": "c1", "name": "payments", "arguments": "{\"order\": 7}"},
    {"type": "function_call_output", "call_id": "c1", "output": "two payments"},
    {"type": "custom_tool_call", "call_id": "c2", "name": "sql", "input": "select 1"},
    {"type": "custom_tool_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "1"}]},
    {"role": "assistant", "content": [{"type": "output_text", "text": "I see."}], "phase": "commentary"},
]

# The required keys of each answer and their types; a name is a string or null.
ANSWER_KEYS = {
    "predicate": {"probability": float},
    "choice": {"choice": (str, bool), "confidence": float, "probabilities": list},
    "score": {"score": float, "confidence": float, "probabilities": list},
    "refusal": {},
}
SCHEMA = {"type": "object", "properties": {"wish": {"type": "string", "enum": ["refund", "info", "cancel"]}},
          "required": ["wish"], "additionalProperties": False}


def decisions(questions, **more):
    return {"model": "gpt-6-luna", "input": harness.TICKET, "questions": questions, **more}


def chat(**more):
    return {"model": "jev-latest", "x_decide": True,
            "messages": [{"role": "system", "content": harness.WANTED}, {"role": "user", "content": harness.TICKET}],
            "response_format": {"type": "json_schema", "json_schema": {"name": "wish", "schema": SCHEMA}}, **more}


def events_of(reply):
    """The data of each event of a stream."""
    return [event.removeprefix("data: ") for event in reply.body.decode().split("\n\n") if event]


class OpenAiWire(unittest.TestCase):
    def setUp(self):
        self.server = harness.shared("attention")
        self.model = self.server.get("/v1/models").json()["data"][0]["id"]

    def post(self, body, path):
        reply = self.server.post(body, path=path)
        self.assertEqual(reply.status, 200, str(reply))
        for name, number in harness.numbers_of(reply.json()):
            self.assertTrue(math.isfinite(number), f"{name} is {number}")
        return reply.json()

    def refused(self, body, path, status, param, part=""):
        reply = self.server.post(body, path=path)
        self.assertEqual(reply.status, status, str(reply))
        self.assertEqual(set(reply.json()), {"error"})
        error = reply.json()["error"]
        self.assertEqual(set(error), {"message", "type", "param", "code"})
        self.assertEqual(error["param"], param, error)
        self.assertIn(part, error["message"])
        return error

    def counts(self, usage, *names):
        for name in names:
            self.assertIs(type(usage[name]), int, usage)
            self.assertGreaterEqual(usage[name], 0)


class Decisions(OpenAiWire):
    PATH = "/v1/decisions"

    def check_answer(self, answer, question):
        for key, kind in ANSWER_KEYS[answer["type"]].items():
            self.assertIsInstance(answer[key], kind, answer)
        self.assertIn("name", answer)
        self.assertEqual(answer["name"], question.get("name"))
        self.assertEqual(answer["type"], question["type"])
        for key in ("probability", "confidence"):
            self.assertTrue(0 <= answer.get(key, 0) <= 1, answer)

    def check_probabilities(self, answer):
        shares = [entry["probability"] for entry in answer["probabilities"]]
        self.assertTrue(all(isinstance(share, float) and 0 <= share <= 1 for share in shares))
        self.assertLess(abs(math.fsum(shares) - 1), 1e-9)
        return shares

    def test_every_type_answers_in_order_with_all_its_keys(self):
        questions = [CHOICE, PREDICATE, SCORE]
        reply = self.post(decisions(questions), self.PATH)
        self.assertEqual(set(reply), {"answers", "model", "usage"})
        self.assertEqual(reply["model"], self.model)
        self.assertEqual(len(reply["answers"]), 3)
        for answer, question in zip(reply["answers"], questions):
            self.check_answer(answer, question)
        choice, _, score = reply["answers"]
        shares = self.check_probabilities(choice)
        self.assertEqual([entry["value"] for entry in choice["probabilities"]], ["refund", True, "true"])
        self.assertEqual([type(entry["value"]) for entry in choice["probabilities"]], [str, bool, str])
        self.assertEqual(choice["choice"], choice["probabilities"][shares.index(max(shares))]["value"])
        shares = self.check_probabilities(score)
        self.assertEqual([entry["label"] for entry in score["probabilities"]], ["low", "normal", "high"])
        self.assertEqual([entry["value"] for entry in score["probabilities"]], [0, 1, 2])
        self.assertTrue(all(type(entry["value"]) is int for entry in score["probabilities"]))
        self.assertAlmostEqual(score["score"], sum(i * share for i, share in enumerate(shares)), delta=1e-9)

    def test_usage_is_integers_that_add_up(self):
        usage = self.post(decisions([CHOICE, PREDICATE]), self.PATH)["usage"]
        self.assertEqual(set(usage), {"input_tokens", "input_tokens_details", "output_tokens", "output_tokens_details",
                                      "total_tokens"})
        self.counts(usage, "input_tokens", "output_tokens", "total_tokens")
        self.assertGreater(usage["input_tokens"], 0)
        self.assertEqual(usage["total_tokens"], usage["input_tokens"] + usage["output_tokens"])
        self.assertEqual(set(usage["input_tokens_details"]), {"cache_write_tokens", "cached_tokens"})
        self.counts(usage["input_tokens_details"], "cache_write_tokens", "cached_tokens")
        self.assertEqual(set(usage["output_tokens_details"]), {"reasoning_tokens"})
        self.counts(usage["output_tokens_details"], "reasoning_tokens")

    def test_a_conversation_with_tools_and_json_is_an_input(self):
        reply = self.post(decisions([PREDICATE], input=CONVERSATION, prompt_cache_key="k", safety_identifier="u",
                                    prompt_cache_options={"mode": "explicit"}), self.PATH)
        self.check_answer(reply["answers"][0], PREDICATE)

    def test_one_user_message_is_the_same_as_its_text(self):
        plain = self.post(decisions([CHOICE, SCORE]), self.PATH)["answers"]
        message = self.post(decisions([CHOICE, SCORE], input=[{"role": "user", "content": harness.TICKET}]), self.PATH)
        self.assertEqual(message["answers"], plain)

    def test_a_question_has_the_same_numbers_as_on_systemone(self):
        asked = {"model": "jev-latest", "state": harness.TICKET,
                 "questions": {"q": {"type": "noul", "instructions": PREDICATE["instructions"]},
                               "c": {"type": "choice", "instructions": harness.WANTED,
                                     "criteria": {"refund": "Wants money back", "info": None}}}}
        native = self.post(asked, "/v1/systemone")["answers"]
        choice = {**CHOICE, "choices": [{"value": "refund", "description": "Wants money back"}, {"value": "info"}]}
        answers = self.post(decisions([PREDICATE, choice]), self.PATH)["answers"]
        self.assertEqual(answers[0]["probability"], native["q"]["noul"])
        self.assertEqual({entry["value"]: entry["probability"] for entry in answers[1]["probabilities"]},
                         native["c"]["probabilities"])
        self.assertEqual(answers[1]["confidence"], native["c"]["confidence"])

    def test_an_answer_below_the_asked_confidence_is_a_refusal(self):
        question = {**CHOICE, "x_min_confidence": 1}
        sure, refusal = self.post(decisions([CHOICE, question]), self.PATH)["answers"]
        self.assertEqual(set(refusal), {"type", "name", "x_reason", "x_answer"})
        self.assertEqual((refusal["type"], refusal["name"], refusal["x_reason"]), ("refusal", "wish", "abstained"))
        self.assertEqual(refusal["x_answer"], sure)

    def test_the_added_option_is_one_more_value(self):
        answer = self.post(decisions([{**CHOICE, "x_none_of_these": True}]), self.PATH)["answers"][0]
        self.assertEqual(answer["probabilities"][-1]["value"], "none_of_these")
        self.check_probabilities(answer)

    def test_a_stream_has_the_same_answers(self):
        questions = [CHOICE, PREDICATE, SCORE]
        plain = self.post(decisions(questions), self.PATH)["answers"]
        headers = {"Content-Type": "application/json", "Accept": "text/event-stream"}
        reply = self.server.request("POST", self.PATH, json.dumps(decisions(questions)).encode(), headers)
        self.assertEqual(reply.status, 200, str(reply))
        self.assertTrue(reply.headers["content-type"].startswith("text/event-stream"), reply.headers)
        seen = {}
        for line in reply.body.decode().splitlines():
            if line.startswith("data: {\"index\""):
                event = json.loads(line.removeprefix("data: "))
                seen[event.pop("index")] = event
        self.assertEqual([seen[i] for i in range(3)], plain)

    def test_the_limits_of_the_contract(self):
        def choices(count):
            return {**CHOICE, "choices": [{"value": f"v{i}"} for i in range(count)]}

        self.assertEqual(len(self.post(decisions([choices(255)]), self.PATH)["answers"][0]["probabilities"]), 255)
        for count in (0, 1, 256):
            self.refused(decisions([PREDICATE, choices(count)]), self.PATH, 400, "questions[1].choices", "255")
        self.refused(decisions([]), self.PATH, 400, "questions", "400")
        self.refused(decisions([PREDICATE] * 401), self.PATH, 400, "questions", "400")

    def test_bad_bodies_name_the_place(self):
        bad = [
            (decisions([{**PREDICATE, "instructions": ""}]), "questions[0].instructions"),
            (decisions([{**PREDICATE, "type": "noul"}]), "questions[0].type"),
            (decisions([{**CHOICE, "choices": [{"value": 1}, {"value": "a"}]}]), "questions[0].choices[0].value"),
            (decisions([{**CHOICE, "choices": [{"value": "a"}, {"value": "a"}]}]), "questions[0].choices[1]"),
            (decisions([{**SCORE, "levels": ["low", "high"]}]), "questions[0].levels[0]"),
            (decisions([PREDICATE], input=7), "input"),
            (decisions([PREDICATE], input=[{"role": "user", "content": [IMAGE]}]), "input[0].content[0]"),
            (decisions([PREDICATE], input=[CONVERSATION[3]]), "input[0].call_id"),
            ({"model": "gpt-6-luna", "questions": [PREDICATE]}, "input"),
            (decisions([PREDICATE], x_readout="magic"), "x_readout"),
            (b"{", None),
            (b'{"input": NaN}', None),
        ]
        for body, param in bad:
            with self.subTest(param=param):
                error = self.refused(body, self.PATH, 400, param)
                self.assertEqual(error["type"], "invalid_request_error")

    def test_an_unknown_model_is_not_found(self):
        error = self.refused(decisions([PREDICATE], model="gpt-4"), self.PATH, 404, "model", self.model)
        self.assertEqual((error["type"], error["code"]), ("invalid_request_error", "model_not_found"))

    def test_too_long_an_input_is_refused_with_the_counts(self):
        error = self.refused(decisions([PREDICATE], input="word " * 20000), self.PATH, 400, "input", "tokens")
        self.assertEqual(error["code"], "context_length_exceeded")
        self.assertTrue(self.server.is_alive())


class Chat(OpenAiWire):
    PATH = "/v1/chat/completions"

    def test_a_completion_has_all_its_keys(self):
        reply = self.post(chat(), self.PATH)
        self.assertLessEqual({"id", "object", "created", "model", "choices", "usage"}, set(reply))
        self.assertTrue(all(key.startswith("x_") for key in
                            set(reply) - {"id", "object", "created", "model", "choices", "usage"}), set(reply))
        self.assertEqual((reply["object"], reply["model"]), ("chat.completion", self.model))
        self.assertTrue(reply["id"].startswith("chatcmpl-"))
        self.assertIs(type(reply["created"]), int)
        self.assertEqual(len(reply["choices"]), 1)
        choice = reply["choices"][0]
        self.assertEqual(set(choice), {"index", "message", "logprobs", "finish_reason"})
        self.assertEqual((choice["index"], choice["logprobs"], choice["finish_reason"]), (0, None, "stop"))
        self.assertEqual(set(choice["message"]), {"role", "content", "refusal"})
        content = json.loads(choice["message"]["content"])
        self.assertEqual(set(content), {"wish"})
        chances = reply["x_probabilities"]
        self.assertEqual(list(chances), ["refund", "info", "cancel"])
        self.assertLess(abs(math.fsum(chances.values()) - 1), 1e-9)
        self.assertEqual(content["wish"], max(chances, key=chances.get))
        self.counts(reply["usage"], "prompt_tokens", "completion_tokens", "total_tokens")
        self.counts(reply["usage"]["prompt_tokens_details"], "cached_tokens")
        self.assertGreater(reply["usage"]["prompt_tokens"], 0)

    def test_it_is_the_same_decision_as_on_the_other_route(self):
        chances = self.post(chat(), self.PATH)["x_probabilities"]
        question = {"type": "choice", "instructions": harness.WANTED,
                    "choices": [{"value": value} for value in ("refund", "info", "cancel")]}
        answer = self.post(decisions([question]), "/v1/decisions")["answers"][0]
        self.assertEqual({entry["value"]: entry["probability"] for entry in answer["probabilities"]}, chances)

    def test_logprobs_are_the_options(self):
        reply = self.post(chat(logprobs=True, top_logprobs=3), self.PATH)
        entry = reply["choices"][0]["logprobs"]["content"][0]
        self.assertEqual(set(entry), {"token", "logprob", "bytes", "top_logprobs"})
        self.assertEqual(bytes(entry["bytes"]).decode(), entry["token"])
        self.assertLessEqual(entry["logprob"], 0)
        listed = {top["token"]: top["logprob"] for top in entry["top_logprobs"]}
        self.assertEqual(set(listed), {"refund", "info", "cancel"})
        self.assertEqual(max(listed, key=listed.get), entry["token"])
        for token, logprob in listed.items():
            self.assertAlmostEqual(math.exp(logprob), reply["x_probabilities"][token], delta=1e-12)

    def test_other_spellings_of_the_list(self):
        plain = self.post(chat(), self.PATH)
        for spelling in ({"guided_choice": ["refund", "info", "cancel"]},
                         {"structured_outputs": {"choice": ["refund", "info", "cancel"]}},
                         {"grammar": 'root ::= "refund" | "info" | "cancel"'}):
            with self.subTest(spelling=spelling):
                reply = self.post(chat(response_format=None, **spelling), self.PATH)
                self.assertEqual(reply["x_probabilities"], plain["x_probabilities"])
                self.assertIn(reply["choices"][0]["message"]["content"], ("refund", "info", "cancel"))

    def test_a_boolean_property_keeps_its_type(self):
        schema = {"type": "object", "properties": {"paid": {"type": "boolean"}}, "required": ["paid"]}
        reply = self.post(chat(response_format={"type": "json_schema", "json_schema": {"schema": schema}}), self.PATH)
        self.assertIs(type(json.loads(reply["choices"][0]["message"]["content"])["paid"]), bool)

    def test_a_stream_adds_up_to_the_completion(self):
        plain = self.post(chat(), self.PATH)
        reply = self.server.post(chat(stream=True, stream_options={"include_usage": True}), path=self.PATH)
        self.assertEqual(reply.status, 200, str(reply))
        self.assertTrue(reply.headers["content-type"].startswith("text/event-stream"), reply.headers)
        events = events_of(reply)
        self.assertEqual(events[-1], "[DONE]")
        chunks = [json.loads(event) for event in events[:-1]]
        self.assertEqual({chunk["object"] for chunk in chunks}, {"chat.completion.chunk"})
        self.assertEqual(len({chunk["id"] for chunk in chunks}), 1)
        deltas = [chunk["choices"][0]["delta"] for chunk in chunks if chunk["choices"]]
        self.assertEqual(deltas[0]["role"], "assistant")
        self.assertEqual("".join(delta.get("content", "") for delta in deltas),
                         plain["choices"][0]["message"]["content"])
        self.assertEqual([chunk["choices"][0]["finish_reason"] for chunk in chunks if chunk["choices"]],
                         [None, None, "stop"])
        self.assertEqual(chunks[-1]["usage"]["prompt_tokens"], plain["usage"]["prompt_tokens"])

    def test_abstaining_is_a_refusal_with_no_content(self):
        reply = self.post(chat(x_min_confidence=1), self.PATH)
        message = reply["choices"][0]["message"]
        self.assertIsNone(message["content"])
        self.assertTrue(message["refusal"])
        self.assertEqual(reply["x_reason"], "abstained")

    def test_what_is_no_decision_is_refused(self):
        free = {"type": "json_schema", "json_schema": {"schema": {"type": "object", "properties": {
            "a": {"type": "string"}}}}}
        bad = [(chat(x_decide="yes"), "x_decide"), (chat(response_format=None), "response_format"),
               (chat(response_format=free), "response_format.json_schema.schema.properties.a"),
               (chat(n=2), "n"), (chat(tools=[{"type": "function", "function": {"name": "f"}}]), "tools"),
               (chat(guided_choice=["a"]), "guided_choice"), (chat(messages=[]), "messages"),
               (chat(response_format=None, grammar="root ::= [a-z]+"), "grammar"),
               (chat(top_logprobs=3), "top_logprobs")]
        for body, param in bad:
            with self.subTest(param=param):
                self.refused(body, self.PATH, 400, param)
        self.assertTrue(self.server.is_alive())


if __name__ == "__main__":
    unittest.main()
