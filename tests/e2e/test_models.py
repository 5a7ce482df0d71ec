"""Which models are taken, which are refused and why, and what odd ones answer (cases 25, 45; T08)."""

import os
import struct
import unittest

import harness

OPTIONS = ["refund", "info", "cancel"]


class Refused(unittest.TestCase):
    def check(self, path, *reasons):
        """decide, inspect and serve all end with exit code 2 and the reason."""
        flags = ["--model", path, "--check-dir", harness.CHECK_DIR]
        question = ["--state", "x", "--question", "y?", "--yes-no"]
        for command in (["decide", *flags, *question], ["inspect", *flags], ["serve", *flags, "--port", "0"]):
            with self.subTest(command=command[0]):
                done = harness.run(*command, timeout=60)
                self.assertEqual(done.returncode, 2, done.stderr)
                for reason in reasons:
                    self.assertIn(reason, done.stderr)
                self.assertEqual(done.stdout, "")

    # serve loads it for llama-server's routes (test_embeddings.py), and finds no layers in these files.
    def test_an_embedding_model(self):
        self.check(harness.tiny("embedding"), "embedding model")

    def test_an_encoder(self):
        self.check(harness.tiny("encoder"), "encoder")

    def test_an_adapter(self):
        self.check(harness.tiny("adapter"), "adapter", "base model")

    def test_a_later_shard(self):
        self.check(harness.tiny("tiny-split-00002-of-00003"), "later shard", "-00001-of-")

    def test_a_text_file(self):
        self.check(harness.write_file("notes.gguf", "this is no model\n" * 100), "notes.gguf", "not a complete GGUF")

    def test_an_empty_file(self):
        self.check(harness.write_file("empty.gguf", ""), "empty.gguf")

    def test_a_truncated_gguf(self):
        with open(harness.tiny("tiny-attention"), "rb") as file:
            data = file.read()
        for part in (100, len(data) // 8, len(data) // 2, len(data) - 1000):
            with self.subTest(bytes=part):
                self.check(harness.write_file("cut.gguf", data[:part]), "cut.gguf")

    def test_a_number_of_layers_that_cannot_be(self):
        with open(harness.tiny("tiny-attention"), "rb") as file:
            data = file.read()
        key = b"qwen3.block_count" + struct.pack("<I", 4)  # an unsigned integer of 32 bits
        at = data.index(key) + len(key)
        for count in (0, 513, 2 ** 31, 2 ** 32 - 1):
            with self.subTest(layers=count):
                patched = data[:at] + struct.pack("<I", count) + data[at + 4:]
                self.check(harness.write_file("layers.gguf", patched), "layers.gguf", "block count")

    def test_t08_a_file_that_is_not_there_and_no_model_at_all(self):
        self.check(os.path.join(harness.WORK_DIR, "none.gguf"), "none.gguf")
        done = harness.run("serve", "--port", "0", "--chat", "off")  # with chat it is a router (docs/chat-modes.md)
        self.assertEqual(done.returncode, 2)
        self.assertIn("--model", done.stderr)


class Odd(unittest.TestCase):
    def test_case_25_a_model_that_computes_nan_is_an_error_not_a_number(self):
        server = harness.shared("nan")
        for readout in ("letters", "text"):
            for body in (harness.body(OPTIONS, readout), harness.body(["only"], readout),
                         {"decisions": [harness.decision(OPTIONS)], "x_readout": readout}):
                reply = server.post(body)
                self.assertEqual((reply.status, reply.json()["code"]), (500, "nonfinite_logits"), str(reply))
                self.assertNotIn(b"probabilities", reply.body)
        self.assertTrue(server.is_alive())

    def test_case_25_commands_say_so_too(self):
        flags = harness.tiny_flags("tiny-nan")
        question = ["--state", "x", "--question", "y?", "--yes-no"]
        for flags in (flags, [flag for flag in flags if flag != "--no-readout-check"]):
            done = harness.run("decide", *flags, *question)
            self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
            self.assertRegex(done.stderr, "finite|not a number")

    def test_a_hybrid_model_answers_several_questions_on_one_state(self):
        server = harness.shared("hybrid")
        self.assertTrue(server.get("/v1/models").json()["data"][0]["meta"]["recurrent"])
        decisions = [dict(harness.decision(OPTIONS), id="a"), dict(harness.decision(["yes", "no"]), id="b"),
                     dict(harness.decision(["yes", "yes, but later", "no"]), id="c", question="Now?")]
        for readout in ("letters", "text"):
            reply = server.post({"decisions": decisions, "x_readout": readout})
            self.assertEqual(reply.status, 200, str(reply))
            for asked, result in zip(decisions, reply.json()["results"]):
                harness.check_result(self, result, asked["options"])
                alone = server.decide(self, {"decision": asked, "x_readout": readout})
                for one, other in zip(alone["option_logits"], result["option_logits"]):
                    self.assertAlmostEqual(one, other, delta=0.01)

    def test_a_decision_head_of_the_model_answers(self):
        server = harness.shared("head")
        meta = server.get("/v1/models").json()["data"][0]["meta"]
        self.assertEqual((meta["readout"], meta["decision_head"]), ("head", "openjev"))
        for options in (OPTIONS, ["yes", "no"], ["no", "yes"], [str(n) for n in range(5)]):
            result = server.decide(self, harness.body(options))
            self.assertEqual(result["readout"], "head")
        # With packed weights a last digit may become a step of a row's 16-bit integers.
        for name, delta in (("head unpacked", 1e-6), ("head", 2e-4)):
            yes_no = harness.shared(name).decide(self, harness.body(["yes", "no"]))["probabilities"]
            no_yes = harness.shared(name).decide(self, harness.body(["no", "yes"]))["probabilities"]
            for one, other in zip(yes_no, no_yes[::-1]):
                self.assertAlmostEqual(one, other, delta=delta)
        self.assertEqual(server.post(harness.body(OPTIONS, "letters")).status, 400)
        for field, value in (("x_explain", True), ("x_layout", "question_first"), ("x_hidden_state", True)):
            reply = server.post(dict(harness.body(OPTIONS), **{field: value}))
            self.assertEqual((reply.status, reply.json()["field"]), (400, field), str(reply))

    def test_a_template_of_ones_own_replaces_the_models(self):
        template = harness.write_file("plain.jinja", "{% for m in messages %}{{ m['content'] }}\n{% endfor %}Answer:")
        done = harness.run("decide", *harness.tiny_flags(), "--chat-template", template, "--state", "x", "--question",
                           "y?", "--yes-no", "--explain")
        self.assertEqual(done.returncode, 0, done.stderr)
        prompt = harness.json.loads(done.stdout)["explain"]["prompt"]
        self.assertTrue(prompt.endswith("Answer:"), prompt)
