"""How a SageMaker container begins and ends: model folder, variables, health, signals (T01 to T23, T53, T54; T19: test_sagemaker_load.py)."""

import contextlib
import http.client
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import harness
import sagemaker
from sagemaker import Container, last_line

# Some seconds of work for the default model.
LONG = harness.body(["refund", "info"], "letters", state=sagemaker.LONG_STATE)
NO_WAY = "this machine lets nobody take its file system apart (unshare)"


def children_of(process):
    """The numbers of all, zombies too."""
    found = []
    for thread in os.listdir(f"/proc/{process}/task"):
        with open(f"/proc/{process}/task/{thread}/children", encoding="utf-8") as file:
            found += [int(number) for number in file.read().split()]
    return found


def can_unshare(*flags):
    return subprocess.run(["unshare", *flags, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0


class Begins(unittest.TestCase):
    def start(self, folder, *words, **more):
        server = Container(folder, *words, **more)
        self.addCleanup(server.stop)
        return server

    def fails(self, folder, *words, code=None, **variables):
        """What the last line says of a container that does not start."""
        began = time.monotonic()
        done = sagemaker.run(folder, *words, **variables)
        self.assertNotEqual(done.returncode, 0, done.stderr)
        if code is not None:
            self.assertEqual(done.returncode, code, done.stderr)
        self.assertLess(time.monotonic() - began, 5)
        return last_line(done.stderr)

    def test_T01_serve_is_the_word_and_others_are_ignored(self):
        server = self.start(sagemaker.tiny_folder(), "train", "now")
        self.assertEqual(server.invoke(sagemaker.SEMIF).status, 200)
        for word in ("'train'", "'now'"):
            self.assertIn(word, server.text())
        self.assertNotIn("'serve'", server.text())

    def test_T02_the_one_model_is_served_and_named(self):
        server = self.start(sagemaker.tiny_folder("t02"))
        self.assertIn("t02/model.gguf", server.text())

    def test_T03_one_folder_deep_and_no_deeper(self):
        tiny = harness.tiny("tiny-attention")
        server = self.start(sagemaker.folder_of("t03", ("sub/model.gguf", tiny)))
        self.assertIn("t03/sub/model.gguf", server.text())
        said = self.fails(sagemaker.folder_of("t03deep", ("a/b/model.gguf", tiny), ("c/MODEL.GGUF", tiny)))
        self.assertIn("MODEL.GGUF", said)

    def test_T04_a_projector_is_never_the_model(self):
        tiny = harness.tiny("tiny-attention")
        folder = sagemaker.folder_of("t04", ("mmproj-smol.gguf", tiny), ("smol.gguf", tiny))
        # It is no projector in truth, so chat must not be told to see images through it.
        self.assertIn("t04/smol.gguf", self.start(folder, SM_LLAMA_CPP_NO_MMPROJ="true").text())

    def test_T05_a_missing_shard_is_named(self):
        tiny = harness.tiny("tiny-attention")
        folder = sagemaker.folder_of("t05", ("m-00003-of-00003.gguf", tiny), ("m-00001-of-00003.gguf", tiny))
        self.assertIn("m-00002-of-00003.gguf", self.fails(folder))

    def test_T05_a_model_in_shards_is_the_first_of_them(self):
        # The folder lists what was made last first, or in any order it likes.
        shards = [f"tiny-split-0000{i}-of-00003" for i in (3, 1, 2)]
        folder = sagemaker.folder_of("t05split", *((shard + ".gguf", harness.tiny(shard)) for shard in shards))
        server = self.start(folder)
        self.assertIn("t05split/tiny-split-00001-of-00003.gguf", server.text())
        whole = self.start(sagemaker.tiny_folder())
        answers = [one.invoke(sagemaker.SEMIF).json()["result"] for one in (server, whole)]
        self.assertEqual(answers[0]["option_logits"], answers[1]["option_logits"])

    def test_T06_several_models_are_a_warning_or_for_semif_refused(self):
        tiny = harness.tiny("tiny-attention")
        folder = sagemaker.folder_of("t06", ("b.gguf", tiny), ("a.gguf", tiny))
        text = self.start(folder).text()
        self.assertIn("t06/a.gguf", text)
        self.assertIn("a.gguf, b.gguf", text)
        strict = {"SM_LLAMA_CPP_MODEL_DIR": None, "SM_LLAMA_CPP_THREADS": None, "SEMIF_MODEL_DIR": folder}
        self.assertIn("exactly one", self.fails(folder, **strict))

    def test_T07_a_named_model_wins_and_has_to_be_there(self):
        tiny = harness.tiny("tiny-attention")
        folder = sagemaker.folder_of("t07", ("a.gguf", tiny), ("b.gguf", tiny))
        named = os.path.join(folder, "b.gguf")
        self.assertIn("t07/b.gguf", self.start(folder, SM_LLAMA_CPP_MODEL=named).text())
        said = self.fails(folder, SM_LLAMA_CPP_MODEL="/nowhere/x.gguf")
        self.assertIn("/nowhere/x.gguf", said)
        self.assertIn("SM_LLAMA_CPP_MODEL", said)

    def test_T08_without_a_model_nothing_is_served(self):
        self.assertIn(".gguf", self.fails(sagemaker.folder_of("t08")))
        self.fails("/nowhere")

    def test_T09_values_are_taken_whole_and_inject_nothing(self):
        server = self.start(sagemaker.tiny_folder(), SM_LLAMA_CPP_ALIAS="first=\nSM_LLAMA_CPP_CTX_SIZE=64,b c,end==",
                            SM_LLAMA_CPP_NO_MMPROJ="TRUE", SM_LLAMA_CPP_SPECIAL="False", SM_LLAMA_CPP_JINJA="",
                            SM_LLAMA_CPP_OVERRIDE_KV="k=int:3", SM_LLAMA_CPP_GRAMMAR='root ::= "a=="')
        models = [entry["name"] for entry in server.get("/v1/models").json()["models"]]
        self.assertIn("first=\nSM_LLAMA_CPP_CTX_SIZE=64", models)
        self.assertIn("b c", models)
        self.assertIn("end==", models)
        self.assertNotEqual(server.get("/health").json()["limits"]["context_tokens"], 64)

    def test_T10_the_port_is_the_containers_and_the_host_cannot_hide_it(self):
        first, second = sagemaker.free_port(), sagemaker.free_port()
        server = self.start(sagemaker.tiny_folder(), ASSAY_PORT=None, SM_LLAMA_CPP_PORT=str(first),
                            SM_LLAMA_CPP_HOST="203.0.113.9")
        self.assertEqual(server.port, first)
        self.assertEqual(server.get("/ping").status, 200)
        self.assertIn("SM_LLAMA_CPP_HOST is not followed", server.text())
        bound = self.start(sagemaker.tiny_folder(), ASSAY_PORT=None, SM_LLAMA_CPP_PORT=str(first),
                           SAGEMAKER_BIND_TO_PORT=str(second))
        self.assertEqual(bound.port, second)

    def test_T11_flags_of_llama_server_are_taken_or_said_once(self):
        not_followed = {"SM_LLAMA_CPP_MLOCK": "true", "SM_LLAMA_CPP_HF_REPO": "a/b"}
        server = self.start(sagemaker.tiny_folder(), SM_LLAMA_CPP_PARALLEL="2", SM_LLAMA_CPP_CTX_SIZE="512",
                            SM_LLAMA_CPP_BATCH_SIZE="256", SM_LLAMA_CPP_N_GPU_LAYERS="0",
                            SM_LLAMA_CPP_FLASH_ATTN="true", SM_LLAMA_CPP_MMAP="true",
                            SM_LLAMA_CPP_LOAD_MODE="mmap", SM_LLAMA_CPP_COLOUR="red", SM_LLAMA_CPP_METRICS="true",
                            **not_followed)
        for name in [*not_followed, "SM_LLAMA_CPP_COLOUR"]:
            self.assertEqual(server.text().count(name + " is not followed"), 1, server.text())
        limits = server.get("/health").json()["limits"]
        self.assertEqual((limits["context_tokens"], limits["chat_context_tokens"]), (512, 256))
        # Chat's own counts, with the word that it said before /ping was 200.
        self.assertIn("\nllamacpp:tokens_predicted_total 1\n", server.get("/metrics").body.decode())
        said = self.fails(sagemaker.tiny_folder(), code=2, SM_LLAMA_CPP_COLOUR="red", ASSAY_UNKNOWN_VARIABLES="refuse")
        self.assertIn("SM_LLAMA_CPP_COLOUR", said)

    def test_T11_chat_has_all_of_the_context_that_is_asked_for(self):
        # Our own variable is about a decision; four chats have what the container's says between them.
        server = self.start(sagemaker.tiny_folder(), SM_LLAMA_CPP_CTX_SIZE="8192", SM_LLAMA_CPP_PARALLEL="4",
                            ASSAY_CONTEXT_TOKENS="1024")
        limits = server.get("/health").json()["limits"]
        self.assertEqual((limits["context_tokens"], limits["chat_context_tokens"]), (1024, 2048))

    def test_T12_the_other_images_variables(self):
        hugging = self.start(sagemaker.tiny_folder(), SM_LLAMACPP_CTX_SIZE="640")
        self.assertEqual(hugging.get("/health").json()["limits"]["context_tokens"], 640)
        folder = sagemaker.tiny_folder("t12")
        semif = self.start(folder, SM_LLAMA_CPP_MODEL_DIR=None, SM_LLAMA_CPP_THREADS=None, SEMIF_MODEL_DIR=folder,
                           SEMIF_MAX_TOKENS="700", SEMIF_THREADS="1", SEMIF_MAX_BODY_BYTES="262144",
                           SEMIF_TOKENIZER_SOURCE="/opt/ml/model/tokenizer")
        limits = semif.get("/health").json()["limits"]
        self.assertEqual((limits["context_tokens"], limits["body_bytes_max"]), (700, 262144))
        self.assertIn("SEMIF_TOKENIZER_SOURCE is not followed", semif.text())

    def test_T13_a_key_shuts_nobody_out_of_a_container_but_holds_elsewhere(self):
        container = self.start(sagemaker.tiny_folder(), LLAMA_API_KEY="k-123")
        self.assertEqual(container.get("/ping").status, 200)
        self.assertEqual(container.invoke(sagemaker.SEMIF).status, 200)
        self.assertIn("LLAMA_API_KEY is not followed", container.text())
        self.assertNotIn("k-123", container.text())
        plain = harness.Server.__new__(harness.Server)
        plain._begin([harness.BINARY, "serve", "--port", "0", *harness.tiny_flags()],
                     harness.environment(LLAMA_API_KEY="k-123"))
        self.addCleanup(plain.stop)
        plain._settle()
        self.assertEqual(plain.get("/health").status, 200)
        self.assertEqual(plain.post(sagemaker.SYSTEM_ONE, "/v1/systemone").status, 401)
        told = plain.request("POST", "/v1/systemone", json.dumps(sagemaker.SYSTEM_ONE).encode(),
                             {"Content-Type": "application/json", "Authorization": "Bearer k-123"})
        self.assertEqual(told.status, 200, str(told))

    def test_T14_nothing_is_written_but_below_tmp_and_no_network_is_needed(self):
        if not can_unshare("-m", "-n"):
            self.skipTest(NO_WAY)
        folder = sagemaker.tiny_folder("t14")
        address = os.path.join("/tmp", f"assay-t14-{os.getpid()}.sock")
        script = ("mount --make-rprivate / && mount -t tmpfs none /mnt 2>/dev/null; "
                  "mkdir -p /tmp && mount --bind /tmp /tmp && mount -o remount,bind,ro / && "
                  "if touch \"$FOLDER/written\" 2>/dev/null; then exit 7; fi; exec \"$@\"")
        server = harness.Server.__new__(harness.Server)
        variables = sagemaker.variables_of(folder, {"ASSAY_HOST": address, "ASSAY_CHECK_DIR": None, "HOME": None,
                                                  "FOLDER": folder})
        server._begin(["unshare", "-m", "-n", "sh", "-c", script, "sh", harness.BINARY, "sagemaker", "serve"],
                      variables)
        self.addCleanup(server.stop)
        harness.wait_until(lambda: any("ready on" in line for line in server.log) or server.process.poll() is not None,
                           "it is ready", 120)
        self.assertIsNone(server.process.poll(), "".join(server.log))
        asked = subprocess.run(["curl", "-s", "--unix-socket", address, "-H", "Content-Type: application/json",
                                "-d", json.dumps(sagemaker.SEMIF), "http://x/invocations"],
                               stdout=subprocess.PIPE, text=True, check=True, timeout=60)
        self.assertIn("probabilities", asked.stdout)

    def test_T14_what_its_user_may_not_read_is_said(self):
        as_nobody = ["setpriv", "--reuid=10001", "--regid=10001", "--clear-groups"]
        if os.geteuid() != 0 or subprocess.run([*as_nobody, "true"], stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("nobody here can become somebody else (setpriv)")
        with tempfile.TemporaryDirectory() as place:
            os.chmod(place, 0o755)
            program, folder = os.path.join(place, "assay"), os.path.join(place, "model")
            shutil.copy(harness.BINARY, program)
            os.mkdir(folder)
            model = shutil.copy(harness.tiny("tiny-attention"), folder)
            for path, mode in ((model, 0o600), (folder, 0o700)):
                os.chmod(path, mode)
                done = subprocess.run([*as_nobody, program, "sagemaker", "serve"], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=60,
                                      env=sagemaker.variables_of(folder, {"ASSAY_CHECK_DIR": None}))
                self.assertNotEqual(done.returncode, 0)
                self.assertRegex(last_line(done.stderr), "Permission denied|may not read")
                os.chmod(path, 0o755)

    def test_T15_layers_on_a_gpu_that_is_not_there(self):
        devices = json.loads(harness.run("version", "--json").stdout)["devices"]
        if any(name != "CPU" for name in devices):
            self.skipTest("this machine has a GPU")
        said = self.fails(sagemaker.tiny_folder(), code=2, SM_LLAMA_CPP_N_GPU_LAYERS="999")
        self.assertIn("SM_LLAMA_CPP_N_GPU_LAYERS", said)
        server = self.start(sagemaker.tiny_folder(), SM_LLAMA_CPP_N_GPU_LAYERS="999", ASSAY_GPU_FALLBACK="true")
        self.assertIn("going on without one", server.text())

    def test_T16_bad_numbers_end_it_and_are_named(self):
        for name, value in (("SM_LLAMA_CPP_CTX_SIZE", "many"), ("SM_LLAMA_CPP_THREADS", "1.5"),
                            ("SM_LLAMA_CPP_PORT", "0"), ("SEMIF_THREADS", "0"), ("SEMIF_MAX_TOKENS", "-1"),
                            ("SAGEMAKER_BIND_TO_PORT", "http"), ("SAGEMAKER_MAX_PAYLOAD_IN_MB", "101")):
            with self.subTest(name=name):
                self.assertIn(name, self.fails(sagemaker.tiny_folder(), code=2, **{name: value}))

    def test_T53_one_thread_for_each_core_that_it_may_use(self):
        variables = sagemaker.variables_of(sagemaker.tiny_folder(), {"SM_LLAMA_CPP_THREADS": None})
        server = harness.Server.__new__(harness.Server)
        server._begin(["taskset", "-c", "0", harness.BINARY, "sagemaker", "serve"], variables)
        self.addCleanup(server.stop)
        server._settle()
        self.assertEqual(server.get("/v1/models").json()["data"][0]["meta"]["threads"], 1)

    def test_T53_a_quota_counts(self):
        if not can_unshare("-m"):
            self.skipTest(NO_WAY)
        if json.loads(harness.run("version", "--json").stdout)["cores"] < 2:
            self.skipTest("this machine has one core anyway")
        variables = sagemaker.variables_of(sagemaker.tiny_folder(), {"SM_LLAMA_CPP_THREADS": None})
        for files in ("echo 100000 100000 >cpu.max",  # cgroup v2, then v1
                      "mkdir cpu && echo 50000 >cpu/cpu.cfs_quota_us && echo 100000 >cpu/cpu.cfs_period_us"):
            server = harness.Server.__new__(harness.Server)
            script = ("mount --make-rprivate / && mount -t tmpfs none /sys/fs/cgroup && "
                      f"(cd /sys/fs/cgroup && {files}) && exec \"$@\"")
            server._begin(["unshare", "-m", "sh", "-c", script, "sh", harness.BINARY, "sagemaker", "serve"], variables)
            self.addCleanup(server.stop)
            server._settle()
            self.assertEqual(server.get("/v1/models").json()["data"][0]["meta"]["threads"], 1, files)

    def test_T54_a_model_is_mapped_and_ready_soon(self):
        began = time.monotonic()
        self.start(sagemaker.folder_of("t54", ("m.gguf", harness.default_model())))
        # Without the check of the readouts; a larger model takes longer only for its tensors' repacking.
        self.assertLess(time.monotonic() - began, 60)


class Health(unittest.TestCase):
    def loading(self, **variables):
        """A container whose model is still being loaded."""
        port = sagemaker.free_port()
        server = Container(sagemaker.folder_of("slow", ("m.gguf", harness.default_model())), port=port, wait=False,
                           ASSAY_NO_START_CHECK="false", **variables)
        self.addCleanup(server.stop)
        harness.wait_until(lambda: any("listening on" in line for line in server.log), "it listens")
        return server

    @staticmethod
    def ping(server):
        """The status of /ping, and the seconds until its connection stood and until it was answered."""
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        try:
            began = time.monotonic()
            connection.connect()
            connected = time.monotonic() - began
            connection.request("GET", "/ping")
            reply = connection.getresponse()
            reply.read()
            return reply.status, connected, time.monotonic() - began
        finally:
            connection.close()

    def check_times(self, pings):
        """SageMaker's limits, for 99 of 100."""
        most = (len(pings) * 99 - 1) // 100
        self.assertLess(sorted(connected for _, connected, _ in pings)[most], 0.25)
        self.assertLess(sorted(answered for _, _, answered in pings)[most], 2)

    def test_T17_ping_answers_while_the_model_loads_and_under_load(self):
        server = self.loading()
        pings = []
        while not server._settled.is_set():
            pings.append(self.ping(server))
        self.check_times(pings)
        self.assertEqual(pings[0][0], 503)

        def ask():
            with contextlib.suppress(OSError, http.client.HTTPException):
                server.post(LONG)

        crowd = [threading.Thread(target=ask) for _ in range(6)]
        for one in crowd:
            one.start()
        pings = [self.ping(server) for _ in range(100)]
        self.assertGreater(server.get("/health").json()["in_flight"], 0, "it was under load")
        self.assertEqual({status for status, _, _ in pings}, {200})
        self.check_times(pings)
        server.process.kill()  # the crowd need not be answered
        for one in crowd:
            one.join()

    def test_T18_ping_says_200_only_after_a_decision(self):
        server = self.loading()
        first = server.get("/ping")
        self.assertEqual((first.status, first.json()["status"]), (503, "loading"))
        self.assertEqual(server.request("HEAD", "/ping").status, 503)
        server._settle()
        self.assertEqual(server.get("/ping").status, 200)
        self.assertEqual(server.request("HEAD", "/ping").status, 200)
        done = sagemaker.run(sagemaker.folder_of("nan", ("nan.gguf", harness.tiny("tiny-nan"))))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("the first decision failed", last_line(done.stderr))

    def test_T20_sigterm_answers_what_was_accepted(self):
        idle = Container(sagemaker.tiny_folder())
        self.addCleanup(idle.stop)
        began = time.monotonic()
        idle.process.send_signal(signal.SIGTERM)
        self.assertEqual(idle.process.wait(timeout=10), 0)
        self.assertLess(time.monotonic() - began, 1)

        busy = Container(sagemaker.folder_of("t20", ("m.gguf", harness.default_model())))
        self.addCleanup(busy.stop)
        replies = []
        asked = threading.Thread(target=lambda: replies.append(busy.invoke(LONG)))
        asked.start()
        harness.wait_until(lambda: busy.get("/health").json()["in_flight"] > 0, "the request is in flight")
        busy.process.send_signal(signal.SIGTERM)
        harness.wait_until(lambda: any("draining" in line for line in busy.log), "it drains")
        ping = busy.get("/ping")
        self.assertEqual(ping.status, 503, str(ping))
        self.assertEqual(busy.invoke(sagemaker.SEMIF).status, 503)
        asked.join(timeout=60)
        self.assertEqual(replies[0].status, 200, str(replies[0]))
        self.assertEqual(busy.process.wait(timeout=30), 0)

    def test_T21_sigterm_while_it_loads(self):
        server = self.loading()
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.process.wait(timeout=10), 128 + signal.SIGTERM)
        self.assertLess(time.monotonic() - began, 2)

    def test_T22_as_process_1_it_ends_as_well(self):
        if not can_unshare("-p", "-f"):
            self.skipTest(NO_WAY)
        server = harness.Server.__new__(harness.Server)
        # With the trial decode in a child: it must be gone, not left as a zombie.
        folder = sagemaker.folder_of("t22", ("m.gguf", harness.default_model()))
        checks = tempfile.TemporaryDirectory()
        self.addCleanup(checks.cleanup)
        server._begin(["unshare", "-p", "-f", "--kill-child", harness.BINARY, "sagemaker", "serve"],
                      sagemaker.variables_of(folder, {"ASSAY_CHECK_DIR": checks.name}))
        self.addCleanup(server.stop)
        server._settle()
        first = children_of(server.process.pid)[0]
        self.assertEqual(children_of(first), [])
        replies = []
        asked = threading.Thread(target=lambda: replies.append(server.post(LONG)))
        asked.start()
        harness.wait_until(lambda: server.get("/health").json()["in_flight"] > 0, "the request is in flight")
        os.kill(first, signal.SIGTERM)
        asked.join(timeout=60)
        self.assertEqual(replies[0].status, 200, str(replies[0]))
        self.assertEqual(server.process.wait(timeout=30), 0)
        self.assertFalse(os.path.exists(f"/proc/{first}"), "nothing is left behind")

    def test_T23_health_is_like_llama_servers(self):
        server = self.loading()
        for path in ("/health", "/v1/health"):
            reply = server.get(path)
            self.assertEqual((reply.status, reply.json()["error"]["message"]), (503, "Loading model"))
        server._settle()
        for path in ("/health", "/v1/health"):
            reply = server.get(path)
            self.assertEqual((reply.status, reply.json()["status"]), (200, "ok"))
