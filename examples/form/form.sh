#!/usr/bin/env bash
# A form filler: eight questions on one letter, in one request. Where the model is not sure, the field stays empty.
#
#   form.sh [FILE]        FILE holds the letter
#
# The server is ASSAY_BASE_URL's (http://127.0.0.1:8080), its key ASSAY_API_KEY's. curl asks; python3 only reads and
# writes JSON.
set -euo pipefail

server=${ASSAY_BASE_URL:-http://127.0.0.1:8080}
letter="Dear hotel, we are two adults and a dog. We would like a quiet double room with breakfast from Friday to \
Sunday. We will come by train and arrive late in the evening. My wife is a vegetarian. We look forward to our stay!"
if [ $# -gt 0 ]; then letter=$(<"$1"); fi
state=$(python3 -c 'import json, sys; print(json.dumps(sys.argv[1]))' "$letter")

# x_min_confidence is asked of all questions here: below it a field stays empty, for a person to fill in.
reply=$(curl --silent --show-error --fail-with-body "${server%/}/v1/systemone" --data-binary @- \
  -H 'Content-Type: application/json' -H "Authorization: Bearer ${ASSAY_API_KEY:-none}" <<END
{"model": "jev-latest", "state": $state, "x_min_confidence": 0.5, "questions": {
  "room": {"type": "choice", "instructions": "Which room do the guests want?",
    "criteria": {"single": "single room", "double": "double room", "family": "family room", "suite": "suite"}},
  "travel": {"type": "choice", "instructions": "How do they come?",
    "criteria": {"train": "They come by train", "car": "They come by car", "plane": "They come by plane"}},
  "dog": {"type": "noul", "instructions": "Do they bring an animal?",
    "criteria": {"true": "They bring a dog", "false": "They bring no animal"}},
  "children": {"type": "noul", "instructions": "Do children come along?",
    "criteria": {"true": "Children come along", "false": "Only adults come"}},
  "diet": {"type": "noul", "instructions": "Does somebody need special food?",
    "criteria": {"true": "Somebody is vegetarian or has an allergy", "false": "Everybody eats everything"}},
  "nights": {"type": "score", "instructions": "How many nights do they stay?",
    "criteria": ["one night", "two nights", "three nights", "a week"]},
  "arrival": {"type": "score", "instructions": "When do they arrive?",
    "criteria": ["in the morning", "at noon", "in the evening"]},
  "occasion": {"type": "choice", "instructions": "What is the occasion of the trip?", "x_none_of_these": true,
    "criteria": {"holiday": "a holiday", "birthday": "a birthday", "wedding": "a wedding",
                 "business": "a business trip"}}
}}
END
) || { echo "no answer: $reply" >&2; exit 1; }

python3 -c '
import json, sys

def field(answer):
    value = answer[answer["type"]]  # null: it abstained
    if value is None or value == "none_of_these":
        return None
    if answer["type"] == "noul":
        return value > 0.5
    if answer["type"] == "score":
        return answer["legend"][max(answer["probabilities"], key=answer["probabilities"].get)]
    return value

reply = json.load(sys.stdin)
form = {name: field(answer) for name, answer in reply["answers"].items()}
print(json.dumps(form, indent=2, ensure_ascii=False))
empty = ", ".join(name for name, value in form.items() if value is None) or "none"
tokens = reply["usage"]["input_tokens"]
print(f"empty: {empty}; {tokens} input tokens, the letter counted once", file=sys.stderr)
' <<<"$reply"
