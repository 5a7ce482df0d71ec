#!/usr/bin/env node
// A form filler: eight questions on one letter, in one request. Where the model is not sure, the field stays empty.
//
//   form.mjs [FILE]        FILE holds the letter
//
// The server is ASSAY_BASE_URL's (http://127.0.0.1:8080), its key ASSAY_API_KEY's. Node 20 or later, nothing else.

import { readFileSync } from "node:fs";

const SERVER = process.env.ASSAY_BASE_URL ?? "http://127.0.0.1:8080";
const LETTER =
  "Dear hotel, we are two adults and a dog. We would like a quiet double room with breakfast from Friday to Sunday. " +
  "We will come by train and arrive late in the evening. My wife is a vegetarian. We look forward to our stay!";
const SURE = 0.5; // with less confidence than this a field stays empty, for a person to fill in

const choice = (instructions, criteria, more) => ({ type: "choice", instructions, criteria, ...more });
const yesNo = (instructions, yes, no) => ({ type: "noul", instructions, criteria: { true: yes, false: no } });
const score = (instructions, ...criteria) => ({ type: "score", instructions, criteria });
const FORM = {
  room: choice("Which room do the guests want?",
    { single: "single room", double: "double room", family: "family room", suite: "suite" }),
  travel: choice("How do they come?",
    { train: "They come by train", car: "They come by car", plane: "They come by plane" }),
  dog: yesNo("Do they bring an animal?", "They bring a dog", "They bring no animal"),
  children: yesNo("Do children come along?", "Children come along", "Only adults come"),
  diet: yesNo("Does somebody need special food?",
    "Somebody is vegetarian or has an allergy", "Everybody eats everything"),
  nights: score("How many nights do they stay?", "one night", "two nights", "three nights", "a week"),
  arrival: score("When do they arrive?", "in the morning", "at noon", "in the evening"),
  occasion: choice("What is the occasion of the trip?",
    { holiday: "a holiday", birthday: "a birthday", wedding: "a wedding", business: "a business trip" },
    { x_none_of_these: true }),
};

async function ask(body) {
  const reply = await fetch(new URL("/v1/systemone", SERVER), {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${process.env.ASSAY_API_KEY ?? "none"}` },
    body: JSON.stringify({ model: "jev-latest", ...body }),
  });
  if (!reply.ok) throw new Error(`${reply.status} ${await reply.text()}`);
  return reply.json();
}

// What goes into the form: an option's name, true or false, a level's words, or nothing.
function field(answer) {
  const value = answer[answer.type]; // null: it abstained
  if (value === null || value === "none_of_these") return null;
  if (answer.type === "noul") return value > 0.5;
  if (answer.type === "choice") return value;
  const [level] = Object.entries(answer.probabilities).reduce((best, next) => (next[1] > best[1] ? next : best));
  return answer.legend[level];
}

try {
  const letter = process.argv[2] ? readFileSync(process.argv[2], "utf8").trim() : LETTER;
  const reply = await ask({ state: letter, questions: FORM, x_min_confidence: SURE });
  const form = Object.fromEntries(Object.entries(reply.answers).map(([name, answer]) => [name, field(answer)]));
  console.log(JSON.stringify(form, null, 2));
  const empty = Object.keys(form).filter((name) => form[name] === null).join(", ") || "none";
  console.error(`empty: ${empty}; ${reply.usage.input_tokens} input tokens, the letter counted once`);
} catch (error) {
  console.error(`no answer: ${error.cause?.message ?? error.message}`);
  process.exitCode = 1;
}
