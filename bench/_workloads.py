"""The workloads of bench/engine.py in which all requests are at hand when the clock starts: 1 to 6, 9 and 10."""

import _frame
import _words
from _stage import Stage, assay_body, assay_results, best_of, metrics_of, ratio, saving, sum_in


def seconds(block):
    return block.seconds


def rates(blocks):
    return [len(block.sent) / block.seconds for block in blocks]


def percentiles(blocks, place):
    return [_frame.percentile(block.milliseconds, place) for block in blocks]


def goal(bench, number):
    """Goals are for measurements; a look has none."""
    return None if bench.quick else number


# ---- 1 and 6: many questions on one state -------------------------------------------------------------------------


def questions_on_one_state(seed, count, state_tokens):
    """Two options and a few words: about 40 tokens behind the state, most of them the prompt's own JSON."""
    source = _words.source(*seed)
    state = _words.text(source, state_tokens)
    return [_words.decision(f"q{number}", state, _words.text(source, 8), _words.options(source, 2, 1))
            for number in range(count)]


def together(stage, modes, sides, counts, repetitions):
    """{"assay": blocks, "SIDE, MODE": blocks} of repetitions, interleaved. `modes`: {name: (clients, cache)}. Assay, the
    fresh modes and the first mode share a state; each later cached one has its own, so that no block finds what another left."""
    count, state_tokens = counts
    runs = {"assay": []}
    limits = []
    for repetition in range(repetitions):
        seed = (stage.workload, repetition)
        cases = stage.cases(questions_on_one_state(seed, count, state_tokens))
        limits.append(saving(cases))
        stage.say(f"repetition {repetition + 1} of {repetitions}, {count} questions on {state_tokens} tokens")
        runs["assay"].append(stage.assay(cases, together=True))
        for mode, (clients, cache) in modes.items():
            asked = cases
            if cache and mode != next(iter(modes)):
                asked = stage.cases(questions_on_one_state((*seed, mode), count, state_tokens))
            for side in sides:
                block = stage.llama(side, asked, clients, cache)
                runs.setdefault(f"{side}, {mode}", []).append(block)
    return runs, limits


def together_rows(stage, runs, limits, count, against):
    """`against`: {metric: (word in a mode's name, goal)}"""
    metrics = metrics_of(runs["assay"])
    metrics["decisions"] = _frame.numbers([count / block.seconds for block in runs["assay"]], "1/s")
    metrics["saving"] = _frame.numbers(limits, "x")
    best = {}
    for name, (word, wanted) in against.items():
        best[name] = best_of({key: blocks for key, blocks in runs.items() if key != "assay" and word in key}, seconds)
        metrics[name] = ratio(map(seconds, runs[best[name]]), map(seconds, runs["assay"]), goal(stage.bench, wanted))
    stage.add_apart(metrics)
    stage.row("assay", f"{count} questions in one request", metrics,
              ["readout=letters"] + [f"{name}: against {key}" for name, key in best.items()])
    for key, blocks in runs.items():
        if key != "assay":
            side, mode = key.split(", ", 1)
            metrics = metrics_of(blocks)
            metrics["decisions"] = metrics["rate"]
            stage.row(side, mode, metrics, ["cache_prompt=" + str("fresh" not in mode).lower()])


def many_questions(bench, workload, model):
    """1"""
    count, state_tokens = (4, 200) if bench.quick else (21, 1000)
    modes = {"fresh, 1 at once": (1, False), "fresh, 8 at once": (8, False),
             "cached, 1 at once": (1, True), "cached, 8 at once": (8, True)}
    sides = ("np 8",) if bench.quick else ("np 8", "defaults")
    with Stage(bench, workload, model, sides) as stage:
        runs, limits = together(stage, modes, sides, (count, state_tokens), bench.times(3, 1))
        together_rows(stage, runs, limits, count, {"fresh/assay": ("fresh", 10), "cached/assay": ("cached", 1.2)})


def hybrid_questions(bench, workload, model):
    """6"""
    count, state_tokens = (2, 100) if bench.quick else (8, 1000)
    modes = {"cached, 1 at once": (1, True), "cached, 8 at once": (8, True)}
    sides = ("np 8", "defaults")
    with Stage(bench, workload, model, sides) as stage:
        runs, limits = together(stage, modes, sides, (count, state_tokens), bench.times(2, 1))
        together_rows(stage, runs, limits, count, {"best/assay": ("", 2.5)})


# ---- 2, 4, 5 and 10: requests of one decision at a fixed concurrency ----------------------------------------------


