"""What a SageMaker container answers (T24 to T52). How it begins and ends: test_sagemaker_start.py; what it does with many
at once: test_sagemaker_load.py; with many models: test_sagemaker_models.py."""

import hashlib
import http.client
import json
import math
import re
import socket
import threading
import time
import unittest

import harness
import sagemaker
from sagemaker import ATTRIBUTES, JSON_TYPE, SEMIF, SESSION, SYSTEM_ONE, Container, container

CHAT = {"model": "", "messages": [{"role": "user", "content": harness.TICKET}]}
DECIDED = {**CHAT, "x_decide": True, "guided_choice": ["refund", "info"]}


def tearDownModule():
    sagemaker.stop_containers()


class Invocations(unittest.TestCase):
    def test_T24_messages_are_a_chat_completion(self):
        decided = container().invoke(DECIDED)
        self.assertEqual(decided.status, 200, str(decided))
        self.assertIn(decided.json()["choices"][0]["message"]["content"], ("refund", "info"))
        reply = container().invoke({**CHAT, "max_tokens": 4})
        self.assertEqual(reply.status, 200, str(reply))
        self.assertTrue(reply.json()["choices"][0]["message"]["content"])

    def test_T25_the_body_says_what_it_is(self):
        server = container()
        self.assertIn("answers", server.invoke(SYSTEM_ONE).json())
        self.assertIn("result", server.invoke(SEMIF).json())
        self.assertIn("results", server.invoke({"decisions": [harness.decision(["a", "b"])]}).json())
        self.assertIn("text", server.invoke({"prompt": "Once", "max_tokens": 2}).json()["choices"][0])
        message = {"role": "user", "content": "Once"}
        for body in ({"input": [message], "max_output_tokens": 2}, {"input": "Once", "max_output_tokens": 2}):
            self.assertEqual(server.invoke(body).json()["object"], "response", str(body))
        question = {"type": "choice", "instructions": "What?", "choices": [{"value": "a"}, {"value": "b"}]}
        self.assertIn("usage", server.invoke({"input": "Once", "questions": [question]}).json())
        # What needs a model of another kind says so: embeddings and ranks.
        for body, what in (({"input": "Once"}, "embeddings"), ({"query": "a", "documents": ["b"]}, "rerank")):
            reply = server.invoke(body)
            self.assertEqual(reply.status, 501, str(reply))
            self.assertIn(what, reply.json()["error"]["message"])

    def test_T26_the_custom_attributes_choose_the_route_and_come_back(self):
        server = container()
        given = "a=b,route=/v1/systemone;x=y"
        reply = server.send("/invocations", SYSTEM_ONE, {ATTRIBUTES: given})
        self.assertEqual((reply.status, reply.headers[ATTRIBUTES.lower()]), (200, given))
        self.assertEqual(server.send("/invocations", SEMIF, {ATTRIBUTES: "route=/v1/systemone"}).status, 422)
        for bad in ("/slots", "v1/decide", "/v1/../decide", "http://x/"):
            reply = server.send("/invocations", SEMIF, {ATTRIBUTES: "route=" + bad})
            self.assertEqual(reply.status, 400)
            self.assertIn(bad, reply.json()["error"])
        self.assertEqual(server.send("/invocations", SEMIF, {ATTRIBUTES: "trace-1"}).status, 200)

    def test_T27_semif_statuses_and_replies(self):
        server = container()
        good = server.invoke(SEMIF)
        self.assertEqual(good.headers["content-type"], "application/json")
        harness.check_result(self, good.json()["result"], SEMIF["decision"]["options"])
        self.assertEqual(good.json()["result"]["id"], "d1")
        shared = {"decisions": [harness.decision(["a", "b"], id=name) for name in ("x", "y")]}
        self.assertEqual([result["id"] for result in server.invoke(shared).json()["results"]], ["x", "y"])
        bad = [b"{", b"[]", {}, {**SEMIF, "other": 1}, {**SEMIF, **shared}, {"decisions": []},
               {"decision": {**SEMIF["decision"], "question": ""}}, {"decision": {**SEMIF["decision"], "state": 1}},
               {"decision": {**SEMIF["decision"], "options": [{"id": "a"}, {"id": "a"}]}},
               {"decisions": [shared["decisions"][0], shared["decisions"][0]]},
               {"decisions": [shared["decisions"][0], {**shared["decisions"][1], "state": "another"}]}]
        for body in bad:
            with self.subTest(body=body):
                reply = server.invoke(body)
                self.assertEqual(reply.status, 400, str(reply))
                self.assertIsInstance(reply.json()["error"], str)
        self.assertEqual(server.request("POST", "/invocations", json.dumps(SEMIF), {}).status, 415)
        self.assertEqual(server.request("POST", "/nothing", b"{}", JSON_TYPE).status, 404)

    def test_T28_a_decision_without_state_or_id_is_the_callers_fault(self):
        for key in ("state", "id"):
            second = harness.decision(["a", "b"], id="second")
            del second[key]
            reply = container().invoke({"decisions": [harness.decision(["a", "b"]), second]})
            self.assertEqual(reply.status, 400, str(reply))
            self.assertIn(key, reply.json()["error"])

    def test_T29_chunked_bodies_and_expect(self):
        server = container()
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        self.addCleanup(connection.close)
        data = json.dumps(SEMIF).encode()
        connection.request("POST", "/invocations", iter([data[:9], data[9:]]), JSON_TYPE, encode_chunked=True)
        reply = connection.getresponse()
        self.assertEqual(reply.status, 200)
        self.assertIn("result", json.loads(reply.read()))
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as wire:
            wire.sendall((f"POST /invocations HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                          f"Content-Length: {len(data)}\r\nExpect: 100-continue\r\n\r\n").encode())
            with wire.makefile("rb") as replies:
                self.assertEqual(replies.readline(), b"HTTP/1.1 100 Continue\r\n")  # before anything of the body
                self.assertEqual(replies.readline(), b"\r\n")
                wire.sendall(data)
                self.assertEqual(replies.readline().split()[1], b"200")

    def test_T30_types_and_headers(self):
        server = container()
        data = json.dumps(SEMIF).encode()
        for kind in ("application/json; charset=utf-8", "Application/JSON"):
            self.assertEqual(server.post(data, "/invocations", kind).status, 200)
        for kind in ("text/plain", "", None):
            self.assertEqual(server.post(data, "/invocations", kind).status, 415)
        more = {"X-Amzn-SageMaker-Target-Model": "x", "X-Amzn-Trace-Id": "y", "X-Amzn-SageMaker-New-Thing": "z"}
        for accept in ("*/*", "application/json"):
            self.assertEqual(server.send("/invocations", SEMIF, {**more, "Accept": accept}).status, 200)

    def test_T31_25_megabytes_and_not_more(self):
        server = container()
        large = server.invoke({**SEMIF, "x_unknown": "x" * (24 * 1024 * 1024)})
        self.assertEqual(large.status, 200, str(large))
        before = sagemaker.resident_bytes(server)
        too_much = b'{"decision": "' + b"x" * (26 * 1024 * 1024) + b'"}'
        for _ in range(4):
            above = server.invoke(too_much)
            self.assertEqual(above.status, 413)
            self.assertIn("error", above.json())
        pieces = [too_much[at:at + 1024 * 1024] for at in range(0, len(too_much), 1024 * 1024)]
        self.assertEqual(sagemaker.send_in_chunks(server, pieces), 413)
        self.assertLess(sagemaker.resident_bytes(server) - before, 2 * len(too_much))
        self.assertTrue(server.is_alive())

    def test_T38_events_come_one_by_one(self):
        chunks = sagemaker.chunks_of(container(), "/invocations", {**CHAT, "max_tokens": 4, "stream": True})
        self.assertGreater(len(chunks), 2)
        self.assertEqual(chunks[-1], b"data: [DONE]\n\n")
        for chunk in chunks[:-1]:
            # One event, and no comment: Strands and LiteLLM read a chunk as one.
            self.assertRegex(chunk, rb"\Adata: [^\n]+\n\n\Z")
            choice = json.loads(chunk.removeprefix(b"data: "))["choices"][0]
            self.assertIn("delta", choice)
            self.assertIn("finish_reason", choice)

    def test_T39_errors_are_short_json_without_the_prompt(self):
        secret = "ANANAS-7734"
        for body in (harness.body(["a", "a"], state=secret * 300), harness.body([], state=secret),
                     harness.body(["a", "b"], state=(secret + " ") * 9000), {"decision": secret}):
            reply = container().invoke(body)
            self.assertEqual(reply.status, 400)
            self.assertLess(len(reply.body), 2048)
            self.assertNotIn(secret, reply.body.decode())
            self.assertTrue(reply.json()["code"])

    def test_T46_the_openai_address(self):
        for path in ("/v1/chat/completions", "/openai/v1/chat/completions"):
            reply = container().send(path, DECIDED, {})
            self.assertEqual(reply.status, 200, str(reply))
            self.assertIn(reply.json()["choices"][0]["message"]["content"], ("refund", "info"))
            reply = container().send(path, {**CHAT, "max_tokens": 4}, {})
            self.assertTrue(reply.json()["choices"][0]["message"]["content"], str(reply))

    def test_T47_the_sdks_local_mode(self):
        began = time.monotonic()
        server = Container(sagemaker.tiny_folder("t47"))
        self.addCleanup(server.stop)
        self.assertEqual(server.get("/ping").status, 200)
        self.assertLess(time.monotonic() - began, 120)
        reply = server.send("/invocations", SEMIF, {"Accept": "application/json", ATTRIBUTES: "x"})
        self.assertEqual(reply.status, 200)

    def test_T48_what_strands_checks_of_an_answer(self):
        body = {"state": {"text": harness.TICKET}, "model": "jev-latest", "questions": {
            "b": {"type": "noul", "instructions": "Refund?", "criteria": {"true": "yes", "false": "no"}},
            "c": {"type": "choice", "instructions": "What?", "criteria": {"refund": "money back", "info": None}},
            "s": {"type": "score", "instructions": "How bad?", "criteria": ["fine", "bad", "awful"]}}}
        reply = container().invoke(body)
        self.assertEqual(reply.status, 200, str(reply))
        answers = reply.json()["answers"]
        # Strands reads each answer by its type, and wants all of these.
        wanted = {"b": ("noul", {"noul"}), "c": ("choice", {"choice", "confidence", "probabilities"}),
                  "s": ("score", {"score", "confidence", "legend", "probabilities"})}
        self.assertEqual(set(answers), set(wanted))
        for name, (kind, fields) in wanted.items():
            self.assertEqual(answers[name]["type"], kind)
            self.assertLessEqual(fields, set(answers[name]))
        self.assertTrue(0 <= answers["b"]["noul"] <= 1)
        self.assertEqual(set(answers["c"]["probabilities"]), {"refund", "info"})
        self.assertIn(answers["c"]["choice"], ("refund", "info"))
        self.assertEqual(list(answers["s"]["probabilities"]), ["0", "1", "2"])
        self.assertEqual(answers["s"]["legend"], {"0": "fine", "1": "bad", "2": "awful"})
        self.assertTrue(0 <= answers["s"]["confidence"] <= 1)
        self.assertIsInstance(reply.json()["usage"]["input_tokens"], int)


class Features(unittest.TestCase):
    def test_T41_execution_parameters(self):
        told = container().get("/execution-parameters").json()
        self.assertEqual(set(told), {"MaxConcurrentTransforms", "BatchStrategy", "MaxPayloadInMB"})
        self.assertLessEqual(told["MaxConcurrentTransforms"] * told["MaxPayloadInMB"], 100)
        self.assertGreaterEqual(told["MaxConcurrentTransforms"], 1)
        limit = container().get("/health").json()["limits"]["body_bytes_max"]
        self.assertLessEqual(told["MaxPayloadInMB"] * 1024 * 1024, limit)

    def test_T42_json_lines(self):
        one, two = json.dumps(SEMIF), json.dumps(SYSTEM_ONE)
        for kind in ("application/jsonlines", "application/x-jsonlines"):
            for end in ("", "\n"):
                reply = container().post(f"{one}\nnot json\n{two}{end}".encode(), "/invocations", kind)
                self.assertEqual((reply.status, reply.headers["content-type"]), (200, kind))
                lines = reply.body.decode().splitlines()
                self.assertEqual(len(lines), 3)
                self.assertIn("result", json.loads(lines[0]))
                self.assertIn("error", json.loads(lines[1]))
                self.assertIn("answers", json.loads(lines[2]))
        strict = container("strict_lines")
        self.assertEqual(strict.post(f"{one}\nnot json".encode(), "/invocations", "application/jsonlines").status, 400)
        self.assertEqual(strict.post(one.encode(), "/invocations", "application/jsonlines").status, 200)

    def test_T43_sessions(self):
        server = container("sessions")
        opened = server.send("/invocations", {"requestType": "NEW_SESSION", "state": harness.TICKET},
                             {SESSION: "NEW_SESSION"})
        self.assertEqual(opened.status, 200, str(opened))
        told = opened.headers["x-amzn-sagemaker-new-session-id"]
        self.assertRegex(told, r"^[a-zA-Z0-9](-*[a-zA-Z0-9])*; Expires=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        name = told.split(";")[0]
        stateless = {key: value for key, value in SYSTEM_ONE.items() if key != "state"}
        held, sent = server.send("/invocations", stateless, {SESSION: name}), server.invoke(SYSTEM_ONE)
        self.assertEqual(held.json()["answers"], sent.json()["answers"], "the session's state was asked about")
        closed = server.send("/invocations", {"requestType": "CLOSE"}, {SESSION: name})
        self.assertEqual(closed.headers["x-amzn-sagemaker-closed-session-id"], name)
        self.assertEqual(server.send("/invocations", stateless, {SESSION: name}).status, 400)
        self.assertEqual(server.send("/invocations", stateless, {SESSION: "never-was"}).status, 400)
        self.assertEqual(container().send("/invocations", SEMIF, {SESSION: "NEW_SESSION"}).status, 400)
        brief = Container(sagemaker.tiny_folder("t43"), SAGEMAKER_ENABLE_STATEFUL_SESSIONS="true",
                          SAGEMAKER_SESSIONS_EXPIRATION="1")
        self.addCleanup(brief.stop)
        name = brief.send("/invocations", SEMIF, {SESSION: "NEW_SESSION"}).headers["x-amzn-sagemaker-new-session-id"]
        name = name.split(";")[0]
        began = time.monotonic()
        # Asking would keep it alive; another session's beginning drops what is late.
        harness.wait_until(lambda: time.monotonic() - began > 1.1, "its second is over")
        self.assertEqual(brief.send("/invocations", SEMIF, {SESSION: name}).status, 400)

    def test_T44_an_endpoints_address(self):
        headers = {"Authorization": "AWS4-HMAC-SHA256 Credential=x", "X-Amz-Date": "20261130T000000Z"}
        reply = container().send("/endpoints/any-name/invocations", SEMIF, headers)
        self.assertEqual(reply.status, 200, str(reply))
        self.assertIn("result", reply.json())
        bad = container().send("/endpoints/any-name/invocations", {}, headers)
        self.assertEqual((bad.status, bad.headers["x-amzn-errortype"]), (424, "ModelError"))
        self.assertEqual(bad.json()["OriginalStatusCode"], 400)

    def test_T45_a_stream_in_frames(self):
        path = "/endpoints/e/invocations-response-stream"
        reply = container().send(path, SYSTEM_ONE, {"X-Amzn-SageMaker-Accept": "text/event-stream"})
        self.assertEqual(reply.headers["content-type"], "application/vnd.amazon.eventstream")
        frames = sagemaker.frames_of(reply.body)
        self.assertEqual({headers[":event-type"] for headers, _ in frames}, {"PayloadPart"})
        self.assertTrue(frames[0][1].startswith(b"event: answer\n"))
        self.assertTrue(frames[-1][1].startswith(b"event: done\n"))
        plain = sagemaker.frames_of(container().send(path, SEMIF, {}).body)
        self.assertIn("result", json.loads(plain[0][1]))

    def test_T49_a_container_of_one_model_loads_no_others(self):
        server = container()
        asks = [("POST", "/models"), ("GET", "/models/m"), ("DELETE", "/models/m"), ("POST", "/models/m/invoke")]
        for method, path in asks:
            reply = server.request(method, path, b'{"model_name": "m", "url": "/opt/ml/models/m/model"}', JSON_TYPE)
            self.assertIn(reply.status, (404, 405, 501), f"{method} {path}: {reply}")

    def test_T50_metrics(self):
        server = container()
        crowd = [threading.Thread(target=server.invoke, args=(sagemaker.WORK,)) for _ in range(8)]
        for one in crowd:
            one.start()
        harness.wait_until(lambda: server.get("/health").json()["in_flight"] > 1, "it is under load")
        began = time.monotonic()
        text = server.get("/metrics").body.decode()
        self.assertLess(time.monotonic() - began, 1)
        for one in crowd:
            one.join()
        for name in ("llamacpp:requests_processing", "llamacpp:requests_deferred", "llamacpp:kv_cache_usage_ratio",
                     "llamacpp:prompt_tokens_total", "llamacpp:n_decode_total", "assay_engine_queued",
                     "assay_engine_running", "assay_request_seconds_bucket", "assay_request_seconds_count"):
            value = re.search(rf"^{re.escape(name)}(?:{{.*?}})? (\S+)$", text, re.MULTILINE)
            self.assertTrue(value and math.isfinite(float(value.group(1))), name)

    def test_T51_open_inference_protocol(self):
        server = container()
        self.assertEqual(server.get("/v2/health/live").json(), {"live": True})
        self.assertEqual(server.get("/v2/health/ready").json(), {"ready": True})
        name = server.get("/v1/models").json()["data"][0]["id"]
        self.assertEqual(server.get(f"/v2/models/{name}").json()["name"], name)
        self.assertEqual(server.get(f"/v2/models/{name}/ready").status, 200)
        self.assertEqual(server.get("/v2/models/another").status, 404)

    def test_T52_a_line_of_json_for_each_request(self):
        path = harness.work_path("t52.log")
        with open(path, "wb") as out:
            server = Container(sagemaker.tiny_folder("t52"), out=out)
        try:
            server.send("/invocations", SEMIF, {"X-Amzn-SageMaker-Inference-Id": "call-7"})
            server.invoke({"decision": "ANANAS-7734"})
            server.get("/ping")
        finally:
            self.assertEqual(server.stop(), 0)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        lines = [json.loads(line) for line in text.splitlines()]
        ready, first, second = lines[0], lines[1], lines[2]
        self.assertEqual(ready["event"], "ready")
        self.assertEqual((ready["threads"], ready["device"], ready["model"]), (1, "CPU", "model"))
        with open(harness.tiny("tiny-attention"), "rb") as file:
            self.assertEqual(ready["sha256"], hashlib.sha256(file.read()).hexdigest())
        self.assertEqual((first["inference_id"], first["route"], first["status"]), ("call-7", "/invocations", 200))
        for name in ("input_tokens", "queue_ms", "compute_ms", "ms"):
            self.assertGreaterEqual(first[name], 0)
        self.assertEqual(second["status"], 400)
        for secret in ("ANANAS", harness.TICKET):
            self.assertNotIn(secret, text)


if __name__ == "__main__":
    unittest.main()
