"""An image built by deploy/container/make_image, and a container run from it without a container engine: the image's own
root, read-only, with the model mounted at /opt/ml/model, as the image's own user and as PID 1 of its own namespace."""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
WORK = os.path.join(ROOT, "build", "image")
BINARY = os.path.abspath(os.environ.get("ASSAY_BINARY") or os.path.join(ROOT, "build", "release", "assay"))
MODEL = os.path.realpath(os.environ.get("ASSAY_MODEL") or
                         os.path.join(ROOT, "models", "SmolLM2-135M-Instruct.Q4_1.gguf"))
TAG = "assay:ci"
STORAGE = os.path.join(WORK, "storage")
START_SECONDS = 240

# The order matters: /dev and the model lie below the root, which becomes read-only last.
MOUNTS = """
set -eu
mount --bind "$ROOT" "$ROOT"
mount -t tmpfs -o mode=755 tmpfs "$ROOT/dev"
for name in null zero random urandom; do : >"$ROOT/dev/$name"; mount --bind "/dev/$name" "$ROOT/dev/$name"; done
ln -s /proc/self/fd "$ROOT/dev/fd"
mount -t proc proc "$ROOT/proc"
mount -t tmpfs -o mode=1777 tmpfs "$ROOT/tmp"
mount --bind "$MODEL" "$ROOT/opt/ml/model"
mount -o remount,bind,ro "$ROOT/opt/ml/model"
mount -o remount,bind,ro "$ROOT"
exec chroot --userspec="$AS" "$ROOT" /usr/bin/env -i "$@"
"""


def need(*programs):
    """Skips where the image cannot be built or run."""
    if os.geteuid() != 0:
        raise unittest.SkipTest("building a root and changing into it needs root")
    for program in programs:
        if shutil.which(program) is None:
            raise unittest.SkipTest(f"no {program}: tools/setup --dev installs it")
    if not os.path.exists(BINARY):
        raise unittest.SkipTest(f"no {BINARY}: cmake --build build/release")


class Image:
    """Built from the release build's program: the portable one is `make image`'s, and costs minutes."""

    def __init__(self):
        need("buildah", "mmdebstrap", "unshare")
        self.environment = {**os.environ, "STORAGE_DRIVER": "vfs", "BUILDAH_ISOLATION": "chroot",
                            "ASSAY_IMAGE_STORAGE": STORAGE}
        self.buildah("rm", "--all")  # what a run that was ended may have left
        tree = os.path.join(WORK, "tree")
        shutil.rmtree(tree, ignore_errors=True)
        os.makedirs(os.path.join(tree, "usr", "bin"))
        self.call("strip", "-o", os.path.join(tree, "usr", "bin", "assay"), BINARY)
        self.call(os.path.join(ROOT, "deploy", "container", "make_image"), "--tree", tree, "--made-base", "--tag", TAG,
                  "--engine", "buildah")
        shutil.rmtree(tree)
        self.config = json.loads(self.buildah("inspect", "--type", "image", TAG))["Docker"]["config"]
        self.container = self.buildah("from", TAG).strip()
        self.root = self.buildah("mount", self.container).strip()

    def call(self, *command):
        done = subprocess.run(command, cwd=ROOT, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=900)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(command)} ended with {done.returncode}:\n{done.stdout[-4000:]}")
        return done.stdout

    def buildah(self, *arguments):
        return self.call("buildah", "--storage-driver", "vfs", "--root", STORAGE + "/images", "--runroot",
                         STORAGE + "/run", *arguments)

    def remove(self):
        self.buildah("rm", self.container)
        self.buildah("rmi", "--all", "--force")
        shutil.rmtree(STORAGE, ignore_errors=True)

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def files(self):
        """(path in the image, its status) of everything in it."""
        for folder, folders, names in os.walk(self.root):
            if folder == self.root:
                folders[:] = [name for name in folders if name not in ("proc", "sys", "dev")]
            for name in folders + names:
                path = os.path.join(folder, name)
                yield path[len(self.root):], os.lstat(path)

    def run(self, *command, user="10001:10001"):
        """A command in the bare root: (exit code, output)."""
        done = subprocess.run(["chroot", "--userspec=" + user, self.root, *command], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=60)
        return done.returncode, done.stdout


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Container:
    """The image's entry point with its command, serving the default model."""

    def __init__(self, image, user=None, **environment):
        if not os.path.exists(MODEL):
            raise unittest.SkipTest("no default model: run tools/setup, or set ASSAY_MODEL")
        self.port = free_port()
        self.models = tempfile.mkdtemp(prefix="assay-model-")
        shutil.copy2(MODEL, self.models)
        # A record that another part of the tests has made saves the model's check at each start.
        name = os.path.basename(MODEL) + ".assay.json"
        for path in (os.path.join(ROOT, "build", "e2e", "check", name), MODEL + ".assay.json"):
            if os.path.exists(path):
                shutil.copy(path, self.models)
                break
        os.chmod(self.models, 0o755)
        settings = [*image.config["Env"], f"SM_LLAMA_CPP_PORT={self.port}"]
        settings += [f"{name}={value}" for name, value in environment.items()]
        self.process = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private", "sh", "-c", MOUNTS,
             "sh",
             *settings, *image.config["Entrypoint"], *image.config["Cmd"]],
            env={"PATH": os.environ["PATH"], "ROOT": image.root,
                "MODEL": self.models, "AS": user or image.config["User"]},
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        self.log = []
        self._reader = threading.Thread(target=lambda: self.log.extend(self.process.stdout), daemon=True)
        self._reader.start()

    def request(self, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            data = json.dumps(body).encode() if body is not None else None
            connection.request(method, path, data, {"Content-Type": "application/json", **(headers or {})})
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()

    def wait_until_ready(self):
        """As a platform does: asks /ping until it says 200."""
        end = time.monotonic() + START_SECONDS
        waiting = threading.Event()
        while time.monotonic() < end and self.process.poll() is None:
            try:
                if self.request("GET", "/ping")[0] == 200:
                    return
            except OSError:
                pass
            waiting.wait(0.2)
        raise AssertionError("the container did not get ready:\n" + "".join(self.log[-30:]))

    def first_process(self):
        """The number, seen from here, of what is PID 1 inside."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as file:
            return int(file.read().split()[0])

    def stop(self):
        """SIGTERM to PID 1, as a platform does; the exit code. Harmless when it has ended."""
        try:
            if self.process.poll() is None:
                os.kill(self.first_process(), signal.SIGTERM)
            return self.process.wait(timeout=40)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self._reader.join(timeout=10)
            self.process.stdout.close()
            shutil.rmtree(self.models, ignore_errors=True)
