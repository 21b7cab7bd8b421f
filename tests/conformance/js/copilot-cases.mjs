// CopilotKit's stock core against a host, all cases in one process.
//
// stdin:  {"runtimeUrl", "headers", "thread": prefix of all threads' ids}
// stdout: {case: what came of it}, see CASES

import { randomUUID } from "node:crypto";
import { text } from "node:stream/consumers";

import { cutAfter, emit, plain, playAll, slowCall } from "./cases.mjs";
import { captureConsole } from "./recorder.mjs";

const { runtimeUrl, headers, thread } = JSON.parse(await text(process.stdin));
captureConsole();
// Without a window the client takes itself for a server that renders, and connects to nothing.
globalThis.window = { location: new URL(runtimeUrl) };
// The client cancels the reader of a stream that broke, and handles no refusal of that.
process.on("unhandledRejection", (error) => {
  if (!["terminated", "network lost"].includes(error.message)) throw error;
});

/** By its thread, the text behind whose fifth appearance a run's first connection is lost. */
const cuts = new Map();
const wire = globalThis.fetch;
globalThis.fetch = async (address, init) => {
  const answer = await wire(address, init);
  const { threadId } = String(address).endsWith("/run") ? JSON.parse(init.body) : {};
  const marker = cuts.get(threadId);
  return marker && cuts.delete(threadId) ? cutAfter(answer, marker, 5) : answer;
};
const { CopilotKitCore } = await import("@copilotkit/core");

/** A page with its own core, which knows the agents. */
async function page(threadId = `${thread}-${randomUUID()}`) {
  const core = new CopilotKitCore({ runtimeUrl, headers });
  const errors = [];
  core.subscribe({ onError: ({ error }) => void errors.push(error.message) });
  await new Promise((done) =>
    core.subscribe({ onRuntimeConnectionStatusChanged: ({ status }) => status === "connected" && done() }),
  );
  const agent = core.getAgent("scripted");
  agent.threadId = threadId;
  return {
    agent, errors, threadId,
    connect: () => core.connectAgent({ agent }),
    async run(...script) {
      agent.addMessage({ id: randomUUID(), role: "user", content: "go" });
      await core.runAgent({ agent, forwardedProps: { script } });
    },
  };
}

/** A run in a page, and what another gets that loads afterwards. */
async function played(...script) {
  const live = await page();
  await live.run(...script);
  const late = await page(live.threadId);
  await late.connect();
  return { live: plain(live.agent.messages), late: plain(late.agent.messages), errors: live.errors };
}

/** The connection is lost; the page connects again. */
async function cutIn(marker, ...script) {
  const live = await page();
  cuts.set(live.threadId, marker);
  await live.run(...script);
  const lost = plain(live.agent.messages);
  await live.connect();
  const late = await page(live.threadId);
  await late.connect();
  return { lost, errors: live.errors, live: plain(live.agent.messages), late: plain(late.agent.messages) };
}

await playAll({
  tools: () =>
    played(
      emit("REASONING_MESSAGE_START", { messageId: "r", role: "reasoning" }),
      emit("REASONING_MESSAGE_CONTENT", { messageId: "r", delta: "Hm." }),
      emit("REASONING_MESSAGE_END", { messageId: "r" }),
      ...slowCall(0),
      { text: "There." },
    ),
  error: () => played({ text: "So far." }, { raise: "no" }),
  cut: () => cutIn('"TEXT_MESSAGE_CONTENT"', { text: "x", n: 40, rate: 40 }),
  cut_in_a_tool: () => cutIn('"TOOL_CALL_ARGS"', ...slowCall(0.05)),
});
