"""The ways of running that llama-server has beside one model that is always there: asleep while idle, behind a prefix
of all paths, many models in processes of their own."""

import http.client
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


class CannotWakeTest(unittest.TestCase):
    def test_a_model_whose_file_has_gone_is_a_503_until_it_is_back(self):
        path = harness.work_path("sleeping.gguf")
        shutil.copyfile(harness.tiny("tiny-attention"), path)
        server = harness.Server(path, "--sleep-idle-seconds", "1", "--threads", "1", "--no-readout-check", "-c", "512")
        awake = server.decide(self, BODY)
        harness.wait_until(lambda: server.get("/health").json().get("sleeping", False), "the server is asleep")
        os.rename(path, path + ".away")
        chat = {"messages": HELLO, "max_tokens": 2}
        for body, where in ((BODY, "/v1/decide"), (chat, "/v1/chat/completions"), ({"content": "a"}, "/tokenize")):
            reply = server.post(body, where)
            self.assertEqual(reply.status, 503, str(reply))
            self.assertIn("cannot be woken", reply.body.decode())
            self.assertIn("retry-after", reply.headers)
        self.assertTrue(server.is_alive())
        os.rename(path + ".away", path)
        self.assertEqual(server.decide(self, BODY)["option_logits"], awake["option_logits"])
        self.assertEqual(server.post(chat, "/v1/chat/completions").status, 200)
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



class AddressesTest(unittest.TestCase):
    def test_it_listens_on_all_that_are_named(self):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        path = harness.work_path("listen.sock")
        hosts = f"127.0.0.1, 127.0.0.2,{path}"
        server = harness.Server(harness.tiny("tiny-attention"), "--host", hosts, "--port", str(port), "--threads", "1",
                                "--no-readout-check", "-c", "512")
        self.assertIn("127.0.0.2", "".join(server.log))
        for host in ("127.0.0.1", "127.0.0.2"):
            connection = http.client.HTTPConnection(host, port, timeout=30)
            connection.request("POST", "/v1/decide", json.dumps(BODY), {"Content-Type": "application/json"})
            self.assertEqual(connection.getresponse().status, 200, host)
            connection.close()
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(path)
            one.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            self.assertIn(b"200 OK", one.recv(4096))
        self.assertEqual(server.stop(), 0)
        self.assertFalse(os.path.exists(path))

    def test_what_cannot_be_listened_on_is_named(self):
        for hosts, port, named in (("127.0.0.1,192.0.2.1", "0", "port 0"), ("127.0.0.1,192.0.2.1", "47111", "192.0.2.1"),
                                   (",", "0", "host")):
            result = harness.run("serve", harness.tiny("tiny-attention"), "--host", hosts, "--port", port)
            self.assertIn(result.returncode, (1, 2), result.stderr)
            self.assertIn(named, result.stderr)


class VertexTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            cls.port = probe.getsockname()[1]
        variables = {"AIP_MODE": "PREDICTION", "AIP_HTTP_PORT": str(cls.port), "AIP_HEALTH_ROUTE": "/alive",
                     "AIP_PREDICT_ROUTE": "ask"}
        os.environ.update(variables)
        try:
            cls.server = harness.Server(harness.tiny("tiny-attention"), "--threads", "1", "--no-readout-check", "-c",
                                        "1024", "--api-key", "k")
        finally:
            for name in variables:
                del os.environ[name]

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def ask(self, body, **headers):
        named = {"Content-Type": "application/json", "Authorization": "Bearer k", **headers}
        return self.server.request("POST", "/ask", json.dumps(body), named)

    def test_it_listens_and_is_healthy_where_vertex_says(self):
        self.assertEqual(self.server.port, self.port)
        self.assertEqual(self.server.get("/alive").json()["status"], "ok")

    def test_instances_are_answered_in_order(self):
        chat = {"@requestFormat": "chatCompletions", "messages": HELLO, "max_tokens": 4}
        reply = self.ask({"instances": [chat, {"@requestFormat": "decide", **BODY}, {"@requestFormat": "/v1/decide"},
                                        {"@requestFormat": "nothing"}]})
        self.assertEqual(reply.status, 200, str(reply))
        first, second, third, fourth = reply.json()["predictions"]
        self.assertEqual(first["choices"][0]["message"]["role"], "assistant")
        harness.check_result(self, second["result"], BODY["decision"]["options"])
        self.assertIn("error", third)
        self.assertEqual(fourth["error"]["type"], "invalid_request_error")
        for header in ("x-request-id", "content-type"):
            self.assertIn(header, reply.headers)

    def test_the_key_is_asked_for_and_a_bad_body_is_a_400(self):
        self.assertEqual(self.ask({"instances": []}, Authorization="Bearer no").status, 401)
        for body in ({}, {"instances": 1}, []):
            self.assertEqual(self.ask(body).status, 400)
        self.assertEqual(self.server.get("/ask").status, 405)

    def test_a_port_that_is_none_ends_the_start(self):
        result = harness.run("serve", harness.tiny("tiny-attention"), AIP_MODE="PREDICTION", AIP_HTTP_PORT="many")
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("AIP_HTTP_PORT", result.stderr)


class FormTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server(harness.tiny("tiny-attention"), "--threads", "1", "--no-readout-check", "-c", "512",
                                    "--body-bytes-max", "20000")

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def send(self, path, *parts, end=b"--x--\r\n"):
        body = b"".join(b"--x\r\nContent-Disposition: form-data; name=\"" + name + b"\"\r\n\r\n" + data + b"\r\n"
                        for name, data in parts) + end
        return self.server.request("POST", path, body, {"Content-Type": "multipart/form-data; boundary=x"})

    def test_texts_of_a_form_are_a_body(self):
        reply = self.send("/tokenize", (b"content", b"hello world"))
        self.assertEqual(reply.status, 200, str(reply))
        self.assertEqual(reply.json(), self.server.post({"content": "hello world"}, "/tokenize").json())

    def test_a_transcription_reaches_llama_server(self):
        file = (b"file\"; filename=\"a.wav", b"RIFF\0\0\0\0WAVE")
        for path in ("/v1/audio/transcriptions", "/audio/transcriptions"):
            reply = self.send(path, file, (b"model", b"x"))
            self.assertIn(reply.status, (400, 501), str(reply))  # this model hears nothing
            self.assertIn("audio", reply.json()["error"]["message"].lower())

    def test_a_form_has_the_limits_of_a_body(self):
        self.assertEqual(self.send("/tokenize", (b"content", b"x" * 20001)).status, 413)
        self.assertEqual(self.send("/tokenize", *[(b"n" * 250, b"")] * 200).status, 413)
        self.assertEqual(self.send("/tokenize", (b"content", b"x"), end=b"").status, 400)
        self.assertEqual(self.send("/v1/decide", (b"decision", b"{}")).status, 415)
        self.assertEqual(self.server.get("/health").status, 200)


if __name__ == "__main__":
    unittest.main()
