"""System One as the tests know it: the golden pairs' requests, and what must hold for every reply (C of the contract).

The rules are those of the decision API's contract, RULE 1.1 to 8.2 and golden pairs G1 to G10. A test that decides one
has its number in its name.
"""

import json
import math

import harness

PATH = "/v1/systemone"

G1 = {"model": "jev-latest", "state": "The parcel left the depot at noon and arrived at three.",
      "questions": {"arrived": {"type": "noul", "instructions": "Did the parcel arrive?"}}}
G2 = {"model": "jev-latest",
      "state": {"order": {"id": 77, "lines": ["lamp", "cable"]}, "note": "please send it back to me in blue"},
      "questions": {"exchange": {"type": "noul",
                                 "instructions": {"question": "Does `note` ask for an exchange?",
                                                  "policy": ["exchange", "refund", "repair"]},
                                 "criteria": {"true": {"means": "wants another variant of the same item"}}}}}
G3 = {"model": "jev-latest", "state": "Der Drucker zieht kein Papier mehr ein.",
      "questions": {"queue": {"type": "choice", "instructions": "Who should take this?",
                              "criteria": {"Gerätetechnik": None, "Buchhaltung": None,
                                           "🙂 sonstiges": "anything else"}}}}
G4 = {"model": "jev-latest", "state": ["knock", "knock harder", "shout"],
      "questions": {"urgency": {"type": "score", "instructions": "How urgent does the sequence get?",
                                "criteria": ["not at all", "a little", "noticeable",
                                             {"label": "high", "sign": "raised voice"}, "emergency"]}}}
G5 = {"model": "jev-latest", "x_trace": "t-1", "seed": 7, "state": "Two of the three lifts are out of order.",
      "questions": {"q.2": {"type": "noul", "instructions": "Is every lift working?"},
                    "with space": {"type": "choice", "instructions": "What kind of report is this?",
                                   "criteria": {"fault": "something is broken", "praise": "something is good"}},
                    "🎯": {"type": "score", "instructions": "How bad is it?",
                          "criteria": ["fine", "partly bad", "all bad"]}}}
G6_STATE = "I left my umbrella on the train."
G7 = {"model": "jev-latest",
      "questions": {"a": {"type": "boolean", "instructions": "Yes?"},
                    "b": {"type": "score", "criteria": {"0": "low", "1": "high"}}}}
G8 = {"model": "no-such-model", "state": "x", "questions": {"a": {"type": "noul", "instructions": "Is this empty?"}}}
GOLDEN = {"g1": G1, "g2": G2, "g3": G3, "g4": G4, "g5": G5, "g6_state": G6_STATE, "g7": G7, "g8": G8}

ANSWER_FIELDS = {"noul": {"type", "noul"}, "choice": {"type", "choice", "probabilities", "confidence"},
                 "score": {"type", "score", "legend", "probabilities", "confidence"}}


def g6(count):
    """A choice among `count` places."""
    criteria = {"lost property": "things that somebody left behind"}
    criteria.update({f"shelf {n:03d}": f"items stored on shelf {n:03d}" for n in range(1, count)})
    return {"model": "jev-latest", "state": G6_STATE,
            "questions": {"where": {"type": "choice", "instructions": "Where does it go?", "criteria": criteria}}}


def noul(instructions="Is this empty?", **more):
    return {"type": "noul", "instructions": instructions, **more}


def choice(criteria, instructions="Which one is it?", **more):
    if not isinstance(criteria, dict):
        criteria = {name: None for name in criteria}
    return {"type": "choice", "instructions": instructions, "criteria": criteria, **more}


def score(levels, instructions="How much of it is there?", **more):
    return {"type": "score", "instructions": instructions, "criteria": levels, **more}


def body(questions, state="A short note.", **more):
    """A request; one question is called q."""
    if "type" in questions:
        questions = {"q": questions}
    return {"model": "jev-latest", "state": state, "questions": questions, **more}


def strict_json(data):
    """The value of JSON that has no key twice and no NaN; its objects keep their order."""

    def once(pairs):
        if len({key for key, _ in pairs}) != len(pairs):
            raise ValueError(f"a key twice among {[key for key, _ in pairs]}")
        return dict(pairs)

    def never(name):
        raise ValueError(f"{name} is no JSON")

    return json.loads(data.decode("utf-8"), object_pairs_hook=once, parse_constant=never)


def peak(values):
    """How far the most probable stands above guessing."""
    n = len(values)
    return 1.0 if n == 1 else max(0.0, (max(values) - 1 / n) / (1 - 1 / n))


