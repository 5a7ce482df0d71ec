"""System One: a test for each RULE of the contract that a test can decide, named after it.

Decided elsewhere: RULE 2.3's formulas to 1e-9 by src/decision/readout_test.cc and here by every reply (check_answer
of systemone.py); RULE 3.7's client that leaves by test_load.py; RULE 8.1 and 8.2 by tests/conformance. RULE 2.4 has nothing
to decide: there is no other formula to ask for.
"""

import http.client
import json
import re
import socket
import subprocess
import tempfile
import unittest

import harness
import systemone
from systemone import PATH

JSON = {"Content-Type": "application/json"}
KINDS = {"noul": lambda **more: systemone.noul(**more), "choice": lambda **more: systemone.choice(["a", "b"], **more),
         "score": lambda **more: systemone.score(["low", "high"], **more)}


class Base(unittest.TestCase):
    """On a tiny model: shapes and statuses do not depend on the weights."""

    def setUp(self):
        self.server = harness.shared("attention")

    def ask(self, asked):
        return systemone.ask(self, self.server, asked)

    def post(self, asked, **headers):
        data = asked if isinstance(asked, bytes) else json.dumps(asked, ensure_ascii=False).encode()
        return self.server.request("POST", PATH, data, {**JSON, **headers})

    def refused(self, asked, status, places=None):
        told = systemone.check_refusal(self, self.post(asked), status)
        if places is not None:
            self.assertEqual(systemone.places_of(told), places)
        return told


