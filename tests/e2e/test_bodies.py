"""Bodies that are wrong in every way: a 4xx that says where (cases 14, 38), and a server that goes on."""

import json
import unittest

import harness


def changed(**fields):
    """A good decision with other fields; None removes one."""
    asked = dict(harness.decision(["a", "b"]), **fields)
    return {"decision": {key: value for key, value in asked.items() if value is not None}}


def options(*entries):
    return changed(options=list(entries))


def several(*changes):
    asked = [dict(harness.decision(["a", "b"]), id=f"d{i}") for i in range(len(changes))]
    return {"decisions": [{**decision, **change} for decision, change in zip(asked, changes)]}


A = {"id": "a"}
GOOD = json.dumps(changed()).encode()
NOT_JSON = [b"", b" ", b"{", b"[", b"nul", b"{}}", b"'a'", b"\x00", b"\xff\xfe{}", b"{\"decision\": }", GOOD[:-1],
            GOOD[:40], GOOD + b"x", GOOD + GOOD, GOOD.replace(b'"state": "My', b'"state": "\xc3\x28'),
            GOOD.replace(b'"state": "My', b'"state": "\\ud800'), GOOD.replace(b'"d1"', b'"d1", "id": "d2"'),
            GOOD.replace(b'"d1"', b"NaN"), GOOD.replace(b'"d1"', b"-Infinity"), GOOD.replace(b'"d1"', b"1e999"),
            b'{"decision": ' + b"[" * 5000 + b"]" * 5000 + b"}", b"[" * 100000]
# (body, field or None)
WRONG = [
    ([], None), (7, None), ("text", None), (None, None), ({}, None), ({"decision": None}, "decision"),
    ({"decision": []}, "decision"), ({"decisions": []}, "decisions"), ({"decisions": {}}, "decisions"),
    ({"decisions": [7]}, "decisions[0]"), (dict(changed(), **several({})), None),
    (dict(changed(), stream=True), "stream"),
    (changed(id=None), "decision.id"), (changed(id=""), "decision.id"), (changed(id=5), "decision.id"),
    (changed(question=None), "decision.question"), (changed(question=""), "decision.question"),
    (changed(question=["a"]), "decision.question"), (changed(state=None), "decision.state"),
    (changed(state=""), "decision.state"), (changed(state=3), "decision.state"), (changed(state={}), "decision.state"),
    (changed(state=[]), "decision.state"), (changed(state=True), "decision.state"),
    (changed(options=None), "decision.options"), (changed(options={}), "decision.options"),
    (options(), "decision.options"), (options(A, "b"), "decision.options[1]"),
    (options(A, None), "decision.options[1]"),
    (options(A, {}), "decision.options[1].id"), (options(A, {"id": ""}), "decision.options[1].id"),
    (options(A, {"id": 2}), "decision.options[1].id"), (options(A, A), "decision.options[1].id"),
    (options(A, {"id": "b", "description": 1}), "decision.options[1].description"),
    (options(A, {"id": "b" * 5000}), "decision.options[1].id"),
    (options(*[{"id": str(n)} for n in range(1025)]), "decision.options"),
    (changed(type="multi"), "decision.type"), (changed(type="yes_no", options=[A]), "decision.type"),
    (dict(changed(), x_readout="logits"), "x_readout"), (dict(changed(), x_readout=1), "x_readout"),
    (dict(changed(), x_explain="yes"), "x_explain"), (dict(changed(), x_hidden_state=1), "x_hidden_state"),
    (several({}, {"state": "another"}), "decisions[1].state"), (several({}, {"id": "d0"}), "decisions[1].id"),
    (several(*[{}] * 257), "decisions"), (several({}, {"options": []}), "decisions[1].options"),
]


class Malformed(unittest.TestCase):
    def setUp(self):
        self.server = harness.shared("attention")

    def tearDown(self):
        self.assertTrue(self.server.is_alive())
        self.server.decide(self, harness.body(["a", "b"]))

    def check_refusal(self, reply):
        self.assertTrue(400 <= reply.status < 500, str(reply))
        self.assertLessEqual(len(reply.body), 2048, "T39: an error is short")
        self.assertTrue(reply.json()["error"])
        self.assertTrue(reply.json()["code"])
        return reply.json()

    def test_bodies_that_are_no_json(self):
        for body in NOT_JSON:
            with self.subTest(body=body[:60]):
                self.check_refusal(self.server.post(body))

    def test_bodies_of_a_wrong_shape_name_the_field(self):
        for body, field in WRONG:
            with self.subTest(body=json.dumps(body)[:120]):
                said = self.check_refusal(self.server.post(body))
                if field is not None:
                    self.assertEqual(said.get("field"), field, said)
                    self.assertIn(field, said["error"])

    def test_case_14_no_options_and_empty_texts(self):
        for body, field in ((options(), "decision.options"), (options({"id": ""}), "decision.options[0].id"),
                            (changed(state=""), "decision.state"), (changed(question=""), "decision.question")):
            reply = self.server.post(body, path="/invocations")
            self.assertEqual(reply.status, 400, str(reply))
            self.assertEqual(reply.json()["field"], field)

    def test_t28_a_later_decision_without_id_or_state_is_a_400(self):
        for missing in ("id", "state"):
            body = several({}, {})
            del body["decisions"][1][missing]
            reply = self.server.post(body)
            self.assertEqual((reply.status, reply.json()["field"]), (400, f"decisions[1].{missing}"), str(reply))

    def test_ids_are_opaque(self):
        ids = ["a", " a", "a ", "A", "ä", "a\u0308", "\t", "a\nb", "a\u0000b", "🚲", "__", '"']
        for readout in ("letters", "text"):
            result = self.server.decide(self, harness.body(ids, readout))
            self.assertEqual(result["option_ids"], ids)

    def test_t31_a_body_above_the_limit_is_refused_and_one_below_is_read(self):
        limit = self.server.get("/health").json()["limits"]["body_bytes_max"]
        reply = self.server.post(b'"' + b"x" * limit + b'"')
        self.assertEqual(reply.status, 413, str(reply))
        self.assertIn(str(limit), reply.json()["error"])
        self.assertEqual(self.server.post(b'"' + b"x" * (limit - 2) + b'"').status, 400)
