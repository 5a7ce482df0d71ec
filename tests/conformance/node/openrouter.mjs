// @openrouter/sdk as its users write it: the same route, with answers and errors checked by the SDK's own schemas.
import { OpenRouter, HTTPClient } from "@openrouter/sdk";
import * as errors from "@openrouter/sdk/models/errors";

const golden = facts.golden;

function clientWith(more = {}) {
  const counting = countingFetch();
  const client = new OpenRouter({
    apiKey: facts.key ?? "any-key",
    serverURL: `${facts.url}/v1`,
    timeoutMs: facts.replySeconds * 1000,
    httpClient: new HTTPClient({ fetcher: counting }),
    retryConfig: { strategy: "none" },
    ...more,
  });
  return { client, counting };
}

const { client } = clientWith();

async function ask(decisionsRequest) {
  const data = await client.systemOne.create({ decisionsRequest });
  assert.ok(data.model);
  assert.ok(Number.isInteger(data.usage.inputTokens) && data.usage.inputTokens > 0);
  assert.ok(Number.isInteger(data.usage.outputTokens) && data.usage.outputTokens >= 0);
  assert.deepEqual(Object.keys(data.answers), Object.keys(decisionsRequest.questions));
  for (const [id, question] of Object.entries(decisionsRequest.questions)) checkAnswer(question, data.answers[id]);
  return data;
}

async function refusal(decisionsRequest, more) {
  const { client: own, counting } = clientWith(more);
  try {
    await own.systemOne.create({ decisionsRequest });
  } catch (error) {
    return { error, sent: counting.sent };
  }
  throw new assert.AssertionError({ message: "it was answered" });
}

test("G1 noul", async () => {
  const arrived = (await ask(golden.g1)).answers.arrived.noul;
  const missing = { ...golden.g1, state: "The parcel left the depot at noon and is still missing." };
  assert.ok((await ask(missing)).answers.arrived.noul < arrived);
});

test("G2 structured noul, both sides (the SDK sends no other)", async () => {
  const question = golden.g2.questions.exchange;
  const criteria = { ...question.criteria, false: ["wants money back", "wants a repair"] };
  await ask({ ...golden.g2, questions: { exchange: { ...question, criteria } } });
});

for (const name of ["g3", "g4"]) test(`${name.toUpperCase()}`, async () => void (await ask(golden[name])));

test("G5 three types and awkward ids", async () => {
  const { model, state, questions } = golden.g5;
  await ask({ model, state, questions });
});

test("the names by which OpenRouter knows the model", async () => {
  const own = (await ask(golden.g1)).model;
  for (const model of ["jev-latest", "jev-preview", own]) assert.equal((await ask({ ...golden.g1, model })).model, own);
});

test("fields that only OpenRouter has", async () => {
  const more = { user: "u-1", sessionId: "s-1", trace: { traceId: "t-1" }, provider: { allowFallbacks: false } };
  await ask({ ...golden.g1, ...more });
});

test("G8 an unknown model is one request and its typed error", async () => {
  const { error, sent } = await refusal(golden.g8);
  assert.ok(error instanceof errors.BadRequestResponseError, String(error));
  assert.equal(error.statusCode, 400);
  assert.equal(error.error.code, 400);
  assert.match(error.error.message, /no-such-model/);
  assert.equal(sent, 1);
});

test("G8 with the SDK's own retries it is one request, too", async () => {
  const { error, sent } = await refusal(golden.g8, { retryConfig: undefined });
  assert.ok(error instanceof errors.BadRequestResponseError, String(error));
  assert.equal(sent, 1);
});

test("G7 a body that fails validation is a 422 with what is wrong in it", async () => {
  const { error, sent } = await refusal({ ...golden.g1, questions: {} });
  assert.ok(error instanceof errors.OpenRouterError, String(error));
  assert.equal(error.statusCode, 422);
  assert.deepEqual(JSON.parse(error.body).detail[0].loc, ["body", "questions"]);
  assert.equal(sent, 1);
});

test("a state that is too long is its typed 413", async () => {
  const { error } = await refusal({ ...golden.g1, state: "word ".repeat(200_000) });
  assert.ok(error instanceof errors.PayloadTooLargeResponseError, String(error));
  assert.equal(error.error.code, 413);
});

if (facts.key) {
  test("G9 a wrong key is its typed 401", async () => {
    const { error, sent } = await refusal(golden.g1, { apiKey: "wrong" });
    assert.ok(error instanceof errors.UnauthorizedResponseError, String(error));
    assert.equal(error.error.code, 401);
    assert.equal(sent, 1);
  });
}

test("OpenRouter's own path", async () => {
  await clientWith({ serverURL: `${facts.url}/api/v1` }).client.systemOne.create({ decisionsRequest: golden.g1 });
});

test("another path is its typed 404", async () => {
  const { error } = await refusal(golden.g1, { serverURL: `${facts.url}/elsewhere` });
  assert.ok(error instanceof errors.NotFoundResponseError, String(error));
});

await runTests();
