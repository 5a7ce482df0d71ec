"""Does Assay stay well while it is busy for long: 1,000 idle kept-alive connections beside 16 clients that ask without a pause
(docs/benchmarks.md). The columns: rate, latencies, errors, memory after a fifth of the time and at the end.

Environment: ASSAY_BENCH_SOAK_MINUTES (default 3, with --quick a third of one; 30 for the real one), ASSAY_BENCH_FLAGS (more flags
for `assay serve`).
"""

import http.client
import os
import resource
import select
import threading
import time

import _frame
import _load
import _words
from _stage import Stage, assay_body, encoded
from _workloads import goal, short_decision


class Idle:
    """Kept-alive connections that say nothing. A server may close an idle one; it is then opened again and counted."""

    def __init__(self, port, count):
        self.port = port
        self.reopened = 0
        self.failed = 0
        self.connections = [self._open() for _ in range(count)]

    def _open(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("GET", "/ping")
            connection.getresponse().read()
        except (OSError, http.client.HTTPException):
            self.failed += 1
            connection.close()
        return connection

    def tend(self):
        """Opens closed ones again; returns how many it found open."""
        still_open = 0
        for place, connection in enumerate(self.connections):
            if connection.sock is not None and not readable(connection.sock):
                still_open += 1
                continue
            connection.close()
            self.reopened += 1
            self.connections[place] = self._open()
        return still_open

    def close(self):
        for connection in self.connections:
            connection.close()


def readable(sock):
    """An idle connection is readable only when the other side has closed it."""
    poll = select.poll()
    poll.register(sock, select.POLLIN | select.POLLHUP)
    return bool(poll.poll(0))


class Asker(threading.Thread):
    """Asks until the time is over: new short states, every fourth a repeated one."""

    def __init__(self, number, port, until):
        super().__init__(daemon=True)
        self.source = _words.source("soak", number)
        self.port, self.until = port, until
        self.milliseconds = []
        self.errors = {}
        self.reopened = 0

    def run(self):
        connection = _load.Connection(self.port, "/v1/decide")
        known = short_decision(self.source, 0, 30)
        number = 0
        while time.monotonic() < self.until:
            number += 1
            decision = known if number % 4 == 0 else short_decision(self.source, number, self.source.randint(10, 120))
            try:
                sent = connection.send(encoded(assay_body([decision])))
                what = None if sent.status == 200 else str(sent.status)
            except (OSError, http.client.HTTPException) as error:
                what = type(error).__name__
            if what is None:
                self.milliseconds.append(sent.milliseconds)
                continue
            self.errors[what] = self.errors.get(what, 0) + 1
            connection.close()
            time.sleep(0.1)  # a server that refuses is not asked in a tight loop
        self.reopened = connection.reopened
        connection.close()


def soak_seconds(bench):
    minutes = os.environ.get("ASSAY_BENCH_SOAK_MINUTES")
    return 60 * float(minutes) if minutes else 20 if bench.quick else 180


def soak(bench, model):
    idle_count, clients, seconds = (200 if bench.quick else 1000), 16, soak_seconds(bench)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192) if hard != resource.RLIM_INFINITY else 8192, hard))
    with Stage(bench, "soak", model) as stage:
        server = stage.servers["assay"]
        fresh_mb = server.memory_mb()
        idle = Idle(server.port, idle_count)
        stage.say(f"{idle_count} idle connections ({idle.failed} failed), {clients} clients for {seconds:.0f} s")
        began = time.monotonic()
        askers = [Asker(number, server.port, began + seconds) for number in range(clients)]
        for asker in askers:
            asker.start()
        memory, still_open = [], []
        while any(asker.is_alive() for asker in askers):
            time.sleep(2.0)
            still_open.append(idle.tend())
            if server.process.poll() is not None:
                raise RuntimeError(f"assay ended with {server.process.returncode}: {server.log_end()}")
            memory.append(server.memory_mb())
        took = time.monotonic() - began
        idle.close()
        soak_row(stage, askers, idle, took, [fresh_mb, *memory], still_open, [f"idle={idle_count}", f"clients={clients}"])


def soak_row(stage, askers, idle, took, memory, still_open, flags):
    wall = [one for asker in askers for one in asker.milliseconds]
    errors = {}
    for asker in askers:
        for name, count in asker.errors.items():
            errors[name] = errors.get(name, 0) + count
    if not wall:
        raise RuntimeError(f"no request of the soak was answered: {errors}")
    # The first fifth fills caches and thread stacks; from there on memory should be flat.
    settled = memory[max(1, len(memory) // 5)]
    metrics = {"time": _frame.numbers([took], "s"), "rate": _frame.numbers([len(wall) / took], "1/s")}
    for name, place in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
        metrics[name] = _frame.numbers([_frame.percentile(wall, place)], "ms")
    wanted = goal(stage.bench, 0)
    metrics["errors"] = _frame.numbers([sum(errors.values()) + idle.failed], "", kinds=errors)
    if wanted is not None:
        metrics["errors"].update(goal="0", reached=metrics["errors"]["mean"] == 0)
    for name, megabytes in (("memory fresh", memory[0]), ("memory settled", settled), ("memory end", memory[-1])):
        metrics[name] = _frame.numbers([megabytes], "MB")
    metrics["growth"] = _frame.numbers([memory[-1] - settled], "MB")
    metrics["idle open"] = _frame.numbers(still_open, "")
    metrics["idle reopened"] = _frame.numbers([idle.reopened], "")
    metrics["clients reopened"] = _frame.numbers([sum(asker.reopened for asker in askers)], "")
    stage.row("assay", "idle connections and saturation", metrics, flags)


def run(bench):
    if not os.path.exists(_frame.BINARY):
        raise _frame.Skip("no build/release/assay: run make build")
    if not os.path.exists(_frame.MODEL):
        raise _frame.Skip("no default model: run tools/setup, or set ASSAY_MODEL")
    soak(bench, _frame.MODEL)
