"""HTTP itself, byte by byte: framing, limits, slow and vanishing clients, many connections, keys, CORS, TLS."""

import concurrent.futures
import gzip
import http.client
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import unittest
import zlib

import harness

GOOD = json.dumps(harness.body(["refund", "info"], "letters")).encode()
JSON = b"Content-Type: application/json\r\n"
KEY = "key-of-the-tests"


def head(method, path, *headers, length=None):
    """The bytes of a request's head."""
    lines = [f"{method} {path} HTTP/1.1", "Host: test", *headers]
    if length is not None:
        lines.append(f"Content-Length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def post_head(*headers, length=len(GOOD), path="/v1/decide"):
    return head("POST", path, "Content-Type: application/json", *headers, length=length)


class Wire:
    """One connection, and the replies that come on it."""

    def __init__(self, server, timeout=30):
        if getattr(server, "socket_path", None):
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(timeout)
            self.socket.connect(server.socket_path)
        else:
            self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=timeout)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.file.close()
        self.socket.close()

    def send(self, *pieces):
        for piece in pieces:
            self.socket.sendall(piece)
        return self

    def status_line(self):
        line = self.file.readline()
        if not line:
            raise AssertionError("the connection was closed without a reply")
        return int(line.split()[1])

    def headers(self):
        found = []
        while line := self.file.readline().strip():
            name, _, value = line.decode("latin-1").partition(":")
            found.append((name, value.strip()))
        return found

    def reply(self, is_head=False):
        """The next reply, its body without chunks."""
        status = self.status_line()
        headers = self.headers()
        names = {name.lower(): value for name, value in headers}
        if is_head or status in (204, 304):
            body = b""
        elif names.get("transfer-encoding") == "chunked":
            body = b"".join(self.chunks())
        else:
            body = self.file.read(int(names["content-length"]))
        return harness.Reply(status, headers, body)

    def chunks(self):
        """Each chunk as it comes."""
        while size := int(self.file.readline(), 16):
            yield self.file.read(size)
            self.file.readline()
        self.file.readline()

    def is_closed(self):
        """Waits: True when the server has closed, False when more bytes come."""
        return self.file.read(1) == b""


def rss_bytes(server):
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as file:
        return int(re.search(r"VmRSS:\s+(\d+) kB", file.read()).group(1)) * 1024


def thread_count(server):
    return len(os.listdir(f"/proc/{server.process.pid}/task"))


class HttpCase(unittest.TestCase):
    def start(self, *flags):
        server = harness.Server(harness.tiny("tiny-attention"), "--threads", "1", "--no-readout-check", *flags)
        self.addCleanup(server.stop)
        return server

    def check_error(self, reply, status, *texts):
        self.assertEqual(reply.status, status, str(reply))
        self.assertEqual(reply.headers["content-type"].partition(";")[0], "application/json", str(reply))
        self.assertTrue(reply.headers["x-request-id"])
        self.assertEqual(reply.headers["x-request-id"], reply.headers["x-typesafe-request-id"])
        self.assertTrue(reply.json()["error"])
        for text in texts:
            self.assertIn(text, reply.body.decode())
        return reply


