"""What is kept between requests and runs: prefixes, snapshots, answers; and receipts that can be checked again."""

import concurrent.futures
import json
import os
import shutil
import unittest

import harness

STATE = "Order 7: " + "the parcel came late and the box was open. " * 12
QUESTIONS = ("Is the customer angry?", "Was the parcel late?", "Is a refund due?")


def asked(question, **more):
    return dict(harness.body(["yes", "no"], "letters", state=STATE, question=question), x_receipt=True, **more)


def facts(reply):
    body = reply.json()
    return body["x_receipt"]["tokens"], body["x_receipt"]["scores"]


def metric(server, name):
    for line in server.get("/metrics").body.decode().splitlines():
        if line.startswith(name + " "):
            return float(line.split()[1])
    raise AssertionError(f"no metric {name}")


class Prefixes(unittest.TestCase):
    def check_second_question_costs_its_suffix(self, model):
        server = harness.tiny_server(model)
        try:
            server.post(asked(QUESTIONS[0]))
            tokens = metric(server, "assay_engine_rows_total")  # nothing was kept yet
            before = metric(server, "assay_engine_rows_total"), metric(server, "assay_engine_prefix_hit_tokens_total")
            reply = server.post(asked(QUESTIONS[1]))
            self.assertEqual(reply.status, 200, str(reply))
            rows = metric(server, "assay_engine_rows_total") - before[0]
            hits = metric(server, "assay_engine_prefix_hit_tokens_total") - before[1]
            self.assertLess(rows, tokens / 2)
            self.assertGreater(hits, tokens / 2)
        finally:
            server.stop()

    def test_case_45_46_the_second_question_on_a_state_costs_its_suffix(self):
        self.check_second_question_costs_its_suffix("tiny-attention")

    def test_case_45_46_also_with_recurrent_layers(self):
        self.check_second_question_costs_its_suffix("tiny-hybrid")

    def test_case_46_the_cache_hits_with_every_readout_layout_and_kind_of_layer(self):
        cut = "question", "state"
        for model in ("tiny-attention", "tiny-hybrid", "tiny-window", "tiny-experts"):
            server = harness.tiny_server(model)
            try:
                for readout in ("letters", "text"):
                    for layout, other in (("state_first", {"question": QUESTIONS[1]}),
                                          ("question_first", {"state": "Order 8: it came in time."})):
                        shared = f"{readout} {layout}. " + STATE  # in the place that the layout tells first
                        first = {"state": STATE, "question": QUESTIONS[0], cut[layout == "state_first"]: shared}
                        with self.subTest(model=model, readout=readout, layout=layout):
                            self.check_hits(server, [{**first, **more} for more in ({}, other)], readout, layout)
                text = server.get("/metrics").body.decode()
                self.assertIn("assay_engine_prefix_lookup_tokens_total", text)
                self.assertIn("assay_engine_prefix_evictions_total", text)
            finally:
                server.stop()

    def check_hits(self, server, requests, readout, layout):
        """The second of two requests takes what they share from the cache, and says so."""
        told = []
        for request in requests:
            decisions = [harness.decision(["yes", "no"], **request)]
            hits = metric(server, "assay_engine_prefix_hit_tokens_total")
            reply = server.post({"decisions": decisions, "x_readout": readout, "x_layout": layout})
            self.assertEqual(reply.status, 200, str(reply))
            told.append((reply.json()["timing"]["cached_tokens"],
                         metric(server, "assay_engine_prefix_hit_tokens_total") - hits))
        self.assertGreater(told[1][0], 100, told)
        self.assertGreaterEqual(told[1][0], told[0][0], told)  # priors of text have made it warm for the first, too
        self.assertGreaterEqual(told[1][1], told[1][0], "the metric counts what the reply says")

    def test_a_state_that_many_ask_about_at_once_is_computed_once(self):
        server = harness.tiny_server("tiny-attention")
        try:
            requests = [dict(harness.body(["yes", "no"], "letters", state=STATE, question=f"Is it number {n}?"))
                        for n in range(100)]
            with concurrent.futures.ThreadPoolExecutor(16) as pool:
                replies = list(pool.map(server.post, requests))
            self.assertEqual({reply.status for reply in replies}, {200})
            shared = max(reply.json()["result"]["input_tokens"] for reply in replies) // 2
            self.assertGreater(shared, 60)
            hits = metric(server, "assay_engine_prefix_hit_tokens_total")
            self.assertGreater(hits, 99 * shared)
        finally:
            server.stop()

    def test_case_46_a_cache_that_keeps_nothing_is_told_at_the_start(self):
        flags = ("--threads", "1", "--no-readout-check")
        for model, more, told in (("tiny-attention", ("--cache-tokens", "0"), True), ("tiny-head", (), True),
                                  ("tiny-attention", (), False), ("tiny-hybrid", (), False)):
            with self.subTest(model=model, flags=more):
                server = harness.Server(harness.tiny(model), *flags, *more)
                try:
                    said = [line for line in server.log if "Nothing is kept between requests" in line]
                    self.assertEqual(bool(said), told, "".join(server.log))
                    self.assertTrue(all("warn" in line for line in said), said)
                    warnings = server.get("/v1/models").json()["data"][0]["meta"]["warnings"]
                    self.assertEqual(any("Nothing is kept" in warning for warning in warnings), told)
                finally:
                    server.stop()

    def test_case_49_what_is_kept_has_a_bound(self):
        server = harness.Server(harness.tiny("tiny-attention"), "--threads", "1", "--no-readout-check",
                                "--cache-tokens", "512")
        try:
            for n in range(12):
                self.assertEqual(server.post(dict(asked(QUESTIONS[0]), **harness.body(
                    ["yes", "no"], "letters", state=f"Case {n}: " + STATE))).status, 200)
                self.assertLessEqual(metric(server, "assay_engine_cached_prefix_tokens"), 512)
            self.assertGreater(metric(server, "assay_engine_prefix_evictions_total"), 0)
            self.assertLessEqual(metric(server, "assay_engine_cells_used"), metric(server, "assay_engine_cells"))
        finally:
            server.stop()

    def test_the_answer_cache_gives_the_same_answer_and_says_so(self):
        server = harness.Server(harness.tiny("tiny-attention"), "--threads", "1", "--no-readout-check",
                                "--answer-cache", "8")
        try:
            first, second = server.post(asked(QUESTIONS[0])), server.post(asked(QUESTIONS[0]))
            self.assertNotIn("x_answer_cache", first.json())
            self.assertIs(second.json()["x_answer_cache"], True)
            self.assertEqual(facts(first), facts(second))
            self.assertEqual(metric(server, "assay_answer_cache_hits_total"), 1)
        finally:
            server.stop()


