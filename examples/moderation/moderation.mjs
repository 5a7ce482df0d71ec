#!/usr/bin/env node
// A moderation gate: each comment is published, shown to a person first, or blocked.
//
//   moderation.mjs ["COMMENT" ...]
//
// The server is ASSAY_BASE_URL's (http://127.0.0.1:8080), its key ASSAY_API_KEY's. Node 20 or later, nothing else.

import { setTimeout as sleep } from "node:timers/promises";

const SERVER = process.env.ASSAY_BASE_URL ?? "http://127.0.0.1:8080";
const COMMENTS = [
  "Have a nice day, and thanks for the quick help!",
  "This product is terrible, it broke after two days.",
  "You are an idiot and I hope you lose your job.",
  "I will find out where you live and hurt you.",
];
const QUESTION = {
  type: "noul",
  instructions: "Is this comment out of line?",
  criteria: { true: "It is an insult or a threat", false: "It is harmless" },
};

// All that is to be tuned, in one place. The thresholds belong to the question, its wording and the model.
const ALLOW_BELOW = 0.5;
const BLOCK_FROM = 0.9;
// Without an answer nothing is published unseen: the gate fails closed. "allow" would let it fail open.
const WITHOUT_ANSWER = "review";
const TRIES = 4;
const WAIT_SECONDS_MAX = 10;

// While the server is busy (429, 503) this waits as long as Retry-After says and tries again.
async function ask(state, questions) {
  for (let left = TRIES - 1; ; left--) {
    const reply = await fetch(new URL("/v1/systemone", SERVER), {
      method: "POST",
      headers: { "Content-Type": "application/json", Authorization: `Bearer ${process.env.ASSAY_API_KEY ?? "none"}` },
      body: JSON.stringify({ model: "jev-latest", state, questions }),
    });
    if (reply.ok) return (await reply.json()).answers;
    const text = await reply.text();
    if ((reply.status !== 429 && reply.status !== 503) || left === 0) throw new Error(`${reply.status} ${text}`);
    await sleep(1000 * Math.min(Number(reply.headers.get("retry-after") ?? 1), WAIT_SECONDS_MAX));
  }
}

function verdict(bad) {
  if (bad < ALLOW_BELOW) return "allow";
  return bad >= BLOCK_FROM ? "block" : "review";
}

for (const comment of process.argv.length > 2 ? process.argv.slice(2) : COMMENTS) {
  try {
    const { bad } = await ask(comment, { bad: QUESTION });
    console.log(`${verdict(bad.noul).padEnd(6)}  ${bad.noul.toFixed(2)}  ${comment}`);
  } catch (error) {
    console.log(`${WITHOUT_ANSWER.padEnd(6)}  ----  ${comment}`);
    console.error(`no answer: ${error.cause?.message ?? error.message}`);
    process.exitCode = 1;
  }
}
