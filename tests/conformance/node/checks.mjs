// What the Node scripts share: facts, a list of tests with one line each, and the checks of replies. part.py puts this
// in front of a script; the last line of the script is `await runTests()`.
import assert from "node:assert/strict";

const facts = JSON.parse(process.env.FACTS);
const tests = [];
const test = (name, run) => tests.push({ name, run });
const skip = (name, reason) => tests.push({ name, reason });

async function runTests() {
  for (const { name, run, reason } of tests) {
    if (reason) {
      console.log(`skip ${name}: ${reason}`);
      continue;
    }
    try {
      await run();
      console.log(`ok ${name}`);
    } catch (error) {
      console.log(`not ok ${name}: ${String(error?.stack ?? error).replaceAll("\n", "\n    ")}`);
    }
  }
  console.log("done");
}

// A fetch that counts the requests that a client really sends.
function countingFetch() {
  const counting = async (input, init) => {
    counting.sent += 1;
    return fetch(input, init);
  };
  counting.sent = 0;
  return counting;
}

function checkDistribution(probabilities, keys) {
  assert.deepEqual(Object.keys(probabilities), keys);
  const values = Object.values(probabilities);
  for (const value of values) assert.ok(Number.isFinite(value) && value >= 0 && value <= 1, `probability ${value}`);
  const sum = values.reduce((total, value) => total + value, 0);
  assert.ok(Math.abs(sum - 1) <= 1e-6, `they sum to ${sum}`);
  return values;
}

const near = (one, other, what) => assert.ok(Math.abs(one - other) <= 1e-6, `${what}: ${one}, not ${other}`);

// How far the most probable stands above guessing.
function peak(values) {
  const n = values.length;
  return n === 1 ? 1 : (Math.max(...values) - 1 / n) / (1 - 1 / n);
}

// How near the levels are to the most probable one.
function distance(values) {
  const n = values.length;
  if (n === 1) return 1;
  const mode = values.indexOf(Math.max(...values));
  const spread = values.reduce((total, value, i) => total + value * Math.abs(i - mode), 0);
  const even = values.reduce((total, _, i) => total + Math.abs(i - (n - 1) / 2), 0) / n;
  return Math.max(0, 1 - spread / even);
}

const fieldsOf = (answer) => Object.keys(answer).filter((name) => !name.startsWith("x_")).sort();

function checkAnswer(question, answer) {
  assert.equal(answer.type, question.type);
  if (question.type === "noul") {
    assert.deepEqual(fieldsOf(answer), ["noul", "type"]);
    assert.ok(answer.noul >= 0 && answer.noul <= 1);
  } else if (question.type === "choice") {
    assert.deepEqual(fieldsOf(answer), ["choice", "confidence", "probabilities", "type"]);
    const values = checkDistribution(answer.probabilities, Object.keys(question.criteria));
    assert.equal(answer.probabilities[answer.choice], Math.max(...values));
    near(answer.confidence, peak(values), "confidence");
  } else {
    assert.deepEqual(fieldsOf(answer), ["confidence", "legend", "probabilities", "score", "type"]);
    const levels = question.criteria.map((_, i) => String(i));
    const values = checkDistribution(answer.probabilities, levels);
    assert.deepEqual(Object.keys(answer.legend), levels);
    question.criteria.forEach((level, i) => assert.deepEqual(answer.legend[i], level));
    near(answer.score, values.reduce((total, value, i) => total + i * value, 0), "score");
    near(answer.confidence, distance(values), "confidence");
  }
}
