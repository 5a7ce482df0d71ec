"""`assay sagemaker` as a container runs it: a model folder, variables, a port. test_sagemaker*.py share it."""

import json
import os
import shutil
import socket
import struct
import subprocess
import zlib

import harness

SEMIF = harness.body([("refund", "Wants money back"), "info"])
SYSTEM_ONE = {"model": "jev-latest", "state": harness.TICKET,
              "questions": {"wish": {"type": "choice", "criteria": {"refund": "Wants money back", "info": None}}}}
ATTRIBUTES = "X-Amzn-SageMaker-Custom-Attributes"
SESSION = "X-Amzn-SageMaker-Session-Id"


def folder_of(name, *links):
    """A model folder with a link for each (name in the folder, model)."""
    folder = os.path.join(harness.WORK_DIR, "models", name)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for place, model in links:
        path = os.path.join(folder, place)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.symlink(model, path)
    return folder


def tiny_folder(name="one"):
    return folder_of(name, ("model.gguf", harness.tiny("tiny-attention")))


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def variables_of(folder, more):
    """The container's environment; a variable that is None is left out."""
    out = {"SM_LLAMA_CPP_MODEL_DIR": folder, "SM_LLAMA_CPP_THREADS": "1", "ASSAY_PORT": "0",
           "ASSAY_CHECK_DIR": harness.CHECK_DIR, "ASSAY_NO_READOUT_CHECK": "true", **more}
    return harness.environment(**{name: value for name, value in out.items() if value is not None})


class Container(harness.Server):
    """Started with SageMaker's word. With wait=False it may still be loading, on `port`."""

    def __init__(self, folder, *words, port=None, wait=True, out=None, **variables):
        if port is not None:
            variables = {"ASSAY_PORT": str(port), **variables}
        command = [harness.BINARY, "sagemaker", "serve", *words]
        self._begin(command, variables_of(folder, variables), out or subprocess.DEVNULL)
        if wait:
            self._settle()
        else:
            self.port = port

    def text(self):
        return "".join(self.log)

    def invoke(self, body, **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.send("/invocations", body, named)

    def send(self, path, body, headers):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.request("POST", path, data, {"Content-Type": "application/json", **headers})


def run(folder, *words, timeout=60, **variables):
    """A container that is meant to end by itself; .returncode, .stderr."""
    return subprocess.run([harness.BINARY, "sagemaker", "serve", *words], stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=timeout,
                          env=variables_of(folder, variables))


def last_line(text):
    return (text.strip().splitlines() or [""])[-1]


def frames_of(data):
    """[(headers, payload)] of AWS's event stream; each checksum is checked."""
    out = []
    while data:
        total, head, check = struct.unpack(">III", data[:12])
        end = struct.unpack(">I", data[total - 4:total])[0]
        if zlib.crc32(data[:8]) != check or zlib.crc32(data[:total - 4]) != end:
            raise AssertionError("a checksum is wrong")
        headers, at = {}, 12
        while at < 12 + head:
            name_end = at + 1 + data[at]
            name = data[at + 1:name_end].decode()
            kind, size = struct.unpack(">BH", data[name_end:name_end + 3])
            if kind != 7:
                raise AssertionError(f"{name} is no string")
            headers[name] = data[name_end + 3:name_end + 3 + size].decode()
            at = name_end + 3 + size
        out.append((headers, data[12 + head:total - 4]))
        data = data[total:]
    return out
