#!/usr/bin/env python3
"""A router: which of twelve tools should handle a user's message?

    router.py ["MESSAGE"]

The server is ASSAY_BASE_URL's (http://127.0.0.1:8080), its key ASSAY_API_KEY's.
"""

import sys

import assay

MESSAGE = "My parcel was supposed to arrive on Monday. Where is it?"
SURE = 0.5  # with less confidence than this we ask the user instead of guessing
TOOLS = {
    "refund": "Give money back for a purchase",
    "order_status": "Find out where a parcel is",
    "cancel_order": "Cancel an order before it ships",
    "change_address": "Change a delivery address",
    "reset_password": "Reset a forgotten password",
    "book_appointment": "Book an appointment",
    "weather": "Tell the weather forecast",
    "translate": "Translate a text into another language",
    "calculator": "Calculate with numbers",
    "web_search": "Search the web",
    "set_reminder": "Set a reminder for later",
    "play_music": "Play music",
}


def main() -> int:
    message = sys.argv[1] if len(sys.argv) > 1 else MESSAGE
    try:
        answer = assay.decide(message, "What should be done?", TOOLS, min_confidence=SURE, none_of_these=True)
    except assay.AssayError as error:
        print(f"no answer: {error}", file=sys.stderr)
        return 1

    none = answer.probabilities["none_of_these"]
    ranked = sorted(TOOLS, key=lambda tool: -answer.probabilities[tool])
    first, second = [f"{tool} ({answer.probabilities[tool]:.2f})" for tool in ranked[:2]]
    if answer.abstained:
        print(f"ask the user: {first} or {second}?")
    elif answer.choice == "none_of_these":
        print(f"no tool fits ({none:.2f}); the nearest is {first}")
    else:
        print(f"{first}; the runner-up is {second}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
