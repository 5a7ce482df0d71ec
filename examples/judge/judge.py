#!/usr/bin/env python3
"""A judge: how well does an answer answer its question, from 0 to 10?

    judge.py ["QUESTION" "ANSWER" ["ANSWER" ...]]

The server is ASSAY_BASE_URL's (http://127.0.0.1:8080), its key ASSAY_API_KEY's.
"""

import sys

import assay

QUESTION = "I cannot log in any more. What can I do?"
ANSWERS = [
    "Click on 'Forgot password' below the login form. You will get an email with a link to choose a new password. "
    "If it does not come, call us and we help you.",
    "Try again.",
    "I do not know.",
]
# Six levels stand for 0, 2, 4, 6, 8 and 10. The score is their mean under the model's probabilities, so it takes every
# value in between, too.
RUBRIC = assay.Score("How well does the answer answer the question?", [
    "The answer is completely wrong",
    "The answer is mostly wrong",
    "The answer is partly wrong",
    "The answer is partly right",
    "The answer is mostly right",
    "The answer is completely right",
])


def main() -> int:
    question, *answers = sys.argv[1:] if len(sys.argv) > 2 else [QUESTION, *ANSWERS]
    try:
        with assay.Client() as client:
            # Nobody waits for a mark: bulk lets those who wait for an answer of theirs go first.
            states = [f"Question: {question}\nAnswer: {answer}" for answer in answers]
            marks = client.map(states, RUBRIC, priority="bulk")
    except assay.AssayError as error:
        print(f"no answer: {error}", file=sys.stderr)
        return 1
    for mark, answer in zip(marks, answers):
        print(f"{10 * mark.share:4.1f}  {answer}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
