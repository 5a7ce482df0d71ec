"""Chat and decisions beside each other on one server and one set of weights.

  decisions alone      short decisions, five a second, one after the other's time has come: p50 and p95
  chat alone           one chat that streams, over its first 1,500 tokens: tokens a second, before any decision and after some
  chat and decisions   both at once, and their ratios to what each has alone
  llama-server         the same chat from llama-server of the same tree, in turns with ours; ours after decisions over it

Decisions are due at fixed times and their latency counts from then, so a server that falls behind cannot hide it. --quick: one repetition
of 5 s, and 300 tokens, instead of three of 15 s.
"""

import http.client
import json
import os
import threading
import time

import _frame
import _servers

PER_SECOND = 5
BODY = {"decision": {"id": "t1", "state": "My card was charged twice for the same order and I want the second payment back.",
                     "question": "What does the customer want?",
                     "options": [{"id": "refund", "description": "Wants money back"},
                                 {"id": "info", "description": "Asks how something works"}]}}
CHAT = {"messages": [{"role": "user", "content": "Tell a long story about a lighthouse."}], "stream": True,
        "max_tokens": 100000, "ignore_eos": True, "cache_prompt": False}
CONTEXT = ["-c", "8192"]


def decisions(port, seconds):
    """Latencies in ms of decisions that are due five times a second."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    latencies = []
    start = time.perf_counter()
    for number in range(int(seconds * PER_SECOND)):
        due = start + number / PER_SECOND
        time.sleep(max(0.0, due - time.perf_counter()))
        body = json.loads(json.dumps(BODY))
        body["decision"]["state"] += f" Order {number}."  # none is in a cache
        connection.request("POST", "/v1/decide", json.dumps(body).encode(), {"Content-Type": "application/json"})
        reply = connection.getresponse()
        data = reply.read()
        if reply.status != 200:
            raise RuntimeError(f"a decision was answered {reply.status}: {data[:200]!r}")
        latencies.append((time.perf_counter() - due) * 1e3)
    connection.close()
    return latencies


class Chat(threading.Thread):
    """One streaming chat; counts the tokens that come between begin() and end()."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.tokens = 0
        self.flowing = threading.Event()
        self.leave = threading.Event()

    def run(self):
        self.connection.request("POST", "/v1/chat/completions", json.dumps(CHAT).encode(), {"Content-Type": "application/json"})
        reply = self.connection.getresponse()
        for line in reply:
            if line.startswith(b"data: {"):
                self.tokens += 1
                self.flowing.set()
            if self.leave.is_set():
                break
        reply.close()
        self.connection.close()

    def rate_while(self, work):
        """What `work` gives, and tokens a second while it ran."""
        if not self.flowing.wait(60):
            raise RuntimeError("the chat sent nothing")
        before, began = self.tokens, time.perf_counter()
        result = work()
        return result, (self.tokens - before) / (time.perf_counter() - began)

    def stop(self):
        self.leave.set()
        self.join(60)


def chat_while(port, work):
    chat = Chat(port)
    chat.start()
    try:
        return chat.rate_while(work)
    finally:
        chat.stop()


def chat_alone_rate(port, tokens):
    """Tokens a second of a chat of so many, from its first to its last."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("POST", "/v1/chat/completions", json.dumps(dict(CHAT, max_tokens=tokens)).encode(),
                       {"Content-Type": "application/json"})
    times = [time.perf_counter() for line in connection.getresponse() if line.startswith(b"data: {")]
    connection.close()
    return (len(times) - 1) / (times[-1] - times[0])


def start_assay():
    return _servers.Server("assay", [_frame.BINARY, "serve", _frame.MODEL], ["--no-readout-check", *CONTEXT], "/health")


def start_llama():
    return _servers.Server("llama-server", [_servers.LLAMA_SERVER, "-m", _frame.MODEL], ["-t", _servers.THREADS, *CONTEXT], "/health")


def run(bench):
    if not os.path.exists(_servers.LLAMA_SERVER):
        raise _frame.Skip("no bin/llama-server beside the binary: cmake --build build/release --target llama-server")
    seconds, tokens = (5, 300) if bench.quick else (15, 1500)
    alone, chat_first, chat_alone, beside, chat_beside, llama = [], [], [], [], [], []
    for repetition in range(bench.times(3, 1)):
        bench.say(f"chat_mix, repetition {repetition + 1}")
        server = start_assay()
        try:
            chat_first.append(chat_alone_rate(server.port, tokens))
            decisions(server.port, 1)  # priors and prefixes
            alone.append(decisions(server.port, seconds))
            chat_alone.append(chat_alone_rate(server.port, tokens))
            latencies, rate = chat_while(server.port, lambda: decisions(server.port, seconds))
            beside.append(latencies)
            chat_beside.append(rate)
        finally:
            server.stop()
        server = start_llama()
        try:
            llama.append(chat_alone_rate(server.port, tokens))
        finally:
            server.stop()
    flags = ["--no-readout-check", *CONTEXT, f"{PER_SECOND} decisions a second", f"{tokens} tokens"]

    def latency(runs):
        return {"p50": _frame.numbers([_frame.percentile(run, 0.5) for run in runs], "ms"),
                "p95": _frame.numbers([_frame.percentile(run, 0.95) for run in runs], "ms")}

    bench.row("decisions alone", latency(alone), flags, _frame.MODEL)
    bench.row("chat alone", {"before any decision": _frame.numbers(chat_first, "tokens/s"),
                             "after decisions": _frame.numbers(chat_alone, "tokens/s")}, flags, _frame.MODEL)
    both = {**latency(beside), "rate": _frame.numbers(chat_beside, "tokens/s")}
    both["p95 to alone"] = _frame.numbers([_frame.percentile(b, 0.95) / _frame.percentile(a, 0.95)
                                           for a, b in zip(alone, beside)], "")
    both["rate to alone"] = _frame.numbers([b / a for a, b in zip(chat_alone, chat_beside)], "")
    bench.row("chat and decisions", both, flags, _frame.MODEL)
    bench.row("llama-server", {"rate": _frame.numbers(llama, "tokens/s"),
                               "ours over it": _frame.numbers([a / b for a, b in zip(chat_alone, llama)], "")}, CONTEXT, _frame.MODEL)
