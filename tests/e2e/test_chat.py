"""Chat and the rest of llama-server's routes beside decisions, on one set of weights."""

import json
import os
import socket
import tempfile
import threading
import unittest

import harness

HELLO = [{"role": "user", "content": "Say hello."}]
TOOL = {"type": "function", "function": {"name": "get_weather", "description": "The weather of a city",
                                         "parameters": {"type": "object", "properties": {"city": {"enum": ["Oslo", "Lima"]}},
                                                        "required": ["city"]}}}


def events(body):
    """The data of a stream's events, [DONE] and all."""
    return [line[len("data: "):] for line in body.decode().split("\n") if line.startswith("data: ")]


class ChatTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.default_server("--metrics", "--jinja", "--alias", "small,other", "-c", "4096")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def post(self, path, body):
        reply = self.server.post(body, path)
        self.assertEqual(reply.status, 200, str(reply))
        return reply.json()

    def test_a_chat_is_answered(self):
        reply = self.post("/v1/chat/completions", {"messages": HELLO, "max_tokens": 8, "model": "anything"})
        self.assertTrue(reply["choices"][0]["message"]["content"])
        self.assertEqual(reply["object"], "chat.completion")
        self.assertLessEqual(reply["usage"]["completion_tokens"], 8)

    def test_the_same_seed_gives_the_same_text(self):
        body = {"messages": HELLO, "max_tokens": 12, "seed": 7, "temperature": 0, "cache_prompt": False}
        texts = {self.post("/v1/chat/completions", body)["choices"][0]["message"]["content"] for _ in range(2)}
        self.assertEqual(len(texts), 1)

    def test_a_stream_ends_with_done(self):
        reply = self.server.post({"messages": HELLO, "max_tokens": 8, "stream": True}, "/v1/chat/completions")
        self.assertEqual(reply.headers["content-type"].split(";")[0], "text/event-stream")
        data = events(reply.body)
        self.assertEqual(data[-1], "[DONE]")
        chunks = [json.loads(entry) for entry in data[:-1]]
        self.assertEqual(chunks[-1]["choices"][0]["finish_reason"], "length")
        self.assertTrue(all(chunk["object"] == "chat.completion.chunk" for chunk in chunks))

    def test_a_json_schema(self):
        schema = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0, "maximum": 9}},
                  "required": ["n"], "additionalProperties": False}
        reply = self.post("/v1/chat/completions",
                          {"messages": HELLO, "max_tokens": 32, "temperature": 0,
                           "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": schema}}})
        self.assertIn(json.loads(reply["choices"][0]["message"]["content"])["n"], range(10))

    def test_x_decide_is_still_one_decision(self):
        body = {"x_decide": True, "model": "jev-latest", "messages": [{"role": "user", "content": harness.TICKET}],
                "response_format": {"type": "json_schema", "json_schema": {"name": "n", "schema": {
                    "type": "object", "properties": {"wanted": {"enum": ["refund", "information"]}},
                    "required": ["wanted"], "additionalProperties": False}}}}
        reply = self.post("/v1/chat/completions", body)
        self.assertIn(json.loads(reply["choices"][0]["message"]["content"])["wanted"], ("refund", "information"))

    def test_completions_tokens_and_templates(self):
        self.assertTrue(self.post("/completion", {"prompt": "One, two,", "n_predict": 4})["content"])
        self.assertTrue(self.post("/v1/completions", {"prompt": "One, two,", "max_tokens": 4})["choices"][0]["text"])
        tokens = self.post("/tokenize", {"content": "hello world"})["tokens"]
        self.assertEqual(self.post("/detokenize", {"tokens": tokens})["content"], "hello world")
        self.assertIn("Say hello.", self.post("/apply-template", {"messages": HELLO})["prompt"])

    def test_responses_and_messages(self):
        reply = self.post("/v1/responses", {"input": "Say hello.", "max_output_tokens": 8})
        self.assertEqual(reply["object"], "response")
        reply = self.post("/v1/messages", {"model": "x", "max_tokens": 8, "messages": HELLO})
        self.assertEqual(reply["role"], "assistant")

    def test_slots_props_and_query_parameters(self):
        self.assertEqual(len(self.server.get("/slots").json()), 4)
        self.assertIn("chat_template", self.server.get("/props").json())
        reply = self.server.post({}, "/slots/0?action=erase")
        self.assertEqual(reply.status, 501, str(reply))  # needs --slot-save-path
        self.assertIn("--slot-save-path", reply.json()["error"]["message"])

    def test_a_slip_in_a_path_names_the_one_that_is_there(self):
        for path, meant in (("/v1/embedding", "POST /v1/embeddings"), ("/prop", "GET /props"), ("/v1/message", "POST /v1/messages")):
            reply = self.server.post({}, path=path)
            self.assertEqual(reply.status, 404, str(reply))
            self.assertIn(f"did you mean {meant}?", reply.json()["error"]["message"])

    def test_what_is_switched_off_says_how_to_switch_it_on(self):
        reply = self.server.post({"input": "x"}, "/v1/embeddings")
        self.assertEqual(reply.status, 501)
        self.assertIn("--embeddings", reply.json()["error"]["message"])

    def test_bad_bodies_are_the_clients_fault(self):
        for body in (b"{", b"[]", b'{"messages": 3}', b"{}"):
            reply = self.server.post(body, "/v1/chat/completions")
            self.assertEqual(reply.status, 400, f"{body} {reply}")
            self.assertTrue(reply.json()["error"]["message"])
        self.assertTrue(self.server.is_alive())

    def test_deep_and_odd_bodies_on_every_route(self):
        deep = [b"[" * 100000, b'{"a":' * 50000 + b"1" + b"}" * 50000, b'{"messages": ' + b"[" * 20000 + b"]" * 20000 + b"}",
                b'{"prompt": ' + b"[" * 20000 + b"]" * 20000 + b"}", b'{"messages": [{"role": "user", "content": "\xff"}]}',
                b'{"messages": [{"role": "user", "content": "\\ud800"}], "max_tokens": 1}',
                b'{"messages": [], "max_tokens": NaN}', b'{"prompt": "x", "n_predict": 99999999999999999999}',
                b'{"messages": [{"role": "user", "content": "x"}], "max_tokens": 1, "response_format": {"type": "json_schema",'
                b' "json_schema": {"schema": ' + b'{"items":' * 5000 + b"1" + b"}" * 5000 + b"}}}", b"null", b"1", b'""', b""]
        paths = ("/v1/chat/completions", "/completion", "/v1/completions", "/v1/embeddings", "/rerank", "/tokenize",
                 "/detokenize", "/apply-template", "/infill", "/v1/responses", "/v1/messages", "/lora-adapters")
        for path in paths:
            for body in deep:
                with self.subTest(path=path, body=body[:60]):
                    reply = self.server.post(body, path)
                    self.assertIn(reply.status, (200, 400, 422, 500, 501), str(reply))
                    self.assertNotIn(b"NaN", reply.body)
        self.assertTrue(self.server.is_alive())

    def test_metrics_of_both(self):
        text = self.server.get("/metrics").body.decode()
        self.assertIn("llamacpp:prompt_tokens_total", text)
        self.assertIn("assay_requests_in_flight", text)

    def test_a_client_that_leaves_frees_its_slot(self):
        body = json.dumps({"messages": HELLO, "max_tokens": 4000, "stream": True, "ignore_eos": True}).encode()
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=60) as client:
            client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                           b"Content-Length: %d\r\n\r\n" % len(body) + body)
            self.assertIn(b"200", client.recv(100))
        # The whole answer takes several times as long.
        harness.wait_until(lambda: not any(slot["is_processing"] for slot in self.server.get("/slots").json()),
                           "the slot of a client that has gone is free", seconds=10)

    def test_a_decision_has_the_same_bits_while_a_chat_streams(self):
        body = {"decision": {"id": "q", "state": harness.TICKET, "question": harness.WANTED,
                             "options": [{"id": "refund", "description": "Wants money back"},
                                         {"id": "info", "description": "Asks how it works"}]}}
        alone = self.server.decide(self, body)
        streamed = []
        chat = threading.Thread(target=lambda: streamed.append(
            self.server.post({"messages": HELLO, "max_tokens": 200, "stream": True, "ignore_eos": True},
                             "/v1/chat/completions")))
        chat.start()
        beside = [self.server.decide(self, body) for _ in range(5)]
        chat.join()
        for result in beside:
            self.assertEqual(result["probabilities"], alone["probabilities"])
            self.assertEqual(result["option_logits"], alone["option_logits"])
        self.assertEqual(events(streamed[0].body)[-1], "[DONE]")