class Exchange(HttpCase):
    """What holds for any one request."""

    def setUp(self):
        self.server = harness.shared("attention")

    def tearDown(self):
        self.assertTrue(self.server.is_alive())

    def ask(self, *pieces, is_head=False):
        with Wire(self.server) as wire:
            return wire.send(*pieces).reply(is_head)

    def test_every_404_is_ours(self):
        for path in ("/nope", "/v1/decision", "/sw.js", "/" + "a" * 300, "/a%0Ab", "/%2e%2e/etc/passwd", "*", "//",
                     "/ü", "/%ff%fe", "/" + "ü" * 150, "/%22%5C%00"):
            with self.subTest(path=path):
                reply = self.check_error(self.ask(head("GET", path)), 404)
                self.assertNotIn("File Not Found", reply.body.decode())
        reply = self.ask(post_head(path="/" + "b" * 400), GOOD)
        self.check_error(reply, 404)

    def test_a_target_may_name_the_whole_address(self):
        self.assertEqual(self.ask(head("GET", "http://localhost:1/ping?x=1")).json(), {"status": "ok"})
        self.check_error(self.ask(head("GET", "http://localhost/no/such")), 404, "no route /no/such")

    def test_wrong_methods_get_405_with_allow(self):
        for method in ("GET", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"):
            with self.subTest(method=method):
                reply = self.check_error(self.ask(head(method, "/v1/decide")), 405)
                self.assertEqual(reply.headers["allow"], "POST")
        for method in ("QUERY", "PROPFIND", "post", "M-SEARCH", "!#$%&'*+.^_`|~1"):  # none of HTTP's own
            for path, allowed in (("/v1/decide?a=b", "POST"), ("/v1/systemone", "POST"), ("/%70ing", "GET, HEAD")):
                with self.subTest(method=method, path=path), Wire(self.server) as wire:
                    reply = self.check_error(wire.send(head(method, path, length=2), b"{}").reply(), 405)
                    self.assertEqual((reply.headers["allow"], reply.headers["connection"]), (allowed, "close"))
                    self.assertTrue(wire.is_closed())
        self.check_error(self.ask(head("BREW", "/pot")), 404)
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            with self.subTest(method=method, body=True):
                reply = self.check_error(self.ask(head(method, "/ping", length=2), b"{}"), 405)
                self.assertEqual(reply.headers["allow"], "GET, HEAD")

    def test_head_is_get_without_a_body(self):
        for path, status in (("/ping", 200), ("/v1/models", 200), ("/nope", 404), ("/v1/decide", 405)):
            with self.subTest(path=path), Wire(self.server) as wire:
                reply = wire.send(head("HEAD", path)).reply(is_head=True)
                self.assertEqual(reply.status, status)
                self.assertGreater(int(reply.headers["content-length"]), 0)
                self.assertEqual(wire.send(head("GET", "/ping")).reply().status, 200)

    def test_a_body_may_come_in_any_pieces(self):
        pieces = [GOOD[i:i + 7] for i in range(0, len(GOOD), 7)]
        for ending in (b"0\r\n\r\n", b"0\r\nX-Trailer: 1\r\n\r\n"):
            with Wire(self.server) as wire:
                wire.send(head("POST", "/v1/decide", "Content-Type: application/json", "Transfer-Encoding: chunked"))
                for piece in pieces:
                    wire.send(b"%x;note=1\r\n%b\r\n" % (len(piece), piece))
                reply = wire.send(ending).reply()
                self.assertEqual(reply.status, 200, str(reply))
                self.assertEqual(wire.send(head("GET", "/ping")).reply().status, 200)
        with Wire(self.server) as wire:
            whole = post_head() + GOOD
            for i in range(len(whole)):
                wire.send(whole[i:i + 1])
            self.assertEqual(wire.reply().status, 200)

    def test_wrong_chunks_are_a_400_and_the_end(self):
        start = head("POST", "/v1/decide", "Content-Type: application/json", "Transfer-Encoding: chunked")
        for chunks in (b"zz\r\n{}\r\n0\r\n\r\n", b"2\r\n{}x\r\n0\r\n\r\n", b"-2\r\n{}\r\n0\r\n\r\n",
                       b"ffffffffffffffffff\r\n{}", b"2 2\r\n{}\r\n0\r\n\r\n"):
            with self.subTest(chunks=chunks), Wire(self.server) as wire:
                reply = wire.send(start, chunks).reply()
                self.check_error(reply, 400)
                self.assertTrue(wire.is_closed())

    def test_an_ambiguous_length_is_a_400_and_the_end(self):
        for lines in (["Content-Length: 2", "Content-Length: 2"], ["Content-Length: 2", "Content-Length: 3"],
                      ["Content-Length: 2", "Transfer-Encoding: chunked"],
                      ["Content-Length: 0", "Transfer-Encoding: chunked"], ["Content-Length: 2, 2"],
                      ["Content-Length: +2"], ["Content-Length: -2"], ["Content-Length: 0x2"], ["Content-Length:"],
                      ["Content-Length: 99999999999999999999999"], ["Transfer-Encoding: gzip"],
                      ["Transfer-Encoding: gzip, chunked"], ["Transfer-Encoding: chunked, gzip"],
                      ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], ["Transfer-Encoding: xchunked"]):
            with self.subTest(lines=lines), Wire(self.server) as wire:
                wire.send(head("POST", "/v1/decide", "Content-Type: application/json", *lines), b"{}",
                          head("GET", "/v1/models"))
                reply = self.check_error(wire.reply(), 400)
                self.assertEqual(reply.headers["connection"], "close")
                self.assertTrue(wire.is_closed(), "what follows is no request")

    def test_what_is_no_http_is_a_400(self):
        for start in (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", b"GET\r\n\r\n", b"GET /ping\r\n\r\n",
                      b"GET /ping HTTP/9.9\r\n\r\n", b"GET  /ping HTTP/1.1\r\n\r\n\r\n", b"BR(EW /ping HTTP/1.1\r\n\r\n",
                      b"QUERY ping HTTP/1.1\r\n\r\n", b"QUERY /ping HTTP/9.9\r\n\r\n", b"QUERY /p\x01 HTTP/1.1\r\n\r\n", b"GET /p\x01 HTTP/1.1\r\n\r\n",
                      b"GET /ping HTTP/1.1\r\nno colon\r\n\r\n", b"GET /ping HTTP/1.1\r\n: no name\r\n\r\n",
                      b"GET /ping HTTP/1.1\r\nBad\x00Name: 1\r\n\r\n", b"GET /ping HTTP/1.1\r\nA: \x01\r\n\r\n",
                      b"GET /ping HTTP/1.1\r\n folded: 1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"):
            with self.subTest(start=start), Wire(self.server) as wire:
                reply = wire.send(start).reply()
                if start.startswith(b"GET  /ping"):  # two spaces may be read as one
                    self.assertIn(reply.status, (200, 400))
                    continue
                self.check_error(reply, 400)
                self.assertTrue(wire.is_closed())

    def test_heads_have_a_limit(self):
        before = rss_bytes(self.server)
        for lines in (["X-Long: " + "a" * 9000], [f"X-{i}: 1" for i in range(120)], [f"X-{i}: {'a' * 90}" for i in range(400)],
                      [f"X-{i}: {'a' * 8000}" for i in range(40)], ["X-Endless: " + "a" * 5_000_000]):
            with self.subTest(first=lines[0][:20], count=len(lines)), Wire(self.server) as wire:
                try:
                    wire.send(head("GET", "/ping", *lines))
                except OSError:
                    pass  # it was refused while it was sent
                self.check_error(wire.reply(), 431)
        with Wire(self.server) as wire:
            self.assertIn(wire.send(head("GET", "/" + "a" * 20_000)).reply().status, (404, 414))
        self.assertEqual(self.ask(head("GET", "/ping", *[f"X-{i}: 1" for i in range(90)])).status, 200)
        self.assertLess(rss_bytes(self.server) - before, 64 << 20)

    def test_system_ones_bodies_carry_the_status_of_the_reply(self):
        for lines, status in ((["X-Long: " + "a" * 9000], 431), (["Expect: tea"], 417), (["Content-Encoding: br"], 415),
                              (["Content-Length: 2"] * 2, 400), (["Content-Length: 999999999999"], 413)):
            with self.subTest(status=status):
                start = head("POST", "/v1/systemone", "Content-Type: application/json", *lines)
                reply = self.check_error(self.ask(start), status)
                self.assertEqual(reply.json()["error"]["code"], status)

    def test_compressed_bodies_are_read(self):
        for coding, data in (("gzip", gzip.compress(GOOD)), ("x-gzip", gzip.compress(GOOD)),
                             ("GZIP", gzip.compress(GOOD)),
                             ("gzip", gzip.compress(GOOD[:9]) + gzip.compress(GOOD[9:])),
                             ("deflate", zlib.compress(GOOD)), ("identity", GOOD)):
            with self.subTest(coding=coding), Wire(self.server) as wire:
                reply = wire.send(post_head(f"Content-Encoding: {coding}", length=len(data)), data).reply()
                self.assertEqual(reply.status, 200, str(reply))
                self.assertEqual(wire.send(head("GET", "/ping")).reply().status, 200)
        packed = gzip.compress(GOOD)
        for data in (GOOD, packed[:-4], packed[:12], packed + b"x", b"\x1f\x8b" + b"\xff" * 50):
            with self.subTest(data=data[:12]):
                self.check_error(self.ask(post_head("Content-Encoding: gzip", length=len(data)), data), 400)

    def test_a_bomb_is_refused_at_the_limit(self):
        limit = self.server.get("/health").json()["limits"]["body_bytes_max"]
        bomb = gzip.compress(b'"' + b"x" * (20 * limit), compresslevel=1)
        self.assertLess(len(bomb), limit)
        before = rss_bytes(self.server)
        reply = self.ask(post_head("Content-Encoding: gzip", length=len(bomb)), bomb)
        self.check_error(reply, 413, str(limit))
        self.assertLess(rss_bytes(self.server) - before, 4 * limit)

    def test_unknown_codings_and_multipart_bodies_are_a_415(self):
        for coding in ("br", "x-unknown", "gzip, gzip", "compress"):
            with self.subTest(coding=coding):
                self.check_error(self.ask(post_head(f"Content-Encoding: {coding}"), GOOD), 415, "gzip")
        body = b"--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--x--\r\n"
        start = head("POST", "/v1/decide", "Content-Type: multipart/form-data; boundary=x", length=len(body))
        reply = self.ask(start, body)
        self.check_error(reply, 415)

    def test_a_range_changes_nothing(self):
        whole = self.ask(head("GET", "/v1/models"))
        for value in ("bytes=0-1", "bytes=99999999-", "bytes=0-1,3-4"):
            part = self.ask(head("GET", "/v1/models", f"Range: {value}"))
            self.assertEqual((part.status, part.body), (200, whole.body), value)

    def test_expect_100_continue_is_answered_at_once(self):
        with Wire(self.server) as wire:
            began = time.monotonic()
            wire.send(post_head("Expect: 100-continue"))
            self.assertEqual(wire.status_line(), 100)
            self.assertEqual(wire.headers(), [])
            self.assertLess(time.monotonic() - began, 1)
            self.assertEqual(wire.send(GOOD).reply().status, 200)
            self.assertEqual(wire.send(head("GET", "/ping")).reply().status, 200)

    def test_a_refusal_comes_instead_of_100_continue(self):
        plain = head("POST", "/v1/decide", "Expect: 100-continue", "Content-Type: text/plain", length=9)
        for start, status in ((post_head("Expect: 100-continue", length=10**11), 413),
                              (post_head("Expect: 100-continue", path="/nope"), 404),
                              (post_head("Expect: 100-continue", "Content-Encoding: br"), 415),
                              (post_head("Expect: the-unexpected"), 417),
                              (plain, 415)):
            with self.subTest(status=status), Wire(self.server) as wire:
                self.check_error(wire.send(start).reply(), status)
                self.assertTrue(wire.is_closed())

    def test_pipelined_requests_are_answered_in_order(self):
        with Wire(self.server) as wire:
            wire.send(head("GET", "/ping") + post_head() + GOOD + head("GET", "/nope") + head("HEAD", "/ping") +
                      post_head(length=2) + b"{}" + head("GET", "/v1/models", "Connection: close") +
                      head("GET", "/ping"))
            statuses = [wire.reply().status, wire.reply().status, wire.reply().status, wire.reply(is_head=True).status,
                        wire.reply().status, wire.reply().status]
            self.assertEqual(statuses, [200, 200, 404, 200, 400, 200])
            self.assertTrue(wire.is_closed())

    def test_an_error_does_not_end_the_connection_when_its_body_was_read(self):
        with Wire(self.server) as wire:
            for start, body, status in ((head("GET", "/nope"), b"", 404), (post_head(length=1), b"{", 400),
                                        (head("PUT", "/v1/decide"), b"", 405)):
                reply = wire.send(start, body).reply()
                self.assertEqual((reply.status, reply.headers["connection"]), (status, "keep-alive"))
            self.assertEqual(wire.send(post_head(), GOOD).reply().status, 200)

    def test_http_1_0_and_connection_close_end_the_connection(self):
        for start, keeps in ((b"GET /ping HTTP/1.0\r\n\r\n", False), (head("GET", "/ping", "Connection: close"), False),
                             (b"GET /ping HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", True)):
            with self.subTest(start=start), Wire(self.server) as wire:
                reply = wire.send(start).reply()
                self.assertEqual((reply.status, reply.headers["connection"]), (200, "keep-alive" if keeps else "close"))
                if keeps:
                    self.assertEqual(wire.send(start).reply().status, 200)
                else:
                    self.assertTrue(wire.is_closed())

    def test_a_client_that_ends_its_sending_side(self):
        with Wire(self.server) as wire:
            wire.send(head("GET", "/ping"))
            wire.socket.shutdown(socket.SHUT_WR)
            self.assertEqual(wire.reply().status, 200, "without a body nothing is saved by leaving it")
            self.assertTrue(wire.is_closed())
        with Wire(self.server) as wire:
            wire.send(post_head(), GOOD)
            wire.socket.shutdown(socket.SHUT_WR)
            self.assertIn(wire.reply().status, (200, 499), "it counts as gone as soon as that is seen")
            self.assertTrue(wire.is_closed())
        with Wire(self.server) as wire:
            wire.send(post_head(), GOOD[:20])
            wire.socket.shutdown(socket.SHUT_WR)
            self.check_error(wire.reply(), 400)

    def test_a_body_of_a_get_is_not_taken_for_a_request(self):
        with Wire(self.server) as wire:
            body = head("GET", "/nope")
            reply = wire.send(head("GET", "/ping", length=len(body)), body).reply()
            self.assertEqual((reply.status, reply.headers["connection"]), (200, "close"))
            self.assertTrue(wire.is_closed())

    def test_streams_come_in_chunks(self):
        asked = {"state": harness.TICKET, "model": "jev-latest",
                 "questions": {name: {"type": "choice", "criteria": {"refund": None, "info": None}} for name in "abc"}}
        data = json.dumps(asked).encode()
        with Wire(self.server) as wire:
            wire.send(post_head("Accept: text/event-stream", length=len(data), path="/v1/systemone"), data)
            self.assertEqual(wire.status_line(), 200)
            headers = {name.lower(): value for name, value in wire.headers()}
            self.assertEqual(headers["transfer-encoding"], "chunked")
            self.assertEqual(headers["content-type"].partition(";")[0], "text/event-stream")
            chunks = list(wire.chunks())
            self.assertGreaterEqual(len(chunks), 3, "an answer is sent as soon as it is there")
            self.assertTrue(all(chunk.endswith(b"\n") for chunk in chunks), chunks)
            self.assertEqual(wire.send(head("GET", "/ping")).reply().status, 200, "the connection goes on")
        with Wire(self.server) as wire:
            old = b"POST /v1/systemone HTTP/1.0\r\nAccept: text/event-stream\r\n" + JSON
            wire.send(old + b"Content-Length: %d\r\n\r\n" % len(data), data)
            self.assertEqual(wire.status_line(), 200)
            self.assertNotIn("transfer-encoding", [name.lower() for name, _ in wire.headers()])
            self.assertEqual(wire.file.read(), b"".join(chunks), "its end is the connection's")

    def test_random_bytes_do_no_harm(self):
        dice = random.Random(7)
        whole = post_head() + GOOD
        for _ in range(150):
            data = bytearray(whole)
            for _ in range(dice.randint(1, 6)):
                data[dice.randrange(len(data))] = dice.randrange(256)
            with Wire(self.server) as wire:
                try:
                    wire.send(bytes(data[:dice.randint(1, len(data))]))
                    wire.socket.shutdown(socket.SHUT_WR)
                    got = wire.file.read()
                except OSError:
                    continue
                if got:
                    self.assertRegex(got, rb"^HTTP/1\.1 (1|2|4)\d\d ")


