#!/usr/bin/env node
// A loop: act where the lesson says so, ask a person where it does not, and learn from what the person says.
//
//   feedback.mjs
//
// The server is ASSAY_BASE_URL's (http://127.0.0.1:8080), its key ASSAY_API_KEY's. It must know the lesson "wishes" and
// keep texts (README.md). Node 20 or later, nothing else.

const SERVER = process.env.ASSAY_BASE_URL ?? "http://127.0.0.1:8080";
const WISH = {
  type: "choice", instructions: "What does the customer want?", criteria: { refund: null, cancel: null, info: null },
};
// Messages of a day, each with what the person at the desk would say of it.
const MESSAGES = [
  ["You booked the same invoice twice.", "refund"],
  ["Do you deliver to Norway?", "info"],
  ["I am leaving the club in May.", "cancel"],
  ["My money has still not arrived after the return.", "refund"],
  ["I quit.", "cancel"],
  ["What does express cost?", "info"],
];

async function post(path, body) {
  const reply = await fetch(new URL(path, SERVER), {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${process.env.ASSAY_API_KEY ?? "none"}` },
    body: JSON.stringify(body),
  });
  if (!reply.ok) throw new Error(`${reply.status} ${await reply.text()}`);
  return reply.json();
}

try {
  for (const [message, right] of MESSAGES) {
    const reply = await post("/v1/systemone", { model: "jev-latest", state: message, questions: { q: WISH } });
    const answer = reply.answers.q;
    const [best, probability] = Object.entries(answer.probabilities).reduce((a, b) => (b[1] > a[1] ? b : a));
    const what = answer.x_decision === "act" ? "act" : "ask";
    console.log(`${what}  ${probability.toFixed(2)} ${best.padEnd(6)}  ${message}`);
    // The person decides what was not acted on, and looks over the rest. Said twice it counts once.
    await post("/v1/feedback", { decision_id: reply.x_decision_id ?? "none", option: right });
  }
  const { labels, accuracy } = await post("/v1/lessons/wishes/fit", {});
  console.log(
    `the next version knows ${labels} labels and is right about ${accuracy.toFixed(2)} of those it has not seen`);
} catch (error) {
  console.error(`no answer: ${error.cause?.message ?? error.message}`);
  process.exitCode = 1;
}
