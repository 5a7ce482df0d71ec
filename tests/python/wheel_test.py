#!/usr/bin/env python3
"""The wheel as a user gets it, for whoever changes the build: tests/python/wheel_test.py [--portable] [--keep DIR]

Builds the wheel, looks into it, installs it into a new environment, runs the command and asks a served model through
the installed client. The build is kept in build/ and continued by the next run. The last line is
`N passed, N failed, N skipped`; exit code 1 when one failed.

Environment: ASSAY_MODEL (the default model), ASSAY_E2E_THREADS, PIP_FIND_LINKS and the like for pip.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
MODEL = os.environ.get("ASSAY_MODEL") or os.path.join(ROOT, "models", "SmolLM2-135M-Instruct.Q4_1.gguf")
CHECK_DIR = os.path.join(ROOT, "build", "e2e", "check")

ASK = """
import sys, assay
with assay.Server(sys.argv[1], "--threads", sys.argv[2], "--check-dir", sys.argv[3]) as server:
    answer = server.client.decide("I was charged twice and I want the second payment back.",
                                  "What does the customer want?",
                                  {"refund": "Wants money back", "info": "Asks how something works"})
    assert answer.choice == "refund", answer
    assert abs(sum(answer.probabilities.values()) - 1) < 1e-9, answer
    print(assay.__version__, assay.binary(), answer.choice, answer.probability)
"""


class Wheel:
    """The steps, in order; each may use what the earlier ones left."""

    def __init__(self, folder, portable):
        self.folder = folder
        self.portable = portable
        self.wheel = ""
        self.bin = os.path.join(folder, "venv", "bin")

    def run(self, *command, **more):
        # Not in the tree: what is imported and run must be what was installed.
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("PYTHONPATH", "ASSAY_BINARY", "ASSAY_BASE_URL", "ASSAY_API_KEY")}
        done = subprocess.run(command, cwd=self.folder, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=3000, **more)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(command)} ended with {done.returncode}:\n" + done.stdout[-6000:])
        return done.stdout

    def a_fresh_environment_is_made(self):
        self.run(sys.executable, "-m", "venv", "venv")

    def the_wheel_is_built(self):
        settings = ["-C", "cmake.define.ASSAY_PORTABLE=ON", "-C", "build-dir=build/{wheel_tag}-portable"]
        self.run(os.path.join(self.bin, "pip"), "wheel", ROOT, "--no-deps", "-w", self.folder,
                 *(settings if self.portable else []))
        wheels = [name for name in os.listdir(self.folder) if name.endswith(".whl")]
        assert len(wheels) == 1, wheels
        self.wheel = os.path.join(self.folder, wheels[0])
        assert "-py3-none-linux_" in wheels[0], f"{wheels[0]} is not for every Python"

    def the_wheel_holds_the_client_and_the_program_and_nothing_else(self):
        with zipfile.ZipFile(self.wheel) as wheel:
            names = [name for name in wheel.namelist() if not name.endswith("/")]
            mode = wheel.getinfo("assay/bin/assay").external_attr >> 16
        assert mode & 0o111, f"assay/bin/assay is not executable: {mode:o}"
        for needed in ("assay/__init__.py", "assay/py.typed", "assay/client.py"):
            assert needed in names, needed
        assert any(name.endswith("licenses/LICENSE") for name in names), names
        strangers = [name for name in names if not (name.startswith("assay/") and name.endswith((".py", "py.typed")))
                     and not name.startswith("assay/bin/") and ".dist-info/" not in name]
        assert not strangers, strangers
        programs = [name for name in names if name.startswith("assay/bin/")]
        modules = [name for name in programs if "ggml-cpu-" in name]
        if self.portable:
            assert len(modules) > 3, f"a portable wheel has modules for several CPUs: {programs}"
        else:
            assert programs == ["assay/bin/assay"], programs

    def it_installs(self):
        self.run(os.path.join(self.bin, "pip"), "install", self.wheel)

    def the_command_works(self):
        text = self.run(os.path.join(self.bin, "assay"), "version")
        assert "assay" in text, text
        assert "serve" in self.run(os.path.join(self.bin, "python"), "-m", "assay", "--help")

    def the_client_imports_and_has_its_names(self):
        self.run(os.path.join(self.bin, "python"), "-c", "import assay; [getattr(assay, n) for n in assay.__all__]")

    def a_served_model_decides(self):
        if not os.path.exists(MODEL):
            raise SkipStep("no default model: run tools/setup, or set ASSAY_MODEL")
        os.makedirs(CHECK_DIR, exist_ok=True)
        threads = os.environ.get("ASSAY_E2E_THREADS") or "0"
        told = self.run(os.path.join(self.bin, "python"), "-c", ASK, MODEL, threads, CHECK_DIR)
        assert os.path.join("site-packages", "assay", "bin", "assay") in told, told


class SkipStep(Exception):
    pass


STEPS = ("a_fresh_environment_is_made", "the_wheel_is_built",
         "the_wheel_holds_the_client_and_the_program_and_nothing_else", "it_installs", "the_command_works",
         "the_client_imports_and_has_its_names", "a_served_model_decides")


def main():
    parser = argparse.ArgumentParser(prog="tests/python/wheel_test.py", description=__doc__.split("\n\n")[1])
    parser.add_argument("--portable", action="store_true", help="the wheel for any CPU, with its folder of modules")
    parser.add_argument("--keep", metavar="DIR", help="copy the wheel there")
    arguments = parser.parse_args()
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory() as folder:
        test = Wheel(folder, arguments.portable)
        for name in STEPS:
            if failed:
                skipped += 1  # each step stands on those before it
                continue
            began = time.monotonic()
            try:
                getattr(test, name)()
                passed += 1
                outcome = "ok"
            except SkipStep as reason:
                skipped += 1
                outcome = f"skipped: {reason}"
            except Exception as error:
                failed += 1
                outcome = f"FAIL: {error}"
            print(f"{name} ... {outcome} ({time.monotonic() - began:.1f} s)", flush=True)
        if arguments.keep and test.wheel and not failed:
            shutil.copy(test.wheel, arguments.keep)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
