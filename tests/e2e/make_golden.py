#!/usr/bin/env python3
"""Makes the stored values of the default model: tests/e2e/make_golden.py (writes tests/data/golden_default_model.jsonl)

Run it when the wording of a prompt or the default model has changed on purpose, on an otherwise idle machine, and look
at the differences before they are kept. test_golden.py compares against them.
"""

import json
import os
import sys

import harness

PATH = os.path.join(harness.ROOT, "tests", "data", "golden_default_model.jsonl")
INTENTS = [("refund", "Wants money back"), ("info", "Asks how something works"), ("cancel", "Wants to leave")]
DIARY = " ".join(f"On day {n} the harbour master counted {n * 37 % 101} ships, and the wind came from the "
                 f"{('north', 'east', 'south', 'west')[n % 4]}." for n in range(1, 61))


def requests():
    """(name, body), each with its readout named, so that the readout check's outcome does not matter."""
    choice = harness.decision(INTENTS)
    yes_no = harness.decision(["yes", "no"], "The box was wet and the lamp in it was broken.", "Was it damaged?")
    scale = harness.decision([str(n) for n in range(5)], "The whole site is down and nobody can pay.",
                             "How urgent is this, from 0 (can wait) to 4 (right now)?")
    ids = harness.decision(["access_denied", "access_expired", "access_revoked"],
                           "The badge was refused at the gate because its last day was in March.", "What happened?")
    order = {"total": 1e22, "items": [1.0, -0.5], "note": "naïve </b> 東京"}
    structured = harness.decision(["approve", "refuse"], order, "What happens to the order?")
    nested = harness.decision(["yes", "yes, but only after a manual review", "no"], "Paid, in stock, address unknown.",
                              "May it be shipped?")
    long = harness.decision(["north", "east", "south", "west"], DIARY, "Where did the wind come from on day 31?")
    many = harness.decision([f"shelf {n}" for n in range(1, 41)], "The blue folder lies on shelf 17.", "Which shelf?")
    for readout, asked in (("text", (("choice", choice), ("yes_no", yes_no), ("scale", scale), ("ids", ids),
                                     ("structured", structured), ("nested", nested), ("long", long))),
                           ("letters", (("choice", choice), ("yes_no", yes_no), ("scale", scale), ("long", long),
                                        ("many", many)))):
        for name, decision in asked:
            yield f"{readout} {name}", {"decision": decision, "x_readout": readout, "x_explain": True}


def values_of(result):
    """What is stored of a reply."""
    options = result["x_explain"]["options"]
    return {"readout": result["readout"], "prompt_version": result["prompt_version"],
            "prompt_sha256": result["prompt_sha256"], "input_tokens": result["input_tokens"],
            "log_probs": [round(option["log_prob"], 6) for option in options],
            "prior_log_probs": [round(option["prior_log_prob"], 6) for option in options]}


def cpu_code(server):
    """What decides about the last bits of a number, beside the model."""
    build = json.loads(harness.run("version", "--json").stdout)
    code = {key: build[key] for key in ("llama_version", "compiler", "cpu_features")}
    return dict(code, packing_unit=server.get("/v1/models").json()["data"][0]["meta"]["packing_unit"])


def main():
    server = harness.default_server()
    try:
        model = server.get("/v1/models").json()["data"][0]["meta"]["sha256"]
        with open(PATH, "w", encoding="utf-8") as file:
            file.write(json.dumps({"model_sha256": model, "cpu_code": cpu_code(server)}) + "\n")
            for name, body in requests():
                reply = server.post(body)
                if reply.status != 200:
                    sys.exit(f"make_golden: {name}: {reply}")
                entry = {"name": name, "body": body, "values": values_of(reply.json()["result"])}
                file.write(json.dumps(entry, ensure_ascii=False) + "\n")
                print(name, entry["values"]["log_probs"][:5])
    finally:
        server.stop()
    print(f"wrote {os.path.relpath(PATH, harness.ROOT)}")


if __name__ == "__main__":
    main()
