// Judges streams with the stock clients of AG-UI 0.x: what each makes of the bytes of an answer.
//
// stdin:  one JSON per line: {"client": an alias of package.json, "body": server-sent events}
// stdout: one JSON per line: {"error", "types", "messages", "state", "said"}

import { createInterface } from "node:readline";

import { captureConsole } from "./recorder.mjs";

const lines = captureConsole();
let body = "";
globalThis.fetch = async () =>
  new Response(body, { headers: { "content-type": "text/event-stream" } });

for await (const line of createInterface({ input: process.stdin })) {
  lines.length = 0;
  const { client, ...rest } = JSON.parse(line);
  body = rest.body;
  const { HttpAgent } = await import(client);
  const agent = new HttpAgent({ url: "http://127.0.0.1/", threadId: "thread" });
  const types = [];
  let error = null;
  try {
    await agent.runAgent({}, { onEvent: ({ event }) => void types.push(event.type) });
  } catch (refusal) {
    error = refusal.message;
  }
  const { messages, state } = agent;
  process.stdout.write(`${JSON.stringify({ error, types, messages, state, said: lines })}\n`);
}
