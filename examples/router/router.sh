#!/usr/bin/env bash
# A router: which of twelve tools should handle a user's message?
#
#   router.sh ["MESSAGE"]
#
# The server is ASSAY_BASE_URL's (http://127.0.0.1:8080), its key ASSAY_API_KEY's. curl asks; python3 only reads and
# writes JSON.
set -euo pipefail

server=${ASSAY_BASE_URL:-http://127.0.0.1:8080}
message=${1:-"My parcel was supposed to arrive on Monday. Where is it?"}
state=$(python3 -c 'import json, sys; print(json.dumps(sys.argv[1]))' "$message")

# Below the confidence of x_min_confidence the answer's choice is null: then we ask the user instead of guessing.
reply=$(curl --silent --show-error --fail-with-body "${server%/}/v1/systemone" --data-binary @- \
  -H 'Content-Type: application/json' -H "Authorization: Bearer ${ASSAY_API_KEY:-none}" <<END
{"model": "jev-latest", "state": $state, "questions": {"tool": {
  "type": "choice", "instructions": "What should be done?", "x_min_confidence": 0.5, "x_none_of_these": true,
  "criteria": {
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
    "play_music": "Play music"
  }}}}
END
) || { echo "no answer: $reply" >&2; exit 1; }

python3 -c '
import json, sys
answer = json.load(sys.stdin)["answers"]["tool"]
none = answer["probabilities"].pop("none_of_these")
ranked = sorted(answer["probabilities"].items(), key=lambda item: -item[1])
first, second = [f"{tool} ({probability:.2f})" for tool, probability in ranked[:2]]
if answer["choice"] is None:
    print(f"ask the user: {first} or {second}?")
elif answer["choice"] == "none_of_these":
    print(f"no tool fits ({none:.2f}); the nearest is {first}")
else:
    print(f"{first}; the runner-up is {second}")
' <<<"$reply"