class Sizes(HttpCase):
    """Bodies above the limit: refused before they are read, and never held."""

    LIMIT = 65536

    def setUp(self):
        self.server = self.start("--body-bytes-max", str(self.LIMIT), "--read-timeout-seconds", "2")

    def test_a_length_above_the_limit_is_refused_before_the_body(self):
        for length in (self.LIMIT + 1, 10**12):
            with Wire(self.server) as wire:
                began = time.monotonic()
                self.check_error(wire.send(post_head(length=length)).reply(), 413, str(self.LIMIT))
                self.assertLess(time.monotonic() - began, 1)
                self.assertTrue(wire.is_closed())

    def test_a_client_that_sends_all_of_it_first_sees_the_reply(self):
        reply = self.server.post(b'"' + b"x" * (20 << 20) + b'"')
        self.check_error(reply, 413, str(self.LIMIT))
        self.assertEqual(self.server.post(b'"' + b"x" * (self.LIMIT - 2) + b'"').status, 400)

    def test_chunks_above_the_limit_are_refused_as_they_come(self):
        before = rss_bytes(self.server)
        with Wire(self.server) as wire:
            wire.send(head("POST", "/v1/decide", "Content-Type: application/json", "Transfer-Encoding: chunked"))
            chunk = b"4000\r\n" + b"x" * 0x4000 + b"\r\n"
            sent = 0
            wire.socket.settimeout(0.05)
            reply = None
            while reply is None and sent < 512:
                try:
                    wire.send(chunk)
                    sent += 1
                    reply = wire.socket.recv(4096, socket.MSG_PEEK | socket.MSG_DONTWAIT)
                except (BlockingIOError, TimeoutError):
                    continue
                except OSError:
                    break
            wire.socket.settimeout(10)
            self.check_error(wire.reply(), 413, str(self.LIMIT))
        self.assertLess(rss_bytes(self.server) - before, 32 << 20)
        self.assertTrue(self.server.is_alive())

    def test_a_slow_body_gets_408(self):
        with Wire(self.server) as wire:
            began = time.monotonic()
            self.check_error(wire.send(post_head(), GOOD[:10]).reply(), 408)
            self.assertLess(time.monotonic() - began, 5)
            self.assertTrue(wire.is_closed())

    def drip(self, data):
        """Sends a byte each tenth of a second until the server has had enough; how long that took."""
        with Wire(self.server) as wire:
            began = time.monotonic()
            for i in range(len(data)):
                try:
                    wire.send(data[i:i + 1])
                    wire.socket.settimeout(0.1)
                    if wire.socket.recv(1, socket.MSG_PEEK) == b"":
                        break
                    wire.socket.settimeout(10)
                    self.check_error(wire.reply(), 408)
                    break
                except TimeoutError:
                    continue
                except OSError:
                    break
            return time.monotonic() - began

    def test_dripping_does_not_hold_a_thread_for_ever(self):
        for data in (b"GET /ping HTTP/1.1\r\nX: " + b"a" * 500, post_head(length=500) + b"", post_head() [:40] * 20):
            with self.subTest(data=data[:20]):
                self.assertLess(self.drip(data), 6)

    def test_many_slow_bodies_do_not_stop_others(self):
        slow = [Wire(self.server).send(post_head(length=500), b"{") for _ in range(200)]
        began = time.monotonic()
        self.assertEqual(self.server.post(GOOD).status, 200)
        self.assertLess(time.monotonic() - began, 2)
        for wire in slow:
            self.assertEqual(wire.reply().status, 408)
            wire.close()


