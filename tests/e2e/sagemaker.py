"""`assay sagemaker` as a container runs it: a model folder, variables, a port. test_sagemaker*.py share it."""

import http.client
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import zlib

import harness

SEMIF = harness.body([("refund", "Wants money back"), "info"])
SYSTEM_ONE = {"model": "jev-latest", "state": harness.TICKET,
              "questions": {"wish": {"type": "choice", "criteria": {"refund": "Wants money back", "info": None}}}}
JSON_TYPE = {"Content-Type": "application/json"}
# Some tenths of a second of a tiny model's time.
WORK = harness.body([f"option {i}" for i in range(64)], "text", state="It rained. " * 200)
# Some seconds of the default model's time on one thread.
LONG_STATE = "The parcel left the depot on time but came late. " * 250
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


_containers = {}


def container(kind="plain"):
    """Shared by the tests of a module."""
    if kind not in _containers:
        more = {"plain": {}, "semif": {"SEMIF_MAX_TOKENS": "600"}, "sessions": {"ASSAY_SESSION_SECONDS": "60"},
                "strict_lines": {"ASSAY_JSON_LINES_ALL_OR_NONE": "true"},
                "narrow": {"ASSAY_QUEUE_JOBS_MAX": "1"}}[kind]
        _containers[kind] = Container(tiny_folder(kind), **more)
    return _containers[kind]


def stop_containers():
    codes = {kind: server.stop() for kind, server in _containers.items()}
    _containers.clear()
    if any(codes.values()):
        raise AssertionError(f"a container ended with another code than 0: {codes}")


def metric(server, name):
    found = re.search(rf"^{name} (\S+)$", server.get("/metrics").body.decode(), re.MULTILINE)
    return float(found.group(1)) if found else 0.0


def resident_bytes(server):
    with open(f"/proc/{server.process.pid}/status", encoding="utf-8") as file:
        return int(re.search(r"VmRSS:\s*(\d+) kB", file.read()).group(1)) * 1024


def send_in_chunks(server, pieces):
    """The status that a body without a length gets; the server may refuse it before its end."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        try:
            connection.request("POST", "/invocations", iter(pieces), JSON_TYPE, encode_chunked=True)
        except (BrokenPipeError, ConnectionResetError):
            pass
        return connection.getresponse().status
    finally:
        connection.close()


def chunks_of(server, path, body):
    """The chunks of a reply, as they came."""
    data = json.dumps(body).encode()
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as wire, wire.makefile("rb") as reply:
        wire.sendall((f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                      f"Content-Length: {len(data)}\r\n\r\n").encode() + data)
        head = list(iter(lambda: reply.readline().rstrip(b"\r\n").lower(), b""))
        if b"transfer-encoding: chunked" not in head:
            raise AssertionError(f"no chunks: {head}")
        out = []
        while size := int(reply.readline(), 16):
            out.append(reply.read(size))
            reply.readline()
        return out
