// @typesafe-ai/sdk as its users write it, on the golden pairs of the contract.
import * as sdk from "@typesafe-ai/sdk";

const { TypeSafeClient, noul, choice, score } = sdk;
const golden = facts.golden;

function clientWith(more = {}) {
  const counting = countingFetch();
  const client = new TypeSafeClient({
    apiKey: facts.key ?? "any-key",
    baseURL: facts.url,
    timeout: facts.replySeconds * 1000,
    fetch: counting,
    logLevel: "off",
    ...more,
  });
  return { client, counting };
}

const { client } = clientWith();
const { model, ...g1 } = golden.g1;

async function ask(request) {
  const { data, response, requestId } = await client.systemOne(request).withResponse();
  assert.equal(response.status, 200);
  assert.match(response.headers.get("content-type"), /^application\/json/);
  assert.ok(requestId, "x-typesafe-request-id");
  assert.ok(data.model);
  assert.ok(Number.isInteger(data.usage.input_tokens) && data.usage.input_tokens > 0);
  assert.ok(Number.isInteger(data.usage.output_tokens) && data.usage.output_tokens >= 0);
  assert.deepEqual(Object.keys(data.answers), Object.keys(request.questions));
  for (const [id, question] of Object.entries(request.questions)) checkAnswer(question, data.answers[id]);
  return data;
}

async function refusal(request, more) {
  const { client: own, counting } = clientWith(more);
  try {
    await own.systemOne(request);
  } catch (error) {
    return { error, sent: counting.sent };
  }
  throw new assert.AssertionError({ message: "it was answered" });
}

test("G1 noul, minimal, with the SDK's own model name", async () => {
  const arrived = (await ask(g1)).answers.arrived.noul;
  const missing = { ...g1, state: "The parcel left the depot at noon and is still missing." };
  assert.ok((await ask(missing)).answers.arrived.noul < arrived);
});

test("G2 structured and one-sided nouls", async () => {
  const question = golden.g2.questions.exchange;
  const state = golden.g2.state;
  for (const criteria of [question.criteria, { false: "wants something else" }, {}, null]) {
    await ask({ state, questions: { exchange: { ...question, criteria } } });
  }
  const { criteria, ...without } = question;
  await ask({ state, questions: { exchange: without } });
  await ask({ state, questions: { exchange: noul(null, criteria) } });
  await ask({ state, questions: { exchange: noul() } });
});

test("G3 choice with null descriptions and names that are not ASCII", async () => {
  const { queue } = golden.g3.questions;
  await ask({ state: golden.g3.state, questions: { queue: choice(queue.instructions, queue.criteria) } });
});

test("G4 score with a structured level", async () => {
  const { urgency } = golden.g4.questions;
  await ask({ state: golden.g4.state, questions: { urgency: score(urgency.instructions, urgency.criteria) } });
});

test("G5 three types, awkward ids, unknown fields", async () => {
  await ask(golden.g5);
});

test("G6 choice with 255 options, and 400 for 256", async () => {
  const shelves = (count) => {
    const criteria = { "lost property": "things that somebody left behind" };
    for (let i = 1; i < count; i += 1) {
      const number = String(i).padStart(3, "0");
      criteria[`shelf ${number}`] = `items stored on shelf ${number}`;
    }
    return { state: golden.g6_state, questions: { where: choice("Where does it go?", criteria) } };
  };
  const data = await ask(shelves(255));
  assert.equal(Object.keys(data.answers.where.probabilities).length, 255);
  const { error, sent } = await refusal(shelves(256));
  assert.ok(error instanceof sdk.BadRequestError, String(error));
  assert.equal(sent, 1);
  assert.equal(typeof error.body.detail.error_type, "string");
  assert.equal(typeof error.body.detail.message, "string");
});

test("G7 a body that fails validation", async () => {
  // The SDK would not send G7 itself: it looks at score criteria first.
  const { error, sent } = await refusal({ questions: { a: golden.g7.questions.a } });
  assert.ok(error instanceof sdk.UnprocessableEntityError, String(error));
  assert.equal(error.status, 422);
  assert.equal(sent, 1);
  assert.match(error.message, /state: /);
  assert.ok(error.requestId);
  const noOptions = await refusal({ state: "x", questions: { q: choice("Which?", {}) } });
  assert.ok(noOptions.error instanceof sdk.UnprocessableEntityError, String(noOptions.error));
  assert.match(noOptions.error.message, /questions\.q\.choice\.criteria: /);
});

test("G8 an unknown model is one request and a BadRequestError", async () => {
  const { error, sent } = await refusal(golden.g8);
  assert.ok(error instanceof sdk.BadRequestError, String(error));
  assert.equal(sent, 1);
  assert.equal(error.body.detail.error_type, "api_usage_error");
  assert.match(error.message, /no-such-model/);
  assert.ok(error.requestId);
});

test("G8 every name of the model gives the same model", async () => {
  const own = (await ask(g1)).model;
  for (const name of ["jev-latest", "jev-preview", own]) assert.equal((await ask({ ...g1, model: name })).model, own);
});

if (facts.key) {
  test("G9 a wrong key is an AuthenticationError, before the body is looked at", async () => {
    for (const body of [g1, { questions: golden.g1.questions }]) {
      const { error, sent } = await refusal(body, { apiKey: "wrong" });
      assert.ok(error instanceof sdk.AuthenticationError, String(error));
      assert.equal(sent, 1);
      assert.equal(error.body.detail.error_type, "authentication_error");
    }
    await assert.rejects(clientWith({ apiKey: "wrong" }).client.models.list(), sdk.AuthenticationError);
  });
} else {
  test("G9 without a key in the server any key is good", async () => {
    await clientWith({ apiKey: "whatever" }).client.systemOne(g1);
  });
}

test("G10 models", async () => {
  const models = await client.models.list();
  assert.ok(models.length >= 2);
  assert.equal(new Set(models.map((model) => model.name)).size, models.length);
  for (const entry of models) {
    for (const name of ["name", "description", "release_date"]) assert.equal(typeof entry[name], "string");
    assert.match(entry.release_date, /^\d{4}-\d\d-\d\d$/);
    await ask({ ...g1, model: entry.name });
  }
});

test("another path is a NotFoundError", async () => {
  const { error, sent } = await refusal(g1, { baseURL: `${facts.url}/elsewhere` });
  assert.ok(error instanceof sdk.NotFoundError, String(error));
  assert.equal(sent, 1);
});

test("a state that is too long is one request and a 413", async () => {
  const { error, sent } = await refusal({ ...g1, state: "word ".repeat(200_000) });
  assert.equal(error.status, 413, String(error));
  assert.equal(sent, 1);
  assert.equal(error.body.detail.error_type, "tokens_exceeded");
});

test("a base URL may end in a slash", async () => {
  await clientWith({ baseURL: `${facts.url}/` }).client.systemOne(g1);
});

await runTests();