class ManyConnections(HttpCase):
    COUNT = 1000

    def setUp(self):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = self.COUNT + 200
        if soft < wanted:
            if hard != resource.RLIM_INFINITY and hard < wanted:
                self.skipTest(f"this process may open {hard} files only")
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        self.server = self.start()

    def test_idle_connections_cost_little_and_stop_nobody(self):
        self.assertEqual(self.server.post(GOOD).status, 200)
        memory, threads = rss_bytes(self.server), thread_count(self.server)
        wires = [Wire(self.server) for _ in range(self.COUNT)]
        self.addCleanup(lambda: [wire.close() for wire in wires])
        for wire in wires:
            wire.send(head("GET", "/ping"))
        for wire in wires:
            self.assertEqual(wire.reply().status, 200)
        began = time.monotonic()
        self.assertEqual(self.server.post(GOOD).status, 200)
        self.assertLess(time.monotonic() - began, 2)
        harness.wait_until(lambda: time.monotonic() - began > 7, "more than the five seconds of other servers")
        self.assertLess(rss_bytes(self.server) - memory, 48 << 20)
        self.assertLess(thread_count(self.server) - threads, 100, "an idle connection holds no thread")
        for wire in wires:
            wire.send(head("GET", "/ping"))
        for wire in wires:
            self.assertEqual(wire.reply().status, 200)

    def test_idle_connections_are_closed_after_keep_alive_seconds(self):
        server = self.start("--keep-alive-seconds", "1")
        with Wire(server) as silent, Wire(server) as used:
            self.assertEqual(used.send(head("GET", "/ping")).reply().headers["keep-alive"], "timeout=1")
            began = time.monotonic()
            self.assertTrue(used.is_closed())
            self.assertTrue(silent.is_closed())
            self.assertLess(time.monotonic() - began, 5)
            self.assertGreater(time.monotonic() - began, 0.5)

    def test_more_requests_at_once_than_threads_that_stay(self):
        server = self.start("--http-threads", "1")
        with concurrent.futures.ThreadPoolExecutor(60) as pool:
            replies = list(pool.map(lambda _: server.post(GOOD), range(120)))
        self.assertEqual({reply.status for reply in replies}, {200})

    def test_the_server_ends_though_connections_are_open(self):
        wires = [Wire(self.server) for _ in range(50)]
        for wire in wires[:25]:
            wire.send(head("GET", "/ping"))
            self.assertEqual(wire.reply().status, 200)
        began = time.monotonic()
        self.server.process.send_signal(signal.SIGTERM)
        self.assertEqual(self.server.process.wait(timeout=10), 0)
        self.assertLess(time.monotonic() - began, 3)
        for wire in wires:
            self.assertTrue(wire.is_closed())
            wire.close()


