"""What the client sends."""

import base64
import dataclasses
import datetime
import os
import pathlib
import tempfile
import unittest
from unittest import mock

from support import Script, answer_all, assay, both, sent

PNG, JPEG = b"\x89PNG\r\n\x1a\n and more", b"\xff\xd8\xff\xe0 and more"


def in_base64(data):
    return base64.b64encode(data).decode()


@both
class Bodies:
    def body_of(self, use):
        script = Script(answer_all)
        self.run_with(script, use)
        return sent(script.requests[0])

    def test_options_are_names_or_names_with_descriptions(self):
        body = self.body_of(lambda client: client.decide("s", "Which?", ["a", "b"]))
        self.assertEqual(body, {"model": "jev-latest", "state": "s", "questions": {
            "q": {"type": "choice", "instructions": "Which?", "criteria": {"a": None, "b": None}}}})
        body = self.body_of(lambda client: client.decide("s", "Which?", {"b": "second", "a": {"means": "first"}}))
        self.assertEqual(list(body["questions"]["q"]["criteria"].items()), [("b", "second"), ("a", {"means": "first"})])

    def test_yes_no_says_only_the_sides_that_were_given(self):
        body = self.body_of(lambda client: client.yes_no("s", "Is it?"))
        self.assertEqual(body["questions"]["q"], {"type": "noul", "instructions": "Is it?"})
        body = self.body_of(lambda client: client.yes_no("s", "Is it?", no="it is not"))
        self.assertEqual(body["questions"]["q"]["criteria"], {"false": "it is not"})

    def test_levels_stay_in_their_order(self):
        body = self.body_of(lambda client: client.score("s", {"question": "How much?"}, ["low", {"label": "high"}]))
        self.assertEqual(body["questions"]["q"], {"type": "score", "instructions": {"question": "How much?"},
                                                  "criteria": ["low", {"label": "high"}]})

    def test_extensions_are_sent_where_they_are_wanted(self):
        body = self.body_of(lambda client: client.decide(
            "s", "Which?", ["a"], min_confidence=0.5, none_of_these="nothing fits", permute=3, readout="letters",
            layout="state_first", priority="bulk", receipt=True, extra={"x_explain": True}))
        question = body["questions"]["q"]
        self.assertEqual((question["x_min_confidence"], question["x_none_of_these"], question["x_permute"]),
                         (0.5, "nothing fits", 3))
        self.assertEqual({name: value for name, value in body.items() if name.startswith("x_")},
                         {"x_readout": "letters", "x_layout": "state_first", "x_priority": "bulk", "x_receipt": True,
                          "x_explain": True})

    def test_images_are_sent_as_the_wire_takes_them(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "a.png"
            path.write_bytes(PNG)
            body = self.body_of(lambda client: client.decide("s", "Which?", ["a"], images=[
                PNG, path, memoryview(JPEG), "data:image/png;base64," + in_base64(PNG), in_base64(JPEG)]))
        self.assertEqual(body["images"], [in_base64(PNG), in_base64(PNG), in_base64(JPEG),
                                          "data:image/png;base64," + in_base64(PNG), in_base64(JPEG)])
        self.assertNotIn("assets", body)

    def test_assets_are_named_and_say_their_format(self):
        body = self.body_of(lambda client: client.yes_no("See b and a.", "Alike?", assets={
            "b": JPEG, "a": "data:image/png;base64," + in_base64(PNG)}))
        self.assertEqual(list(body["assets"].items()), [
            ("b", {"type": "image", "format": "jpg", "data_base64": in_base64(JPEG)}),
            ("a", {"type": "image", "format": "png", "data_base64": in_base64(PNG)})])
        self.assertNotIn("images", body)

    def test_what_is_no_image_never_leaves(self):
        for settings, kind in [({"images": PNG}, TypeError), ({"images": "a.png"}, TypeError),
                               ({"images": ["a.png"]}, ValueError), ({"images": ["https://a.test/b"]}, ValueError),
                               ({"images": [7]}, TypeError), ({"images": [pathlib.Path("none.png")]}, OSError),
                               ({"assets": [PNG]}, TypeError), ({"assets": {"a": b"GIF89a"}}, ValueError),
                               ({"assets": {"a": ""}}, ValueError)]:
            script = Script()
            with self.subTest(settings=settings), self.assertRaises(kind):
                self.run_with(script, lambda client, settings=settings: client.yes_no("a", "?", **settings))
            self.assertEqual(script.requests, [])

    def test_ids_and_keys_keep_their_bytes_and_order(self):
        script = Script(answer_all)
        state = {"z": "\u2028ü", "a": [1, 2.5, None, True]}
        questions = {"10": assay.YesNo("?"), "2": assay.YesNo("?"), "🎯 q.": assay.YesNo("?")}
        self.run_with(script, lambda client: client.ask(state, questions))
        self.assertIn('{"z":"\u2028ü","a":[1,2.5,null,true]}'.encode(), script.requests[0].content)
        self.assertEqual(list(sent(script.requests[0])["questions"]), ["10", "2", "🎯 q."])

    def test_common_python_values_become_json(self):
        @dataclasses.dataclass
        class Ticket:
            day: datetime.date

        body = self.body_of(lambda client: client.yes_no({"t": Ticket(datetime.date(2026, 11, 2))}, "?"))
        self.assertEqual(body["state"], {"t": {"day": "2026-11-02"}})

    def test_what_is_no_json_never_leaves(self):
        for state, kind in [(float("nan"), ValueError), ("\ud800", ValueError), ({"a": object()}, TypeError)]:
            script = Script()
            with self.assertRaises(kind):
                self.run_with(script, lambda client, state=state: client.yes_no(state, "?"))
            self.assertEqual(script.requests, [])

    def test_a_question_that_cannot_be_meant_never_leaves(self):
        wrong = [
            (TypeError, lambda client: client.decide("s", "?", "abc")),
            (TypeError, lambda client: client.decide("s", "?", [1, 2])),
            (ValueError, lambda client: client.decide("s", "?", [])),
            (ValueError, lambda client: client.decide("s", "?", ["a", "b", "a"])),
            (ValueError, lambda client: client.score("s", "?", [])),
            (TypeError, lambda client: client.score("s", "?", "low")),
            (ValueError, lambda client: client.ask("s", {})),
            (TypeError, lambda client: client.ask("s", [assay.YesNo("?")])),
            (TypeError, lambda client: client.ask("s", {"a": assay.YesNo("?")}, timeout=3)),
            (ValueError, lambda client: client.ask("s", {"a": assay.YesNo("?")}, timeout_ms=0)),
        ]
        for kind, use in wrong:
            with self.assertRaises(kind):
                self.run_with(Script(), use)


@both
class Headers:
    def request_of(self, use, **settings):
        script = Script(answer_all)
        self.run_with(script, use, **settings)
        return script.requests[0]

    def test_key_and_further_headers_are_sent(self):
        request = self.request_of(lambda client: client.yes_no("s", "?"), api_key="k1", headers={"X-Trace": "t"})
        self.assertEqual(request.headers["authorization"], "Bearer k1")
        self.assertEqual(request.headers["x-trace"], "t")
        self.assertEqual(request.headers["content-type"], "application/json")

    def test_without_a_key_there_is_no_authorization(self):
        with mock.patch.dict(os.environ):
            os.environ.pop("ASSAY_API_KEY", None)
            request = self.request_of(lambda client: client.yes_no("s", "?"))
        self.assertNotIn("authorization", request.headers)

    def test_the_deadline_is_told_and_bounds_the_wait(self):
        request = self.request_of(lambda client: client.yes_no("s", "?", timeout_ms=1500))
        self.assertTrue(1400 <= float(request.headers["x-timeout-ms"]) <= 1500, request.headers["x-timeout-ms"])
        self.assertTrue(1.5 <= request.extensions["timeout"]["read"] <= 4, request.extensions["timeout"])
        request = self.request_of(lambda client: client.yes_no("s", "?"), timeout=7)
        self.assertNotIn("x-timeout-ms", request.headers)
        self.assertEqual(request.extensions["timeout"]["read"], 7)


class Environment(unittest.TestCase):
    def test_address_and_key_come_from_the_environment(self):
        with mock.patch.dict(os.environ, ASSAY_BASE_URL="http://other:9/v1/", ASSAY_API_KEY="k2"):
            with assay.Client() as client:
                self.assertEqual(client.base_url, "http://other:9")
                self.assertEqual(client._target.headers["authorization"], "Bearer k2")
        with mock.patch.dict(os.environ):
            os.environ.pop("ASSAY_BASE_URL", None)
            with assay.Client() as client:
                self.assertEqual(client.base_url, "http://127.0.0.1:8080")

    def test_an_address_without_a_scheme_is_refused(self):
        with self.assertRaises(ValueError):
            assay.Client("localhost:8080")

    def test_one_line_functions_share_a_client_until_the_environment_changes(self):
        from assay.client import default_client

        with mock.patch.dict(os.environ, ASSAY_BASE_URL="http://one:1"):
            first = default_client()
            self.assertIs(default_client(), first)
            os.environ["ASSAY_BASE_URL"] = "http://two:2"
            self.assertEqual(default_client().base_url, "http://two:2")
        self.assertEqual(first.base_url, "http://one:1")


if __name__ == "__main__":
    unittest.main()