class LlamaSettingsTest(unittest.TestCase):
    def test_tools_reach_the_template(self):
        # The default model's own template knows no tools.
        template = os.path.join(harness.ROOT, "third_party", "llama.cpp", "models", "templates",
                                "Qwen-Qwen2.5-7B-Instruct.jinja")
        server = harness.default_server("--chat-template-file", template, "--no-readout-check")
        try:
            body = {"messages": HELLO, "tools": [TOOL], "tool_choice": "auto", "max_tokens": 8}
            self.assertIn("get_weather", server.post(body, "/apply-template").json()["prompt"])
            reply = server.post(body, "/v1/chat/completions")
            self.assertEqual(reply.status, 200, str(reply))
            self.assertEqual(reply.json()["choices"][0]["message"]["role"], "assistant")
        finally:
            self.assertEqual(server.stop(), 0)

    def test_chat_off_leaves_decisions_alone(self):
        server = harness.default_server("--chat", "off")
        try:
            self.assertEqual(server.post({"messages": HELLO}, "/v1/completions").status, 404)
            reply = server.post({"messages": HELLO}, "/v1/chat/completions")
            self.assertEqual(reply.status, 400)
            self.assertIn("x_decide", reply.json()["error"]["message"])
        finally:
            self.assertEqual(server.stop(), 0)

    def test_variables_of_llama_server_are_read(self):
        more = {"LLAMA_ARG_CTX_SIZE": "1024", "LLAMA_ARG_N_PARALLEL": "1", "LLAMA_API_KEY": "secret"}
        before = {name: os.environ.get(name) for name in more}
        os.environ.update(more)
        try:
            server = harness.default_server()
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
        try:
            self.assertEqual(server.get("/props").status, 401)
            reply = server.request("GET", "/slots", headers={"Authorization": "Bearer secret"})
            self.assertEqual([slot["n_ctx"] for slot in reply.json()], [1024])
            self.assertEqual(server.get("/health").json()["limits"]["context_tokens"], 1024)
        finally:
            self.assertEqual(server.stop(), 0)

    def test_a_first_start_packs_once(self):
        with tempfile.TemporaryDirectory() as checks:
            server = harness.default_server("--check-dir", checks, "--no-readout-check")
        try:
            meta = server.get("/v1/models").json()["data"][0]["meta"]
            if meta["packing"] != "on":
                self.skipTest("nothing is packed on this machine")
            packed = [line for line in server.log if f" for {meta['packing_unit']} in " in line]
            self.assertEqual([("packed beside the start for" in line, "kept from the trial decode for" in line)
                              for line in packed],
                             [(True, False), (False, True)], packed)
        finally:
            self.assertEqual(server.stop(), 0)

    def test_a_stream_is_broken_off_when_the_grace_is_over(self):
        server = harness.default_server("--grace-seconds", "0")
        body = json.dumps({"messages": HELLO, "max_tokens": 100000, "stream": True, "ignore_eos": True}).encode()
        with socket.create_connection(("127.0.0.1", server.port), timeout=60) as client:
            client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                           b"Content-Length: %d\r\n\r\n" % len(body) + body)
            self.assertIn(b"200", client.recv(100))
            self.assertEqual(server.stop(), 0)

    def test_help_shows_both(self):
        text = harness.run("serve", "--help").stdout
        self.assertIn("--context-tokens", text)
        self.assertIn("--cache-reuse", text)
        self.assertIn("LLAMA_ARG_CTX_SIZE", text)


if __name__ == "__main__":
    unittest.main()