class Requests(Base):
    def test_rule_1_1_every_kind_of_state(self):
        states = ["text", "", {}, [], {"a": {"b": [1, 2.5, None, True]}}, ["x", {"y": "z"}, []], " ", "🚲",
                  {"": ""}, [[[[]]]], "0"]
        for state in states:
            with self.subTest(state=state):
                self.ask(systemone.body(systemone.noul(), state))
        reply = self.post(systemone.body(systemone.noul(), None))
        self.assertIn(reply.status, (200, 422), str(reply))
        for state in (1, 1.5, True):
            self.refused(systemone.body(systemone.noul(), state), 422, [["state"]])

    def test_rule_1_2_every_kind_of_instructions_on_every_type(self):
        for kind, question in KINDS.items():
            for instructions in (None, "text", "", {}, [], {"task": "compare", "with": ["a", {"b": 1}]}, ["x", "y"]):
                with self.subTest(kind=kind, instructions=instructions):
                    self.ask(systemone.body(question(instructions=instructions)))
            absent = question()
            del absent["instructions"]
            self.ask(systemone.body(absent))
            self.refused(systemone.body(question(instructions=5)), 422, [["questions", "q", kind, "instructions"]])

    def test_rule_1_3_every_kind_of_noul_criteria(self):
        sides = [None, "said so", {"means": ["a", 1]}, ["x", None]]
        variants = [None, {}] + [{"true": side} for side in sides] + [{"false": side} for side in sides]
        variants += [{"true": one, "false": other} for one in sides for other in sides]
        variants += [{"false": "no", "true": "yes"}]
        for criteria in variants:
            with self.subTest(criteria=criteria):
                self.ask(systemone.body(systemone.noul(criteria=criteria)))
        reply = self.post(systemone.body(systemone.noul(criteria={"maybe": "x"})))
        self.assertIn(reply.status, (200, 422), str(reply))
        self.refused(systemone.body(systemone.noul(criteria=["x"])), 422, [["questions", "q", "noul", "criteria"]])

    def test_rule_1_3_the_order_of_the_sides_has_no_part_in_the_answer(self):
        one = systemone.body(systemone.noul(criteria={"true": "it is", "false": "it is not"}))
        other = systemone.body(systemone.noul(criteria={"false": "it is not", "true": "it is"}))
        self.assertEqual(self.ask(one)["answers"], self.ask(other)["answers"])

    def test_rule_1_4_every_size_of_a_choice(self):
        for count in (*range(2, 34), 52, 53, 63, 64, 65, 77, 127, 128, 129, 254, 255):
            with self.subTest(options=count):
                self.ask(systemone.body(systemone.choice([f"shelf {n:03d}" for n in range(count)]), x_readout="text"))

    def test_rule_1_4_every_size_of_a_score(self):
        for count in range(2, 11):
            with self.subTest(levels=count):
                self.ask(systemone.body(systemone.score([f"level {n}" for n in range(count)])))

    def test_rule_1_4_no_option_and_no_level(self):
        self.refused(systemone.body(systemone.choice({})), 422, [["questions", "q", "choice", "criteria"]])
        self.refused(systemone.body(systemone.score([])), 422, [["questions", "q", "score", "criteria"]])

    def test_rule_1_4_one_option_and_one_level_are_certain(self):
        answer = self.ask(systemone.body(systemone.choice(["only"])))["answers"]["q"]
        self.assertEqual((answer["choice"], answer["probabilities"], answer["confidence"]), ("only", {"only": 1}, 1))
        answer = self.ask(systemone.body(systemone.score(["only"])))["answers"]["q"]
        self.assertEqual((answer["score"], answer["probabilities"], answer["confidence"]), (0, {"0": 1}, 1))

    def test_rule_1_4_too_many_are_400_with_both_numbers(self):
        for question, numbers in ((systemone.choice([str(n) for n in range(256)]), ("256", "255")),
                                  (systemone.choice([str(n) for n in range(3000)]), ("3000", "255")),
                                  (systemone.score([f"level {n}" for n in range(11)]), ("11", "10"))):
            told = self.refused(systemone.body(question), 400)
            self.assertEqual(told["detail"]["error_type"], "api_usage_error")
            for number in numbers:
                self.assertIn(number, told["detail"]["message"])

    def test_rule_1_5_names_of_the_model(self):
        own = systemone.model_id(self.server)
        for name in ("jev-latest", "jev-preview", own):
            self.assertEqual(self.ask(systemone.body(systemone.noul(), model=name))["model"], own)
        for name in ("jev", "JEV-LATEST", " jev-latest", "", "gpt-4", own + "x"):
            with self.subTest(name=name):
                told = self.refused(systemone.body(systemone.noul(), model=name), 400)
                self.assertEqual(told["detail"]["message"], "Unknown model: " + name)
        self.refused({"state": "x", "questions": {"q": systemone.noul()}}, 422, [["model"]])
        for name in (None, 5, ["jev-latest"]):
            self.refused(systemone.body(systemone.noul(), model=name), 422, [["model"]])

    def test_rule_1_5_the_names_can_be_set(self):
        server = harness.Server(harness.tiny("tiny-attention"), "--threads", "1", "--no-readout-check", "--alias",
                                "our-judge", "--alias", "typesafe/jev-1.13")
        self.addCleanup(server.stop)
        own = systemone.model_id(server)
        for name in ("our-judge", "typesafe/jev-1.13", "jev-latest"):
            told = systemone.ask(self, server, systemone.body(systemone.noul(), model=name))
            self.assertEqual(told["model"], own)
            self.assertIn(name, [entry["name"] for entry in server.get("/v1/models").json()["models"]])

    def test_rule_1_6_unknown_fields_are_ignored(self):
        plain = self.ask(systemone.body({name: question() for name, question in KINDS.items()}))
        more = {"seed": 7, "stream": False, "temperature": 0, "metadata": {"a": [1]}, "provider": None, "user": "u"}
        questions = {name: question(id="x", weight=3, note=None) for name, question in KINDS.items()}
        self.assertEqual(self.ask(systemone.body(questions, **more))["answers"], plain["answers"])

    def test_rule_1_7_the_order_of_keys_reaches_the_prompt_and_the_reply(self):
        state = {"zebra": 1, "10": 2, "2": {"b": 3, "a": 4}, "apple": 5}
        instructions = {"w": "x", "v": "`zebra`", "10": 1, "9": 2}
        criteria = {"10": None, "2": {"y": 1, "x": 2}, "b": "text", "1": None}
        questions = {"z": systemone.choice(criteria, instructions), "10": systemone.noul(), "2": systemone.noul()}
        reply = self.post(systemone.body(questions, state, x_explain=True, x_readout="letters"))
        self.assertEqual(reply.status, 200, str(reply))
        told = systemone.strict_json(reply.body)["answers"]
        self.assertEqual(list(told), ["z", "10", "2"])
        self.assertEqual(list(told["z"]["probabilities"]), ["10", "2", "b", "1"])
        shown = re.sub(r"[\s\\]", "", told["z"]["x_explain"]["prompt"])
        for value in (state, instructions, criteria["2"]):
            self.assertIn(re.sub(r"\s", "", json.dumps(value)), shown)

    def test_rule_1_8_over_the_budget_is_413_with_both_counts(self):
        limit = self.server.get("/health").json()["limits"]["context_tokens"]
        for asked in (systemone.body(systemone.noul(), "word " * 200_000),
                      systemone.body(systemone.noul("word " * 200_000)),
                      systemone.body(systemone.choice({"a": "word " * 200_000, "b": None}))):
            told = self.refused(asked, 413)
            self.assertEqual(told["detail"]["error_type"], "tokens_exceeded")
            counts = [int(number) for number in re.findall(r"\d+", told["detail"]["message"])]
            self.assertIn(limit, counts)
            self.assertTrue(any(count > limit for count in counts), told)

    def test_rule_1_8_what_fits_is_whole_in_the_prompt(self):
        state = "FIRST-7734 " + "The weather was mild. " * 40 + " LAST-4477"
        for readout in ("letters", "text"):
            told = self.post(systemone.body(systemone.choice(["a", "b"]), state, x_explain=True, x_readout=readout))
            self.assertIn(state, told.json()["answers"]["q"]["x_explain"]["prompt"])

    def test_rule_1_9_ids_and_names_are_opaque(self):
        names = ["a", " a", "a ", "A", "ä", "a\u0308", "\t", "a\nb", "a\u0000b", "🚲", "👩‍👩‍👧", "__proto__", '"', "\\",
                 "질문", "q.2", "with space", "$", "body", "\u202eabc", "ﬁ", "fi", "x" * 3000]
        told = self.ask(systemone.body({name: systemone.noul() for name in names}))
        self.assertEqual(list(told["answers"]), names)
        told = self.ask(systemone.body(systemone.choice(names)))
        self.assertEqual(list(told["answers"]["q"]["probabilities"]), names)
        self.ask(systemone.body({"": systemone.choice(["", "b"])}))

    def test_rule_1_9_an_id_has_no_part_in_the_answer(self):
        answers = [list(self.ask(systemone.body({name: systemone.choice(["up", "down"])}))["answers"].values())
                   for name in ("q", "up", "the answer is down", "🚲" * 50)]
        self.assertEqual(answers, answers[:1] * 4)

    def test_rule_1_10_keys_twice_are_422(self):
        whole = json.dumps(systemone.body(systemone.choice(["a", "b"])))
        for once, twice in (('"state": "A short note."', '"state": "x", "state": "y"'),
                            ('"q": {', '"q": {"type": "noul"}, "q": {'), ('"a": null', '"a": null, "a": "x"'),
                            ('"type": "choice"', '"type": "choice", "type": "choice"')):
            with self.subTest(twice=twice):
                self.assertIn(once, whole)
                reply = self.post(whole.replace(once, twice).encode())
                if reply.status == 200:  # the contract lets a server keep the last one, but never repeat it
                    systemone.strict_json(reply.body)
                else:
                    systemone.check_refusal(self, reply, 422)


