#!/usr/bin/env bash
# A judge: how well does an answer answer its question, from 0 to 10?
#
#   judge.sh ["QUESTION" "ANSWER" ["ANSWER" ...]]
#
# The server is ASSAY_BASE_URL's (http://127.0.0.1:8080), its key ASSAY_API_KEY's. curl asks; python3 only reads and
# writes JSON.
set -euo pipefail

server=${ASSAY_BASE_URL:-http://127.0.0.1:8080}
if [ $# -lt 2 ]; then
  set -- "I cannot log in any more. What can I do?" \
    "Click on 'Forgot password' below the login form. You will get an email with a link to choose a new password. \
If it does not come, call us and we help you." \
    "Try again." \
    "I do not know."
fi

question=$1
shift
for answer in "$@"; do
  state=$(python3 -c 'import json, sys; print(json.dumps(f"Question: {sys.argv[1]}\nAnswer: {sys.argv[2]}"))' \
    "$question" "$answer")
  # Six levels stand for 0, 2, 4, 6, 8 and 10. Nobody waits for a mark: "bulk" lets those who wait go first.
  reply=$(curl --silent --show-error --fail-with-body "${server%/}/v1/systemone" --data-binary @- \
    -H 'Content-Type: application/json' -H "Authorization: Bearer ${ASSAY_API_KEY:-none}" <<END
{"model": "jev-latest", "state": $state, "x_priority": "bulk", "questions": {"mark": {
  "type": "score", "instructions": "How well does the answer answer the question?",
  "criteria": ["The answer is completely wrong", "The answer is mostly wrong", "The answer is partly wrong",
               "The answer is partly right", "The answer is mostly right", "The answer is completely right"]}}}
END
  ) || { echo "no answer: $reply" >&2; exit 1; }
  # The score is the mean level under the model's probabilities, from 0 to 5; twice that is 0 to 10.
  python3 -c '
import json, sys
mark = 2 * json.load(sys.stdin)["answers"]["mark"]["score"]
print(f"{mark:4.1f}  {sys.argv[1]}")' "$answer" <<<"$reply"
done
