"""One workload's servers and requests: the same prompts, token for token, for Assay and for llama-server, and the check that they
were.

Assay renders prompts; llama-server gets token arrays. Their tokens are found without computing anything: Assay explains one small
decision of each form, that text with other states, questions and options put in is the prompt, and llama-server's /tokenize gives
its tokens. Every reply of Assay then carries the SHA-256 of the prompt that it used and its number of tokens: a block in which one
of them differs fails. The probabilities of both sides are compared too (`apart`: the greatest difference).
"""

import hashlib
import json

import _frame
import _load
import _servers

STATE, QUESTION, OPTION = "Zqstate", "Zqquestion", "Zqoption{}z"


class Case:
    """One decision with the prompt that Assay makes of it."""

    def __init__(self, decision, prompt, tokens, labels):
        self.decision = decision
        self.sha256 = hashlib.sha256(prompt.encode()).hexdigest()
        self.tokens = tokens
        self.labels = labels


def common_prefix(lists):
    """How many leading tokens all lists share."""
    first, last = min(lists), max(lists)
    for place, (one, other) in enumerate(zip(first, last)):
        if one != other:
            return place
    return min(len(first), len(last))


def saving(cases):
    """How many times fewer tokens have to be computed when the common prefix is computed once."""
    lists = [case.tokens for case in cases]
    shared = common_prefix(lists)
    return sum(map(len, lists)) / (shared + sum(len(tokens) - shared for tokens in lists))


def filled(form, decision):
    """The prompt of a decision, out of the prompt of the placeholders."""
    prompt = form.replace(STATE, decision["state"]).replace(QUESTION, decision["question"])
    for number, option in enumerate(decision["options"]):
        prompt = prompt.replace(OPTION.format(number), option["description"])
    return prompt


def assay_body(decisions, layout=None, readout="letters", **more):
    body = {"decision": decisions[0]} if len(decisions) == 1 else {"decisions": decisions}
    body.update(x_readout=readout, **more)
    if layout:
        body["x_layout"] = layout
    return body


def llama_body(case, cache):
    """Exact option probabilities from llama-server: the same bias on every label cancels in the softmax over them."""
    count = len(case.labels)
    return {"prompt": case.tokens, "n_predict": 1, "temperature": 1.0, "samplers": ["top_k"], "top_k": count,
            "logit_bias": [[label, 100] for label in case.labels], "n_probs": count, "post_sampling_probs": True,
            "cache_prompt": cache, "response_fields": ["completion_probabilities", "tokens_evaluated", "timings"]}


def encoded(value):
    return json.dumps(value, separators=(",", ":")).encode()


def assay_results(sent):
    reply = json.loads(sent.data)
    return [reply["result"]] if "result" in reply else reply["results"]


def number_in(reply, name):
    """The field `name` of a reply, of its timing or of its results together; None where the server has none."""
    for place in (reply, reply.get("timing") or {}):
        if name in place:
            return place[name]
    results = [reply["result"]] if "result" in reply else reply.get("results") or []
    values = [(result.get("timing") or result).get(name) for result in results]
    values = [value for value in values if value is not None]
    return sum(values) if values else None


def sum_in(block, name):
    values = [number_in(json.loads(one.data), name) for one in block.sent]
    return None if None in values else sum(values)