class Replies(Base):
    def test_rule_2_1_answers_stand_in_the_requests_order(self):
        names = ["z", "10", "a", "2", "질문", "b"]
        told = self.ask(systemone.body({name: KINDS[kind]() for name, kind in zip(names, [*KINDS, *KINDS])}))
        self.assertEqual(list(told["answers"]), names)

    def test_rule_2_2_whatever_the_contract_does_not_know_begins_with_x(self):
        asked = systemone.body({name: question() for name, question in KINDS.items()}, x_readout="letters",
                               x_explain=True, x_receipt=True, x_allowed_mass=True, x_hidden_state=True)
        self.ask(asked)  # which looks at the names

    def test_rule_2_3_confidence_of_a_score_is_distance_and_of_a_choice_peak(self):
        levels = [f"level {n}" for n in range(5)]
        told = self.ask(systemone.body({"c": systemone.choice(levels), "s": systemone.score(levels)}))["answers"]
        choice, score = (list(told[name]["probabilities"].values()) for name in ("c", "s"))
        self.assertAlmostEqual(told["c"]["confidence"], systemone.peak(choice), delta=1e-9)
        self.assertAlmostEqual(told["s"]["confidence"], systemone.distance(score), delta=1e-9)

    def test_rule_2_5_numbers_that_are_not_finite_are_never_written(self):
        server = harness.shared("nan")
        for name, question in KINDS.items():
            with self.subTest(kind=name):
                reply = server.post(systemone.body(question()), PATH)
                told = systemone.check_refusal(self, reply, 500)
                self.assertEqual(told["x_code"], "nonfinite_logits")
                self.assertNotRegex(reply.body.decode(), r"\b(NaN|Infinity|nan|inf)\b")

    def test_rule_2_6_token_counts_are_integers(self):
        reply = self.post(systemone.body({name: question() for name, question in KINDS.items()}))
        usage = re.search(rb'"usage": *\{([^}]*)\}', reply.body).group(1)
        self.assertRegex(usage, rb'^"input_tokens": *[1-9]\d*, *"output_tokens": *\d+$')

    def test_rule_2_6_probabilities_are_floats(self):
        reply = self.post(systemone.body(systemone.choice(["only"])))
        self.assertRegex(reply.body, rb'"probabilities": *\{"only": *1\.0\}')

    def test_rule_2_7_probabilities_are_not_rounded(self):
        told = self.ask(systemone.body(systemone.choice([f"shelf {n:03d}" for n in range(255)]), x_readout="text"))
        values = list(told["answers"]["q"]["probabilities"].values())
        self.assertTrue(any(value != round(value, 6) for value in values))
        self.assertLess(abs(sum(values) - 1), 1e-9)

    def test_rule_2_8_sums_and_the_largest(self):
        for count in (2, 3, 7, 100):
            names = [f"option {n * 37 % 101}" for n in range(count)]
            for readout in ("letters", "text"):
                self.ask(systemone.body(systemone.choice(names), x_readout=readout))  # which checks them

    def test_rule_2_9_every_reply_has_an_id_of_its_own(self):
        ids = set()
        replies = [self.post(systemone.body(systemone.noul())), self.post(b"{"), self.post(systemone.G8),
                   self.post(systemone.body(systemone.choice({}))), self.server.get("/v1/models"),
                   self.server.get("/v1/nothing"), self.server.get(PATH), self.server.post(b"x", PATH, "text/plain"),
                   self.post(systemone.body(systemone.noul(), "word " * 200_000)), self.server.get("/health")]
        for reply in replies:
            self.assertTrue(reply.headers.get("x-typesafe-request-id"), f"{reply.status} {reply.headers}")
            ids.add(reply.headers["x-typesafe-request-id"])
        self.assertEqual(len(ids), len(replies))

    def test_rule_2_9_typesafes_own_headers_are_accepted(self):
        headers = {"X-TypeSafe-SDK": "typesafe-sdk/0.6.0", "X-TypeSafe-Runtime": "node/24",
                   "X-TypeSafe-Retry-Count": "2", "TypeSafe-Danger-Zone-Long-Context": "true", "TypeSafe-Danger-Zone-Images": "true",
                   "User-Agent": "typesafe-sdk/0.6.0", "Accept": "application/json"}
        asked = systemone.body(systemone.noul())
        systemone.check_reply(self, self.server, asked, self.post(asked, **headers))

    def test_rule_2_10_neither_id_nor_company_nor_order_moves_an_answer(self):
        for server in (self.server, harness.shared("default")):
            more = systemone.choice({"up": None, "down": "to the ground"}, "Where?")
            asked = {**systemone.G5["questions"], "more": more}
            told = systemone.ask(self, server, {**systemone.G5, "questions": asked})["answers"]
            renamed = {f"zz {name}": question for name, question in reversed(asked.items())}
            for name, answer in systemone.ask(self, server, {**systemone.G5, "questions": renamed})["answers"].items():
                self.check_close(told[name.removeprefix("zz ")], answer)
            for name, question in asked.items():
                alone = systemone.ask(self, server, {**systemone.G5, "questions": {name: question}})["answers"][name]
                self.check_close(told[name], alone)

    def check_close(self, one, other):
        for name, value in systemone.numbers_of_answer(one).items():
            self.assertAlmostEqual(value, systemone.numbers_of_answer(other)[name], delta=1e-3)

    def test_rule_2_10_the_same_request_has_the_same_bytes(self):
        for server in (self.server, harness.shared("default")):
            asked = {**systemone.G5, "state": "Identical requests have identical bytes."}
            self.assertEqual(len({server.post(asked, PATH).body for _ in range(3)}), 1)


