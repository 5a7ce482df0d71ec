"""What the rules for equal bits cost where our kernels make them needless (docs/determinism.md): the same requests with both.

  21 questions    one request: two options, about 40 tokens each, on a new state of 1,000 tokens
  short requests  one at a time: 12 tokens of state, four options, about 125 tokens with the prompt's own

Two servers on one model: `free` with the rules that the trial at its start found, `padded` with those of ggml's attention (decodes of
64 rows or more and of a multiple of 32, padded with rows that nobody asked for). Sides take turns. `padded/free`: above 1 is what
the kernels save. Skips where the trial finds that the rules are needed.
"""

import json
import os
import tempfile

import _frame
import _load
import _servers
import _stage
import _words

PADDED = {"rows_min": 64, "rows_multiple": 32, "outputs_min": 32, "outputs_multiple": 32, "short_decodes": False}


def start(side, folder):
    # The start check stays on: it is what reads the record.
    return _servers.Server(side, [_frame.BINARY, "serve", _frame.MODEL],
                           ["--threads", _servers.THREADS, "--check-dir", folder], "/ping")


def records(folder):
    """Two folders with a check record each: as the trial leaves it, and with the padded rules."""
    free, padded = (os.path.join(folder, name) for name in ("free", "padded"))
    os.makedirs(free)
    os.makedirs(padded)
    start("free", free).stop()
    name = os.path.basename(_frame.MODEL) + ".assay.json"
    with open(os.path.join(free, name), encoding="utf-8") as file:
        record = json.load(file)
    if not record["bits_same"] or record["rows_min"] > 2:
        raise _frame.Skip("here the rules are needed: " + record["bits_note"])
    with open(os.path.join(padded, name), "w", encoding="utf-8") as file:
        json.dump(dict(record, **PADDED), file)
    return {"free": free, "padded": padded}


def questions(source):
    state = _words.text(source, 1000)
    return [_stage.assay_body([_words.decision(f"q{number}", state, _words.text(source, 8), _words.options(source, 2, 1))
                               for number in range(21)])]


def short_ones(source):
    return [_stage.assay_body([_words.decision(f"d{number}", _words.text(source, 12), _words.text(source, 8),
                                               _words.options(source, 4, 1))]) for number in range(20)]


def measure(bench, servers, title, bodies_of):
    times = {side: [] for side in servers}
    for repetition in range(bench.times(7, 2)):
        bodies = [_stage.encoded(body) for body in bodies_of(_words.source("padding", title, repetition))]
        replies = {}
        for side, server in servers.items():
            block = _load.run(server.port, "/v1/decide", bodies, 1)
            times[side].append(1000 * block.seconds / len(bodies))
            replies[side] = [[result["probabilities"] for result in _stage.assay_results(sent)] for sent in block.sent]
        if replies["free"] != replies["padded"]:
            raise RuntimeError("the two servers answered differently")
    metrics = {side: _frame.numbers(values, "ms") for side, values in times.items()}
    metrics["padded/free"] = _stage.ratio(times["padded"], times["free"])
    bench.row(title, metrics, [f"--threads {_servers.THREADS}"], _frame.MODEL)


def run(bench):
    for path in (_frame.BINARY, _frame.MODEL):
        if not os.path.exists(path):
            raise _frame.Skip(f"no {os.path.basename(path)}: make build")
    with tempfile.TemporaryDirectory() as folder:
        servers = {}
        try:
            for side, place in records(folder).items():
                servers[side] = start(side, place)
            measure(bench, servers, "21 questions", questions)
            measure(bench, servers, "short requests", short_ones)
        finally:
            _servers.stop_all(servers.values())
