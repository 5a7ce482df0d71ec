"""GET /openapi.json says what the server does: its routes, the statuses and bodies of real replies; and GET /docs."""

import json
import os
import re
import unittest

import harness
from openapi_document import Document, schema_checker

JSON_TYPE = "application/json"
EVENTS = "text/event-stream"
LESSONS = "Lessons"  # routes that answer only where a server keeps lessons
S1 = "/v1/systemone"
DECISIONS = "/v1/decisions"
CHAT = "/v1/chat/completions"
CHOICE = {"type": "choice", "instructions": harness.WANTED, "criteria": {"refund": "Wants money back", "info": None}}
NOUL = {"type": "noul", "instructions": "Does the customer want money back?"}
SCORE = {"type": "score", "criteria": ["calm", {"label": "annoyed"}, "furious"]}
PREDICATE = {"type": "predicate", "instructions": "The customer wants money back."}
VALUES = {"type": "choice", "instructions": harness.WANTED, "choices": [{"value": "refund"}, {"value": True}]}
LEVELS = {"type": "score", "name": "anger", "instructions": "How angry?", "levels": [{"label": "a"}, {"label": "b"}]}
ENUM = {"type": "json_schema", "json_schema": {"schema": {
    "type": "object", "properties": {"wish": {"enum": ["refund", "info"]}}}}}


def s1(*questions, **more):
    return {"model": "jev-latest", "state": harness.TICKET,
            "questions": {f"q{i}": question for i, question in enumerate(questions)}, **more}


def asked(*questions, **more):
    return {"input": harness.TICKET, "questions": list(questions), **more}


def chat(**more):
    return {"x_decide": True, "messages": [{"role": "user", "content": harness.TICKET}], **more}


def semif(**more):
    return {**harness.body([("refund", "Wants money back"), "info"]), **more}


def events_of(text):
    """[(name, data)]; the text has nothing else."""
    events = re.findall(r"(?:event: (\w+)\n)?data: (.*)\n\n", text)
    written = "".join((f"event: {name}\n" if name else "") + f"data: {data}\n\n" for name, data in events)
    if written != text:
        raise AssertionError(f"this is no stream of events: {text[:600]}")
    return [(name or "message", data) for name, data in events]


