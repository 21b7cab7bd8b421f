// Judges streams with the stock clients of AG-UI 0.x: what each makes of the bytes of an answer.
//
// stdin:  one JSON per line: {"client": an alias of package.json, "body": server-sent events}
// stdout: one JSON per line: {"error", "types", "messages", "state", "said"}

import { answerAll } from "./cases.mjs";
import { captureConsole } from "./recorder.mjs";

const lines = captureConsole();
let body = "";
globalThis.fetch = async () =>
  new Response(body, { headers: { "content-type": "text/event-stream" } });

await answerAll(async ({ client, body: given }) => {
  lines.length = 0;
  body = given;
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
  return { error, types, messages, state, said: lines };
});
