// Front ends that stay with their threads over a deploy: one CopilotKit core, and an agent for each
// thread that connects, and connects again when its stream breaks, until the live run has ended.
//
// stdin:  {"runtimeUrl", "headers", "agent", "threads": [id], "addresses": {name: address},
//          "seconds": how long a thread may go without any event}
// stdout: one line "connected" when all are reading, then {"threads": {id: {"connects", "last",
//          "messages", "broken"}}, "refused", "console"}

import dns from "node:dns";
import { text } from "node:stream/consumers";

import { captureConsole } from "./recorder.mjs";

const scenario = JSON.parse(await text(process.stdin));
const { runtimeUrl, headers, addresses } = scenario;
const lines = captureConsole();
// Without a window the client takes itself for a server that renders, and connects to nothing.
globalThis.window = { location: new URL(runtimeUrl) };

// The stock client cancels the reader of a stream that broke, and handles no refusal of that. A
// browser writes it into its console; Node would end.
process.on("unhandledRejection", (error) => {
  if (error.message !== "terminated") throw error;
});

const lookup = dns.lookup;
dns.lookup = (name, options, done) => lookup(addresses[name] ?? name, options, done);

// A proxy that answers in the place of the host would end a stock client's stream for good.
const refused = [];
const wire = globalThis.fetch;
globalThis.fetch = async (url, init) => {
  const answer = await wire(url, init);
  if (!answer.ok) refused.push(`${answer.status} ${url}`);
  return answer;
};

const { CopilotKitCore } = await import("@copilotkit/core");
const core = new CopilotKitCore({ runtimeUrl, headers });
await new Promise((resolve) => {
  core.subscribe({
    onRuntimeConnectionStatusChanged: ({ status }) =>
      void (["connected", "error"].includes(status) && resolve()),
  });
});

const ENDS = ["RUN_FINISHED", "RUN_ERROR"];
let reading = 0;
const seen = await Promise.all(scenario.threads.map(stay));
process.stdout.write(
  JSON.stringify({ threads: Object.fromEntries(seen), refused, console: lines }),
  () => process.exit(0),
);

async function stay(threadId) {
  const agent = core.getAgent(scenario.agent).clone();
  agent.threadId = threadId;
  const found = { connects: 0, last: null, broken: [] };
  let heard = Date.now();
  agent.subscribe({
    onEvent: ({ event }) => {
      heard = Date.now();
      found.last = event.type;
      if (!found.reads) {
        found.reads = true;
        if (++reading === scenario.threads.length) process.stdout.write("connected\n");
      }
    },
    onRunFailed: ({ error }) => void found.broken.push(error.message),
  });
  while (!ENDS.includes(found.last) && Date.now() - heard < scenario.seconds * 1000) {
    if (found.connects++) await new Promise((resolve) => setTimeout(resolve, 250));
    found.last = null;
    await core.connectAgent({ agent }).catch((error) => found.broken.push(error.message));
  }
  const messages = agent.messages.filter(({ role }) => role === "assistant");
  return [threadId, { ...found, messages: messages.map(({ content }) => content) }];
}