class Errors(Base):
    def tearDown(self):
        self.assertTrue(self.server.is_alive())

    def test_rule_3_1_and_3_2_no_body_is_a_fault_of_the_server(self):
        good = systemone.body({name: question() for name, question in KINDS.items()})
        values = [None, 0, -1, 1.5, 1e308, "", "x", True, [], [None], {}, {"a": None}, [[]], "🚲"]
        bodies = [{**good, field: value} for field in good for value in values]
        bodies += [{name: value for name, value in good.items() if name != field} for field in good]
        bodies += values
        for kind, question in KINDS.items():
            for field in question():
                bodies += [systemone.body({**question(), field: value}) for value in values]
                bodies.append(systemone.body({name: value for name, value in question().items() if name != field}))
        bodies += [systemone.body(systemone.choice({"a": value, "b": None})) for value in values]
        bodies += [systemone.body(systemone.score([value, "high"])) for value in values]
        bodies += [systemone.body(systemone.noul(criteria={"true": value})) for value in values]
        for asked in bodies:
            with self.subTest(body=json.dumps(asked)[:200]):
                reply = self.post(json.dumps(asked).encode())
                if reply.status == 200:
                    systemone.strict_json(reply.body)
                else:
                    self.assertLess(reply.status, 500)
                    systemone.check_refusal(self, reply, reply.status)

    def test_rule_3_2_other_paths_methods_and_media_types(self):
        for reply, status in ((self.server.get("/"), 404), (self.server.get("/v1/nothing"), 404),
                              (self.server.get(PATH), 405), (self.server.request("DELETE", PATH), 405),
                              (self.server.post(b"{}", PATH, "text/plain"), 415)):
            with self.subTest(status=status):
                self.assertEqual(reply.status, status, str(reply))
                systemone.check_headers(self, reply)
                told = systemone.strict_json(reply.body)
                self.assertEqual(told["error"]["code"], status)
                if status == 404:
                    self.assertEqual(told["detail"], "Not Found")
                if status == 405:
                    self.assertEqual(told["detail"], "Method Not Allowed")
                    self.assertEqual(reply.headers["allow"], "POST")

    def test_rule_3_3_validation_says_where(self):
        a = "questions"
        wrong = [({"q": systemone.choice({})}, [[a, "q", "choice", "criteria"]]),
                 ({"q": {"type": "choice", "criteria": None}}, [[a, "q", "choice", "criteria"]]),
                 ({"q": {"type": "choice"}}, [[a, "q", "choice", "criteria"]]),
                 ({"q": {"type": "choice", "criteria": ["a"]}}, [[a, "q", "choice", "criteria"]]),
                 ({"q": {"type": "choice", "criteria": {"a": 5}}}, [[a, "q", "choice", "criteria", "a"]]),
                 ({"q": {"type": "score"}}, [[a, "q", "score", "criteria"]]),
                 ({"q": {"type": "score", "criteria": {"0": "low"}}}, [[a, "q", "score", "criteria"]]),
                 ({"q": {"type": "score", "criteria": ["low", None]}}, [[a, "q", "score", "criteria", 1]]),
                 ({"q": {"type": "score", "criteria": ["low", 5]}}, [[a, "q", "score", "criteria", 1]]),
                 ({"q": {"type": "noul", "criteria": {"true": 5}}}, [[a, "q", "noul", "criteria", "true"]]),
                 ({"q": {}}, [[a, "q"]]), ({"q": {"type": "boolean"}}, [[a, "q"]]), ({"q": {"type": None}}, [[a, "q"]]),
                 ({"q": None}, [[a, "q"]]), ({"q": []}, [[a, "q"]]), ({}, [[a]]), ([], [[a]]), (None, [[a]]),
                 ({"one": {"type": "choice"}, "two": systemone.noul(), "🚲": {"type": "score"}},
                  [[a, "one", "choice", "criteria"], [a, "🚲", "score", "criteria"]])]
        for questions, places in wrong:
            with self.subTest(questions=questions):
                self.refused({"model": "jev-latest", "state": "x", "questions": questions}, 422, places)
        self.refused({}, 422, [["state"], ["model"], ["questions"]])

    def test_rule_3_3_bodies_that_are_no_json(self):
        for data in (b"", b" ", b"{", b"nul", b"{}}", b"\x00", b"\xff\xfe{}", b"{'a': 1}", b"[1,]", b"undefined"):
            with self.subTest(body=data):
                told = self.refused(data, 422, [[]])
                self.assertEqual(told["detail"][0]["type"], "json_invalid")

    def test_rule_3_4_both_forms_in_every_error(self):
        for asked, status in ((systemone.G7, 422), (systemone.G8, 400), (b"{", 422), (systemone.g6(256), 400),
                              (systemone.body(systemone.noul(), "word " * 200_000), 413)):
            self.refused(asked, status)  # which looks for both

    def test_rule_4_3_images_and_boxes_are_refused_in_words(self):
        image = {"type": "image", "format": "png", "data_base64": "iVBORw0KGgo="}
        for asked in (systemone.body(systemone.noul(), "See img-1.", assets={"img-1": image}),
                      systemone.body({"type": "box", "instructions": "Where is the lamp?"})):
            reply = self.post(asked)
            self.assertIn(reply.status, (400, 422))
            told = systemone.check_refusal(self, reply, reply.status)
            self.assertRegex(told["error"]["message"], "image|box|noul, choice or score")
        for none in (None, {}):
            self.ask(systemone.body(systemone.noul(), assets=none))


