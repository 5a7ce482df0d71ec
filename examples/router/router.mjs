#!/usr/bin/env node
// A router: which of twelve tools should handle a user's message?
//
//   router.mjs ["MESSAGE"]
//
// The server is ASSAY_BASE_URL's (http://127.0.0.1:8080), its key ASSAY_API_KEY's. Node 20 or later, nothing else.

const SERVER = process.env.ASSAY_BASE_URL ?? "http://127.0.0.1:8080";
const MESSAGE = "My parcel was supposed to arrive on Monday. Where is it?";
const SURE = 0.5; // with less confidence than this we ask the user instead of guessing
const TOOLS = {
  refund: "Give money back for a purchase",
  order_status: "Find out where a parcel is",
  cancel_order: "Cancel an order before it ships",
  change_address: "Change a delivery address",
  reset_password: "Reset a forgotten password",
  book_appointment: "Book an appointment",
  weather: "Tell the weather forecast",
  translate: "Translate a text into another language",
  calculator: "Calculate with numbers",
  web_search: "Search the web",
  set_reminder: "Set a reminder for later",
  play_music: "Play music",
};

async function ask(state, questions) {
  const reply = await fetch(new URL("/v1/systemone", SERVER), {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${process.env.ASSAY_API_KEY ?? "none"}` },
    body: JSON.stringify({ model: "jev-latest", state, questions }),
  });
  if (!reply.ok) throw new Error(`${reply.status} ${await reply.text()}`);
  return (await reply.json()).answers;
}

try {
  const { tool } = await ask(process.argv[2] ?? MESSAGE, {
    tool: {
      type: "choice", instructions: "What should be done?", criteria: TOOLS,
      x_min_confidence: SURE, x_none_of_these: true,
    },
  });
  const { none_of_these: none, ...tools } = tool.probabilities;
  const [first, second] = Object.entries(tools)
    .sort((a, b) => b[1] - a[1])
    .map(([name, probability]) => `${name} (${probability.toFixed(2)})`);
  if (tool.choice === null) console.log(`ask the user: ${first} or ${second}?`);
  else if (tool.choice === "none_of_these") console.log(`no tool fits (${none.toFixed(2)}); the nearest is ${first}`);
  else console.log(`${first}; the runner-up is ${second}`);
} catch (error) {
  console.error(`no answer: ${error.cause?.message ?? error.message}`);
  process.exitCode = 1;
}
