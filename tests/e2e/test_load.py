"""Deadlines, clients that leave, an end under load, and the numbers that show them."""

import http.client
import json
import signal
import threading
import unittest

import harness

OPTIONS = ["refund", "info"]
SENTENCE = "The parcel left the depot on time but came late. "
JSON = {"Content-Type": "application/json"}


def long_body(name, times=400, **settings):
    """Many seconds of work for the default model. Each name is a state of its own, so no beginning of it is cached."""
    return dict(harness.body(OPTIONS, "letters", state=f"Case {name}. " + SENTENCE * times), **settings)


def metric(server, name):
    """The value of a metric without labels."""
    for line in server.get("/metrics").body.decode().splitlines():
        if line.startswith(name + " "):
            return float(line.split()[1])
    raise AssertionError(f"no metric {name}")


def is_deterministic(server):
    return server.get("/v1/models").json()["data"][0]["meta"]["deterministic"]


class InFlight(threading.Thread):
    """One request in a thread of its own; its reply, or why there is none."""

    def __init__(self, server, body):
        super().__init__()
        self.server, self.body = server, body
        self.reply = self.error = None
        self.start()

    def run(self):
        try:
            self.reply = self.server.post(self.body)
        except (OSError, http.client.HTTPException) as error:
            self.error = error


class Load(unittest.TestCase):
    def check_still_right(self, server, before):
        """The server answers `before`'s question as it did."""
        after = server.decide(self, harness.body(OPTIONS, "letters"))
        self.assertEqual(after["prompt_sha256"], before["prompt_sha256"])
        delta = 0 if is_deterministic(server) else 0.05
        for one, other in zip(after["probabilities"], before["probabilities"]):
            self.assertAlmostEqual(one, other, delta=delta)

    def check_late(self, reply):
        """Refused at once because the deadline cannot be kept, or given up when it had passed."""
        self.assertIn(reply.status, (429, 504), str(reply))
        code = {429: "too_busy", 504: "deadline"}[reply.status]
        self.assertEqual(reply.json()["code"], code)
        self.assertEqual("retry-after" in reply.headers, reply.status == 429)
        self.assertEqual(reply.json().get("retryable", False), reply.status == 429)
        if reply.status == 429:
            self.assertGreaterEqual(int(reply.headers["retry-after"]), 1)

    def test_a_deadline_that_is_too_short_ends_one_request_only(self):
        server = harness.shared("default")
        before = server.decide(self, harness.body(OPTIONS, "letters"))
        began = harness.time.monotonic()
        self.check_late(server.post(long_body("deadline in the body", timeout_ms=1)))
        data = json.dumps(long_body("deadline in a header")).encode()
        self.check_late(server.request("POST", "/v1/decide", data, {**JSON, "x-timeout-ms": "1"}))
        self.assertLess(harness.time.monotonic() - began, 20, "neither was computed to its end")
        self.check_still_right(server, before)
        self.assertEqual(server.get("/health").json()["in_flight"], 0)

    def test_a_deadline_that_is_long_enough_changes_nothing(self):
        server = harness.shared("default")
        body = harness.body(OPTIONS, "letters", state="A deadline of ten minutes.")
        plain = server.decide(self, body)
        timed = server.decide(self, dict(body, timeout_ms=600_000, x_priority="bulk"))
        self.assertEqual(timed["prompt_sha256"], plain["prompt_sha256"])
        if is_deterministic(server):
            self.assertEqual(timed["probabilities"], plain["probabilities"])

    def test_a_client_that_leaves_is_noticed(self):
        server = harness.shared("default")
        before = server.decide(self, harness.body(OPTIONS, "letters"))
        cancelled = metric(server, "assay_engine_jobs_cancelled_total")
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=harness.REPLY_SECONDS)
        connection.request("POST", "/v1/decide", json.dumps(long_body("a client that leaves")), JSON)
        harness.wait_until(lambda: server.get("/health").json()["in_flight"] > 0, "the request is in flight")
        connection.close()
        harness.wait_until(lambda: metric(server, "assay_engine_jobs_cancelled_total") > cancelled,
                           "the job of the client that left is cancelled")
        harness.wait_until(lambda: server.get("/health").json()["in_flight"] == 0, "nothing is in flight")
        self.assertIn('assay_refusals_total{reason="cancelled"}', server.get("/metrics").body.decode())
        self.check_still_right(server, before)

    def test_wrong_settings_are_400_and_named(self):
        server = harness.shared("attention")
        wrong = [("timeout_ms", 0), ("timeout_ms", -5), ("timeout_ms", 3_600_001), ("timeout_ms", "100"),
                 ("timeout_ms", None), ("timeout_ms", 1e300), ("x_timeout_ms", 0), ("x_priority", "urgent"),
                 ("x_priority", 1), ("x_layout", "options_first"), ("x_layout", None), ("x_receipt", "yes")]
        for field, value in wrong:
            with self.subTest(field=field, value=value):
                reply = server.post({**harness.body(OPTIONS), field: value})
                self.assertEqual((reply.status, reply.json()["code"]), (400, "invalid_argument"), str(reply))
                self.assertEqual(reply.json()["field"], field)
                self.assertTrue(reply.json()["error"].startswith(field), reply.json())
                if "timeout" in field:
                    self.assertIn("3600000", reply.json()["error"])
        data = json.dumps(harness.body(OPTIONS)).encode()
        for header, value in (("x-timeout-ms", "soon"), ("x-timeout-ms", "nan"), ("x-priority", "urgent")):
            with self.subTest(header=header, value=value):
                reply = server.request("POST", "/v1/decide", data, {**JSON, header: value})
                self.assertEqual((reply.status, reply.json()["field"]), (400, header), str(reply))

    def test_the_engine_counts_its_work(self):
        server = harness.shared("attention")
        names = ("assay_engine_rows_total", "assay_engine_steps_total", "assay_engine_jobs_total",
                 "assay_queue_wait_seconds_count")
        before = {name: metric(server, name) for name in names}
        server.decide(self, harness.body(OPTIONS, "letters", state="Counted, and never asked before."))
        for name in names:
            self.assertGreater(metric(server, name), before[name], name)
        self.assertLessEqual(metric(server, "assay_engine_cells_used"), metric(server, "assay_engine_cells"))

    def test_the_answer_cache_gives_the_same_reply_and_says_so(self):
        server = harness.Server(harness.tiny("tiny-attention"), "--threads", "1", "--no-readout-check", "--answer-cache",
                                "4")
        self.addCleanup(server.stop)
        first, second = (server.post(harness.body(OPTIONS, "letters")) for _ in range(2))
        self.assertNotIn("x_answer_cache", first.json())
        self.assertIs(second.json()["x_answer_cache"], True)
        self.assertEqual(second.json()["result"]["option_logits"], first.json()["result"]["option_logits"])
        self.assertEqual(metric(server, "assay_answer_cache_hits_total"), 1)