class Keys(HttpCase):
    def setUp(self):
        self.server = self.start("--api-key", KEY, "--api-key", "another", "--rate-limit", "3")

    def test_a_wrong_key_is_said_before_anything_of_the_body(self):
        for line in ("Authorization: Bearer wrong", "X-Api-Key: wrong", "X-Nothing: 1"):
            for length, body in ((10**12, b""), (5, b"{{{{{"), (len(GOOD), GOOD)):
                with self.subTest(line=line, length=length), Wire(self.server) as wire:
                    began = time.monotonic()
                    reply = self.check_error(wire.send(post_head(line, length=length), body).reply(), 401)
                    self.assertLess(time.monotonic() - began, 1)
                    self.assertNotIn(KEY, reply.body.decode())
        for path in ("/v1/models", "/metrics"):
            self.assertEqual(self.server.get(path).status, 401, path)

    def test_each_key_opens_and_probes_need_none(self):
        for path, line in (("/v1/models", f"Authorization: Bearer {KEY}"),
                           ("/metrics", "Authorization: Bearer another"),
                           ("/metrics", f"X-Api-Key: {KEY}")):
            with self.subTest(line=line), Wire(self.server) as wire:
                self.assertEqual(wire.send(head("GET", path, line)).reply().status, 200)
        for path in ("/health", "/ping"):
            self.assertEqual(self.server.get(path).status, 200)

    def test_each_key_has_its_own_rate(self):
        def ask(key):
            return self.server.request("POST", "/v1/decide", GOOD,
                                       {"Content-Type": "application/json", "Authorization": f"Bearer {key}"})

        self.assertEqual([ask(KEY).status for _ in range(3)], [200, 200, 200])
        late = self.check_error(ask(KEY), 429, "the limit is 3 a minute")
        self.assertTrue(1 <= int(late.headers["retry-after"]) <= 20, late.headers)
        self.assertEqual(ask("another").status, 200)
        for _ in range(10):
            self.assertEqual(self.server.get("/ping").status, 200)


