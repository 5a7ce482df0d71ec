#!/usr/bin/env python3
"""A loop: act where the lesson says so, ask a person where it does not, and learn from what the person says.

    feedback.py

The server is ASSAY_BASE_URL's (http://127.0.0.1:8080), its key ASSAY_API_KEY's. It must know the lesson "wishes" and keep
texts (README.md).
"""

import sys

import assay

QUESTION = "What does the customer want?"
WISHES = ["refund", "cancel", "info"]
# Messages of a day, each with what the person at the desk would say of it.
MESSAGES = [
    ("You booked the same invoice twice.", "refund"),
    ("Do you deliver to Norway?", "info"),
    ("I am leaving the club in May.", "cancel"),
    ("My money has still not arrived after the return.", "refund"),
    ("I quit.", "cancel"),
    ("What does express cost?", "info"),
]


def main() -> int:
    try:
        with assay.Client() as client:
            for message, right in MESSAGES:
                answer = client.decide(message, QUESTION, WISHES)
                what = "act" if answer.action == "act" else "ask"
                print(f"{what}  {answer.probability:.2f} {answer.best:<6}  {message}")
                # The person decides what was not acted on, and looks over the rest. Said twice it counts once.
                client.feedback(answer, right)
            lesson = client.lessons.fit("wishes")
    except (assay.AssayError, ValueError) as error:
        print(f"no answer: {error}", file=sys.stderr)
        return 1
    print(f"the next version knows {lesson['labels']} labels and is right about {lesson['accuracy']:.2f} of those "
          "it has not seen")
    return 0


if __name__ == "__main__":
    sys.exit(main())
