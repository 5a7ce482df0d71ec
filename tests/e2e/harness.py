"""What the end-to-end tests share: where things lie, servers that are started once, requests, and checks of replies."""

import http.client
import json
import math
import os
import re
import subprocess
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BINARY = os.path.abspath(os.environ.get("ASSAY_BINARY") or os.path.join(ROOT, "build", "release", "assay"))
MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
MODEL = os.environ.get("ASSAY_MODEL") or os.path.join(ROOT, "models", MODEL_FILE)
# The readout check of each model is run once and kept here for the next run, as a user's cache would.
CHECK_DIR = os.path.join(ROOT, "build", "e2e", "check")
WORK_DIR = os.path.join(ROOT, "build", "e2e", "work")  # files that the tests write
# Threads of the default model; on a busy machine two threads that wait for each other are far slower than one.
THREADS = os.environ.get("ASSAY_E2E_THREADS") or "0"
START_SECONDS = 240
REPLY_SECONDS = 180

TICKET = "My card was charged twice for the same order and I want the second payment back."
WANTED = "What does the customer want?"


def environment(**more):
    """No ASSAY_* setting of the caller's: each is a flag in disguise."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("ASSAY_")}
    return {**kept, **more}


def tiny(name):
    """The path of a tiny model; the test is skipped where they have not been made."""
    folders = [os.environ.get("ASSAY_TINY_DIR"), os.path.join(ROOT, "build", "release", "tiny"),
               os.path.join(ROOT, "build", "tiny")]
    for folder in folders:
        if folder and os.path.exists(os.path.join(folder, name + ".gguf")):
            return os.path.join(folder, name + ".gguf")
    raise unittest.SkipTest(f"no {name}.gguf: the release build makes the tiny models")


def default_model():
    if not os.path.exists(MODEL):
        raise unittest.SkipTest("no default model: run tools/setup, or set ASSAY_MODEL")
    return MODEL


def default_server(*flags):
    return Server(default_model(), "--threads", THREADS, *flags)


class Reply:
    """One HTTP answer."""

    def __init__(self, status, headers, body):
        self.status = status
        self.headers = {name.lower(): value for name, value in headers}
        self.body = body

    def json(self):
        return json.loads(self.body)

    def __str__(self):
        return f"{self.status} {self.body[:600]!r}"


class Server:
    """`assay serve` as a process, on a port that the system chose. Without a model it serves many."""

    def __init__(self, model, *flags):
        self._begin([BINARY, "serve", *([model] if model else []), "--port", "0", "--check-dir", CHECK_DIR, *flags],
                    environment())
        self._settle()

    def _begin(self, command, variables, stdout=subprocess.DEVNULL):
        self.command = command
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout,
                                        stderr=subprocess.PIPE, text=True, errors="replace", env=variables)
        self.log = []
        self.port = None
        self._settled = threading.Event()  # it is ready, or it has ended
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()

    def _settle(self):
        """Waits until it is ready."""
        if not self._settled.wait(START_SECONDS) or self.port is None:
            self.process.kill()
            self.process.wait()
            raise AssertionError(f"{' '.join(self.command)} did not get ready:\n" + "".join(self.log[-20:]))

    def _read_log(self):
        for line in self.process.stderr:
            self.log.append(line)
            ready = re.search(r"ready on http://[\d.]+:(\d+)", line)
            if ready:
                self.port = int(ready.group(1))
                self._settled.set()
        self._settled.set()

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=REPLY_SECONDS)
        try:
            connection.request(method, path, body, headers or {})
            reply = connection.getresponse()
            return Reply(reply.status, reply.getheaders(), reply.read())
        finally:
            connection.close()

    def get(self, path):
        return self.request("GET", path)

    def post(self, body, path="/v1/decide", content_type="application/json"):
        """`body` is bytes, or a value that is sent as JSON."""
        data = body if isinstance(body, bytes) else json.dumps(body, ensure_ascii=False).encode()
        return self.request("POST", path, data, {"Content-Type": content_type} if content_type else {})

    def decide(self, test, body):
        """The only result of a body with `decision`, checked."""
        reply = self.post(body)
        test.assertEqual(reply.status, 200, str(reply))
        result = reply.json()["result"]
        check_result(test, result, body["decision"]["options"])
        return result

    def is_alive(self):
        return self.process.poll() is None and self.get("/health").status == 200

    def stop(self):
        """Ends it in the friendly way and gives its exit code."""
        if self.process.poll() is None:
            self.process.terminate()
        try:
            code = self.process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self._reader.join(timeout=10)
        self.process.stderr.close()
        return code


def tiny_flags(name="tiny-attention"):
    """A tiny model as commands take it. One thread: there is nothing to share, and a busy machine does not matter."""
    return ["--model", tiny(name), "--threads", "1", "--no-readout-check", "--check-dir", CHECK_DIR]


def tiny_server(name):
    return Server(tiny(name), "--threads", "1", "--no-readout-check")


_shared = {}
_SERVERS = {
    "default": lambda: default_server(),
    # Little room, strict about control tokens.
    "strict": lambda: default_server("--special-tokens", "reject", "--context-tokens", "600"),
    "attention": lambda: tiny_server("tiny-attention"),
    "alone": lambda: Server(tiny("tiny-attention"), "--threads", "1", "--no-readout-check", "--chat", "off"),
    "hybrid": lambda: tiny_server("tiny-hybrid"),
    "nan": lambda: tiny_server("tiny-nan"),
    "head": lambda: tiny_server("tiny-head"),
    "head unpacked": lambda: Server(tiny("tiny-head"), "--threads", "1", "--no-readout-check", "--pack", "off"),
}


def shared(name):
    """The server of this name, started when it is first asked for; it stays until the tests end."""
    if name not in _shared:
        _shared[name] = _SERVERS[name]()
    return _shared[name]


def stop_shared():
    """Exit codes by name."""
    codes = {name: server.stop() for name, server in _shared.items()}
    _shared.clear()
    return codes


def run(*arguments, stdin="", timeout=300, **more):
    """A command to its end; .returncode, .stdout, .stderr."""
    return subprocess.run([BINARY, *arguments], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          errors="replace", timeout=timeout, env=environment(**more))


def work_path(name):
    """A path for a file of a test; whatever an earlier run left there is gone."""
    os.makedirs(WORK_DIR, exist_ok=True)
    path = os.path.join(WORK_DIR, name)
    if os.path.exists(path):
        os.remove(path)
    return path


def write_file(name, data):
    path = work_path(name)
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())
    return path


def wait_until(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.01)


def option(spec):
    """"id" or ("id", "description")."""
    return {"id": spec} if isinstance(spec, str) else {"id": spec[0], "description": spec[1]}


def decision(options, state=TICKET, question=WANTED, **more):
    return {"id": "d1", "state": state, "question": question, "options": [option(spec) for spec in options], **more}


def body(options, readout=None, explain=False, **more):
    out = {"decision": decision(options, **more)}
    if readout:
        out["x_readout"] = readout
    if explain:
        out["x_explain"] = True
    return out


def numbers_of(value):
    """Every number of a JSON value, by its path."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield from ((f"{key}.{path}", number) for path, number in numbers_of(member))
    elif isinstance(value, list):
        for i, member in enumerate(value):
            yield from ((f"{i}.{path}", number) for path, number in numbers_of(member))
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield "", value