def distance(values):
    """How near the levels are to the most probable one, the first of equals."""
    n = len(values)
    if n == 1:
        return 1.0
    mode = values.index(max(values))
    spread = math.fsum(value * abs(i - mode) for i, value in enumerate(values))
    return max(0.0, 1 - spread / (math.fsum(abs(i - (n - 1) / 2) for i in range(n)) / n))


def numbers_of_answer(answer):
    """What the answer says of each option; a noul is one number."""
    return {"noul": answer["noul"]} if answer["type"] == "noul" else answer["probabilities"]


def check_distribution(test, probabilities, keys):
    test.assertEqual(list(probabilities), keys)
    values = list(probabilities.values())
    for value in values:
        test.assertIsInstance(value, float)
        test.assertTrue(0 <= value <= 1, value)
    test.assertLessEqual(abs(math.fsum(values) - 1), 1e-6)
    return values


def check_score(test, levels, answer):
    keys = [str(i) for i in range(len(levels))]
    values = check_distribution(test, answer["probabilities"], keys)
    test.assertEqual(list(answer["legend"]), keys)
    for key, level in zip(keys, levels):
        told = answer["legend"][key]
        if isinstance(level, str):
            test.assertEqual(told, level)
        else:
            test.assertTrue(told == level or (isinstance(told, str) and told), told)
    test.assertIsInstance(answer["score"], float)
    test.assertTrue(0 <= answer["score"] <= len(levels) - 1)
    test.assertLessEqual(abs(answer["score"] - math.fsum(i * value for i, value in enumerate(values))), 1e-6)
    test.assertLessEqual(abs(answer["confidence"] - distance(values)), 1e-6)


def check_answer(test, question, answer):
    """One answer to one question, both from a request without x_ settings that change an answer's form."""
    test.assertEqual(answer["type"], question["type"])
    fields = {name for name in answer if not name.startswith("x_")}
    test.assertEqual(fields, ANSWER_FIELDS[question["type"]], answer)
    if question["type"] == "noul":
        test.assertIsInstance(answer["noul"], float)
        test.assertTrue(0 <= answer["noul"] <= 1)
        return
    test.assertTrue(0 <= answer["confidence"] <= 1)
    if question["type"] == "score":
        check_score(test, question["criteria"], answer)
        return
    names = list(question["criteria"])
    values = check_distribution(test, answer["probabilities"], names)
    test.assertEqual(answer["choice"], names[values.index(max(values))], "the first of the most probable")
    test.assertLessEqual(abs(answer["confidence"] - peak(values)), 1e-6)


def check_headers(test, reply):
    """Of every reply of the route, errors too."""
    test.assertRegex(reply.headers.get("content-type", ""), r"^application/json\b", str(reply))
    test.assertTrue(reply.headers.get("x-typesafe-request-id"), str(reply.headers))


def model_id(server):
    return server.get("/v1/models").json()["models"][0]["name"]


def check_reply(test, server, asked, reply):
    """C of the contract; gives the reply's value."""
    test.assertEqual(reply.status, 200, str(reply))
    check_headers(test, reply)
    told = strict_json(reply.body)
    test.assertEqual({name for name in told if not name.startswith("x_")}, {"model", "answers", "usage"})
    test.assertEqual(told["model"], model_id(server))
    test.assertEqual(list(told["answers"]), list(asked["questions"]), "ids to the byte, in the request's order")
    for name in ("input_tokens", "output_tokens"):
        test.assertIs(type(told["usage"][name]), int)
        test.assertGreaterEqual(told["usage"][name], 0)
    test.assertGreater(told["usage"]["input_tokens"], 0)
    for path, number in harness.numbers_of(told):
        test.assertTrue(math.isfinite(number), path)
    for name, question in asked["questions"].items():
        check_answer(test, question, told["answers"][name])
    return told


def ask(test, server, asked):
    """The checked reply to a request."""
    return check_reply(test, server, asked, server.post(asked, PATH))


def check_refusal(test, reply, status):
    """An error of this wire: 422 says where with a list, any other says what with an object; OpenRouter's form too."""
    test.assertEqual(reply.status, status, str(reply))
    check_headers(test, reply)
    told = strict_json(reply.body)
    if status == 422:
        test.assertTrue(told["detail"])
        for entry in told["detail"]:
            test.assertEqual(entry["loc"][0], "body")
            for step in entry["loc"]:
                test.assertIn(type(step), (str, int))
            test.assertIsInstance(entry["msg"], str)
            test.assertIsInstance(entry["type"], str)
    else:
        test.assertIsInstance(told["detail"]["error_type"], str)
        test.assertTrue(told["detail"]["message"])
    test.assertEqual(told["error"]["code"], status)
    test.assertTrue(told["error"]["message"])
    return told


def places_of(told):
    """Where a 422 says the faults are, without the leading "body"."""
    return [entry["loc"][1:] for entry in told["detail"]]
