"""Finding and starting the program, with a shell script in its place."""

import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from support import assay

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(assay.__file__)))


def script(folder, text):
    path = os.path.join(folder, "program")
    with open(path, "w") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)
    return path


class Program(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def test_the_environment_names_it(self):
        path = script(self.folder, "exit 0\n")
        with mock.patch.dict(os.environ, ASSAY_BINARY=path):
            self.assertEqual(assay.binary(), path)
        with mock.patch.dict(os.environ, ASSAY_BINARY=path + "x"), self.assertRaises(FileNotFoundError):
            assay.binary()

    def run_module(self, path, *arguments):
        environment = {**os.environ, "ASSAY_BINARY": path, "PYTHONPATH": PACKAGE}
        return subprocess.run([sys.executable, "-m", "assay", *arguments], env=environment, capture_output=True,
                              text=True, timeout=60)

    def test_the_command_becomes_the_program(self):
        done = self.run_module(script(self.folder, 'printf "%s|" "$@"; exit 7\n'), "decide", "a b", "--x=$HOME")
        self.assertEqual((done.returncode, done.stdout), (7, "decide|a b|--x=$HOME|"))

    def test_a_missing_program_is_a_sentence(self):
        done = self.run_module(os.path.join(self.folder, "none"))
        self.assertEqual(done.returncode, 1)
        self.assertIn("ASSAY_BINARY is no program", done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_the_command_does_not_load_the_client(self):
        code = "import sys, assay.program; print(sorted({'httpx', 'pydantic'} & set(sys.modules)))"
        done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": PACKAGE},
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.stdout.strip(), "[]")


class Starting(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def test_it_is_ready_when_it_says_so_and_ends_on_sigterm(self):
        path = script(self.folder, 'trap "exit 0" TERM\necho "args $*" >&2\n'
                                   'echo "ready on http://127.0.0.1:4242" >&2\nwhile :; do sleep 0.05; done\n')
        server = assay.Server("m.gguf", "--threads", "1", program=path, api_key="k3")
        self.assertEqual(server.base_url, "http://127.0.0.1:4242")
        self.assertEqual(server.client.base_url, server.base_url)
        self.assertEqual(server.client._target.headers["authorization"], "Bearer k3")
        self.assertIn("args serve m.gguf --port 0 --host 127.0.0.1 --threads 1\n", server.log)
        self.assertEqual(server.stop(), 0)
        self.assertEqual(server.stop(), 0)

    def test_one_that_ends_tells_its_last_words(self):
        path = script(self.folder, 'echo "assay: no such file" >&2; exit 2\n')
        with self.assertRaises(assay.AssayError) as caught:
            assay.Server("m.gguf", program=path)
        self.assertIn("ended with 2", str(caught.exception))
        self.assertIn("assay: no such file", str(caught.exception))

    def test_one_that_is_never_ready_is_stopped(self):
        path = script(self.folder, "echo $$ >&2; exec sleep 60\n")
        with self.assertRaises(assay.AssayError) as caught:
            assay.Server("m.gguf", program=path, start_seconds=0.5)
        pid = int(str(caught.exception).splitlines()[-1])
        with self.assertRaises(ProcessLookupError):
            os.kill(pid, 0)

    def test_a_model_must_be_named(self):
        with mock.patch.dict(os.environ):
            os.environ.pop("ASSAY_MODEL", None)
            with self.assertRaises(ValueError):
                assay.Server(program="/bin/false")


if __name__ == "__main__":
    unittest.main()