class Pages(HttpCase):
    """CORS: off unless it was asked for."""

    ASKS = ("Access-Control-Request-Method: POST", "Access-Control-Request-Headers: authorization,content-type")

    def cors(self, server, method, origin, *lines):
        with Wire(server) as wire:
            reply = wire.send(head(method, "/v1/systemone", f"Origin: {origin}", *lines)).reply()
        return reply, {name: value for name, value in reply.headers.items() if name.startswith("access-control")}

    def test_off(self):
        server = harness.shared("attention")
        for method in ("OPTIONS", "GET"):
            reply, headers = self.cors(server, method, "https://app.example", *self.ASKS)
            self.check_error(reply, 405)
            self.assertEqual((reply.headers["allow"], headers), ("POST", {}))

    def test_listed_origins(self):
        server = self.start("--cors-origin", "https://app.example", "--cors-origin", "http://localhost:3000",
                            "--api-key", KEY)
        for origin in ("https://app.example", "http://localhost:3000"):
            reply, headers = self.cors(server, "OPTIONS", origin, *self.ASKS)
            self.assertEqual((reply.status, reply.body), (204, b""))
            self.assertEqual(headers["access-control-allow-origin"], origin)
            self.assertIn("POST", headers["access-control-allow-methods"])
            self.assertIn("authorization", headers["access-control-allow-headers"])
            reply, headers = self.cors(server, "POST", origin)
            self.assertEqual((reply.status, headers["access-control-allow-origin"]), (401, origin),
                             "errors can be read, too")
        reply, headers = self.cors(server, "OPTIONS", "https://evil.example", *self.ASKS)
        self.assertEqual((reply.status, headers), (405, {}))
        reply, headers = self.cors(server, "POST", "https://evil.example")
        self.assertEqual((reply.status, headers, reply.headers["vary"]), (401, {}, "Origin"))

    def test_any_origin_without_credentials(self):
        server = self.start("--cors-origin", "*")
        reply, headers = self.cors(server, "OPTIONS", "https://any.example", *self.ASKS)
        self.assertEqual((reply.status, headers["access-control-allow-origin"]), (204, "*"))
        self.assertNotIn("access-control-allow-credentials", headers)

    def test_what_is_no_origin_is_refused(self):
        done = harness.run("serve", "--cors-origin", "https://app.example/path", *harness.tiny_flags(), timeout=60)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--cors-origin", done.stderr)


