#!/usr/bin/env bash
# A loop: act where the lesson says so, ask a person where it does not, and learn from what the person says.
#
#   feedback.sh
#
# The server is ASSAY_BASE_URL's (http://127.0.0.1:8080), its key ASSAY_API_KEY's. It must know the lesson "wishes" and
# keep texts (README.md). curl asks; python3 only reads and writes JSON.
set -euo pipefail

server=${ASSAY_BASE_URL:-http://127.0.0.1:8080}

# post PATH: sends its input and prints the reply.
post() {
  local reply
  reply=$(curl --silent --show-error --fail-with-body "${server%/}$1" --data-binary @- \
    -H 'Content-Type: application/json' -H "Authorization: Bearer ${ASSAY_API_KEY:-none}") ||
    { echo "no answer: $reply" >&2; return 1; }
  echo "$reply"
}

# Messages of a day, each with what the person at the desk would say of it.
while IFS='|' read -r message right; do
  reply=$(post /v1/systemone <<END
{"model": "jev-latest", "state": "$message", "questions": {"q": {"type": "choice",
  "instructions": "What does the customer want?", "criteria": {"refund": null, "cancel": null, "info": null}}}}
END
  ) || exit 1
  python3 -c '
import json, sys
answer = json.load(sys.stdin)["answers"]["q"]
best = max(answer["probabilities"], key=answer["probabilities"].get)
what = "act" if answer.get("x_decision") == "act" else "ask"
probability = answer["probabilities"][best]
print(f"{what}  {probability:.2f} {best:<6}  {sys.argv[1]}")
' "$message" <<<"$reply"
  # The person decides what was not acted on, and looks over the rest. Said twice it counts once.
  python3 -c '
import json, sys
print(json.dumps({"decision_id": json.load(sys.stdin).get("x_decision_id", "none"), "option": sys.argv[1]}))
' "$right" <<<"$reply" | post /v1/feedback >/dev/null || exit 1
done <<END
You booked the same invoice twice.|refund
Do you deliver to Norway?|info
I am leaving the club in May.|cancel
My money has still not arrived after the return.|refund
I quit.|cancel
What does express cost?|info
END

lesson=$(post /v1/lessons/wishes/fit <<<'{}') || exit 1
python3 -c '
import json, sys
lesson = json.load(sys.stdin)
labels, accuracy = lesson["labels"], lesson["accuracy"]
print(f"the next version knows {labels} labels and is right about {accuracy:.2f} of those it has not seen")
' <<<"$lesson"
