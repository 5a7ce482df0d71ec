"""What bench/ promises when something goes wrong or takes long: servers that do not end are killed, a long request is hung up on,
and the soak counts what it should. Numbers are not tested."""

import http.server
import json
import os
import subprocess
import sys
import threading
import unittest

import harness

BENCH = os.path.join(harness.ROOT, "bench")
sys.path.insert(0, BENCH)
import _servers
import _streams

DEAF = """
import http.server, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
class Fine(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])), Fine).serve_forever()
"""


class Servers(unittest.TestCase):
    def test_a_server_that_ignores_sigterm_is_killed(self):
        before, _servers.STOP_SECONDS = _servers.STOP_SECONDS, 0.2
        self.addCleanup(setattr, _servers, "STOP_SECONDS", before)
        servers = [_servers.Server(f"deaf {number}", [sys.executable, "-c", DEAF], [], "/") for number in range(2)]
        _servers.stop_all(servers)
        self.assertEqual([server.process.returncode for server in servers], [-9, -9])


class FirstOnly(http.server.BaseHTTPRequestHandler):
    """Answers one request; then it computes until the client has left."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.server.asked += 1
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.server.asked > 1:
            self.server.busy.set()
            self.rfile.read(1)
            return
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


class LongOnes(unittest.TestCase):
    def setUp(self):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), FirstOnly)
        self.server.asked, self.server.busy = 0, threading.Event()
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.long = _streams.Long(self.server.server_address[1], "/", iter([b"{}"] * 9))

    def test_the_first_is_waited_for_and_the_next_hung_up_on(self):
        self.assertEqual(_streams.with_long(self.long, lambda: self.server.busy.wait(60)), True)
        self.assertFalse(self.long.is_alive())
        self.assertEqual(len(self.long.milliseconds), 1)
        self.assertEqual(self.server.asked, 2)  # what was hung up on is not sent again

    def test_when_the_bench_is_told_to_end_the_long_one_does_not_hold_it(self):
        def told_to_end():
            self.server.busy.wait(60)
            raise SystemExit(143)
        with self.assertRaises(SystemExit):
            _streams.with_long(self.long, told_to_end)
        self.long.join(60)
        self.assertFalse(self.long.is_alive())
        self.assertIsNone(self.long.error)


class Soak(unittest.TestCase):
    def test_it_counts_answers_errors_and_open_connections(self):
        done = subprocess.run([sys.executable, os.path.join(BENCH, "run"), "soak", "--quick", "--json"], capture_output=True, text=True,
                              timeout=120, check=False, env=harness.environment(
                                  ASSAY_BINARY=harness.BINARY, ASSAY_MODEL=harness.tiny("tiny-attention"), ASSAY_BENCH_SOAK_MINUTES="0.05"))
        self.assertEqual(done.returncode, 0, done.stderr)
        metrics = json.loads(done.stdout.splitlines()[-1])["metrics"]
        self.assertEqual(metrics["errors"]["mean"], 0)
        self.assertGreater(metrics["rate"]["mean"], 0)
        self.assertEqual(metrics["idle open"]["max"], 200)


if __name__ == "__main__":
    unittest.main()
