"""`assay score`: order, faulty rows, going on after a kill, CSV."""

import csv
import io
import json
import os
import signal
import subprocess
import unittest

import harness


def row(n, **more):
    return {"id": f"r{n}", "state": f"Order {n}: the parcel came {n % 7} days late.", "question": "Is it late?",
            "options": [{"id": "yes"}, {"id": "no"}], **more}


def jsonl(rows):
    return "".join((entry if isinstance(entry, str) else json.dumps(entry)) + "\n" for entry in rows)


def flags(*more):
    return [*harness.tiny_flags(), "--readout", "letters", *more]


def lines_of(path):
    with open(path, "rb") as file:
        return file.read().splitlines(keepends=True)


class Score(unittest.TestCase):
    def test_rows_come_out_in_order_and_a_bad_one_does_not_end_the_run(self):
        twice = [{"id": "a"}, {"id": "a"}]
        rows = [row(0), row(1, options=[]), "{half", row(3, state=7), row(4), row(5, options=twice)]
        source = harness.write_file("in.jsonl", jsonl(rows))
        out = harness.work_path("out.jsonl")
        done = harness.run("score", source, "-o", out, *flags())
        self.assertEqual(done.returncode, 3, done.stderr)
        written = [json.loads(line) for line in lines_of(out)]
        self.assertEqual(len(written), 6)
        self.assertEqual(["error" in entry for entry in written], [False, True, True, True, False, True])
        self.assertEqual([written[i]["id"] for i in (0, 1, 3, 4)], ["r0", "r1", "r3", "r4"])
        for entry in written[1:4]:
            self.assertTrue(entry["error"]["code"] and entry["error"]["message"])

    def test_labelled_rows_give_a_summary(self):
        source = harness.write_file("in.jsonl", jsonl(row(n, expected="yes") for n in range(6)))
        done = harness.run("score", source, *flags())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.splitlines()), 6)
        self.assertTrue(all("correct" in json.loads(line) for line in done.stdout.splitlines()))
        self.assertIn("ccuracy", done.stderr)

    def test_a_killed_run_goes_on_where_it_was(self):
        source = harness.write_file("in.jsonl", jsonl(row(n) for n in range(300)))
        whole, out = harness.work_path("whole.jsonl"), harness.work_path("out.jsonl")
        self.assertEqual(harness.run("score", source, "-o", whole, *flags()).returncode, 0)
        child = subprocess.Popen([harness.BINARY, "score", source, "-o", out, *flags()], stdin=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, env=harness.environment())
        harness.wait_until(lambda: os.path.exists(out) and len(lines_of(out)) >= 5, "five rows are written")
        child.send_signal(signal.SIGKILL)
        child.wait()
        kept = lines_of(out)
        self.assertLess(len(kept), 300, "it was killed in the middle")
        self.assertEqual(kept, lines_of(whole)[:len(kept)])
        with open(out, "ab") as file:  # what a power cut leaves
            file.write(lines_of(whole)[len(kept)][:25])
        done = harness.run("score", source, "-o", out, *flags())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"{len(kept)} rows are there already", done.stderr)
        self.assertEqual(lines_of(out), lines_of(whole))
        again = harness.run("score", source, "-o", out, *flags())
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(lines_of(out), lines_of(whole))

    def test_ctrl_c_ends_between_rows_with_130(self):
        source = harness.write_file("in.jsonl", jsonl(row(n) for n in range(2000)))
        out = harness.work_path("out.jsonl")
        child = subprocess.Popen([harness.BINARY, "score", source, "-o", out, *flags()], stdin=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True, env=harness.environment())
        harness.wait_until(lambda: os.path.exists(out) and len(lines_of(out)) >= 2, "two rows are written")
        child.send_signal(signal.SIGINT)
        said = child.communicate(timeout=30)[1]
        self.assertEqual(child.returncode, 130, said)
        self.assertTrue(lines_of(out)[-1].endswith(b"\n"))

    def test_an_output_of_another_input_is_not_touched(self):
        first = harness.write_file("first.jsonl", jsonl(row(n) for n in range(3)))
        second = harness.write_file("second.jsonl", jsonl(row(n + 50) for n in range(3)))
        out = harness.work_path("out.jsonl")
        self.assertEqual(harness.run("score", first, "-o", out, *flags()).returncode, 0)
        before = lines_of(out)
        done = harness.run("score", second, "-o", out, *flags())
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("--overwrite", done.stderr)
        self.assertEqual(lines_of(out), before)
        self.assertEqual(harness.run("score", second, "-o", out, "--overwrite", *flags()).returncode, 0)
        self.assertEqual(json.loads(lines_of(out)[0])["id"], "r50")

    def test_csv_in_and_out(self):
        text = 'id,body,seen\r\n1,"My card, charged ""twice""",x\r\n2,"two\nlines",y\r\n3,Zürich,\r\n'
        source = harness.write_file("in.csv", text)
        out = harness.work_path("out.csv")
        question = ["--state-column", "body", "--question", "What is wanted?", "--option", "refund", "--option", "info"]
        done = harness.run("score", source, "-o", out, *question, *flags())
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(out, encoding="utf-8", newline="") as file:
            written = file.read()
        records = list(csv.DictReader(io.StringIO(written)))
        self.assertEqual([r["body"] for r in records], ['My card, charged "twice"', "two\nlines", "Zürich"])
        self.assertEqual(list(records[0]),
                         ["id", "body", "seen", "choice", "probability", "p_refund", "p_info", "error"])
        for record in records:
            self.assertAlmostEqual(float(record["p_refund"]) + float(record["p_info"]), 1, delta=1e-9)
        self.assertIn("\r\n", written, "the input's line ends are kept")
        with open(out, "r+", encoding="utf-8", newline="") as file:  # half a last line
            file.truncate(len(written.encode()) - 10)
        self.assertEqual(harness.run("score", source, "-o", out, *question, *flags()).returncode, 0)
        with open(out, encoding="utf-8", newline="") as file:
            self.assertEqual(file.read(), written)