class Process:
    """`assay serve` where the harness cannot reach it: a Unix socket, TLS, or before it is ready."""

    def __init__(self, test, model, *flags, until="ready on", before=()):
        command = [*before, harness.BINARY, "serve", model, "--threads", "1", *flags]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True, env=harness.environment())
        test.addCleanup(self.stop)
        self.log = ""
        self.port = None
        self.socket_path = None
        for line in self.process.stderr:
            self.log += line
            if until in line:
                found = re.search(r"on (\w+)://([^\s,]+)", line)
                if found.group(1) == "unix":
                    self.socket_path = found.group(2)
                else:
                    self.port = int(found.group(2).rpartition(":")[2])
                break
        # The rest is read, so that the server never waits for us.
        self.reader = threading.Thread(target=self.process.stderr.read, daemon=True)
        self.reader.start()

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            code = self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.reader.join(timeout=10)
        self.process.stderr.close()
        return code


class Places(HttpCase):
    FLAGS = ("--no-readout-check", "--check-dir", harness.CHECK_DIR)

    def test_before_the_model_is_there_everything_is_a_503(self):
        # Its readout check is not kept anywhere yet, so this start takes a while.
        checks = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, checks, ignore_errors=True)
        server = Process(self, harness.default_model(), "--port", "0", "--check-dir", checks, until="listening on")
        for path in ("/health", "/ping"):
            with Wire(server) as wire:
                reply = wire.send(head("GET", path)).reply()
                self.assertEqual((reply.status, reply.json()["status"]), (503, "loading"))
                self.assertEqual(reply.headers["retry-after"], "1")
        with Wire(server) as wire:
            reply = self.check_error(wire.send(post_head(length=10**12)).reply(), 503)
            self.assertEqual((reply.headers["retry-after"], reply.json()["code"], reply.json()["retryable"]),
                             ("1", "unavailable", True))
        with Wire(server) as wire:
            self.check_error(wire.send(post_head(path="/v1/systemone"), GOOD).reply(), 503)
        for path in ("/v1/models", "/metrics", "/v1/completions", "/no/such"):
            with Wire(server) as wire:
                told = self.check_error(wire.send(head("GET", path)).reply(), 503).json()
                self.assertEqual(told["error"], {"code": 503, "message": "the model is still loading"})
        server.process.kill()

    def test_connections_above_the_limit_are_told_so(self):
        # Of 600 files half are for connections.
        before = ("sh", "-c", 'ulimit -n 600 && exec "$@"', "sh")
        server = Process(self, harness.tiny("tiny-attention"), "--port", "0", *self.FLAGS, before=before)
        wires = [Wire(server) for _ in range(300)]
        self.addCleanup(lambda: [wire.close() for wire in wires])
        # The last of them is accepted once it is answered.
        self.assertEqual(wires[-1].send(head("GET", "/ping")).reply().status, 200)
        with Wire(server) as above:
            reply = self.check_error(above.send(post_head(), GOOD).reply(), 503)
            self.assertEqual((reply.headers["retry-after"], reply.json()["retryable"]), ("1", True))
            self.assertTrue(above.is_closed())
        self.assertEqual(wires[0].send(head("GET", "/ping")).reply().status, 200)
        wires.pop().close()

        def is_served():
            with Wire(server) as wire:
                return wire.send(head("GET", "/ping")).reply().status == 200

        harness.wait_until(is_served, "a place is free again", 10)

    def test_a_unix_socket(self):
        path = harness.work_path("http.sock")
        for _ in range(2):  # the second finds what a killed server left
            server = Process(self, harness.tiny("tiny-attention"), "--host", path, *self.FLAGS)
            self.assertEqual(server.socket_path, path)
            with Wire(server) as wire:
                self.assertEqual(wire.send(post_head(), GOOD).reply().status, 200)
                self.assertEqual(wire.send(head("GET", "/nope")).reply().status, 404)
            server.process.kill()
            server.process.wait()
            self.assertTrue(os.path.exists(path))
        server = Process(self, harness.tiny("tiny-attention"), "--host", path, *self.FLAGS)
        taken = harness.run("serve", "--host", path, *harness.tiny_flags(), timeout=60)
        self.assertEqual(taken.returncode, 1, taken.stderr)
        self.assertIn(path, taken.stderr)
        self.assertEqual(server.stop(), 0)
        self.assertFalse(os.path.exists(path))

    def certificate(self):
        """A fresh key and its certificate."""
        if shutil.which("openssl") is None:
            self.skipTest("no openssl program to make a certificate with")
        key, certificate = harness.work_path("tls-key.pem"), harness.work_path("tls-cert.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
                        "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return key, certificate

    def test_tls(self):
        key, certificate = self.certificate()
        flags = ("--ssl-key-file", key, "--ssl-cert-file", certificate)
        server = Process(self, harness.tiny("tiny-attention"), "--port", "0", *flags, *self.FLAGS)
        if server.port is None:
            self.assertIn("without TLS", server.log)
            self.assertEqual(server.process.wait(timeout=10), 2)
            self.skipTest("this program was built without TLS, and says so")
        context = ssl.create_default_context(cafile=certificate)
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=30, context=context)
        for _ in range(3):  # one connection, kept
            connection.request("POST", "/v1/decide", GOOD, {"Content-Type": "application/json"})
            reply = connection.getresponse()
            self.assertEqual((reply.status, len(json.loads(reply.read())["result"]["probabilities"])), (200, 2))
        # A body and a reply of many records.
        connection.request("POST", "/v1/decide", b'"' + b"x" * (1 << 20) + b'"', {"Content-Type": "application/json"})
        reply = connection.getresponse()
        self.assertEqual(reply.status, 400)
        reply.read()
        connection.request("GET", "/openapi.json")
        reply = connection.getresponse()
        self.assertEqual((reply.status, reply.length), (200, len(reply.read())))
        connection.close()
        # Plain HTTP on this port gets nothing, and harms nobody; nor does a client that says nothing.
        with Wire(server) as plain, Wire(server):
            self.assertTrue(plain.send(head("GET", "/ping")).is_closed())
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=30, context=context)
        connection.request("GET", "/ping")
        self.assertEqual(connection.getresponse().status, 200)
        connection.close()
        self.assertEqual(server.stop(), 0)

    def test_half_of_tls_is_refused(self):
        key, certificate = self.certificate()
        for flags, word in ((["--ssl-key-file", key], "--ssl-cert-file"),
                            (["--ssl-cert-file", certificate], "--ssl-key-file"),
                            (["--ssl-cert-file", certificate, "--ssl-key-file", key + ".absent"], "cannot be read")):
            done = harness.run("serve", *flags, *harness.tiny_flags(), timeout=60)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(word, done.stderr)
