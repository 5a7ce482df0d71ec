#!/usr/bin/env python3
"""A form filler: eight questions on one letter, in one request. Where the model is not sure, the field stays empty.

    form.py [FILE]        FILE holds the letter

The server is ASSAY_BASE_URL's (http://127.0.0.1:8080), its key ASSAY_API_KEY's.
"""

import json
import pathlib
import sys

import assay
from assay import Choice, Score, YesNo

LETTER = (
    "Dear hotel, we are two adults and a dog. We would like a quiet double room with breakfast from Friday to Sunday. "
    "We will come by train and arrive late in the evening. My wife is a vegetarian. We look forward to our stay!"
)
SURE = 0.5  # with less confidence than this a field stays empty, for a person to fill in
FORM = {
    "room": Choice("Which room do the guests want?",
                   {"single": "single room", "double": "double room", "family": "family room", "suite": "suite"}),
    "travel": Choice("How do they come?", {"train": "They come by train", "car": "They come by car",
                                           "plane": "They come by plane"}),
    "dog": YesNo("Do they bring an animal?", yes="They bring a dog", no="They bring no animal"),
    "children": YesNo("Do children come along?", yes="Children come along", no="Only adults come"),
    "diet": YesNo("Does somebody need special food?", yes="Somebody is vegetarian or has an allergy",
                  no="Everybody eats everything"),
    "nights": Score("How many nights do they stay?", ["one night", "two nights", "three nights", "a week"]),
    "arrival": Score("When do they arrive?", ["in the morning", "at noon", "in the evening"]),
    "occasion": Choice("What is the occasion of the trip?", {"holiday": "a holiday", "birthday": "a birthday",
                                                             "wedding": "a wedding", "business": "a business trip"},
                       none_of_these=True),
}


def field(answer: assay.Answer) -> object:
    """What goes into the form: an option's name, true or false, a level's words, or nothing."""
    if answer.abstained:
        return None
    if isinstance(answer, assay.YesNoAnswer):
        return answer.yes
    if isinstance(answer, assay.ScoreAnswer):
        return answer.legend[answer.best]
    return None if answer.choice == "none_of_these" else answer.choice


def main() -> int:
    letter = pathlib.Path(sys.argv[1]).read_text().strip() if len(sys.argv) > 1 else LETTER
    try:
        with assay.Client() as client:
            reply = client.ask(letter, FORM, extra={"x_min_confidence": SURE})
    except assay.AssayError as error:
        print(f"no answer: {error}", file=sys.stderr)
        return 1
    form = {name: field(answer) for name, answer in reply.items()}
    print(json.dumps(form, indent=2, ensure_ascii=False))
    empty = ", ".join(name for name, value in form.items() if value is None) or "none"
    print(f"empty: {empty}; {reply.usage.input_tokens} input tokens, the letter counted once", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
