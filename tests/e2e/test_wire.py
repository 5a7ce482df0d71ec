"""The HTTP surface: every route, SemIf's shapes (T27), statuses, headers."""

import json
import math
import unittest

import harness

OPTIONS = [("refund", "Wants money back"), ("info", "Asks how something works"), ("cancel", "Wants to leave")]
RESULT_KEYS = {"id", "option_ids", "probabilities", "option_logits", "input_tokens", "prompt_sha256", "prompt_version",
               "layout", "model", "readout", "probability_status", "reliability"}
LETTERS_KEYS = {"answer_token_ids", "allowed_token_mass", "full_vocab_argmax_id"}
TIMING_KEYS = {"batch_size", "input_tokens", "computed_rows", "cached_tokens", "queue_seconds", "forward_seconds",
               "total_seconds", "max_request_tokens"}


class Routes(unittest.TestCase):
    def setUp(self):
        self.server = harness.shared("default")

    def test_case_56_health_tells_the_limits_of_one_request(self):
        health = self.server.get("/health")
        self.assertEqual(health.status, 200)
        self.assertEqual(health.json()["status"], "ok")
        limits = health.json()["limits"]
        self.assertEqual(set(limits), {"context_tokens", "options_max", "questions_max", "body_bytes_max",
                                       "chat_context_tokens"})
        self.assertEqual(limits["chat_context_tokens"],
                         self.server.get("/props").json()["default_generation_settings"]["n_ctx"])
        meta = self.server.get("/v1/models").json()["data"][0]["meta"]
        self.assertEqual(limits["context_tokens"], meta["context_tokens"])
        for load in ("in_flight", "queued", "running"):
            self.assertGreaterEqual(health.json()[load], 0)

    def test_t18_ping_answers_get_and_head(self):
        ping = self.server.get("/ping")
        self.assertEqual((ping.status, ping.json()), (200, {"status": "ok"}))
        head = self.server.request("HEAD", "/ping")
        self.assertEqual((head.status, head.body), (200, b""))

    def test_models_describes_the_loaded_model(self):
        models = self.server.get("/v1/models").json()
        entry = models["data"][0]
        self.assertEqual(entry["id"], harness.MODEL.rsplit("/", 1)[1].removesuffix(".gguf"))
        self.assertNotIn(harness.ROOT, json.dumps(models), "no path of this machine on the wire")
        self.assertIn(entry["meta"]["readout"], ("letters", "text"))
        self.assertIn(entry["meta"]["layout"], ("state_first", "question_first"))
        self.assertIsInstance(entry["meta"]["deterministic"], bool)
        self.assertTrue(entry["meta"]["determinism"])
        self.assertEqual(set(entry["meta"]["reliability"]), {"choice", "yes_no", "scale"})
        self.assertGreaterEqual(entry["meta"]["letter_label_count"], 26)
        self.assertIn("jev-latest", [model["name"] for model in models["models"]])

    def test_t50_metrics_count_what_was_answered(self):
        def requests_answered():
            text = self.server.get("/metrics").body.decode()
            wanted = 'assay_requests_total{route="/v1/decide",status="200"} '
            return sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(wanted))

        before = requests_answered()
        self.server.decide(self, harness.body(OPTIONS))
        self.assertEqual(requests_answered(), before + 1)
        metrics = self.server.get("/metrics")
        self.assertTrue(metrics.headers["content-type"].startswith("text/plain"))
        for name in ("assay_requests_in_flight", "assay_input_tokens_total", "assay_request_seconds_bucket",
                     "assay_queue_wait_seconds_bucket", "assay_engine_rows_total", "assay_engine_cells_used"):
            self.assertIn(name, metrics.body.decode())

    def test_case_39_a_wrong_path_names_the_right_one(self):
        for path, meant in (("/v1/decid", "/v1/decide"), ("/v1/decision", "/v1/decisions"), ("/model", "/v1/models")):
            reply = self.server.post(harness.body(OPTIONS), path=path)
            self.assertEqual(reply.status, 404, str(reply))
            self.assertIn(meant, reply.json()["error"]["message"])

    def test_case_39_a_wrong_method_names_the_right_one(self):
        reply = self.server.get("/v1/decide")
        self.assertEqual(reply.status, 405, str(reply))
        self.assertEqual(reply.headers["allow"], "POST")
        self.assertIn("POST", reply.json()["error"])

    def test_t30_media_types(self):
        good = harness.body(OPTIONS)
        for media_type, status in (("application/json; charset=utf-8", 200), ("APPLICATION/JSON", 200),
                                   ("text/plain", 415), ("application/jsonp", 415), ("", 415)):
            with self.subTest(media_type=media_type):
                reply = self.server.post(good, content_type=media_type)
                self.assertEqual(reply.status, status, str(reply))
                if status == 415:
                    self.assertIn("application/json", reply.json()["error"])

    def test_case_20_no_page_of_another_origin_is_let_in(self):
        reply = self.server.request("GET", "/v1/models", headers={"Origin": "http://example.com"})
        self.assertEqual([name for name in reply.headers if name.startswith("access-control")], [])

    def test_t40_one_connection_serves_many_requests_and_old_clients_are_served(self):
        connection = harness.http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        for _ in range(500):
            connection.request("GET", "/ping")
            reply = connection.getresponse()
            reply.read()
            self.assertEqual(reply.status, 200)
        connection.close()

    def test_t29_a_chunked_body_is_read(self):
        connection = harness.http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=60)
        data = json.dumps(harness.body(OPTIONS)).encode()
        connection.request("POST", "/v1/decide", iter([data[:50], data[50:]]), {"Content-Type": "application/json"},
                           encode_chunked=True)
        reply = connection.getresponse()
        self.assertEqual(reply.status, 200, reply.read()[:300])
        connection.close()

    def test_a_request_id_comes_back(self):
        reply = self.server.request("GET", "/health", headers={"X-Request-Id": "order-7"})
        self.assertEqual(reply.headers["x-request-id"], "order-7")
        self.assertTrue(self.server.get("/health").headers["x-request-id"])


