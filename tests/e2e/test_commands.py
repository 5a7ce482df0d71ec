"""The commands as processes: exit codes, JSON keys, what a terminal sees."""

import json
import os
import pty
import shutil
import subprocess
import unittest

import harness

ASK = ["--state", harness.TICKET, "--question", harness.WANTED, "--option", "refund=Wants money back", "--option",
       "info=Asks how it works"]
DECIDE_KEYS = {"choice", "probabilities", "readout", "calibrated", "reliability", "prompt_version", "prompt_sha256",
               "prompt_tokens", "timing", "layout"}
EVAL_KEYS = {"n", "correct", "accuracy", "ece", "brier", "p50_ms", "p95_ms", "readout"}


class Decide(unittest.TestCase):
    def test_flags_give_one_json_object(self):
        done = harness.run("decide", *harness.tiny_flags(), *ASK)
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json.loads(done.stdout)
        self.assertEqual(set(answer) - {"allowed_mass", "warning", "id"}, DECIDE_KEYS)
        self.assertEqual(list(answer["probabilities"]), ["refund", "info"])
        self.assertAlmostEqual(sum(answer["probabilities"].values()), 1, delta=1e-9)
        self.assertEqual(answer["choice"], max(answer["probabilities"], key=answer["probabilities"].get))

    def test_yes_no_scale_and_a_state_from_stdin_or_a_file(self):
        path = harness.write_file("state.txt", "The parcel is late.")
        for more, ids, stdin in ((["--yes-no"], ["yes", "no"], "The parcel is late."),
                                 (["--scale", "0..5"], list("012345"), "The parcel is late."),
                                 (["--scale", "bad,ok,good", "--state-file", path], list("012"), "")):
            done = harness.run("decide", *harness.tiny_flags(), "--question", "Is it late?", *more, stdin=stdin)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(sorted(json.loads(done.stdout)["probabilities"]), sorted(ids))

    def test_the_body_of_the_wire_is_taken_and_explained(self):
        body = harness.body(["refund", "info"])
        done = harness.run("decide", *harness.tiny_flags(), "-", "--explain", stdin=json.dumps(body))
        self.assertEqual(done.returncode, 0, done.stderr)
        answer = json.loads(done.stdout)
        self.assertEqual(len(answer["explain"]["prompt_token_ids"]), answer["prompt_tokens"])
        self.assertIn(harness.TICKET, answer["explain"]["prompt"])
        several = {"decisions": [harness.decision(["a", "b"]), dict(harness.decision(["yes", "no"]), id="d2")]}
        done = harness.run("decide", *harness.tiny_flags(), "-", stdin=json.dumps(several))
        self.assertEqual(len(json.loads(done.stdout)["results"]), 2, done.stderr)

    def test_the_same_answer_as_over_http(self):
        server = harness.shared("attention")
        over_http = server.decide(self, harness.body(["refund", "info"], "letters"))
        done = harness.run("decide", *harness.tiny_flags(), "-", "--readout", "letters",
                           stdin=json.dumps(harness.body(["refund", "info"])))
        answer = json.loads(done.stdout)
        self.assertEqual(list(answer["probabilities"].values()), over_http["probabilities"])
        self.assertEqual(answer["prompt_sha256"], over_http["prompt_sha256"])

    def test_a_terminal_gets_a_table(self):
        controller, terminal = pty.openpty()
        with subprocess.Popen([harness.BINARY, "decide", *harness.tiny_flags(), *ASK], stdin=subprocess.DEVNULL,
                              stdout=terminal, stderr=subprocess.PIPE, env=harness.environment(NO_COLOR="1")) as child:
            os.close(terminal)
            shown = b""
            while True:
                try:
                    block = os.read(controller, 4096)
                except OSError:  # the other side is closed
                    break
                if not block:
                    break
                shown += block
            self.assertEqual(child.wait(timeout=60), 0, child.stderr.read())
        os.close(controller)
        text = shown.decode()
        for part in (harness.WANTED, "refund", "info", "tokens"):
            self.assertIn(part, text)
        self.assertNotIn("\x1b", text)

    def test_usage_errors_exit_2_and_name_the_nearest_flag(self):
        for arguments, said in ((["decide", *harness.tiny_flags(), "--questoin", "x"], "--question"),
                                (["decode"], "decide"),
                                (["decide", *harness.tiny_flags(), "--threads", "many"], "--threads"),
                                (["decide", *harness.tiny_flags(), "--state", "x", "--question", "y?"], "--option"),
                                (["decide", "--state", "x", "--question", "y?", "--yes-no"], "--model"),
                                (["decide", *harness.tiny_flags(), "-"], "")):
            done = harness.run(*arguments, stdin="{")
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
            self.assertIn(said, done.stderr)

    def test_settings_come_from_the_environment_and_a_config_file_too(self):
        config = harness.write_file("assay.toml", 'readout = "letters"\nno_readout_check = true\n')
        more = {"ASSAY_MODEL": harness.tiny("tiny-attention"), "ASSAY_CHECK_DIR": harness.CHECK_DIR,
                "ASSAY_THREADS": "1", "ASSAY_CONFIG": config}
        done = harness.run("decide", *ASK, **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(json.loads(done.stdout)["readout"], "letters")
        done = harness.run("decide", *ASK, "--readout", "text", **more)
        self.assertEqual(json.loads(done.stdout)["readout"], "text", "a flag is stronger than the config file")


class Eval(unittest.TestCase):
    ROWS = [{"id": f"r{n}", "state": f"The light is {colour}.", "question": "Which colour?", "expected": colour,
             "options": [{"id": "red"}, {"id": "green"}, {"id": "blue"}]}
            for n, colour in enumerate(["red", "green", "blue"] * 4)]

    def test_json_table_and_report(self):
        rows = harness.write_file("rows.jsonl", "\n".join(map(json.dumps, self.ROWS)) + "\n")
        report = harness.work_path("report.html")
        done = harness.run("eval", rows, *harness.tiny_flags(), "--json", "--report", report)
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertLessEqual(EVAL_KEYS, set(found))
        self.assertEqual((found["n"], found["files"]["rows.jsonl"]["n"]), (12, 12))
        self.assertAlmostEqual(found["accuracy"], found["correct"] / 12)
        with open(report, encoding="utf-8") as page:
            text = page.read()
        self.assertIn("<svg", text)
        self.assertNotIn("http://", text.replace("http://www.w3.org", ""), "one page that needs no other")
        done = harness.run("eval", rows, *harness.tiny_flags(), "--limit", "4")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("accuracy", done.stdout)

    def test_a_row_without_a_label_ends_it_before_the_model_is_loaded(self):
        rows = [dict(self.ROWS[0]), {key: value for key, value in self.ROWS[1].items() if key != "expected"}]
        path = harness.write_file("unlabelled.jsonl", "\n".join(map(json.dumps, rows)) + "\n")
        done = harness.run("eval", path, *harness.tiny_flags())
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertIn("2", done.stderr)


class Small(unittest.TestCase):
    def test_version(self):
        done = harness.run("version", "--json")
        self.assertEqual(done.returncode, 0)
        self.assertLessEqual({"version", "llama_version", "compiler", "build_type", "cpu_features"},
                             set(json.loads(done.stdout)))
        self.assertIn("llama.cpp", harness.run("version").stdout)

    def test_inspect(self):
        done = harness.run("inspect", *harness.tiny_flags("tiny-hybrid"), "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertLessEqual({"id", "architecture", "context_tokens", "readout", "check", "warnings"}, set(found))
        done = harness.run("inspect", *harness.tiny_flags())
        self.assertEqual(done.returncode, 0, done.stderr)
        for part in ("architecture", "letter labels", "memory", "prefill", "tokens/s"):
            self.assertIn(part, done.stdout)

    def test_inspect_shows_both_layouts_where_that_is_asked(self):
        done = harness.run("inspect", *harness.tiny_flags(), "--layouts", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual([entry["layout"] for entry in report["layouts"]], ["state_first", "question_first"])
        for entry in report["layouts"]:
            self.assertEqual(entry["rows"], 48)
            self.assertTrue(0 <= entry["right"] <= 48 and entry["p50_ms"] > 0, entry)
        self.assertIn(report["begin_of_text"], ("none", "added", "written by the template",
                                                "written by the template and not added again"))

    def test_inspect_shows_the_readout_check(self):
        done = harness.run("inspect", harness.default_model(), "--check-dir", harness.CHECK_DIR, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        check = json.loads(done.stdout)["check"]
        self.assertEqual({score["readout"] for score in check}, {"letters", "text"})

    def test_doctor(self):
        done = harness.run("doctor", *harness.tiny_flags(), "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertTrue(found["healthy"])
        self.assertTrue(all(finding["level"] == "good" or finding["fix"] for finding in found["findings"]))
        text = harness.write_file("notes.gguf", "no model")
        for model in (text, os.path.join(harness.WORK_DIR, "none.gguf")):
            done = harness.run("doctor", "--model", model)
            self.assertEqual(done.returncode, 1)
            self.assertIn("FATAL", done.stdout)
            self.assertIn("fix:", done.stdout)

    def test_completion_is_a_script_that_its_shell_reads(self):
        for shell in ("bash", "zsh", "fish"):
            done = harness.run("completion", shell)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("context-tokens", done.stdout)
            if shutil.which(shell):
                path = harness.write_file("completion." + shell, done.stdout)
                checked = subprocess.run([shell, "-n", path], stderr=subprocess.PIPE, text=True)
                self.assertEqual(checked.returncode, 0, checked.stderr)
        self.assertEqual(harness.run("completion", "tcsh").returncode, 2)

    def test_help_is_there_for_every_command(self):
        commands = ("decide", "score", "eval", "serve", "verify", "warm", "inspect", "doctor", "version", "completion")
        overview = harness.run("--help")
        self.assertEqual(overview.returncode, 0)
        for command in commands:
            self.assertIn(command, overview.stdout)
            done = harness.run(command, "--help")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("--help", done.stdout)
