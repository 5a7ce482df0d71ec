"""Workload 7 of bench/engine.py: short requests beside long ones."""

import http.client
import itertools
import threading
import time

import _frame
import _load
import _words
from _stage import Stage, assay_body, encoded, llama_body, metrics_of, ratio
from _workloads import goal, percentiles, short_decision

LONG_SECONDS = 180  # a long request that takes longer is left


class Long(threading.Thread):
    """Keeps one long request in flight. `bodies` never ends."""

    def __init__(self, port, path, bodies):
        super().__init__(daemon=True)
        self.bodies = bodies
        self.connection = _load.Connection(port, path)
        self.enough = threading.Event()
        self.first = threading.Event()  # one was answered, or none will be
        self.milliseconds = []
        self.error = None

    def run(self):
        try:
            for body in self.bodies:
                if self.enough.is_set():
                    return
                sent = self.connection.send(body)
                if sent.status != 200:
                    raise ValueError(f"{self.connection.path} answered {sent.status}: {sent.data[:300]!r}")
                self.milliseconds.append(sent.milliseconds)
                self.first.set()
        except (OSError, http.client.HTTPException, ValueError, RuntimeError) as error:
            if not self.enough.is_set():  # afterwards it is the hanging up
                self.error = error
        finally:
            self.first.set()
            self.connection.close()

    def leave(self):
        """Hangs up on the request in flight, which no server goes on with then. The connection's thread is not waited for."""
        self.enough.set()
        self.connection.leave()

    def finish(self):
        """Waits until the first one is answered and hangs up on a later one."""
        self.first.wait(LONG_SECONDS)
        self.leave()
        self.join()
        if self.error:
            raise RuntimeError(str(self.error))


def short_beside_long(bench, workload, model):
    """7"""
    count, interval, long_tokens = (4, 1.0, 800) if bench.quick else (24, 1.5, 7800)
    sides = ("assay", "np 8") if bench.quick else ("assay", "np 8", "defaults")
    repetitions = bench.times(1, 1)
    with Stage(bench, workload, model, sides[1:]) as stage:
        alone, beside, lengths = ({side: [] for side in sides} for _ in range(3))
        for repetition in range(repetitions):
            for side in sides:
                source = _words.source(workload, repetition)  # the same requests for each side
                stage.say(f"repetition {repetition + 1}: {side}, {count} short requests, one every {interval} s")
                alone[side].append(short_ones(stage, side, source, count, interval))
                stage.say(f"repetition {repetition + 1}: {side}, the same with a long request always in flight")
                long_source = _words.source(workload, repetition, "long")
                thread = Long(stage.servers[side].port, path_of(side), long_bodies(stage, side, long_source, long_tokens))
                beside[side].append(with_long(thread, lambda: short_ones(stage, side, source, count, interval)))
                lengths[side].extend(thread.milliseconds)
                if repetition + 1 == repetitions:  # now, so that what comes later cannot lose it
                    short_rows(stage, side, alone[side], beside[side], lengths[side], [f"interval={interval}", f"long={long_tokens}"])


def with_long(thread, ask_short):
    thread.start()
    try:
        time.sleep(0.5)  # the long one is being computed when the first short one comes
        block = ask_short()
    except BaseException:  # also when the bench is told to end: a long one would hold it for a minute
        thread.leave()
        raise
    thread.finish()
    return block


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


def short_rows(stage, side, alone, beside, lengths, flags):
    quiet, busy = metrics_of(alone), metrics_of(beside)
    for metrics in (quiet, busy):
        del metrics["time"], metrics["rate"]  # the interval's, not the server's
    if lengths:
        busy["long"] = _frame.numbers(lengths, "ms")
    wanted = goal(stage.bench, 2) if side == "assay" else None
    busy["p95/p50 alone"] = ratio(percentiles(beside, 0.95), percentiles(alone, 0.5), wanted, at_least=False)
    stage.row(side, "short requests alone", quiet, flags)
    stage.row(side, "short beside long", busy, flags)
    stage.bench.show()
