"""How a server ends: what was accepted is answered, and a second signal ends it at once (T20, T21)."""

import http.client
import signal
import threading
import unittest

import harness

# Some seconds of work for the default model.
LONG = harness.body(["refund", "info"], "letters", state="The parcel left the depot on time but came late. " * 120)


class InFlight(threading.Thread):
    """One long request in a thread of its own."""

    def __init__(self, server):
        super().__init__()
        self.server = server
        self.reply = None
        self.error = None

    def run(self):
        try:
            self.reply = self.server.post(LONG)
        except (OSError, http.client.HTTPException) as error:
            self.error = error


class Shutdown(unittest.TestCase):
    def start_with_request(self):
        server = harness.default_server()
        self.addCleanup(server.stop)
        request = InFlight(server)
        request.start()
        harness.wait_until(lambda: server.get("/health").json()["in_flight"] > 0, "the request is in flight")
        return server, request

    def test_t20_sigterm_answers_what_was_accepted_and_exits_0(self):
        server, request = self.start_with_request()
        server.process.send_signal(signal.SIGTERM)
        request.join(timeout=120)
        self.assertIsNone(request.error)
        self.assertEqual(request.reply.status, 200, str(request.reply))
        self.assertEqual(server.process.wait(timeout=30), 0)
        with self.assertRaises(OSError):
            server.get("/ping")

    def test_t20_a_second_sigterm_exits_130_at_once(self):
        server, request = self.start_with_request()
        server.process.send_signal(signal.SIGTERM)
        harness.wait_until(lambda: any("draining" in line for line in server.log), "the log says that it drains")
        server.process.send_signal(signal.SIGTERM)
        self.assertEqual(server.process.wait(timeout=5), 130)
        request.join(timeout=30)
        self.assertIsNone(request.reply)

    def test_t20_sigint_and_sigterm_while_idle_exit_0(self):
        # At once, while its threads are only beginning: several times, since a moment is to be met.
        for number in 5 * (signal.SIGINT, signal.SIGTERM):
            server = harness.tiny_server("tiny-attention")
            self.addCleanup(server.stop)
            began = harness.time.monotonic()
            server.process.send_signal(number)
            self.assertEqual(server.process.wait(timeout=10), 0)
            self.assertLess(harness.time.monotonic() - began, 3)

    def test_a_terminal_that_closes_ends_it_in_the_friendly_way(self):
        server, request = self.start_with_request()
        for _ in range(2):  # a shell may say it again
            server.process.send_signal(signal.SIGHUP)
        request.join(timeout=120)
        self.assertEqual(request.reply.status, 200, str(request.reply))
        self.assertEqual(server.process.wait(timeout=30), 0)

    def test_behind_nohup_a_terminal_that_closes_changes_nothing(self):
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a child begins with what is ignored here
        try:
            server = harness.tiny_server("tiny-attention")
        finally:
            signal.signal(signal.SIGHUP, before)
        self.addCleanup(server.stop)
        server.process.send_signal(signal.SIGHUP)
        harness.time.sleep(0.2)
        self.assertTrue(server.is_alive())

    def test_a_port_that_is_taken_is_said(self):
        taken = harness.shared("attention").port
        done = harness.run("serve", "--port", str(taken), *harness.tiny_flags(), timeout=60)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(str(taken), done.stderr)
