"""Models that embed or rank and decide nothing: llama-server's routes serve them, and what asks for a decision is told
why there is none."""

import json
import os
import shutil
import unittest

import harness
import sagemaker
from sagemaker import SEMIF, SYSTEM_ONE

FLAGS = ("--threads", "1", "-c", "512")
CHAT = {"messages": [{"role": "user", "content": harness.TICKET}]}
DECIDED = {**CHAT, "x_decide": True, "guided_choice": ["refund", "info"]}


def embedding_of(test, reply):
    test.assertEqual(reply.status, 200, str(reply))
    vector = reply.json()["data"][0]["embedding"]
    test.assertAlmostEqual(sum(number * number for number in vector), 1, places=4)
    return vector


class Embeddings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server(harness.tiny("tiny-embed"), "--embeddings", *FLAGS)

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()

    def test_a_text_has_its_vector(self):
        one = embedding_of(self, self.server.post({"input": "a text"}, "/v1/embeddings"))
        other = embedding_of(self, self.server.post({"input": "something else"}, "/v1/embeddings"))
        self.assertEqual(len(one), 64)
        self.assertNotEqual(one, other)
        self.assertEqual(one, embedding_of(self, self.server.post({"input": "a text"}, "/v1/embeddings")))
        invoked = embedding_of(self, self.server.post({"input": "a text"}, "/invocations"))
        self.assertEqual(one, invoked)

    def test_a_decision_is_refused_by_every_wire_in_its_own_form(self):
        for path, body, status in (("/v1/decide", SEMIF, 400), ("/invocations", SEMIF, 400),
                                   ("/v1/systemone", SYSTEM_ONE, 422), ("/v1/decisions", SYSTEM_ONE, 422),
                                   ("/v1/chat/completions", DECIDED, 400)):
            with self.subTest(path=path):
                reply = self.server.post(body, path)
                self.assertEqual(reply.status, status, str(reply))
                self.assertIn("embedding model", reply.body.decode())
        self.assertEqual(self.server.post(SEMIF).json()["field"], "model")
        error = self.server.post(DECIDED, "/v1/chat/completions").json()["error"]
        self.assertEqual((error["type"], error["param"]), ("invalid_request_error", "model"))

    def test_it_is_well_and_says_what_it_is(self):
        self.assertEqual(self.server.get("/health").json()["status"], "ok")
        self.assertEqual(self.server.get("/ping").status, 200)
        (model,) = self.server.get("/v1/models").json()["data"]
        self.assertEqual(model["architecture"]["output_modalities"], ["embeddings"])
        self.assertIn("makes no decisions", "".join(self.server.log))
        self.assertEqual(self.server.get("/metrics").status, 200)

    def test_without_chat_there_is_nothing_that_it_could_do(self):
        done = harness.run("serve", harness.tiny("tiny-embed"), "--chat", "off", "--port", "0")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("embedding model", done.stderr)


class Reranking(unittest.TestCase):
    def test_documents_get_their_scores(self):
        server = harness.Server(harness.tiny("tiny-rerank"), "--reranking", *FLAGS)
        body = {"query": "What is a panda?", "documents": ["hi", "it is a bear", "the giant panda is a bear species"]}
        for path in ("/v1/rerank", "/invocations"):
            reply = server.post(body, path)
            self.assertEqual(reply.status, 200, str(reply))
            results = reply.json()["results"]
            self.assertEqual(sorted(one["index"] for one in results), [0, 1, 2])
            self.assertEqual(len({one["relevance_score"] for one in results}), 3)
        refused = server.post(SEMIF)
        self.assertEqual(refused.status, 400, str(refused))
        self.assertIn("reranker", refused.json()["error"])
        self.assertEqual(server.stop(), 0)


class BesideOthers(unittest.TestCase):
    def test_a_router_has_them_beside_models_that_decide(self):
        folder = os.path.join(harness.WORK_DIR, "router-embeddings")
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        for name in ("tiny-embed", "tiny-attention"):
            os.symlink(harness.tiny(name), os.path.join(folder, name + ".gguf"))
        server = harness.Server(None, "--models-dir", folder, "--no-readout-check", "--embeddings", *FLAGS)
        port = server.port

        def post(body, path, model):
            server.port = port
            data = json.dumps({**body, "model": model})
            return server.request("POST", path, data, {"Content-Type": "application/json", "X-Assay-Model": model})

        embedding_of(self, post({"input": "a text"}, "/v1/embeddings", "tiny-embed"))
        self.assertEqual(post(SYSTEM_ONE, "/v1/systemone", "tiny-embed").status, 422)
        decided = server.request("POST", "/v1/decide", json.dumps(SEMIF),
                                 {"Content-Type": "application/json", "X-Assay-Model": "tiny-attention"})
        self.assertEqual(decided.status, 200, str(decided))
        server.port = port
        self.assertEqual(server.stop(), 0)

    def test_a_sagemaker_container_serves_one(self):
        folder = sagemaker.folder_of("embeddings", ("model.gguf", harness.tiny("tiny-embed")))
        server = sagemaker.Container(folder, SM_LLAMA_CPP_EMBEDDINGS="true", SM_LLAMA_CPP_CTX_SIZE="512")
        self.assertEqual(server.get("/ping").status, 200)
        embedding_of(self, server.invoke({"input": "a text"}))
        self.assertEqual(server.invoke(SEMIF).status, 400)
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
