"""The two servers of bench/engine.py as child processes: how they are started, waited for, watched and ended."""

import http.client
import json
import os
import socket
import subprocess
import time

import _frame

LLAMA_SERVER = os.environ.get("ASSAY_LLAMA_SERVER") or os.path.join(os.path.dirname(_frame.BINARY), "bin", "llama-server")
LOGS = os.path.join(_frame.ROOT, "build", "bench")
THREADS = str(len(os.sched_getaffinity(0)))
START_SECONDS = 120
STOP_SECONDS = 5
CONTEXT = "16384"
FAIR = ["-kvu", "-c", CONTEXT, "-b", "2048", "-ub", "512", "-fa", "on", "--cache-ram", "0", "--no-warmup", "--ctx-checkpoints", "0"]
# llama-server's configurations: its tuned line with 8 and with 16 slots, and what it does when nothing is said.
LLAMA = {"np 8": ["-np", "8", *FAIR], "np 16": ["-np", "16", *FAIR], "defaults": ["-c", CONTEXT]}
ASSAY = ["--no-readout-check", "--no-start-check"]


def environment():
    """None of the caller's settings that would change either server."""
    return {key: value for key, value in _frame.environment().items() if not key.startswith(("LLAMA_", "OMP_", "GOMP_"))}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """One running server; `side` is its name in the rows, `flags` what it was started with besides model and address."""

    def __init__(self, side, command, flags, health):
        self.side = side
        self.flags = flags
        self.port = free_port()
        os.makedirs(LOGS, exist_ok=True)
        self.log = os.path.join(LOGS, side.replace(" ", "-") + ".log")
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([*command, *flags, "--host", "127.0.0.1", "--port", str(self.port)],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment())
        try:
            self._wait_until_ready(health)
        except BaseException:
            self.stop()
            raise

    def _wait_until_ready(self, health):
        until = time.monotonic() + START_SECONDS
        while time.monotonic() < until:
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.side} ended with {self.process.returncode} before it was ready: {self.log_end()}")
            try:
                if self.call("GET", health, timeout=5)[0] == 200:
                    return
            except (OSError, http.client.HTTPException):
                pass
            time.sleep(0.05)
        raise RuntimeError(f"{self.side} was not ready after {START_SECONDS} s: {self.log_end()}")

    def log_end(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()[-400:].strip().replace("\n", " | ")

    def call(self, method, path, value=None, timeout=600):
        """One request over a connection of its own; (status, parsed JSON)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        try:
            body = None if value is None else json.dumps(value).encode()
            connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
            reply = connection.getresponse()
            data = reply.read()
        finally:
            connection.close()
        try:
            return reply.status, json.loads(data)
        except ValueError:
            return reply.status, None

    def cpu_seconds(self):
        """User and system time that the process has used so far."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as stat:
            fields = stat.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def memory_mb(self):
        """Resident set."""
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6

    def stop(self):
        stop_all([self])


def stop_all(servers):
    """Tells every server to end, and kills those that still run after STOP_SECONDS: llama-server looks at a signal only when it
    has no batch to compute. None is left, also when this is interrupted."""
    running = [server.process for server in servers if server.process.poll() is None]
    try:
        for process in running:
            process.terminate()
        until = time.monotonic() + STOP_SECONDS
        for process in running:
            try:
                process.wait(timeout=max(0.0, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                pass
    finally:
        for process in running:
            process.kill()  # nothing, when it has ended
            process.wait()


def start_assay(model):
    flags = ["--threads", THREADS, *ASSAY, *os.environ.get("ASSAY_BENCH_FLAGS", "").split()]
    return Server("assay", [_frame.BINARY, "serve", model], flags, "/ping")


def start_llama(side, model):
    return Server(side, [LLAMA_SERVER, "-m", model], ["-t", THREADS, *LLAMA[side]], "/health")