class Shapes(unittest.TestCase):
    def setUp(self):
        self.server = harness.shared("default")

    def test_t27_single_decision_on_both_paths(self):
        for path in ("/v1/decide", "/invocations"):
            for readout in ("letters", "text"):
                with self.subTest(path=path, readout=readout):
                    reply = self.server.post(harness.body(OPTIONS, readout), path=path)
                    self.assertEqual(reply.status, 200, str(reply))
                    self.assertEqual(set(reply.json()), {"result"})
                    result = reply.json()["result"]
                    harness.check_result(self, result, harness.decision(OPTIONS)["options"])
                    expected = RESULT_KEYS | {"forward_seconds", "total_seconds"}
                    self.assertEqual(set(result), expected | (LETTERS_KEYS if readout == "letters" else set()))
                    self.assertEqual((result["id"], result["readout"]), ("d1", readout))
                    self.assertIn("serving_config", result["model"])
                    self.assertIsInstance(result["model"]["deterministic"], bool)
                    self.assertEqual(result["probability_status"], "uncalibrated")
                    self.assertRegex(result["prompt_sha256"], "^[0-9a-f]{64}$")

    def test_t27_shared_decisions(self):
        decisions = [harness.decision(OPTIONS),
                     dict(harness.decision(["yes", "no"]), id="d2", question="Is it urgent?"),
                     dict(harness.decision([str(n) for n in range(5)]), id="d3", question="How angry, 0 to 4?")]
        for readout in ("letters", "text"):
            with self.subTest(readout=readout):
                reply = self.server.post({"decisions": decisions, "x_readout": readout})
                self.assertEqual(reply.status, 200, str(reply))
                self.assertEqual(set(reply.json()), {"results", "timing"})
                results = reply.json()["results"]
                self.assertEqual([result["id"] for result in results], ["d1", "d2", "d3"])
                for result, asked in zip(results, decisions):
                    harness.check_result(self, result, asked["options"])
                    self.assertNotIn("forward_seconds", result)
                timing = reply.json()["timing"]
                self.assertEqual(set(timing), TIMING_KEYS)
                self.assertEqual(timing["batch_size"], 3)
                self.assertTrue(0 <= timing["cached_tokens"] <= timing["input_tokens"], timing)
                self.assertLess(timing["input_tokens"], sum(result["input_tokens"] for result in results),
                                "the state that the questions share is counted once")

    def test_shared_decisions_answer_as_each_alone(self):
        decisions = [harness.decision(OPTIONS),
                     dict(harness.decision(["yes", "no"]), id="d2", question="Is it urgent?")]
        # Rows that are computed beside others may be summed in another order; the default model rounds activations to
        # 8 bits, which makes hundredths out of that.
        for server, tolerance in ((self.server, 0.05), (harness.shared("attention"), 0.001)):
            for readout in ("letters", "text"):
                together = server.post({"decisions": decisions, "x_readout": readout}).json()["results"]
                for asked, result in zip(decisions, together):
                    alone = server.decide(self, {"decision": asked, "x_readout": readout})
                    self.assertEqual(alone["prompt_sha256"], result["prompt_sha256"])
                    for one, other in zip(alone["probabilities"], result["probabilities"]):
                        self.assertAlmostEqual(one, other, delta=tolerance)

    def test_case_61_a_whole_probability_is_written_as_a_float(self):
        reply = self.server.post(harness.body(["only"]))
        self.assertEqual(reply.status, 200)
        self.assertIn(b'"probabilities": [1.0]', reply.body)

    def test_case_38_seventeen_options_and_unknown_fields_are_taken(self):
        asked = harness.body([f"choice_{n}" for n in range(17)], priority=3, note={"by": "us"})
        asked["x_customer"] = "unknown keys that begin with x_ are nobody's business"
        self.server.decide(self, asked)

    def test_case_38_an_unknown_top_level_key_is_named(self):
        reply = self.server.post(dict(harness.body(OPTIONS), temperature=0.5))
        self.assertEqual(reply.status, 400)
        self.assertIn("temperature", reply.json()["error"])

    def test_the_state_can_be_any_json(self):
        for state in ({"b": 1.0, "a": [1, 2.5, None, True]}, ["x", {"y": "z"}], "Zürich, 東京, 🚲"):
            with self.subTest(state=state):
                result = self.server.decide(self, harness.body(OPTIONS, "letters", explain=True, state=state))
                self.assertIn(json.dumps(state, ensure_ascii=False), result["x_explain"]["prompt"])

    def test_the_hidden_state_comes_on_request(self):
        size = self.server.get("/v1/models").json()["data"][0]["meta"]["hidden_size"]
        for readout in ("letters", "text"):
            result = self.server.decide(self, dict(harness.body(OPTIONS, readout), x_hidden_state=True))
            self.assertEqual(len(result["x_hidden_state"]), size)
            self.assertGreater(math.fsum(abs(number) for number in result["x_hidden_state"]), 0)

    def test_the_layout_is_named_and_changes_the_prompt(self):
        hashes = set()
        for layout in ("state_first", "question_first"):
            result = self.server.decide(self, dict(harness.body(OPTIONS, "letters"), x_layout=layout))
            self.assertEqual(result["layout"], layout)
            hashes.add(result["prompt_sha256"])
        self.assertEqual(len(hashes), 2)
        default = self.server.get("/v1/models").json()["data"][0]["meta"]["layout"]
        self.assertEqual(self.server.decide(self, dict(harness.body(OPTIONS), x_layout="auto"))["layout"], default)

    def test_a_receipt_comes_on_request(self):
        receipts = []
        for state in ("One parcel came.", "One parcel came.", "Two parcels came."):
            reply = self.server.post(dict(harness.body(OPTIONS, "letters", state=state), x_receipt=True))
            self.assertEqual(reply.status, 200, str(reply))
            receipts.append(reply.json()["x_receipt"])
            self.assertEqual(set(receipts[-1]), {"model", "build", "settings", "tokens", "scores"})
            for name, value in receipts[-1].items():
                self.assertRegex(value, "^[0-9a-f]{64}$", name)
        for name in ("model", "build", "settings", "tokens"):
            self.assertEqual(receipts[0][name], receipts[1][name], name)
        if self.server.get("/v1/models").json()["data"][0]["meta"]["deterministic"]:
            self.assertEqual(receipts[0], receipts[1])
        self.assertNotEqual(receipts[0]["tokens"], receipts[2]["tokens"])
        self.assertNotIn("x_receipt", self.server.post(harness.body(OPTIONS)).json())