class Stage:
    """Assay and llama-server's configurations `llama`, started on one model; a context manager."""

    def __init__(self, bench, workload, model, llama=()):
        self.bench = bench
        self.workload = workload
        self.model = model
        self.servers = {}
        self._sides = llama
        self._forms = {}  # (layout, number of options): (prompt with placeholders, label tokens)
        self._probabilities = {}  # prompt's sha256: Assay's
        self.apart = None

    def __enter__(self):
        try:
            self.servers["assay"] = _servers.start_assay(self.model)
            for side in self._sides:
                self.servers[side] = _servers.start_llama(side, self.model)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        _servers.stop_all(self.servers.values())

    def say(self, text):
        self.bench.say(f"{self.workload}: {text}")

    # ---- prompts -------------------------------------------------------------------------------------------------

    def cases(self, decisions, layout=None):
        return [self._case(decision, layout) for decision in decisions]

    def _case(self, decision, layout):
        key = (layout, len(decision["options"]))
        if key not in self._forms:
            self._forms[key] = self._form(*key)
        form, labels = self._forms[key]
        prompt = filled(form, decision)
        return Case(decision, prompt, self._tokens(prompt), labels)

    def _form(self, layout, count):
        probe = {"id": "probe", "state": STATE, "question": QUESTION,
                 "options": [{"id": f"o{n}", "description": OPTION.format(n)} for n in range(count)]}
        status, reply = self.servers["assay"].call("POST", "/v1/decide", assay_body([probe], layout, x_explain=True))
        if status != 200:
            raise RuntimeError(f"assay answered {status} to the probe: {reply}")
        result = reply["result"]
        if result["readout"] != "letters":
            raise _frame.Skip(f"this model has too few label tokens for {count} options")
        explained = result["x_explain"]
        prompt = explained["prompt"]
        tokens = explained.get("token_ids") or explained.get("prompt_token_ids")
        if layout == "question_first" and prompt.index(QUESTION) > prompt.index(STATE):
            raise _frame.Skip("this server does not know x_layout")
        if self._tokens(prompt) != tokens:
            raise RuntimeError("assay and llama-server cut the same prompt into different tokens")
        return prompt, result["answer_token_ids"]

    def _tokens(self, prompt):
        server = next(server for side, server in self.servers.items() if side != "assay")
        status, reply = server.call("POST", "/tokenize", {"content": prompt, "add_special": False, "parse_special": True})
        if status != 200:
            raise RuntimeError(f"llama-server answered {status} to /tokenize: {reply}")
        return reply["tokens"]

    # ---- blocks --------------------------------------------------------------------------------------------------

    def block(self, side, path, values, clients, interval=0.0):
        """One measured stretch on one server; how much the others computed meanwhile is noted."""
        bodies = [encoded(value) for value in values]
        others = [server for name, server in self.servers.items() if name != side]
        before = sum(server.cpu_seconds() for server in others)
        block = _load.run(self.servers[side].port, path, bodies, clients, interval)
        block.others_cpu = sum(server.cpu_seconds() for server in others) - before
        if block.others_cpu > 0.02 * block.seconds + 0.05:
            self.say(f"the idle servers used {block.others_cpu:.2f} CPU s beside {side}'s block of {block.seconds:.2f} s")
        return block

    def assay(self, cases, clients=1, layout=None, together=False, interval=0.0):
        """The cases as one request of many decisions, or as requests of one each."""
        groups = [cases] if together else [[case] for case in cases]
        values = [assay_body([case.decision for case in group], layout) for group in groups]
        block = self.block("assay", "/v1/decide", values, clients, interval)
        for group, sent in zip(groups, block.sent):
            for case, result in zip(group, assay_results(sent)):
                self._check(case, result)
        block.cached = sum_in(block, "cached_tokens")
        block.computed = sum_in(block, "computed_rows")
        return block

    def _check(self, case, result):
        if (result["prompt_sha256"], result["input_tokens"]) != (case.sha256, len(case.tokens)):
            raise RuntimeError("assay used another prompt than llama-server was given")
        self._probabilities[case.sha256] = result["probabilities"]

    def llama(self, side, cases, clients=1, cache=True, interval=0.0):
        block = self.block(side, "/completion", [llama_body(case, cache) for case in cases], clients, interval)
        computed = 0
        for case, sent in zip(cases, block.sent):
            reply = json.loads(sent.data)
            if reply["tokens_evaluated"] != len(case.tokens):
                raise RuntimeError(f"{side} counted {reply['tokens_evaluated']} tokens of {len(case.tokens)}")
            computed += reply["timings"]["prompt_n"]
            self._compare(case, reply["completion_probabilities"][0]["top_probs"])
        block.computed = computed
        block.cached = sum(len(case.tokens) for case in cases) - computed
        return block

    def _compare(self, case, top):
        ours = self._probabilities.get(case.sha256)
        theirs = {entry["id"]: entry["prob"] for entry in top}
        if set(theirs) != set(case.labels):
            raise RuntimeError("llama-server named other tokens than the labels")
        if ours:
            worst = max(abs(one - theirs[label]) for one, label in zip(ours, case.labels))
            self.apart = max(self.apart or 0.0, worst)

    # ---- rows ----------------------------------------------------------------------------------------------------

    def row(self, side, title, metrics, flags=()):
        name = f"{self.workload}, {side}" + (f", {title}" if title else "")
        self.bench.row(name, metrics, [f"side={side}", *flags, *self.servers[side].flags], self.model)

    def add_apart(self, metrics):
        if self.apart is not None:
            metrics["apart"] = _frame.numbers([self.apart], "")


def metrics_of(blocks):
    """What every side's row has, over its repetitions."""
    metrics = {"time": _frame.numbers([block.seconds for block in blocks], "s"),
               "rate": _frame.numbers([len(block.sent) / block.seconds for block in blocks], "1/s")}
    for name, place in (("p50", 0.5), ("p95", 0.95), ("p99", 0.99)):
        metrics[name] = _frame.numbers([_frame.percentile(block.milliseconds, place) for block in blocks], "ms")
    for name in ("computed", "cached"):
        values = [getattr(block, name) for block in blocks]
        if None not in values:
            metrics[name] = _frame.numbers(values, "tokens")
    return metrics


def best_of(runs, cost):
    """The name of the runs with the least mean cost; `runs`: {name: [Block, ...]}, `cost`: Block -> number."""
    return min(runs, key=lambda name: sum(map(cost, runs[name])) / len(runs[name]))


def ratio(over, under, goal=None, at_least=True):
    """over/under for each repetition; a goal is stated beside it. `at_least` False: the ratio should stay under it."""
    values = [one / other for one, other in zip(over, under)]
    metric = _frame.numbers(values, "x")
    if goal is not None:
        mean = metric["mean"]
        metric.update(goal=f"{'>=' if at_least else '<='} {goal}", reached=mean >= goal if at_least else mean <= goal)
    return metric