def check_result(test, result, options):
    """What holds for every answer (cases 5, 6, 13): the declared options in their order, a probability for each that
    is in [0, 1], their sum 1, the order of probabilities that of the scores, every number finite."""
    ids = [entry["id"] for entry in options]
    probabilities = result["probabilities"]
    test.assertEqual(result["option_ids"], ids)
    test.assertEqual(len(probabilities), len(ids))
    test.assertEqual(len(result["option_logits"]), len(ids))
    for path, number in numbers_of(result):
        test.assertTrue(math.isfinite(number), f"{path} is {number}")
    for probability in probabilities:
        test.assertIsInstance(probability, float)
        test.assertTrue(0 <= probability <= 1, probability)
    test.assertLess(abs(math.fsum(probabilities) - 1), 1e-9)
    by_probability = probabilities.index(max(probabilities))
    test.assertEqual(by_probability, result["option_logits"].index(max(result["option_logits"])))
    for entry in result.get("x_explain", {}).get("options", []):
        for number in [entry["log_prob"]] + [token["log_prob"] for token in entry["tokens"]]:
            test.assertLessEqual(number, 0)


def without_times(reply):
    """A reply's bytes with the values of its times struck out."""
    return re.sub(rb'"(\w+_seconds|\w+_ms)": [-+.\deE]+', rb'"\1": 0', reply.body)
