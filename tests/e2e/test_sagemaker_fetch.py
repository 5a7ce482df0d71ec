"""A container whose variables name a model that has to be fetched (T11): SM_LLAMA_CPP_HF_REPO as AWS's own examples have it,
and an address. The hub is one of ours: what llama.cpp asks of it, and nothing more."""

import hashlib
import http.server
import os
import shutil
import threading
import unittest

import harness
import sagemaker
from sagemaker import Container, last_line

TOKEN = "hf_" + "AbCd1" * 7  # in the form that llama.cpp takes for one
COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub:
    """Repository `own/tiny` with m.gguf, and the same file at /plain/m.gguf."""

    def __init__(self):
        with open(harness.tiny("tiny-attention"), "rb") as file:
            model = file.read()
        oid = hashlib.sha256(model).hexdigest()
        tree = [{"type": "file", "path": "m.gguf", "size": len(model), "oid": oid, "lfs": {"oid": oid}}]
        self.asked, self.tokens = [], set()
        texts = {"/api/models/own/tiny/refs": {"branches": [{"name": "main", "targetCommit": COMMIT}]},
                 f"/api/models/own/tiny/tree/{COMMIT}": tree}
        files = (f"/own/tiny/resolve/{COMMIT}/m.gguf", "/plain/m.gguf")
        hub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                path = self.path.split("?")[0]
                hub.asked.append((self.command, path))
                hub.tokens.add(self.headers.get("Authorization"))
                data = harness.json.dumps(texts[path]).encode() if path in texts else model if path in files else None
                self.send_response(200 if data else 404)
                self.send_header("Content-Length", str(len(data or b"")))
                self.send_header("ETag", f'"{oid}"')
                self.end_headers()
                if self.command == "GET" and data:
                    self.wfile.write(data)

            do_HEAD = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def stop(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class FetchTest(unittest.TestCase):
    def setUp(self):
        self.hub = Hub()
        self.addCleanup(self.hub.stop)
        self.cache = os.path.join(harness.WORK_DIR, "hub-cache")
        shutil.rmtree(self.cache, ignore_errors=True)
        self.more = {"MODEL_ENDPOINT": self.hub.address, "LLAMA_CACHE": self.cache}

    def start(self, folder, **more):
        server = Container(folder, **{**self.more, **more})
        self.addCleanup(server.stop)
        return server

    def test_T11_a_repository_is_fetched_where_the_folder_is_empty(self):
        asked = {"SM_LLAMA_CPP_HF_REPO": "own/tiny", "SM_LLAMA_CPP_HF_FILE": "m.gguf", "SM_LLAMA_CPP_HF_TOKEN": TOKEN}
        empty = sagemaker.folder_of("t11empty")
        server = self.start(empty, **asked)
        self.assertEqual(server.get("/ping").status, 200)
        decided = server.invoke(sagemaker.SEMIF)
        self.assertEqual(decided.status, 200, str(decided))
        self.assertEqual(self.hub.tokens, {"Bearer " + TOKEN})
        self.assertNotIn(TOKEN, server.text())
        chat = server.invoke({"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 2})
        self.assertEqual(chat.status, 200, str(chat))
        self.assertEqual(server.stop(), 0)
        # The second start finds it in the cache.
        files = [entry for entry in self.hub.asked if entry[1].endswith(".gguf") and entry[0] == "GET"]
        again = self.start(empty, **asked)
        self.assertEqual(again.invoke(sagemaker.SEMIF).json()["result"]["option_logits"],
                         decided.json()["result"]["option_logits"])
        self.assertEqual([entry for entry in self.hub.asked if entry[1].endswith(".gguf") and entry[0] == "GET"], files)

    def test_T11_an_address_is_fetched_too_also_by_llama_servers_own_variable(self):
        for name in ("SM_LLAMA_CPP_MODEL_URL", "LLAMA_ARG_MODEL_URL"):
            with self.subTest(name=name):
                server = self.start(sagemaker.folder_of("t11empty"), **{name: self.hub.address + "/plain/m.gguf"})
                self.assertEqual(server.invoke(sagemaker.SEMIF).status, 200)

    def test_T11_what_lies_in_the_folder_is_not_fetched(self):
        server = self.start(sagemaker.tiny_folder("t11full"), SM_LLAMA_CPP_HF_REPO="own/tiny")
        self.assertEqual(server.invoke(sagemaker.SEMIF).status, 200)
        self.assertEqual(self.hub.asked, [])
        self.assertIn("SM_LLAMA_CPP_HF_REPO is not followed", server.text())

    def test_T11_what_cannot_be_fetched_ends_it_and_is_named(self):
        done = sagemaker.run(sagemaker.folder_of("t11empty"), **self.more, SM_LLAMA_CPP_HF_REPO="own/absent")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("own/absent", last_line(done.stderr))


if __name__ == "__main__":
    unittest.main()
