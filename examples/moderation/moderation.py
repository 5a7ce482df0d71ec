#!/usr/bin/env python3
"""A moderation gate: each comment is published, shown to a person first, or blocked.

    moderation.py ["COMMENT" ...]

The server is ASSAY_BASE_URL's (http://127.0.0.1:8080), its key ASSAY_API_KEY's.
"""

import sys

import assay

COMMENTS = [
    "Have a nice day, and thanks for the quick help!",
    "This product is terrible, it broke after two days.",
    "You are an idiot and I hope you lose your job.",
    "I will find out where you live and hurt you.",
]
QUESTION = assay.YesNo("Is this comment out of line?", yes="It is an insult or a threat", no="It is harmless")

# All that is to be tuned, in one place. The thresholds belong to the question, its wording and the model.
ALLOW_BELOW = 0.5
BLOCK_FROM = 0.9
# Without an answer nothing is published unseen: the gate fails closed. "allow" would let it fail open.
WITHOUT_ANSWER = "review"


def verdict(bad: float) -> str:
    if bad < ALLOW_BELOW:
        return "allow"
    return "block" if bad >= BLOCK_FROM else "review"


def main() -> int:
    comments = sys.argv[1:] or COMMENTS
    # While the server is busy (429, 503) the client waits as long as Retry-After says and tries again.
    with assay.Client(retry=assay.Retry(tries=4)) as client:
        answers = client.map(comments, QUESTION, errors="return")
    for comment, answer in zip(comments, answers):
        if isinstance(answer, assay.AssayError):
            print(f"{WITHOUT_ANSWER:6}  ----  {comment}")
            print(f"no answer: {answer}", file=sys.stderr)
        else:
            print(f"{verdict(answer.probability):6}  {answer.probability:.2f}  {comment}")
    return 1 if any(isinstance(answer, assay.AssayError) for answer in answers) else 0


if __name__ == "__main__":
    sys.exit(main())
