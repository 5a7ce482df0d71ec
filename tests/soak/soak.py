#!/usr/bin/env python3
"""Same bits under load: soak.py [--model GGUF ...] [--requests N] [--seed S] [--clients C] [--distinct D]

Draws D different requests (lengths, questions, options, readouts and layouts mixed; many share states or questions),
asks each of them alone of a fresh server, and then sends N draws of them, shuffled, from C clients at once, some of
which hang up before the answer, to servers with prefix caches from none through thrashing to roomy. Compares each
reply's receipt (the bits of every score), its ids and its probabilities with what the request got alone.

Prints the seed and a line `N changed, N lost, N swapped, N cancelled of N` for each model; exit code 1 when any of the
first three is not 0. Without --model: the tiny models and the default one, as far as they are there.
"""

import argparse
import contextlib
import functools
import http.client
import json
import os
import queue
import random
import socket
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))
import harness

WORDS = ("card order refund parcel late broken invoice account password charge twice cancel renew upgrade plan "
         "delivery address phone email window door red green small large number question answer yes no never").split()
CACHES = (0, 384, 4096)  # tokens: none, thrashing, roomy
CANCEL_SHARE = 0.05


def text(rng, least, most):
    return " ".join(rng.choice(WORDS) for _ in range(rng.randint(least, most)))


def options(rng):
    count = rng.choice((1, 2, 3, 3, 4, 6, 12))
    ids = rng.sample([f"{word}_{i}" for i, word in enumerate(WORDS)], count)
    return [{"id": key, "description": text(rng, 1, 5)} if rng.random() < 0.7 else {"id": key} for key in ids]


def make_requests(rng, count, longest):
    """Bodies that share states and questions with each other, as real streams do."""
    states = [text(rng, 1, rng.choice((8, 40, longest))) for _ in range(max(4, count // 6))]
    asked = [(text(rng, 2, 10) + "?", options(rng)) for _ in range(max(4, count // 6))]
    bodies = []
    for number in range(count):
        state = rng.choice(states)
        parts = []
        for part in range(rng.choice((1, 1, 1, 2, 4))):
            question, choices = rng.choice(asked)
            parts.append({"id": f"r{number}.{part}", "state": state, "question": question, "options": choices})
        body = {"decision": parts[0]} if len(parts) == 1 else {"decisions": parts}
        body.update({"x_receipt": True, "x_readout": rng.choice(("letters", "text")),
                     "x_layout": rng.choice(("state_first", "question_first")),
                     "x_priority": rng.choice(("interactive", "bulk"))})
        bodies.append(json.dumps(body))
    return bodies


def ask(connection, body):
    connection.request("POST", "/v1/decide", body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    return response.status, response.read()


def digest(raw):
    """What must not change: ids, probabilities, tokens and the bits of all scores; not the times, and not the settings
    (the cache's size is one of them for recurrent models)."""
    reply = json.loads(raw)
    results = [reply["result"]] if "result" in reply else reply["results"]
    return [[result["id"], result["probabilities"]] for result in results], [reply["x_receipt"][part] for part in ("tokens", "scores")]


def hang_up(port, body):
    """Sends a request and leaves."""
    head = (f"POST /v1/decide HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(body)}\r\n\r\n")
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(head.encode() + body.encode())


class Client(threading.Thread):
    """Takes draws until there are none."""

    def __init__(self, port, draws, bodies, expected, seed):
        super().__init__()
        self.port, self.draws, self.bodies, self.expected = port, draws, bodies, expected
        self.rng = random.Random(seed)
        self.changed = self.lost = self.swapped = self.cancelled = 0
        self.examples = []

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        while True:
            try:
                number = self.draws.get_nowait()
            except queue.Empty:
                return
            if self.rng.random() < CANCEL_SHARE:
                hang_up(self.port, self.bodies[number])
                self.cancelled += 1
                continue
            try:
                status, raw = ask(connection, self.bodies[number])
            except (OSError, http.client.HTTPException) as error:
                status, raw = 0, str(error).encode()
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
            self.check(number, status, raw)

    def check(self, number, status, raw):
        if status != 200:
            self.lost += 1
            self.examples.append(f"request {number}: {status} {raw[:200]!r}")
            return
        got, wanted = digest(raw), self.expected[number]
        if got == wanted:
            return
        if [entry[0] for entry in got[0]] != [entry[0] for entry in wanted[0]]:
            self.swapped += 1
        else:
            self.changed += 1
            self.examples.append(f"request {number}: {self.bodies[number][:300]} got {got} not {wanted}"[:1500])


@contextlib.contextmanager
def running(model, *flags):
    server = harness.Server(model, *flags)
    try:
        yield server
    finally:
        server.stop()


def alone(model, bodies, flags):
    with running(model, *flags) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=600)
        expected = []
        for body in bodies:
            status, raw = ask(connection, body)
            if status != 200:
                raise RuntimeError(f"alone: {status} {raw[:300]!r}")
            expected.append(digest(raw))
        return expected


def soak(model, arguments, seed):
    """(changed, lost, swapped) of one model."""
    rng = random.Random(seed)
    flags = ("--threads", harness.THREADS, "--no-readout-check", "--queue-jobs-max", "1024")
    bodies = make_requests(rng, arguments.distinct, arguments.longest)
    started = time.monotonic()
    expected = alone(model, bodies, flags)
    totals = {"changed": 0, "lost": 0, "swapped": 0, "cancelled": 0}
    examples = []
    share = arguments.requests // len(CACHES)
    for cache in CACHES:
        draws = queue.Queue()
        for _ in range(share):
            draws.put(rng.randrange(len(bodies)))
        with running(model, *flags, "--cache-tokens", str(cache)) as server:
            clients = [Client(server.port, draws, bodies, expected, rng.random()) for _ in range(arguments.clients)]
            for client in clients:
                client.start()
            for client in clients:
                client.join()
        for client in clients:
            for name in totals:
                totals[name] += getattr(client, name)
            examples += client.examples
    for example in examples[:5]:
        print("  " + example)
    print(f"{os.path.basename(model)}: " + ", ".join(f"{count} {name}" for name, count in totals.items()) +
          f" of {share * len(CACHES)} requests ({len(bodies)} different, {arguments.clients} clients, caches "
          f"{', '.join(map(str, CACHES))} tokens, {time.monotonic() - started:.0f} s)", flush=True)
    return totals["changed"] + totals["lost"] + totals["swapped"]


def models(arguments):
    if arguments.model:
        return arguments.model
    found = []
    tiny = ("tiny-attention", "tiny-hybrid", "tiny-window", "tiny-experts")
    for find in (*(functools.partial(harness.tiny, name) for name in tiny), harness.default_model):
        try:
            found.append(find())
        except Exception as error:  # unittest.SkipTest says what is missing
            print(f"skipped: {error}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1])
    parser.add_argument("--model", action="append")
    parser.add_argument("--requests", type=int, default=10000)
    parser.add_argument("--distinct", type=int, default=200)
    parser.add_argument("--longest", type=int, default=150, help="words of the longest states")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seed", type=int, default=None)
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}", flush=True)
    found = models(arguments)
    wrong = sum(soak(model, arguments, seed) for model in found)
    return 1 if wrong or not found else 0


if __name__ == "__main__":
    sys.exit(main())
