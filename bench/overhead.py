"""What a request costs besides the model: HTTP, JSON, prompts, the queue and the engine thread, on a fake model.

  ping, 1 client       GET /ping over one kept-alive connection: the floor of HTTP and of this client
  ping, 16 clients     the same over 16 connections at once
  decide, 1 client     POST /v1/decide, one short question with three options
  decide, 16 clients   the same over 16 connections at once: they wait for one engine thread
  in process           without sockets (bench/routes_bench.cc): the whole of Routes::handle(), and the shares of its
                       parts: parse, plan, queue, reply, ping

p50, p95 and mean are of the whole round trip as the client sees it; `besides` is the mean of round trip less what the
reply says about waiting and computing, so it holds the client's own work too (an interpreter's, about 0.2 ms, and
with 16 clients they share one interpreter). --quick: 300 requests instead of 2000, 2 repetitions instead of 5.
"""

import http.client
import json
import os
import subprocess
import threading
import time

import _frame

SERVER = os.path.join(os.path.dirname(_frame.BINARY), "overhead_server")
ROUTES = os.path.join(os.path.dirname(_frame.BINARY), "routes_bench")
BODY = json.dumps({"decision": {"id": "t1", "state": "My card was charged twice.", "question": "What is wanted?",
                                "options": [{"id": "refund"}, {"id": "info"}, {"id": "cancel"}]}}).encode()
PARTS = ("Parse", "Plan", "Queue", "Reply", "Ping")


class Client(threading.Thread):
    """One kept-alive connection that sends the same request `count` times."""

    def __init__(self, port, method, path, body, count):
        super().__init__()
        self.target = (port, method, path, body)
        self.count = count
        self.wall_ms = []
        self.besides_ms = []
        self.error = None

    def run(self):
        try:
            self.send_all()
        except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
            self.error = error

    def send_all(self):
        port, method, path, body = self.target
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        headers = {"Content-Type": "application/json"} if body else {}
        for _ in range(self.count):
            began = time.perf_counter()
            connection.request(method, path, body, headers)
            reply = connection.getresponse()
            data = reply.read()
            wall_ms = (time.perf_counter() - began) * 1e3
            if reply.status != 200:
                raise ValueError(f"{path} answered {reply.status}: {data[:200]!r}")
            self.wall_ms.append(wall_ms)
            inside_ms = json.loads(data)["result"]["total_seconds"] * 1e3 if body else 0
            self.besides_ms.append(wall_ms - inside_ms)
        connection.close()


def round_trips(port, method, path, body, clients, count):
    """(all round trips, all round trips less waiting and computing, requests a second)"""
    threads = [Client(port, method, path, body, count // clients) for _ in range(clients)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    for thread in threads:
        if thread.error:
            raise RuntimeError(str(thread.error))
    wall = [ms for thread in threads for ms in thread.wall_ms]
    return wall, [ms for thread in threads for ms in thread.besides_ms], len(wall) / seconds


def measure(bench, port, method, path, body, clients):
    count = 304 if bench.quick else 2000
    repetitions = bench.times(5, 2)
    name = f"{path.rsplit('/', 1)[1]}, {clients} client{'s' if clients > 1 else ''}"
    bench.say(f"{name}, {repetitions} times {count} requests")
    round_trips(port, method, path, body, clients, count // 4)  # warms up
    runs = [round_trips(port, method, path, body, clients, count) for _ in range(repetitions)]
    metrics = {"p50": _frame.numbers([_frame.percentile(wall, 0.5) for wall, _, _ in runs], "ms"),
               "p95": _frame.numbers([_frame.percentile(wall, 0.95) for wall, _, _ in runs], "ms"),
               "mean": _frame.numbers([sum(wall) / len(wall) for wall, _, _ in runs], "ms"),
               "rate": _frame.numbers([rate for _, _, rate in runs], "1/s")}
    if body:
        metrics["besides"] = _frame.numbers([sum(rest) / len(rest) for _, rest, _ in runs], "ms")
    bench.row(name, metrics, [f"clients={clients}", f"requests={count}"])


def over_http(bench):
    server = subprocess.Popen([SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        address = server.stdout.readline().strip()
        if not address:
            raise RuntimeError("overhead_server did not start")
        port = int(address.rsplit(":", 1)[1])
        for method, path, body in (("GET", "/ping", None), ("POST", "/v1/decide", BODY)):
            for clients in (1, 16):
                measure(bench, port, method, path, body, clients)
    finally:
        server.stdin.close()
        if server.wait(timeout=60) != 0:
            bench.say(f"overhead_server ended with {server.returncode}")


def in_process(bench):
    repetitions = bench.times(5, 2)
    bench.say(f"in process, {repetitions} times")
    command = [ROUTES, "--benchmark_format=json", f"--benchmark_repetitions={repetitions}",
               f"--benchmark_min_time={0.05 if bench.quick else 0.5}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"routes_bench ended with {done.returncode}")
    samples = {}
    for entry in json.loads(done.stdout)["benchmarks"]:
        if entry.get("run_type") != "iteration":
            continue
        if entry.get("error_occurred"):
            raise RuntimeError(f"{entry['name']}: {entry['error_message']}")
        samples.setdefault(entry["run_name"].split("/")[0], []).append(entry["real_time"] / 1e6)
    whole = sum(samples["Handle"]) / len(samples["Handle"])
    for name, milliseconds in samples.items():
        metrics = {"mean": _frame.numbers(milliseconds, "ms")}
        if name in PARTS:
            metrics["share"] = _frame.numbers([ms / whole * 100 for ms in milliseconds], "%")
        bench.row(f"in process, {name.lower()}", metrics, command[2:])


def run(bench):
    if not os.path.exists(SERVER) or not os.path.exists(ROUTES):
        raise _frame.Skip("no overhead_server and routes_bench beside the binary: run make build")
    over_http(bench)
    in_process(bench)