class ShutdownUnderLoad(unittest.TestCase):
    def start_with_request(self, name, *flags):
        server = harness.default_server(*flags)
        self.addCleanup(server.stop)
        request = InFlight(server, long_body(name))
        harness.wait_until(lambda: server.get("/health").json()["in_flight"] > 0, "the request is in flight")
        return server, request

    def test_sigterm_refuses_what_is_new_and_ends_within_the_grace(self):
        server, request = self.start_with_request("a long grace", "--grace-seconds", "25")
        began = harness.time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        harness.wait_until(lambda: server.get("/ping").status == 503, "ping says 503 while the request is computed")
        refused = server.post(harness.body(OPTIONS, "letters"))
        self.assertEqual((refused.status, refused.json()["code"]), (503, "unavailable"), str(refused))
        self.assertGreaterEqual(int(refused.headers["retry-after"]), 1)
        self.assertEqual(server.process.wait(timeout=60), 0)
        self.assertLess(harness.time.monotonic() - began, 30)
        request.join(timeout=10)
        self.assertIsNone(request.error)
        self.assertIn(request.reply.status, (200, 503), str(request.reply))

    def test_sigterm_without_grace_answers_503_and_exits_0(self):
        server, request = self.start_with_request("no grace", "--grace-seconds", "0")
        began = harness.time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.process.wait(timeout=60), 0)
        self.assertLess(harness.time.monotonic() - began, 5)
        request.join(timeout=10)
        self.assertIsNone(request.error)
        self.assertEqual((request.reply.status, request.reply.json()["code"]), (503, "unavailable"), str(request.reply))

    def test_a_silent_client_does_not_hold_up_the_end(self):
        server = harness.Server(harness.tiny("tiny-attention"), "--threads", "1", "--no-readout-check",
                                "--grace-seconds", "1")
        self.addCleanup(server.stop)
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        self.addCleanup(connection.close)
        connection.putrequest("POST", "/v1/decide")
        connection.putheader("Content-Length", "1000")
        connection.endheaders(b"{")
        # A reply to a later connection: the silent one's request was accepted before it.
        self.assertTrue(server.is_alive())
        began = harness.time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.process.wait(timeout=30), 0)
        self.assertLess(harness.time.monotonic() - began, 10, "less than the 60 s that a client may be silent")