def same_requests(stage, sides, decisions_of, clients, repetitions, layout=None):
    """{side: blocks}: in each repetition every side gets the same new requests, one side after the other."""
    runs = {side: [] for side in ("assay", *sides)}
    for repetition in range(repetitions):
        cases = stage.cases(decisions_of(repetition), layout)
        tokens = sum(len(case.tokens) for case in cases)
        stage.say(f"repetition {repetition + 1} of {repetitions}, {len(cases)} requests, {tokens} prompt tokens, {clients} at once")
        runs["assay"].append(stage.assay(cases, clients, layout))
        for side in sides:
            runs[side].append(stage.llama(side, cases, clients))
    return runs


def same_requests_rows(stage, runs, title, clients, ratios):
    """`ratios`: {metric: (values of a side's blocks, "rate" or "time", goal)}: for a rate assay/best, the higher the better; for
    a time assay/best, the lower the better."""
    theirs = {side: blocks for side, blocks in runs.items() if side != "assay"}
    for side, blocks in runs.items():
        metrics = metrics_of(blocks)
        flags = [f"clients={clients}"]
        if side == "assay":
            for name, (values, kind, wanted) in ratios.items():
                sign = -1 if kind == "rate" else 1
                best = min(theirs, key=lambda other: sign * sum(values(theirs[other])))
                metrics[name] = ratio(values(blocks), values(theirs[best]), goal(stage.bench, wanted), at_least=kind == "rate")
                flags.append(f"{name}: against {best}")
            stage.add_apart(metrics)
        stage.row(side, title, metrics, flags)


def rate_and_tail(goal_rate, goal_tail):
    return {"rate/best": (rates, "rate", goal_rate), "p95/best": (lambda blocks: percentiles(blocks, 0.95), "time", goal_tail)}


def zipf_rubrics(bench, workload, model):
    """2"""
    count, kinds, clients = (6, 3, 4) if bench.quick else (128, 50, 16)
    sides = ("np 8",) if bench.quick else ("np 8", "np 16", "defaults")

    def decisions_of(repetition):
        source = _words.source(workload, repetition)
        # 300 tokens: a question of 120 and four options of 30 with the JSON around them.
        rubrics = [(_words.text(source, 120), _words.options(source, 4, 30)) for _ in range(kinds)]
        return [_words.decision(f"d{number}", _words.text(source, 80), *rubrics[kind])
                for number, kind in enumerate(_words.zipf(source, kinds, count))]

    with Stage(bench, workload, model, sides) as stage:
        stage.say(f"seed {_words.SEED}, {kinds} rubrics by Zipf's law")
        runs = same_requests(stage, sides, decisions_of, clients, bench.times(3, 1), "question_first")
        same_requests_rows(stage, runs, f"{kinds} rubrics", clients, rate_and_tail(2, 1))


def short_decision(source, number, state_tokens, options=4):
    return _words.decision(f"d{number}", _words.text(source, state_tokens), _words.text(source, 8),
                           _words.options(source, options, 1))


def cold_prompts(bench, workload, model):
    """4"""
    count, clients = (4, 2) if bench.quick else (32, 16)
    longest = 120 if bench.quick else 685
    sides = ("np 8",) if bench.quick else ("np 8", "np 16", "defaults")

    def decisions_of(repetition):
        source = _words.source(workload, repetition)
        # About 115 tokens stand around a state: 200 to 800 in all.
        return [short_decision(source, number, source.randint(88, longest)) for number in range(count)]

    with Stage(bench, workload, model, sides) as stage:
        runs = same_requests(stage, sides, decisions_of, clients, bench.times(3, 1))
        same_requests_rows(stage, runs, "cold prompts", clients, rate_and_tail(1.0, None))


def one_at_a_time(bench, workload, model):
    """5"""
    count = 4 if bench.quick else 40
    sides = ("np 8",) if bench.quick else ("np 8", "defaults")

    def decisions_of(repetition):
        source = _words.source(workload, repetition)
        return [short_decision(source, number, 12) for number in range(count)]

    with Stage(bench, workload, model, sides) as stage:
        runs = same_requests(stage, sides, decisions_of, 1, bench.times(5, 1))
        same_requests_rows(stage, runs, "one short request at a time", 1,
                           {"p50/best": (lambda blocks: percentiles(blocks, 0.5), "time", 1.0)})


def sweep(bench, workload, model):
    """10"""
    levels = (1, 4) if bench.quick else (1, 2, 4, 8, 16)
    sides = ("np 8",) if bench.quick else ("np 8", "np 16", "defaults")
    with Stage(bench, workload, model, sides) as stage:
        for clients in levels:
            count = 4 if bench.quick else max(24, 2 * clients)

            def decisions_of(repetition, clients=clients, count=count):
                source = _words.source(workload, clients, repetition)
                return [short_decision(source, number, 12) for number in range(count)]

            stage.apart = None
            runs = same_requests(stage, sides, decisions_of, clients, bench.times(3, 1))
            same_requests_rows(stage, runs, f"{clients} clients", clients, rate_and_tail(None, None))


# ---- 3: text, many options ----------------------------------------------------------------------------------------


