"""What chat's streams do when something goes wrong in their middle: clients that leave, that wait for a slot and leave, that
read slowly; decisions that never stop coming; SIGTERM; a model that would fall asleep."""

import json
import signal
import socket
import threading
import time
import unittest

import harness

HELLO = [{"role": "user", "content": "Say hello."}]
CHAT = "/v1/chat/completions"
DECISION = harness.body([("refund", "Wants money back"), ("info", "Asks how it works")])
FRAMES = "/endpoints/any/invocations-response-stream"


def endless(**more):
    """A chat that ends where its slot does."""
    return {"messages": HELLO, "max_tokens": 100000, "stream": True, "ignore_eos": True, "temperature": 0, **more}


class Stream:
    """A request whose reply is read piece by piece, or not at all."""

    def __init__(self, server, body, path=CHAT, receive_bytes=None):
        self.socket = socket.socket()
        if receive_bytes:  # before the connection stands: it says how much the server may send unread
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.settimeout(harness.REPLY_SECONDS)
        self.socket.connect(("127.0.0.1", server.port))
        data = json.dumps(body).encode()
        self.socket.sendall((f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                             f"Content-Length: {len(data)}\r\n\r\n").encode() + data)
        self.text = b""

    def read_until(self, mark):
        while mark not in self.text:
            piece = self.socket.recv(65536)
            if not piece:
                raise AssertionError(f"it ended without {mark}: {self.text[-300:]}")
            self.text += piece

    def leave(self):
        self.socket.close()


class LeavingTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.default_server("--parallel", "1", "-c", "4096", "--metrics", "--no-readout-check")

    @classmethod
    def tearDownClass(cls):
        if cls.server.stop() != 0:
            raise AssertionError("it did not end well")

    def is_computing(self):
        return any(slot["is_processing"] for slot in self.server.get("/slots").json())

    def waiting(self):
        for line in self.server.get("/metrics").body.decode().splitlines():
            if line.startswith("llamacpp:requests_deferred "):
                return float(line.split()[1])
        raise AssertionError("no llamacpp:requests_deferred")

    def test_a_client_that_leaves_in_the_middle_frees_its_slot_on_every_path(self):
        for path, mark in ((CHAT, b"data: "), ("/invocations", b"data: "), (FRAMES, b"PayloadPart"),
                           ("/v1/responses", b"output_text.delta"), ("/v1/messages", b"content_block_delta")):
            body = endless() if path != "/v1/responses" else {"input": "Say hello.", "max_output_tokens": 100000,
                                                              "stream": True, "ignore_eos": True}
            with self.subTest(path=path):
                stream = Stream(self.server, body, path)
                stream.read_until(mark)
                self.assertTrue(self.is_computing())
                stream.leave()
                harness.wait_until(lambda: not self.is_computing(), "its slot is free", 30)

    def test_one_that_leaves_while_it_waits_for_a_slot_does_not_keep_it(self):
        first = Stream(self.server, endless())
        first.read_until(b"data: ")
        second = Stream(self.server, endless())
        harness.wait_until(lambda: self.waiting() == 1, "the second waits")
        second.leave()
        self.assertTrue(self.is_computing(), "the first goes on")
        first.leave()
        harness.wait_until(lambda: self.waiting() == 0 and not self.is_computing(), "nothing is computed", 30)

    def test_a_stream_of_decisions_that_nobody_reads_on_is_dropped(self):
        body = {"model": "jev-latest", "state": "The parcel came late. " * 150, "questions": {
            f"q{i}": {"type": "choice", "instructions": f"Case {i}?", "criteria": {"a": None, "b": None}}
            for i in range(40)}}
        data = json.dumps(body).encode()
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=60) as client:
            client.sendall(b"POST /v1/systemone HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                           b"Accept: text/event-stream\r\nContent-Length: %d\r\n\r\n" % len(data) + data)
            self.assertIn(b"200", client.recv(100))
        harness.wait_until(lambda: self.server.get("/health").json()["in_flight"] == 0, "nothing is in flight", 30)


class BesideDecisionsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server(harness.tiny("tiny-attention"), "--threads", "1", "--no-readout-check", "-c", "4096",
                                    "--parallel", "2", "--metrics", "--no-kv-unified")

    @classmethod
    def tearDownClass(cls):
        if cls.server.stop() != 0:
            raise AssertionError("it did not end well")

    def test_a_slow_reader_holds_up_nobody_and_loses_nothing(self):
        # Far more than the two sockets hold between them: the server has to wait for the reader.
        slow = Stream(self.server, endless(max_tokens=1500, logprobs=True, top_logprobs=20), receive_bytes=4096)
        alone = self.server.decide(self, DECISION)
        for _ in range(20):
            self.assertEqual(self.server.decide(self, DECISION)["option_logits"], alone["option_logits"])
            reply = self.server.post({"messages": HELLO, "max_tokens": 4, "stream": True}, CHAT)
            self.assertTrue(reply.body.endswith(b"data: [DONE]\n\n"), str(reply))
        slow.read_until(b"data: [DONE]\n\n")
        slow.leave()
        events = [line for line in slow.text.split(b"\n") if line.startswith(b"data: {")]
        self.assertGreater(len(slow.text), 2_000_000)
        self.assertEqual(sum(b'"logprobs":{' in event for event in events), 1500)

    def test_a_long_stream_and_decisions_that_never_stop_both_get_on(self):
        stop, answered, failed = threading.Event(), [], []

        def decide():
            while not stop.is_set():
                reply = self.server.post(DECISION)
                (answered if reply.status == 200 else failed).append(time.monotonic())

        crowd = [threading.Thread(target=decide) for _ in range(3)]
        for one in crowd:
            one.start()
        harness.wait_until(lambda: len(answered) > 5, "decisions are made")
        began = time.monotonic()
        stream = Stream(self.server, endless(max_tokens=400))
        try:
            stream.read_until(b"data: [DONE]\n\n")
        finally:
            ended = time.monotonic()
            stop.set()
            for one in crowd:
                one.join()
        stream.leave()
        self.assertEqual(failed, [])
        self.assertGreater(sum(began < at < ended for at in answered), 20, "decisions came through")


class EndingTest(unittest.TestCase):
    def test_a_stream_that_was_begun_before_sigterm_is_sent_to_its_end(self):
        server = harness.default_server("--no-readout-check", "-c", "2048")
        self.addCleanup(server.stop)
        stream = Stream(server, endless(max_tokens=60))
        stream.read_until(b"data: ")
        server.process.send_signal(signal.SIGTERM)
        harness.wait_until(lambda: any("draining" in line for line in server.log), "it drains")
        self.assertEqual(server.post({"messages": HELLO}, CHAT).status, 503)
        self.assertEqual(server.get("/ping").status, 503)
        stream.read_until(b"data: [DONE]\n\n")
        self.assertIn(b'"finish_reason":"length"', stream.text)
        self.assertEqual(server.process.wait(timeout=30), 0)

    def test_a_stream_longer_than_the_grace_does_not_keep_it_alive(self):
        server = harness.default_server("--no-readout-check", "-c", "8192", "--grace-seconds", "2")
        self.addCleanup(server.stop)
        stream = Stream(server, endless())
        stream.read_until(b"data: ")
        decided = []
        asked = threading.Thread(target=lambda: decided.append(server.post(DECISION)))
        asked.start()
        asked.join()
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.process.wait(timeout=30), 0)
        self.assertLess(time.monotonic() - began, 6, "two seconds, and what writing the end takes")
        self.assertEqual(decided[0].status, 200)
        rest = stream.text
        while piece := stream.socket.recv(65536):
            rest += piece
        self.assertNotIn(b"[DONE]", rest, "a reply that was cut must not look whole")
        self.assertFalse(rest.endswith(b"0\r\n\r\n"), "nor its last chunk")