class Keys(unittest.TestCase):
    """RULE 3.5, 3.6 and G9, on a server that wants a key."""

    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server(harness.tiny("tiny-attention"), "--threads", "1", "--no-readout-check", "--api-key",
                                    "k1", "--api-key", "k2")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def post(self, asked=systemone.G1, path=PATH, **headers):
        return self.server.request("POST", path, json.dumps(asked), {**JSON, **headers})

    def check_no_entry(self, reply, statuses=(401,)):
        self.assertIn(reply.status, statuses, str(reply))
        told = systemone.check_refusal(self, reply, reply.status)
        self.assertEqual(told["detail"]["error_type"], "authentication_error")

    def test_rule_3_5_and_g9_a_key_is_wanted_as_bearer(self):
        self.check_no_entry(self.post(), (401, 403))
        self.check_no_entry(self.post(**{"x-api-key": "k1"}), (401, 403))
        for key in ("Bearer wrong", "Bearer ", "Bearer k", "Bearer k11", "Bearer K1", "k1", "Basic k1", "Bearer k1,k2"):
            with self.subTest(key=key):
                self.check_no_entry(self.post(Authorization=key), (401, 403) if key != "Bearer wrong" else (401,))
        for key in ("k1", "k2"):
            self.assertEqual(self.post(Authorization="Bearer " + key).status, 200)

    def test_rule_3_5_models_are_under_the_same_rule(self):
        self.assertIn(self.server.get("/v1/models").status, (401, 403))
        reply = self.server.request("GET", "/v1/models", headers={"Authorization": "Bearer k1"})
        self.assertEqual(reply.status, 200)

    def test_rule_3_6_the_key_is_looked_at_before_the_body(self):
        for data in (b"{", b"", b'{"model": "no-such-model"}', b"\xff"):
            reply = self.server.request("POST", PATH, data, {**JSON, "Authorization": "Bearer wrong"})
            self.check_no_entry(reply)
        reply = self.server.request("POST", PATH, b"x", {"Content-Type": "text/plain", "Authorization": "Bearer wrong"})
        self.check_no_entry(reply)

    def test_rule_3_6_the_aliases_of_the_path_too(self):
        for path in ("/api/v1/systemone", "/api/alpha/decisions"):
            self.check_no_entry(self.post(path=path), (401, 403))