def text_stream(bench, workload, model):
    """3"""
    count, options, sides = (3, 8, ("np 8",)) if bench.quick else (12, 77, ("np 8", "defaults"))
    with Stage(bench, workload, model, sides) as stage:
        runs = {}
        for repetition in range(bench.times(3, 1)):
            stage.say(f"repetition {repetition + 1}, {count} states on one rubric of {options} options")
            source = _words.source(workload, repetition)
            question, choices = _words.text(source, 12), _words.options(source, options, 3)
            decisions = [_words.decision(f"d{number}", _words.text(source, 80), question, choices) for number in range(count)]
            cases = stage.cases(decisions)
            runs.setdefault("assay, text", []).append(text_block(stage, decisions))
            runs.setdefault("assay, letters", []).append(stage.assay(cases))
            for side in sides:
                runs.setdefault(f"{side}, letters", []).append(stage.llama(side, cases))
        text_rows(stage, runs)


def text_block(stage, decisions):
    block = stage.block("assay", "/v1/decide", [assay_body([decision], readout="text") for decision in decisions], 1)
    if any(assay_results(sent)[0]["readout"] != "text" for sent in block.sent):
        raise RuntimeError("assay answered by another readout than text")
    block.cached, block.computed = sum_in(block, "cached_tokens"), sum_in(block, "computed_rows")
    return block


def text_rows(stage, runs):
    def later(key):
        return [_frame.percentile(block.milliseconds[1:], 0.5) for block in runs[key]]

    letters = [key for key in runs if key not in ("assay, text", "assay, letters")]
    best = min(letters, key=lambda key: sum(later(key)))
    for key, blocks in runs.items():
        metrics = metrics_of(blocks)
        metrics["first"] = _frame.numbers([block.milliseconds[0] for block in blocks], "ms")
        metrics["later p50"] = _frame.numbers(later(key), "ms")
        flags = []
        if key == "assay, text":
            # What the priors cost, once: the first request of a rubric against the later ones.
            metrics["first/later"] = ratio([block.milliseconds[0] for block in blocks], later(key))
            metrics["text/letters"] = ratio(later(key), later("assay, letters"))
            metrics["text/best"] = ratio(later(key), later(best))
            flags = [f"text/best: against {best}"]
            stage.add_apart(metrics)
        side, title = key.split(", ", 1)
        stage.row(side, title, metrics, flags)


# ---- 9: the prefix cache, cold and warm ---------------------------------------------------------------------------


def repeated(source, count):
    return [short_decision(source, 0, 370)] * count


def one_state(source, count):
    state = _words.text(source, 1000)
    return [_words.decision(f"d{number}", state, _words.text(source, 8), _words.options(source, 2, 1)) for number in range(count)]


def one_rubric(source, count):
    question, choices = _words.text(source, 120), _words.options(source, 4, 30)
    return [_words.decision(f"d{number}", _words.text(source, 80), question, choices) for number in range(count)]


def cache_rows(bench, workload, model):
    """9"""
    count = 3 if bench.quick else 9
    sides = ("np 8",) if bench.quick else ("np 8", "defaults")
    kinds = {"a repeated request": (repeated, None), "questions on one state, one by one": (one_state, None),
             "states on one rubric": (one_rubric, "question_first")}
    with Stage(bench, workload, model, sides) as stage:
        for title, (make, layout) in kinds.items():
            try:
                runs = {side: [] for side in ("assay", *sides)}
                stage.apart = None
                for repetition in range(bench.times(3, 1)):
                    stage.say(f"{title}, repetition {repetition + 1}")
                    cases = stage.cases(make(_words.source(workload, title, repetition), count), layout)
                    runs["assay"].append(stage.assay(cases, 1, layout))
                    for side in sides:
                        runs[side].append(stage.llama(side, cases))
                cold_and_warm(stage, title, runs)
            except _frame.Skip as skip:
                stage.say(f"{title}: skipped: {skip}")


def cold_and_warm(stage, title, runs):
    """The first request of each repetition meets a cold cache, the others a warm one."""
    def warm(side):
        return [_frame.percentile(block.milliseconds[1:], 0.5) for block in runs[side]]

    best = min((side for side in runs if side != "assay"), key=lambda side: sum(warm(side)))
    for side, blocks in runs.items():
        cold = [block.milliseconds[0] for block in blocks]
        metrics = {"cold": _frame.numbers(cold, "ms"), "warm p50": _frame.numbers(warm(side), "ms"),
                   "cold/warm": ratio(cold, warm(side))}
        metrics.update((name, metric) for name, metric in metrics_of(blocks).items() if name in ("computed", "cached"))
        flags = []
        if side == "assay":
            metrics["best/assay"] = ratio(warm(best), warm("assay"))
            flags = [f"best/assay: warm, against {best}"]
            stage.add_apart(metrics)
        stage.row(side, title, metrics, flags)
