"""A SageMaker container of many models (T49): it has none at first, and loads, lists, asks and unloads those that it is
told to."""

import json
import os
import unittest
import urllib.parse

import harness
import sagemaker
from sagemaker import ATTRIBUTES, SEMIF, SYSTEM_ONE, Container

JSON_TYPE = {"Content-Type": "application/json"}
SETTINGS = {"SAGEMAKER_MULTI_MODEL": "true", "SM_LLAMA_CPP_CTX_SIZE": "1024"}


def models_folder(name, **models):
    """As SageMaker lays them out: NAME/model with the model's files."""
    return sagemaker.folder_of(name, *((f"{model}/model/weights.gguf", path) for model, path in models.items()))


class ManyModels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        broken = harness.write_file("broken-model.gguf", "this is no model\n" * 100)
        cls.folder = models_folder("many", attention=harness.tiny("tiny-attention"), hybrid=harness.tiny("tiny-hybrid"),
                                   broken=broken)
        cls.server = Container(cls.folder, **SETTINGS)
        cls.port = cls.server.port

    @classmethod
    def tearDownClass(cls):
        if cls.server.stop() != 0:
            raise AssertionError(cls.server.text()[-2000:])

    def ask(self, method, path, body=None, **headers):
        self.server.port = self.port  # the models' own addresses are in the log, too
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.server.request(method, path, data, {**JSON_TYPE, **named})

    def url(self, name):
        return os.path.join(self.folder, name, "model")

    def load(self, name, url=None):
        return self.ask("POST", "/models", {"model_name": name, "url": url or self.url(name)})

    def loaded(self, name):
        if self.ask("GET", f"/models/{name}").status == 404:
            reply = self.load(name)
            self.assertEqual(reply.status, 200, str(reply))

    def listed(self):
        """{model: its status} as llama-server's router lists them."""
        return {one["id"]: one["status"]["value"] for one in self.ask("GET", "/v1/models").json()["data"]}

    def names(self):
        return [one["modelName"] for one in self.ask("GET", "/models").json()["models"]]

    def test_T49_a_model_is_loaded_listed_asked_and_unloaded(self):
        self.assertEqual(self.ask("GET", "/ping").status, 200)
        self.assertEqual(self.ask("POST", "/models/attention/invoke", SEMIF).status, 404)
        self.assertEqual(self.ask("GET", "/models/attention").status, 404)
        self.loaded("attention")
        described = {"modelName": "attention", "modelUrl": self.url("attention")}
        self.assertEqual(self.ask("GET", "/models/attention").json(), described)
        self.assertIn(described, self.ask("GET", "/models").json()["models"])
        self.assertEqual(self.listed()["attention"], "loaded")
        reply = self.ask("POST", "/models/attention/invoke", SEMIF, X_Amzn_SageMaker_Target_Model="attention.tar.gz")
        self.assertEqual(reply.status, 200, str(reply))
        harness.check_result(self, reply.json()["result"], SEMIF["decision"]["options"])
        self.assertEqual(self.ask("DELETE", "/models/attention").status, 200)
        self.assertEqual(self.ask("GET", "/models/attention").status, 404)
        self.assertNotIn("attention", self.names())
        self.assertNotIn("attention", self.listed())
        self.assertEqual(self.ask("POST", "/models/attention/invoke", SEMIF).status, 404)
        self.assertEqual(self.ask("DELETE", "/models/attention").status, 404)
        self.check_nothing_brings_back("attention")
        self.loaded("attention")
        again = self.ask("POST", "/models/attention/invoke", SEMIF)
        self.assertEqual(again.json()["result"]["option_logits"], reply.json()["result"]["option_logits"])

    def check_nothing_brings_back(self, name):
        """Only POST /models loads, whatever llama-server's own ways are."""
        chat = {"model": name, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1}
        for path, body in (("/v1/chat/completions", chat), ("/v1/decide", SEMIF),
                           ("/tokenize", {"model": name, "content": "a"})):
            reply = self.ask("POST", path + "?autoload=true", body, X_Assay_Model=name)
            self.assertEqual(reply.status, 400, f"{path}: {reply}")
        self.assertEqual(self.ask("GET", f"/slots?model={name}&autoload=true").status, 400)
        self.assertEqual(self.ask("GET", f"/models/{name}").status, 404)

    def test_T49_a_loaded_model_is_a_conflict(self):
        self.loaded("hybrid")
        self.assertEqual(self.load("hybrid").status, 409)

    def test_T49_two_models_answer_beside_each_other(self):
        for name in ("attention", "hybrid"):
            self.loaded(name)
        results = {}
        for name in ("attention", "hybrid"):
            reply = self.ask("POST", f"/models/{name}/invoke", SEMIF)
            self.assertEqual(reply.status, 200, str(reply))
            results[name] = reply.json()["result"]["option_logits"]
        self.assertNotEqual(results["attention"], results["hybrid"])
        self.assertEqual(self.names(), sorted(self.names()))

    def test_T49_invoke_is_invocations(self):
        self.loaded("attention")
        path = "/models/attention/invoke"
        self.assertIn("answers", self.ask("POST", path, SYSTEM_ONE).json())
        chat = {"messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 4}
        reply = self.ask("POST", path, chat, **{ATTRIBUTES: "trace=7"})
        self.assertEqual(reply.status, 200, str(reply))
        self.assertEqual(reply.json()["model"], "attention")
        self.assertEqual(reply.headers[ATTRIBUTES.lower()], "trace=7")
        streamed = self.ask("POST", path, {**chat, "stream": True})
        self.assertIn(b"data: [DONE]", streamed.body)
        tokens = self.ask("POST", path, {"content": "a b"}, **{ATTRIBUTES: "route=/tokenize"})
        self.assertTrue(tokens.json()["tokens"], str(tokens))
        lines = b"\n".join([json.dumps(SEMIF).encode()] * 2) + b"\n"
        reply = self.ask("POST", path, lines, Content_Type="application/jsonlines")
        self.assertEqual([sorted(json.loads(line)) for line in reply.body.splitlines()], [["result"]] * 2, str(reply))
        self.assertEqual(self.ask("POST", path, {"decision": {}}).status, 400)

    def test_T49_what_is_no_model_is_refused_and_harms_nobody(self):
        for name, url in (("broken", None), ("empty", self.folder + "/nowhere"), ("attention2", "relative/path")):
            reply = self.load(name, url)
            self.assertEqual(reply.status, 400, str(reply))
            self.assertIn("error", reply.json())
            self.assertEqual(self.ask("GET", f"/models/{name}").status, 404)
        for body in (b"{", {"model_name": "a"}, {"url": "/x"}, {"model_name": "a/b", "url": "/x"}, []):
            self.assertEqual(self.ask("POST", "/models", body).status, 400, body)
        self.assertEqual(self.ask("GET", "/models?" + urllib.parse.urlencode({"next_page_token": "a/b"})).status, 400)
        self.loaded("attention")
        self.assertEqual(self.ask("POST", "/models/attention/invoke", SEMIF).status, 200)

    def test_T49_a_model_that_dies_comes_back(self):
        self.loaded("hybrid")
        before = self.ask("POST", "/models/hybrid/invoke", SEMIF).json()["result"]
        words = {one["id"]: one["status"]["args"] for one in self.ask("GET", "/v1/models?reload=1").json()["data"]}
        os.kill(pid_with(words["hybrid"]), 9)
        harness.wait_until(lambda: self.listed()["hybrid"] == "unloaded", "the router knows that it died")
        self.assertIn("hybrid", self.names(), "for SageMaker it is loaded: the next request brings it back")
        reply = self.ask("POST", "/models/hybrid/invoke", SEMIF)
        self.assertEqual(reply.status, 200, str(reply))
        self.assertEqual(reply.json()["result"]["option_logits"], before["option_logits"])


def pid_with(words):
    """The process with this command line."""
    wanted = b"\0".join(word.encode() for word in words) + b"\0"
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                if file.read() == wanted:
                    return int(name)
        except OSError:  # it has gone
            continue
    raise AssertionError(f"no process {words}")


class NoRoom(unittest.TestCase):
    def test_T49_without_memory_it_is_507_and_the_container_lives(self):
        folder = models_folder("no-room", big=harness.default_model())
        server = Container(folder, SAGEMAKER_MULTI_MODEL="true", SM_LLAMA_CPP_CTX_SIZE="200000000")
        port = server.port
        url = os.path.join(folder, "big", "model")
        reply = server.request("POST", "/models", json.dumps({"model_name": "big", "url": url}).encode(), JSON_TYPE)
        self.assertEqual(reply.status, 507, str(reply) + server.text()[-1500:])
        server.port = port
        self.assertEqual(server.get("/models/big").status, 404)
        self.assertEqual(server.get("/models").json(), {"models": []})
        self.assertEqual(server.get("/ping").status, 200)
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