# (path, body, status): what is asked, and the status that comes back. Text is sent as it is.
GOOD = [
    ("/v1/decide", semif()),
    ("/v1/decide", semif(x_readout="letters", x_explain=True, x_hidden_state=True, x_receipt=True, timeout_ms=60000)),
    ("/v1/decide", semif(x_readout="text", x_explain=True, x_min_confidence=1, x_permute=2, x_none_of_these=True)),
    ("/v1/decide", {"decisions": [harness.decision(["yes", "no"]), dict(harness.decision(["a", "b"]), id="d2")]}),
    ("/invocations", semif()), ("/invocations", s1(NOUL)), ("/invocations", asked(PREDICATE)),
    (S1, s1(NOUL, CHOICE, SCORE)), ("/api/v1/systemone", s1(NOUL)), ("/api/alpha/decisions", s1(CHOICE)),
    (S1, s1(NOUL, CHOICE, SCORE, x_readout="letters", x_explain=True, x_hidden_state=True, x_receipt=True,
            x_allowed_mass=True, x_permute=2, x_none_of_these="Nothing of it")),
    (S1, s1(NOUL, CHOICE, SCORE, x_min_confidence=1, x_readout="text", x_explain=True, x_priority="bulk")),
    (S1, s1({**NOUL, "criteria": {"true": "so"}}, {"type": "noul"}, state=None, assets={}, trace="t-1")),
    (DECISIONS, asked(PREDICATE, VALUES, LEVELS)), ("/decisions", asked(LEVELS)), (DECISIONS, s1(NOUL)),
    (DECISIONS, asked(PREDICATE, VALUES, LEVELS, model="gpt-6-luna", x_min_confidence=1, x_allowed_mass=True,
                      x_receipt=True, x_none_of_these=True, x_explain=True, x_hidden_state=True, x_permute=2)),
    (DECISIONS, asked(VALUES, input=[{"role": "user", "content": [{"type": "input_text", "text": "Hello"}]}])),
    (CHAT, chat(response_format=ENUM, logprobs=True, top_logprobs=1, model="jev-latest")),
    (CHAT, chat(guided_choice=["refund", "info"], x_explain=True, x_hidden_state=True, x_receipt=True,
                x_none_of_these=True, x_allowed_mass=True, x_readout="letters", x_permute=2)),
    (CHAT, chat(grammar='root ::= "a" | "b"', x_min_confidence=1, logprobs=True)),
]
MANY = {str(i): None for i in range(256)}
BAD = [
    ("/v1/decide", "{", 400), ("/v1/decide", "[]", 400), ("/v1/decide", {}, 400), ("/v1/decide", "\xff", 400),
    ("/v1/decide", semif(x_readout="best"), 400), ("/v1/decide", semif(unknown=1), 400),
    ("/v1/decide", harness.body([str(i) for i in range(1025)]), 400), ("/v1/decide", semif(x_calibrated=True), 400),
    ("/v1/decide", harness.body(["a"], state="word " * 200000), 400),
    ("/invocations", "{", 400), ("/invocations", {"state": 1}, 400), ("/invocations", s1({"type": "x"}), 422),
    ("/invocations", s1(NOUL, model="other"), 400), ("/invocations", asked(), 400),
    ("/invocations", asked(PREDICATE, model="other"), 404),
    (S1, "{", 422), (S1, "[]", 422), (S1, {}, 422), (S1, s1(), 422), (S1, s1({"type": "boolean"}), 422),
    (S1, s1({"type": "score", "criteria": {}}), 422), (S1, s1({**CHOICE, "criteria": {}}), 422),
    (S1, s1(NOUL, timeout_ms=-1), 422), (S1, s1(NOUL, model="other"), 400), (S1, s1({"type": "box"}), 400),
    (S1, s1({**CHOICE, "criteria": MANY}), 400), (S1, s1(NOUL, state="word " * 200000), 413),
    (S1, s1(NOUL, assets={"a": {"type": "image"}}), 400),
    (DECISIONS, "{", 400), (DECISIONS, {}, 400), (DECISIONS, asked(model="other"), 404), (DECISIONS, asked(), 400),
    (DECISIONS, asked({"type": "choice"}), 400), (DECISIONS, asked(PREDICATE, x_permute=0), 400),
    (DECISIONS, asked(PREDICATE, input="word " * 200000), 400), (DECISIONS, s1({"type": "x"}), 422),
    (CHAT, "{", 400), (CHAT, {"messages": []}, 400), (CHAT, chat(), 400), (CHAT, chat(response_format=ENUM, n=2), 400),
    (CHAT, chat(response_format=ENUM, model="other"), 404), (CHAT, chat(guided_choice=["a", "a"]), 400),
]


