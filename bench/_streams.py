"""The workloads of bench/engine.py that go on for a while: 7 (short requests beside long ones) and 8 (the soak)."""

import http.client
import itertools
import os
import resource
import select
import threading
import time

import _frame
import _load
import _words
from _stage import Stage, assay_body, encoded, llama_body, metrics_of, ratio
from _workloads import goal, percentiles, short_decision


# ---- 7: short requests beside long ones ---------------------------------------------------------------------------


class Long(threading.Thread):
    """Keeps one long request in flight until told to stop; then its last one is waited for. `bodies` never ends."""

    def __init__(self, port, path, bodies):
        super().__init__(daemon=True)
        self.port, self.path, self.bodies = port, path, bodies
        self.enough = threading.Event()
        self.milliseconds = []
        self.error = None

    def run(self):
        connection = _load.Connection(self.port, self.path)
        try:
            for body in self.bodies:
                if self.enough.is_set():
                    return
                sent = connection.send(body)
                if sent.status != 200:
                    raise ValueError(f"{self.path} answered {sent.status}: {sent.data[:300]!r}")
                self.milliseconds.append(sent.milliseconds)
        except (OSError, http.client.HTTPException, ValueError) as error:
            self.error = error
        finally:
            connection.close()

    def stop(self):
        self.enough.set()
        self.join()
        if self.error:
            raise RuntimeError(str(self.error))


def short_beside_long(bench, workload, model):
    """7"""
    count, interval, long_tokens = (4, 1.0, 800) if bench.quick else (40, 2.0, 7800)
    sides = ("np 8",) if bench.quick else ("np 8", "defaults")
    with Stage(bench, workload, model, sides) as stage:
        alone, beside, lengths = {}, {}, {}
        for repetition in range(bench.times(1, 1)):
            for side in ("assay", *sides):
                source = _words.source(workload, repetition)  # the same requests for each side
                stage.say(f"repetition {repetition + 1}: {side}, {count} short requests, one every {interval} s")
                alone.setdefault(side, []).append(short_ones(stage, side, source, count, interval))
                stage.say(f"repetition {repetition + 1}: {side}, the same with a long request always in flight")
                longs = long_bodies(stage, side, _words.source(workload, repetition, "long"), long_tokens)
                thread = Long(stage.servers[side].port, path_of(side), longs)
                thread.start()
                time.sleep(0.5)  # the long one is being computed when the first short one comes
                try:
                    beside.setdefault(side, []).append(short_ones(stage, side, source, count, interval))
                finally:
                    thread.stop()
                lengths.setdefault(side, []).extend(thread.milliseconds)
        short_rows(stage, alone, beside, lengths, interval, long_tokens)


def path_of(side):
    return "/v1/decide" if side == "assay" else "/completion"


def ask(stage, side, cases, clients, interval):
    send = stage.assay if side == "assay" else lambda *args, **named: stage.llama(side, *args, **named)
    return send(cases, clients, interval=interval)


def short_ones(stage, side, source, count, interval):
    cases = stage.cases([short_decision(source, number, source.randint(12, 60)) for number in range(count)])
    return ask(stage, side, cases, 16, interval)


def long_bodies(stage, side, source, tokens):
    """Each with a new state; made while the one before it is answered."""
    for number in itertools.count():
        cases = stage.cases([short_decision(source, f"long{number}", tokens)])
        yield encoded(assay_body([cases[0].decision]) if side == "assay" else llama_body(cases[0], True))


def short_rows(stage, alone, beside, lengths, interval, long_tokens):
    flags = [f"interval={interval}", f"long={long_tokens}"]
    for side, blocks in alone.items():
        quiet, busy = metrics_of(blocks), metrics_of(beside[side])
        for metrics in (quiet, busy):
            del metrics["time"], metrics["rate"]  # the interval's, not the server's
        busy["long"] = _frame.numbers(lengths[side], "ms")
        wanted = goal(stage.bench, 2) if side == "assay" else None
        busy["p95/p50 alone"] = ratio(percentiles(beside[side], 0.95), percentiles(blocks, 0.5), wanted, at_least=False)
        stage.row(side, "short requests alone", quiet, flags)
        stage.row(side, "short beside long", busy, flags)


# ---- 8: idle connections and a soak -------------------------------------------------------------------------------


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
    return 20 if bench.quick else 60 * float(os.environ.get("ASSAY_BENCH_SOAK_MINUTES") or 3)


def soak(bench, workload, model):
    """8"""
    idle_count, clients, seconds = (200 if bench.quick else 1000), 16, soak_seconds(bench)
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192) if hard != resource.RLIM_INFINITY else 8192, hard))
    with Stage(bench, workload, model) as stage:
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
