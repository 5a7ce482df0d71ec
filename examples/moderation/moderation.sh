#!/usr/bin/env bash
# A moderation gate: each comment is published, shown to a person first, or blocked.
#
#   moderation.sh ["COMMENT" ...]
#
# The server is ASSAY_BASE_URL's (http://127.0.0.1:8080), its key ASSAY_API_KEY's. curl asks; python3 only reads and
# writes JSON.
set -euo pipefail

# All that is to be tuned, in one place. The thresholds belong to the question, its wording and the model.
allow_below=0.5
block_from=0.9
# Without an answer nothing is published unseen: the gate fails closed. "allow" would let it fail open.
without_answer=review

server=${ASSAY_BASE_URL:-http://127.0.0.1:8080}
if [ $# -eq 0 ]; then
  set -- "Have a nice day, and thanks for the quick help!" \
    "This product is terrible, it broke after two days." \
    "You are an idiot and I hope you lose your job." \
    "I will find out where you live and hurt you."
fi

# Prints the reply. While the server is busy (429, 503) curl waits as long as Retry-After says and tries again.
ask() {
  local state
  state=$(python3 -c 'import json, sys; print(json.dumps(sys.argv[1]))' "$1")
  curl --silent --show-error --fail --retry 3 --retry-max-time 30 "${server%/}/v1/systemone" --data-binary @- \
    -H 'Content-Type: application/json' -H "Authorization: Bearer ${ASSAY_API_KEY:-none}" <<END
{"model": "jev-latest", "state": $state, "questions": {"bad": {
  "type": "noul", "instructions": "Is this comment out of line?",
  "criteria": {"true": "It is an insult or a threat", "false": "It is harmless"}}}}
END
}

code=0
for comment in "$@"; do
  if reply=$(ask "$comment"); then
    python3 -c '
import json, sys
bad, allow_below, block_from = json.load(sys.stdin)["answers"]["bad"]["noul"], float(sys.argv[1]), float(sys.argv[2])
verdict = "allow" if bad < allow_below else "block" if bad >= block_from else "review"
print(f"{verdict:6}  {bad:.2f}  {sys.argv[3]}")' "$allow_below" "$block_from" "$comment" <<<"$reply"
  else
    printf '%-6s  ----  %s\n' "$without_answer" "$comment"
    code=1
  fi
done
exit $code