class Models(Base):
    def test_rule_3_7_while_loading_503_with_retry_after(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        # A check that was never made before keeps it loading for seconds.
        checks = tempfile.TemporaryDirectory()
        self.addCleanup(checks.cleanup)
        process = subprocess.Popen([harness.BINARY, "serve", harness.default_model(), "--port", str(port), "--threads",
                                    harness.THREADS, "--check-dir", checks.name], stderr=subprocess.DEVNULL,
                                   env=harness.environment())
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        loading = []

        def answered():
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=harness.REPLY_SECONDS)
            try:
                connection.request("POST", PATH, json.dumps(systemone.G1), JSON)
                reply = connection.getresponse()
                reply = harness.Reply(reply.status, reply.getheaders(), reply.read())
            except ConnectionRefusedError:
                return False
            finally:
                connection.close()
            if reply.status != 200:
                loading.append(reply)
            return reply.status == 200

        harness.wait_until(answered, "the model is loaded", harness.START_SECONDS)
        self.assertTrue(loading, "it was never seen loading")
        for reply in (loading[0], loading[-1]):
            systemone.check_refusal(self, reply, 503)
            self.assertIn(int(reply.headers["retry-after"]), range(1, 6))

    def test_rule_4_1_one_entry_for_each_name(self):
        models = self.server.get("/v1/models").json()["models"]
        self.assertEqual([entry["name"] for entry in models][1:3], ["jev-latest", "jev-preview"])
        for entry in models:
            self.assertTrue(entry["description"])
            self.assertRegex(entry["release_date"], r"^\d{4}-\d\d-\d\d$")

    def test_rule_4_2_openais_list_stands_beside_it(self):
        told = self.server.get("/v1/models").json()
        self.assertEqual(told["object"], "list")
        self.assertEqual(told["data"][0]["id"], told["models"][0]["name"])
        self.assertEqual(told["data"][0]["architecture"]["output_modalities"], ["decisions"])

    def test_rule_6_1_one_method_for_all_sizes_and_the_order_that_can_be_cancelled(self):
        def answer(count, readout, turned=False, **more):
            names = [f"shelf {n:03d}" for n in range(count)]
            asked = systemone.choice(names[::-1] if turned else names, **more)
            return self.ask(systemone.body(asked, x_readout=readout))["answers"]["q"]

        self.assertEqual(answer(2, "text")["x_readout"], answer(255, "text")["x_readout"])
        one, other = answer(5, "text"), answer(5, "text", turned=True)
        moves = [abs(value - other["probabilities"][name]) for name, value in one["probabilities"].items()]
        self.assertLess(max(moves), 1e-6, "text: the order has no part in it")
        plain = [answer(2, "letters", turned)["probabilities"]["shelf 000"] for turned in (False, True)]
        mean = [answer(2, "letters", turned, x_permute=2)["probabilities"]["shelf 000"] for turned in (False, True)]
        self.assertLess(abs(mean[0] - mean[1]), 1e-9)
        self.assertLessEqual(abs(mean[0] - mean[1]), abs(plain[0] - plain[1]))