class DocumentItself(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.shared("alone")
        cls.document = Document(cls.server.get("/openapi.json").body)

    def test_it_is_the_file_of_web_with_this_program_s_version(self):
        reply = self.server.get("/openapi.json")
        self.assertEqual((reply.status, reply.headers["content-type"]), (200, JSON_TYPE))
        with open(os.path.join(harness.ROOT, "web", "openapi.json"), encoding="utf-8") as file:
            version = harness.run("version").stdout.split()[1]
            self.assertEqual(reply.body.decode(), file.read().replace("@ASSAY_VERSION@", version))

    def test_every_reference_leads_somewhere(self):
        references = [(where, node["$ref"]) for where, node in self.document.nodes() if "$ref" in node]
        self.assertGreater(len(references), 200)
        for where, reference in references:
            with self.subTest(where=where):
                self.document.at(reference)

    def test_every_part_is_used(self):
        text = json.dumps(self.document.tree)
        prose = {"NoSuchPath", "NoSuchMethod"}  # what any other path or method gets
        for kind, parts in self.document.tree["components"].items():
            for name in parts:
                used = f'"#/components/{kind}/{name}"' in text or kind == "securitySchemes" or name in prose
                self.assertTrue(used, f"{kind}/{name} is used nowhere")
        for name in prose:
            self.assertIn(name, self.document.tree["info"]["description"])

    def test_every_operation_has_what_openapi_asks_of_it(self):
        self.assertEqual(self.document.tree["openapi"], "3.1.0")
        tags = {tag["name"] for tag in self.document.tree["tags"]}
        ids = [operation["operationId"] for _, _, operation in self.document.operations()]
        self.assertEqual(len(ids), len(set(ids)))
        schemes = self.document.tree["components"]["securitySchemes"]
        for path, method, operation in self.document.operations():
            with self.subTest(path=path):
                self.assertTrue(path.startswith("/") and operation["summary"])
                self.assertTrue(set(operation["tags"]) <= tags)
                self.assertTrue(all(set(names) <= set(schemes) for names in operation["security"]))
                self.assertEqual("requestBody" in operation, method == "POST")
                self.assertTrue({"200", "202"} & set(operation["responses"]))
                for parameter in map(self.document.resolved, operation["parameters"]):
                    self.assertTrue(parameter["name"] and parameter["schema"])
                    self.assertIn(parameter["in"], ("header", "path", "query"))
                for status, response in operation["responses"].items():
                    self.assertRegex(status, "^[1-5][0-9][0-9]$")
                    told = self.document.resolved(response)
                    self.assertTrue(told["description"] and told["content"])
                    self.assertIn("x-request-id", told["headers"])
                    self.assertEqual("Retry-After" in told["headers"], status in ("429", "503"))

    def test_schemas_are_json_schemas_and_examples_keep_to_them(self):
        checker = self.checker()
        for name, schema in self.document.tree["components"]["schemas"].items():
            with self.subTest(schema=name):
                checker.Draft202012Validator.check_schema(schema)
        for path, _, operation in self.document.operations():
            for media in operation.get("requestBody", {}).get("content", {}).values():
                for name, example in media["examples"].items():
                    with self.subTest(path=path, example=name):
                        value = self.document.resolved(example)["value"]
                        self.assertEqual(self.document.errors_of(value, media["schema"], checker), [])

    def test_its_routes_are_the_server_s(self):
        # The 404 of a path that is near to nothing lists what there is.
        said = self.server.get("/qqqqqqqqqqqqqqqqqqqq").json()["error"]["message"]
        known = set(re.findall(r"(GET|POST|DELETE) (/\S+)", said))
        documented = {(method, path) for path, method, _ in self.document.operations()}
        self.assertGreater(len(known), 10)
        self.assertEqual(known, documented)

    def test_a_wrong_method_says_which_are_right(self):
        checker = self.checker()
        schema = self.document.at("#/components/responses/NoSuchMethod")["content"][JSON_TYPE]["schema"]
        for path in self.document.tree["paths"]:
            methods = [method for known, method, _ in self.document.operations() if known == path]
            for wrong in {"PUT", "DELETE", "GET", "POST"} - set(methods):
                with self.subTest(path=path, method=wrong):
                    reply = self.server.request(wrong, path)
                    self.assertEqual(reply.status, 405, str(reply))
                    allowed = set(methods) | ({"HEAD"} if "GET" in methods else set())
                    self.assertEqual(set(reply.headers["allow"].split(", ")), allowed)
                    self.assertEqual(self.document.errors_of(reply.json(), schema, checker, strict=True), [])

    def test_an_unknown_path(self):
        schema = self.document.at("#/components/responses/NoSuchPath")["content"][JSON_TYPE]["schema"]
        reply = self.server.get("/v1/nothing")
        self.assertEqual(reply.status, 404)
        self.assertEqual(self.document.errors_of(reply.json(), schema, self.checker(), strict=True), [])

    def checker(self):
        checker = schema_checker()
        if checker is None:
            self.skipTest("no jsonschema: tools/setup --dev makes the conformance environment that has it")
        return checker


class Replies(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.shared("alone")
        cls.document = Document(cls.server.get("/openapi.json").body)
        cls.checker = schema_checker()
        if cls.checker is None:
            raise unittest.SkipTest("no jsonschema: tools/setup --dev makes the conformance environment that has it")

    def check(self, path, method, reply, status=None):
        """The status is documented, and so are the media type, the headers and every field of the body."""
        if status is not None:
            self.assertEqual(reply.status, status, str(reply))
        told = self.document.response(path, method, reply.status)
        self.assertIsNotNone(told, f"{method} {path}: status {reply.status} is not documented: {reply}")
        media_type = reply.headers["content-type"].split(";")[0]
        self.assertIn(media_type, told["content"], str(reply))
        for name, header in told["headers"].items():
            required = self.document.resolved(header).get("required", False)
            self.assertTrue(name.lower() in reply.headers or not required, f"{name} is missing")
        schema = told["content"][media_type]["schema"]
        if media_type == EVENTS:
            return [self.check_event(event, schema) for event in events_of(reply.body.decode())]
        value = reply.json() if media_type == JSON_TYPE else reply.body.decode(errors="replace")
        self.check_value(value, schema, f"{method} {path}: {reply}")
        return value

    def check_value(self, value, schema, said):
        self.assertEqual(self.document.errors_of(value, schema, self.checker, strict=True), [], said)

    def check_event(self, event, schema):
        """The event's name and its data, which is what one of the schema's alternatives says of that name."""
        name, data = event
        self.check_value({"event": name, "data": data}, schema, data[:600])
        ends = self.document.event_data(schema, name)
        self.assertTrue(ends, name)
        if data == "[DONE]":
            return name
        value = json.loads(data)
        errors = []
        for end in ends:
            answer = dict(value)
            if end["$ref"].endswith("/DecisionsAnswerEvent") and isinstance(answer.pop("index", None), int):
                end = {"$ref": "#/components/schemas/DecisionsAnswer"}  # one member more a closed schema cannot say
            errors.append(self.document.errors_of(answer, end, self.checker, strict=True))
        self.assertIn([], errors, data[:600])
        return name

    def post(self, path, body, **headers):
        data = body if isinstance(body, str) else json.dumps(body)
        return self.server.request("POST", path, data.encode("latin-1"), {"Content-Type": JSON_TYPE, **headers})

    def test_pages(self):
        # The reply of a call that the document's example names.
        self.post("/endpoints/my-endpoint/async-invocations", semif(), **{"X-Amzn-SageMaker-Inference-Id": "call-1"})
        reply = "/endpoints/my-endpoint/async-invocations/call-1"
        harness.wait_until(lambda: self.server.get(reply).status == 200, "the asynchronous call is answered")
        for path, method, operation in self.document.operations():
            if method == "GET" and LESSONS not in operation["tags"]:
                with self.subTest(path=path):
                    asked_path = self.document.filled(path, operation)
                    self.check(path, "GET", self.server.get(asked_path), 200)
                    self.assertEqual(self.server.request("HEAD", asked_path).status, 200)

    def test_good_requests(self):
        for path, body in GOOD:
            with self.subTest(path=path, body=json.dumps(body)[:200]):
                request = self.document.operation(path, "POST")["requestBody"]["content"][JSON_TYPE]["schema"]
                self.assertEqual(self.document.errors_of(body, request, self.checker), [], "the request is documented")
                self.check(path, "POST", self.post(path, body), 200)

    def test_bad_requests(self):
        for path, body, status in BAD:
            with self.subTest(path=path, body=json.dumps(body)[:200]):
                self.check(path, "POST", self.post(path, body), status)

    def test_the_examples_are_answered(self):
        for path, _, operation in self.document.operations():
            if LESSONS in operation["tags"]:
                continue
            for media in operation.get("requestBody", {}).get("content", {}).values():
                for name, example in media["examples"].items():
                    with self.subTest(path=path, example=name):
                        value = self.document.resolved(example)["value"]
                        reply = self.post(self.document.filled(path, operation), value)
                        self.check(path, "POST", reply, 202 if path.endswith("/async-invocations") else 200)

    def test_without_lessons_their_routes_are_404(self):
        for path, method, operation in self.document.operations():
            if LESSONS in operation["tags"]:
                with self.subTest(path=path, method=method):
                    asked_path = self.document.filled(path, operation)
                    reply = self.server.request(method, asked_path, b"{}" if method == "POST" else None,
                                                {"Content-Type": JSON_TYPE})
                    self.assertIn("lessons", self.check(path, method, reply, 404)["error"])

    def test_statuses_that_come_from_headers(self):
        for path, method, _ in self.document.operations():
            if method == "POST":
                with self.subTest(path=path):
                    text = self.server.request("POST", path, b"{}", {"Content-Type": "text/plain"})
                    # An endpoint's clients see the container's 415 as SageMaker shows it, or later.
                    later = 202 if path.endswith("/async-invocations") else 424
                    self.check(path, "POST", text, later if path.startswith("/endpoints/") else 415)
                    large = self.post(path, " " * (26 * 1024 * 1024))
                    self.check(path, "POST", large, 413)
        self.check(S1, "POST", self.post(S1, s1(NOUL), **{"x-timeout-ms": "soon"}), 422)
        self.check("/v1/decide", "POST", self.post("/v1/decide", semif(), **{"x-priority": "now"}), 400)

    def test_a_deadline_that_cannot_be_kept(self):
        bodies = {"/v1/decide": semif(), S1: s1(NOUL), DECISIONS: asked(PREDICATE), "/invocations": s1(NOUL),
                  CHAT: chat(guided_choice=["a", "b"])}
        for path, body in bodies.items():
            with self.subTest(path=path):
                reply = self.post(path, {**body, "timeout_ms": 1e-6})
                self.assertIn(reply.status, (429, 504), str(reply))
                self.check(path, "POST", reply)

    def test_numbers_that_are_not_finite(self):
        self.server = harness.shared("nan")
        for path, body in (("/v1/decide", semif()), (S1, s1(NOUL)), (DECISIONS, asked(PREDICATE)),
                           (CHAT, chat(guided_choice=["a", "b"]))):
            with self.subTest(path=path):
                self.check(path, "POST", self.post(path, body), 500)

    def test_streams(self):
        for path, body in (("/v1/decide", {"decisions": [harness.decision(["a", "b"])]}),
                           (S1, s1(NOUL, CHOICE, SCORE, x_explain=True)), (DECISIONS, asked(PREDICATE, VALUES)),
                           ("/invocations", s1(NOUL)), (DECISIONS, s1(NOUL))):
            with self.subTest(path=path):
                names = self.check(path, "POST", self.post(path, body, Accept=EVENTS), 200)
                answers = len(body.get("questions", body.get("decisions")))
                self.assertEqual(names, ["answer"] * answers + ["done"])
        too_late = self.check(S1, "POST", self.post(S1, s1(NOUL, timeout_ms=1e-6), Accept=EVENTS), 200)
        self.assertEqual(too_late, ["error"])

    def test_a_chat_stream(self):
        body = chat(guided_choice=["a", "b"], stream=True, logprobs=True, stream_options={"include_usage": True})
        names = self.check(CHAT, "POST", self.post(CHAT, body), 200)
        self.assertEqual(names, ["message"] * 5)

    def test_keys(self):
        server = harness.Server(harness.tiny("tiny-attention"), "--threads", "1", "--no-readout-check",
                                "--api-key", "k1")
        try:
            for path, method, operation in self.document.operations():
                asked_path = self.document.filled(path, operation)
                with self.subTest(path=path):
                    headers = {"Content-Type": JSON_TYPE}
                    reply = server.request(method, asked_path, b"{}" if method == "POST" else None, headers)
                    if operation["security"]:
                        self.check(path, method, reply, 401)
                        reply = server.request(method, asked_path, b"{}", {**headers, "Authorization": "Bearer k1"})
                        self.assertNotEqual(reply.status, 401)
                        by_name = server.request(method, asked_path, b"{}", {**headers, "X-Api-Key": "k1"})
                        self.assertEqual(by_name.status != 401, {"apiKey": []} in operation["security"], str(by_name))
                    else:
                        self.check(path, method, reply, 200)
        finally:
            self.assertEqual(server.stop(), 0)


class Page(unittest.TestCase):
    """GET /docs: works without a script, and asks nobody but this server."""

    def setUp(self):
        self.server = harness.shared("alone")
        self.page = self.server.get("/docs").body.decode()

    def test_the_summary_without_a_script_has_every_route(self):
        document = Document(self.server.get("/openapi.json").body)
        for path, method, operation in document.operations():
            if not path.startswith("/docs."):
                self.assertIn(f"<code>{method} {path}</code>", self.page)

    def test_it_needs_nothing_from_elsewhere(self):
        policy = self.server.get("/docs").headers["content-security-policy"]
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)
        for address in re.findall(r'(?:src|href)="([^"#]*)"', self.page):
            with self.subTest(address=address):
                if address and not address.startswith("data:"):
                    self.assertEqual(self.server.get("/" + address).status, 200)

    def test_what_its_form_sends_is_answered(self):
        body = ('{"model": "jev-latest", "state": "I was charged twice.",\n "questions": {"q": {"type": "choice", '
                '"instructions": "What?",\n  "criteria": {"10": null, "a": "Wants money back"}}}}')
        reply = self.server.request("POST", "/v1/systemone", body.encode(), {"Content-Type": JSON_TYPE})
        self.assertEqual(list(reply.json()["answers"]["q"]["probabilities"]), ["10", "a"])
