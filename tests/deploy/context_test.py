"""An image built from source where there is no network: what make_image hands to the engine, less what the engine leaves
out, is all that the first stage needs. Its script runs with CMake's real set-up and a build that only says which files it
reads; the engine and the package database are stand-ins."""

import os
import re
import shutil
import subprocess
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LLAMA = os.environ.get("ASSAY_LLAMA_DIR") or os.path.join(ROOT, "third_party", "llama.cpp")
WORK = os.path.join(ROOT, "build", "deploy_context")

ENGINE = """#!/bin/sh
for context; do :; done
mv "$context" "$KEPT"
"""
CMAKE = """#!/bin/sh
echo "$*" >>"$CALLS"
case $1 in
  --build) exec ninja -C "$2" -t inputs assay ;;
  --install)
    while [ "$1" != --prefix ]; do shift; done
    mkdir -p "$2/bin" "$2/lib/assay"
    touch "$2/bin/assay" "$2/lib/assay/assay" ;;
  *) exec "$CMAKE" "$@" ;;
esac
"""
PRESENT, ABSENT = "#!/bin/sh\nexit 0\n", "#!/bin/sh\necho \"$0: there is no network\" >&2\nexit 97\n"


def patterns_of(name):
    with open(os.path.join(ROOT, "deploy", "container", name), encoding="utf-8") as file:
        return [line for line in file.read().splitlines() if line and not line.startswith("#")]


def is_left_out(path, patterns):
    """Docker's rule: the last pattern that fits the path, or a folder that it is in, decides."""
    parts = path.split("/")
    folders = ["/".join(parts[:i]) for i in range(1, len(parts) + 1)]
    out = False
    for pattern in patterns:
        words = re.escape(pattern.removeprefix("!")).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*")
        if any(re.fullmatch(words, folder) for folder in folders):
            out = not pattern.startswith("!")
    return out


class WhatIsLeftOutTest(unittest.TestCase):
    def test_nothing_that_a_build_reads(self):
        tracked = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=True).stdout
        for name in ("Dockerfile.dockerignore", "Dockerfile.cuda.dockerignore"):
            patterns = patterns_of(name)
            taken = [*tracked.splitlines(), "third_party/llama.cpp/src/llama.cpp", "third_party/llama.cpp/models/x.gguf",
                     "third_party/llama.cpp/build/x", "build/image/tree/usr/bin/assay"]
            self.assertEqual([path for path in taken if is_left_out(path, patterns)], [])
            left = ["third_party/venv/bin/python", "third_party/.cache/x", "models/x.gguf", "build/release/assay",
                    "build/image/storage/x", ".git/config", "tests/e2e/__pycache__/x.pyc", "bench/results/x", "dist/x"]
            self.assertEqual([path for path in left if not is_left_out(path, patterns)], [])


class StageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not os.path.isdir(LLAMA):
            raise unittest.SkipTest("no third_party/llama.cpp: tools/setup fetches it")
        shutil.rmtree(WORK, ignore_errors=True)
        cls.addClassCleanup(shutil.rmtree, WORK, ignore_errors=True)
        cls.stubs, cls.kept = os.path.join(WORK, "bin"), os.path.join(WORK, "src")
        os.makedirs(cls.stubs)
        for name, text in {"docker": ENGINE, "cmake": CMAKE, "dpkg-query": PRESENT, "strip": PRESENT, "chown": PRESENT,
                           "apt-get": ABSENT, "curl": ABSENT, "pip": ABSENT}.items():
            path = os.path.join(cls.stubs, name)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(path, 0o755)
        cls.environment = {**{key: value for key, value in os.environ.items() if not key.startswith("ASSAY_")},
                           "CMAKE": shutil.which("cmake"), "KEPT": cls.kept, "CALLS": os.path.join(WORK, "calls"),
                           "ASSAY_SETUP_PIP": os.path.join(cls.stubs, "pip"),
                           "PATH": cls.stubs + os.pathsep + os.environ["PATH"]}
        cls.call([os.path.join(ROOT, "deploy", "container", "make_image"), "--engine", "docker", "--base", "none"], ROOT,
                 ASSAY_LLAMA_DIR=LLAMA)
        patterns = patterns_of("Dockerfile.dockerignore")
        for folder, _, names in os.walk(cls.kept):
            for name in names:
                path = os.path.join(folder, name)
                if is_left_out(os.path.relpath(path, cls.kept), patterns):
                    os.remove(path)
        # Somebody's own tree, not one that tools/setup knows.
        stamp = os.path.join(cls.kept, "third_party", "llama.cpp", ".assay-sha256")
        if os.path.exists(stamp):
            os.remove(stamp)

    @classmethod
    def call(cls, command, folder, **more):
        done = subprocess.run(command, cwd=folder, env={**cls.environment, **more}, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=300)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-4000:]}")
        return done.stdout

    def test_it_builds_from_the_context_alone_without_a_network(self):
        into = os.path.join(WORK, "into")
        alone = ["unshare", "--net"] if subprocess.run(["unshare", "--net", "true"], capture_output=True).returncode == 0 \
            else []
        text = self.call([*alone, "deploy/container/stage", "", into], self.kept)
        with open(self.environment["CALLS"], encoding="utf-8") as file:
            configured, built, installed = file.read().splitlines()
        self.assertTrue(configured.startswith("--preset portable "), configured)
        self.assertIn("--target assay", built)
        self.assertIn("--component assay", installed)
        # Every file that is compiled is there, ours and llama.cpp's.
        made = os.path.join(self.kept, "build", "")
        sources = [line for line in text.splitlines() if line.startswith(self.kept) and not line.startswith(made)]
        self.assertEqual([path for path in sources if not os.path.exists(path)], [])
        for part in ("src/cli/serve_command.cc", "web/openapi.json", "third_party/llama.cpp/src/llama.cpp",
                     "third_party/llama.cpp/tools/server/server-context.cpp"):
            self.assertIn(os.path.join(self.kept, part), sources)
        for path in ("usr/bin/assay", "usr/lib/assay/healthcheck", "usr/share/doc/assay/LICENSE"):
            self.assertTrue(os.path.exists(os.path.join(into, path)), path)


if __name__ == "__main__":
    unittest.main()
