"""tests/soak at a size for every run: many clients, shuffled requests, caches from none to roomy, clients that leave.
`make soak` is the whole of it."""

import os
import subprocess
import sys
import unittest

import harness

SOAK = os.path.join(harness.ROOT, "tests", "soak", "soak.py")


class Soak(unittest.TestCase):
    def soak(self, model, requests, distinct, longest):
        command = [sys.executable, SOAK, "--model", model, "--requests", str(requests), "--distinct", str(distinct),
                   "--longest", str(longest)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False,
                              env=dict(os.environ, ASSAY_BINARY=harness.BINARY))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("0 changed, 0 lost, 0 swapped", done.stdout)

    def test_case_40_41_attention(self):
        self.soak(harness.tiny("tiny-attention"), 600, 80, 150)

    def test_case_40_45_hybrid(self):
        self.soak(harness.tiny("tiny-hybrid"), 300, 50, 100)

    def test_case_40_41_sliding_window(self):
        self.soak(harness.tiny("tiny-window"), 300, 50, 150)

    def test_case_40_41_experts(self):
        self.soak(harness.tiny("tiny-experts"), 300, 50, 100)

    def test_case_49_50_default_model(self):
        self.soak(harness.default_model(), 45, 12, 40)