class SleepyTest(unittest.TestCase):
    def test_what_waits_behind_a_long_decision_is_answered_before_it_sleeps(self):
        server = harness.default_server("--sleep-idle-seconds", "1", "--no-readout-check", "-c", "4096")
        self.addCleanup(server.stop)
        alone = server.decide(self, DECISION)
        long = harness.body(["a", "b"], "letters", state="The parcel left the depot on time but came late. " * 250)
        replies = {}

        def ask(name, body):
            replies[name] = server.post(body)

        crowd = [threading.Thread(target=ask, args=(f"long {i}", {"decision": {**long["decision"], "state":
                 f"Case {i}. " + long["decision"]["state"]}, "x_readout": "letters"})) for i in range(3)]
        crowd.append(threading.Thread(target=ask, args=("short", DECISION)))
        began = time.monotonic()
        for one in crowd:
            one.start()
        for one in crowd:
            one.join()
        took = time.monotonic() - began
        self.assertEqual({name: reply.status for name, reply in replies.items()}, dict.fromkeys(replies, 200))
        self.assertEqual(replies["short"].json()["result"]["option_logits"], alone["option_logits"])
        if took < 2:
            self.skipTest(f"this machine answers all of it in {took:.1f} s, before it could fall asleep")
        harness.wait_until(lambda: server.get("/health").json().get("sleeping", False), "then it sleeps")
        self.assertEqual(server.stop(), 0)

    def test_a_stream_longer_than_the_idle_time_is_no_idle_time(self):
        server = harness.default_server("--sleep-idle-seconds", "1", "--no-readout-check", "-c", "2048")
        self.addCleanup(server.stop)
        stream = Stream(server, endless(max_tokens=250))
        began = time.monotonic()
        stream.read_until(b"data: [DONE]\n\n")
        self.assertIn(b'"finish_reason":"length"', stream.text)
        if time.monotonic() - began < 2:
            self.skipTest("this machine chats too fast to fall asleep meanwhile")


if __name__ == "__main__":
    unittest.main()
