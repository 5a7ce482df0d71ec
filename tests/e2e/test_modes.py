"""The ways of running that llama-server has beside one model that is always there: asleep while idle, behind a prefix
of all paths, many models in processes of their own."""

import json
import os
import shutil
import socket
import threading
import unittest

import harness

HELLO = [{"role": "user", "content": "Say hello."}]
BODY = {"decision": {"id": "q", "state": harness.TICKET, "question": harness.WANTED,
                     "options": [{"id": "refund", "description": "Wants money back"},
                                 {"id": "info", "description": "Asks how it works"}]}}


def metric(server, name):
    for line in server.get("/metrics").body.decode().splitlines():
        if line.startswith(name + " "):
            return float(line.split()[1])
    raise AssertionError(f"no {name}")


class SleepTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.default_server("--sleep-idle-seconds", "1", "--metrics", "-c", "2048")

    @classmethod
    def tearDownClass(cls):
        cls.code = cls.server.stop()

    def health(self):
        return self.server.get("/health").json()

    def fall_asleep(self):
        harness.wait_until(lambda: self.health().get("sleeping", False), "the server is asleep")

    def test_a_decision_wakes_it_and_has_the_same_bits(self):
        awake = self.server.decide(self, BODY)
        for _ in range(2):
            self.fall_asleep()
            woken = self.server.decide(self, BODY)
            self.assertEqual(woken["probabilities"], awake["probabilities"])
            self.assertEqual(woken["option_logits"], awake["option_logits"])

    def test_a_chat_wakes_it_and_a_decision_follows(self):
        awake = self.server.decide(self, BODY)
        self.fall_asleep()
        reply = self.server.post({"messages": HELLO, "max_tokens": 4}, "/v1/chat/completions")
        self.assertEqual(reply.status, 200, str(reply))
        self.assertEqual(self.server.decide(self, BODY)["option_logits"], awake["option_logits"])

    def test_asleep_it_is_well_and_says_that_it_sleeps(self):
        self.server.decide(self, BODY)
        self.assertGreater(metric(self.server, "assay_engine_cells"), 0)
        steps = metric(self.server, "assay_engine_steps_total")
        self.fall_asleep()
        health = self.health()  # looking does not wake it
        self.assertEqual((health["status"], health["sleeping"]), ("ok", True))
        self.assertEqual(self.server.get("/ping").status, 200)
        self.assertTrue(self.server.get("/props").json()["is_sleeping"])
        self.assertEqual(self.server.get("/v1/models").status, 200)
        self.assertEqual(metric(self.server, "assay_sleeping"), 1)
        self.assertEqual(metric(self.server, "assay_engine_cells"), 0)
        self.assertGreaterEqual(metric(self.server, "assay_engine_steps_total"), steps)
        self.assertTrue(self.health().get("sleeping"))

    def test_many_that_come_at_once_are_all_answered(self):
        alone = self.server.decide(self, BODY)
        self.fall_asleep()
        results, chats = [], []

        def decide():
            results.append(self.server.post(BODY))

        def chat():
            chats.append(self.server.post({"messages": HELLO, "max_tokens": 4, "stream": True}, "/v1/chat/completions"))

        threads = [threading.Thread(target=target) for target in [decide] * 6 + [chat] * 2]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([reply.status for reply in results + chats], [200] * 8)
        for reply in results:
            self.assertEqual(reply.json()["result"]["option_logits"], alone["option_logits"])

    def test_asleep_it_ends_as_it_should(self):
        server = harness.default_server("--sleep-idle-seconds", "1", "-c", "1024")
        harness.wait_until(lambda: server.get("/health").json().get("sleeping", False), "the server is asleep")
        self.assertEqual(server.stop(), 0)


class PrefixTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.default_server("--api-prefix", "/some/where", "--api-key", "k", "-c", "1024")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def ask(self, method, path, body=None):
        return self.server.request(method, path, body, {"Authorization": "Bearer k", "Content-Type": "application/json"})

    def test_all_routes_stand_behind_it(self):
        self.assertEqual(self.server.get("/some/where/health").status, 200)  # without a key
        self.assertEqual(self.ask("GET", "/some/where/v1/models").status, 200)
        self.assertEqual(self.ask("GET", "/some/where/props").status, 200)
        self.assertEqual(self.ask("GET", "/some/where/openapi.json").status, 200)
        self.assertEqual(self.ask("POST", "/some/where/v1/decide", json.dumps(BODY)).status, 200)
        self.assertEqual(self.ask("POST", "/some/where/tokenize", '{"content": "a b"}').status, 200)
        chat = {"messages": HELLO, "max_tokens": 2}
        self.assertEqual(self.ask("POST", "/some/where/v1/chat/completions", json.dumps(chat)).status, 200)
        self.assertEqual(self.ask("POST", "/some/where/slots/0?action=erase", "{}").status, 501)

    def test_elsewhere_there_is_nothing(self):
        for path in ("/health", "/ping", "/v1/models", "/", "/some/wherever/health", "/some/where/some/where/health"):
            reply = self.ask("GET", path)
            self.assertEqual(reply.status, 404, f"{path} {reply}")
        reply = self.ask("POST", "/v1/decide", "{}")
        self.assertEqual(reply.status, 404)
        self.assertIn("/some/where", reply.json()["error"])

    def test_what_is_no_prefix_is_refused(self):
        result = harness.run("serve", harness.default_model(), "--api-prefix", "some/")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("--api-prefix", result.stderr)


def folder_of_models(**models):
    """A folder with these models under these names."""
    folder = os.path.join(harness.WORK_DIR, "router-models")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for name, path in models.items():
        os.symlink(path, os.path.join(folder, name + ".gguf"))
    return folder


class RouterTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        broken = harness.write_file("broken.gguf", "this is no model\n" * 100)
        folder = folder_of_models(small=harness.default_model(), tiny=harness.tiny("tiny-attention"), broken=broken)
        cls.server = harness.Server(None, "--models-dir", folder, "--threads", harness.THREADS, "--round", "3",
                                    "--no-readout-check", "--api-key", "k", "-c", "1024", "--metrics")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def ask(self, method, path, body=None, **headers):
        data = None if body is None else json.dumps(body).encode()
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.server.request(method, path, data,
                                   {"Authorization": "Bearer k", "Content-Type": "application/json", **headers})

    def models(self):
        return {entry["id"]: entry for entry in self.ask("GET", "/v1/models").json()["data"]}

    def answer(self, body, path="/v1/decide", **headers):
        reply = self.ask("POST", path, body, **headers)
        self.assertEqual(reply.status, 200, str(reply))
        return reply.json()

    def test_it_lists_the_models_and_has_none_itself(self):
        self.assertLessEqual({"small", "tiny", "broken"}, set(self.models()))
        self.assertEqual(self.server.get("/health").json()["status"], "ok")
        self.assertEqual(self.server.get("/v1/models").status, 401)
        self.assertEqual(self.ask("GET", "/props").json()["role"], "router")
        self.assertIn("assay_requests_in_flight", self.ask("GET", "/metrics").body.decode())

    def test_a_decision_is_for_the_model_that_is_named(self):
        small = self.answer(BODY, X_Assay_Model="small")["result"]
        harness.check_result(self, small, BODY["decision"]["options"])
        self.assertEqual(self.answer(BODY, X_Assay_Model="small")["result"]["option_logits"], small["option_logits"])
        tiny = self.answer(BODY, X_Assay_Model="tiny")["result"]
        self.assertNotEqual(tiny["option_logits"], small["option_logits"])
        self.assertEqual(self.models()["small"]["status"]["value"], "loaded")
        self.assertEqual(self.answer(BODY, "/invocations", X_Assay_Model="small")["result"]["option_logits"],
                         small["option_logits"])
        self.assertIn("assay_engine_cells", self.ask("GET", "/metrics?model=small").body.decode())

    def test_system_one_names_it_in_the_body_and_flags_reach_the_model(self):
        body = {"model": "small", "state": harness.TICKET,
                "questions": {"wanted": {"type": "choice", "instructions": harness.WANTED,
                                         "criteria": {"refund": "wants money back", "information": None}}}}
        reply = self.ask("POST", "/v1/systemone", body)
        self.assertEqual(reply.status, 200, str(reply))
        for path, number in harness.numbers_of(reply.json()["answers"]):
            self.assertEqual(round(number, 3), number, path)
        body["model"] = "jev-latest"  # a name that every model has
        self.assertEqual(self.ask("POST", "/v1/systemone", body, X_Assay_Model="small").json()["answers"],
                         reply.json()["answers"])

    def test_which_model_must_be_clear(self):
        for more in ({}, {"X_Assay_Model": "nobody"}):
            reply = self.ask("POST", "/v1/decide", BODY, **more)
            self.assertEqual(reply.status, 400, str(reply))
            self.assertIn("small", reply.json()["error"])
            self.assertIn("tiny", reply.json()["error"])

    def test_chat_and_the_rest_are_proxied(self):
        reply = self.ask("POST", "/v1/chat/completions", {"model": "small", "messages": HELLO, "max_tokens": 4})
        self.assertEqual(reply.status, 200, str(reply))
        self.assertTrue(reply.json()["choices"][0]["message"]["content"])
        reply = self.ask("POST", "/v1/chat/completions",
                         {"model": "small", "messages": HELLO, "max_tokens": 4, "stream": True})
        self.assertIn(b"data: [DONE]", reply.body)
        tokens = self.ask("POST", "/tokenize", {"model": "small", "content": "hello world"})
        self.assertTrue(tokens.json()["tokens"], str(tokens))
        self.assertEqual(self.ask("POST", "/v1/chat/completions", {"messages": HELLO}).status, 400)
        one_header = [name for name in reply.headers if name == "x-request-id"]
        self.assertEqual(len(one_header), 1)

    def test_a_model_that_cannot_be_loaded_harms_nobody(self):
        reply = self.ask("POST", "/v1/decide", BODY, X_Assay_Model="broken")
        self.assertEqual(reply.status, 500, str(reply))
        self.assertIn("broken", reply.json()["error"]["message"])
        self.answer(BODY, X_Assay_Model="tiny")

    def test_a_model_is_unloaded_and_comes_back(self):
        before = self.answer(BODY, X_Assay_Model="tiny")["result"]
        self.assertEqual(self.ask("POST", "/models/unload", {"model": "tiny"}).status, 200)
        harness.wait_until(lambda: self.models()["tiny"]["status"]["value"] == "unloaded", "tiny is unloaded")
        self.assertEqual(self.models()["tiny"]["status"].get("exit_code", 0), 0)
        self.assertEqual(self.answer(BODY, X_Assay_Model="tiny")["result"]["option_logits"], before["option_logits"])

    def test_at_its_end_its_models_end(self):
        folder = folder_of_models(only=harness.tiny("tiny-attention"))
        server = harness.Server(None, "--models-dir", folder, "--threads", "1", "--no-readout-check", "-c", "512")
        self.assertEqual(server.post(BODY).status, 200)  # the only one needs no name
        (model,) = [entry for entry in server.get("/v1/models").json()["data"] if entry["id"] == "only"]
        words = model["status"]["args"]
        port = int(words[words.index("--port") + 1])
        socket.create_connection(("127.0.0.1", port), timeout=10).close()
        self.assertEqual(server.stop(), 0)
        with self.assertRaises(OSError):
            socket.create_connection(("127.0.0.1", port), timeout=10)


if __name__ == "__main__":
    unittest.main()
