#!/usr/bin/env node
// A judge: how well does an answer answer its question, from 0 to 10?
//
//   judge.mjs ["QUESTION" "ANSWER" ["ANSWER" ...]]
//
// The server is ASSAY_BASE_URL's (http://127.0.0.1:8080), its key ASSAY_API_KEY's. Node 20 or later, nothing else.

const SERVER = process.env.ASSAY_BASE_URL ?? "http://127.0.0.1:8080";
const QUESTION = "I cannot log in any more. What can I do?";
const ANSWERS = [
  "Click on 'Forgot password' below the login form. You will get an email with a link to choose a new password. " +
    "If it does not come, call us and we help you.",
  "Try again.",
  "I do not know.",
];
// Six levels stand for 0, 2, 4, 6, 8 and 10. The score is their mean under the model's probabilities, so it takes every
// value in between, too.
const RUBRIC = {
  type: "score",
  instructions: "How well does the answer answer the question?",
  criteria: [
    "The answer is completely wrong",
    "The answer is mostly wrong",
    "The answer is partly wrong",
    "The answer is partly right",
    "The answer is mostly right",
    "The answer is completely right",
  ],
};

async function ask(body) {
  const reply = await fetch(new URL("/v1/systemone", SERVER), {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${process.env.ASSAY_API_KEY ?? "none"}` },
    body: JSON.stringify({ model: "jev-latest", ...body }),
  });
  if (!reply.ok) throw new Error(`${reply.status} ${await reply.text()}`);
  return (await reply.json()).answers;
}

try {
  const [question, ...answers] = process.argv.length > 3 ? process.argv.slice(2) : [QUESTION, ...ANSWERS];
  for (const answer of answers) {
    // Nobody waits for a mark: bulk lets those who wait for an answer of theirs go first.
    const state = `Question: ${question}\nAnswer: ${answer}`;
    const { mark } = await ask({ state, questions: { mark: RUBRIC }, x_priority: "bulk" });
    const share = mark.score / (RUBRIC.criteria.length - 1);
    console.log(`${(10 * share).toFixed(1).padStart(4)}  ${answer}`);
  }
} catch (error) {
  console.error(`no answer: ${error.cause?.message ?? error.message}`);
  process.exitCode = 1;
}