class Snapshots(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.join(harness.WORK_DIR, "snapshots")
        shutil.rmtree(self.folder, ignore_errors=True)
        lines = harness.write_file("states.jsonl", json.dumps({"state": STATE}) + "\n")
        done = harness.run("warm", lines, "--snapshots", self.folder, "--readout", "letters",
                           *harness.tiny_flags())
        self.assertEqual(done.returncode, 0, done.stderr)

    def ask(self, *more):
        """(receipt's tokens and scores, prefix tokens that were there, log) of one question to a new server."""
        server = harness.Server(harness.tiny("tiny-attention"), "--threads", "1", "--no-readout-check",
                                "--log-level", "info", *more)
        try:
            reply = server.post(asked(QUESTIONS[0], x_layout="state_first"))
            self.assertEqual(reply.status, 200, str(reply))
            return facts(reply), metric(server, "assay_engine_prefix_hit_tokens_total"), server.log
        finally:
            server.stop()

    def files(self):
        return [os.path.join(self.folder, name) for name in os.listdir(self.folder) if name.endswith("-prefix")]

    def test_a_restart_takes_what_was_warmed_with_the_same_bits(self):
        self.assertTrue(self.files())
        cold, no_hits, _ = self.ask()
        warm, hits, _ = self.ask("--snapshots", self.folder)
        self.assertEqual(cold, warm)
        self.assertEqual(no_hits, 0)
        self.assertGreater(hits, 0)

    def test_a_damaged_file_is_not_trusted(self):
        cold, _, _ = self.ask()
        for path in self.files():
            with open(path, "r+b") as file:
                file.seek(os.path.getsize(path) // 2)
                byte = file.read(1)
                file.seek(-1, os.SEEK_CUR)
                file.write(bytes([byte[0] ^ 1]))
        again, hits, log = self.ask("--snapshots", self.folder)
        self.assertEqual(cold, again)
        self.assertEqual(hits, 0)
        self.assertTrue(any("warn" in line and "prefix" in line for line in log), "".join(log))

    def test_other_settings_do_not_take_it(self):
        _, hits, _ = self.ask("--snapshots", self.folder, "--flash-attention", "off")
        self.assertEqual(hits, 0)


class Receipts(unittest.TestCase):
    def verify(self, lines):
        path = harness.write_file("receipts.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
        return harness.run("verify", path, *harness.tiny_flags())

    def test_a_servers_receipts_hold_and_a_forged_one_does_not(self):
        server = harness.tiny_server("tiny-attention")
        try:
            lines = []
            for question in QUESTIONS:
                request = asked(question, x_layout="state_first")
                lines.append({"request": request, "receipt": server.post(request).json()["x_receipt"]})
        finally:
            server.stop()
        done = self.verify(lines)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        forged = [dict(lines[0], receipt=dict(lines[0]["receipt"], scores="0" * 64))]
        self.assertEqual(self.verify(forged).returncode, 1)
        other = [dict(lines[0], receipt=dict(lines[0]["receipt"], model="0" * 64))]
        self.assertEqual(self.verify(other).returncode, 3)
