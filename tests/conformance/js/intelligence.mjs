// CopilotKit's stock Intelligence client, which resumes with a cursor, against a host's channels.
//
// stdin:  {"url", "key", "thread": prefix of all threads' ids}
// stdout: {case: what came of it}, see CASES

import { randomUUID } from "node:crypto";
import { text } from "node:stream/consumers";

import { BrowserSocket } from "./browser-socket.mjs";
import { call, emit, plain, playAll, slowCall, until } from "./cases.mjs";
import { captureConsole } from "./recorder.mjs";

const { url: host, key, thread } = JSON.parse(await text(process.stdin));
captureConsole();
const headers = { Authorization: `Bearer ${key}` };
const runtimeUrl = `${host}/agui/intelligence`;

const sockets = [];
globalThis.WebSocket = class extends BrowserSocket {
  constructor(...args) {
    super(...args);
    sockets.push(this);
  }
};
globalThis.window = { location: new URL(host), WebSocket: globalThis.WebSocket };
const { CopilotKitCore, IntelligenceAgent } = await import("@copilotkit/core");
const { wsUrl } = (await (await fetch(`${runtimeUrl}/info`, { headers })).json()).intelligence;

const id = () => `${thread}-${randomUUID()}`;
const user = (content) => ({ id: randomUUID(), role: "user", content });
const slow = [{ text: "x", n: 80, rate: 20 }];

/** A stock agent, the requests it made, and the events it got. */
function make(agentId, threadId, shared) {
  const calls = [];
  const tokens = [];
  const fetch = async (address, init) => {
    const answer = await globalThis.fetch(address, init);
    const { lastSeenEventId } = JSON.parse(init.body);
    calls.push({ verb: address.split("/").at(-1), status: answer.status, after: lastSeenEventId ?? null });
    if (answer.status === 200) tokens.push((await answer.clone().json()).joinToken);
    return answer;
  };
  const agent = new IntelligenceAgent({ url: wsUrl, runtimeUrl, agentId, headers, fetch }, shared);
  const events = [];
  agent.threadId = threadId;
  agent.subscribe({ onEvent: ({ event }) => void events.push(plain(event)) });
  return Object.assign(agent, { calls, events, tokens });
}

const bare = ({ metadata: { cpki_event_id, ...metadata } = {}, ...event }) =>
  Object.keys(metadata).length ? { ...event, metadata } : event;

async function run(agent, content, script = [], more = {}) {
  if (content) agent.addMessage(user(content));
  const outcome = await agent
    .runAgent({ runId: randomUUID(), forwardedProps: { script }, ...more })
    .catch(({ message }) => ({ rejected: message }));
  return outcome.rejected ?? null;
}

const rows = async (threadId) => {
  const query = new URLSearchParams({ thread_id: threadId });
  return (await (await fetch(`${host}/api/v1/runs?${query}`, { headers })).json()).results;
};

async function cutIn(script) {
  const threadId = id();
  const live = make("scripted", threadId);
  const running = run(live, "go", script);
  await until(() => live.events.length > 8);
  sockets.find(({ url }) => new URL(url).searchParams.get("join_token") === live.tokens[0]).close();
  const rejected = await running;
  return { threadId, rejected, events: live.events.map(bare), calls: live.calls };
}

const CASES = {
  /** Two turns; another page then gets the thread, and one that has seen it nothing again. */
  async turns() {
    const threadId = id();
    const shared = { lastSeenEventIds: new Map() };
    const live = make("scripted", threadId, shared);
    for (const word of ["hello", "again"]) await run(live, word, [{ text: `One ${word}.` }]);
    const late = make("scripted", threadId);
    await late.connectAgent();
    const events = live.events.length;
    await live.connectAgent();
    return {
      live: plain(live.messages), late: plain(late.messages), calls: late.calls,
      again: live.events.length - events, last: live.calls.at(-1),
    };
  },
  /** The socket is lost in the middle of a text, and in the middle of a call's arguments. */
  cut: () => cutIn(slow),
  cut_in_a_tool: () => cutIn(slowCall(0.1)),
  /** Another page joins while the run goes on. */
  async late() {
    const threadId = id();
    const live = make("scripted", threadId);
    const running = run(live, "go", slow);
    await until(() => live.events.length > 8);
    const late = make("scripted", threadId);
    await Promise.all([late.connectAgent(), running]);
    return { live: plain(live.messages), late: plain(late.messages) };
  },
  async stop() {
    const threadId = id();
    const live = make("scripted", threadId);
    const running = run(live, "go", [{ text: "x", n: 10_000, rate: 50 }]);
    await until(() => live.events.length > 8);
    live.abortRun();
    await running;
    await until(async () => (await rows(threadId))[0].status === "cancelled");
    return { runs: await rows(threadId) };
  },
  async question() {
    const threadId = id();
    const live = make("approval", threadId);
    await run(live, "delete report.txt");
    const [{ id: interruptId }] = live.pendingInterrupts;
    const resume = [{ interruptId, status: "resolved", payload: { approved: true } }];
    const rejected = await run(live, null, [], { resume });
    return { rejected, messages: plain(live.messages), runs: await rows(threadId) };
  },
  /** Thoughts, a tool of the agent, and one of the client's, whose result goes back. */
  async tools() {
    const threadId = id();
    const live = make("scripted", threadId);
    const thought = [
      emit("REASONING_MESSAGE_START", { messageId: "r", role: "reasoning" }),
      emit("REASONING_MESSAGE_CONTENT", { messageId: "r", delta: "Hm." }),
      emit("REASONING_MESSAGE_END", { messageId: "r" }),
    ];
    const tools = [{ name: "place", description: "where", parameters: { type: "object" } }];
    const rejected = [await run(live, "where?", [...thought, ...slowCall(0), ...call("c1", "place")], { tools })];
    live.addMessage({ id: randomUUID(), role: "tool", toolCallId: "c1", content: '"Basel"' });
    rejected.push(await run(live, null, [{ text: "Basel, then." }], { tools }));
    const late = make("scripted", threadId);
    await late.connectAgent();
    return { rejected, live: plain(live.messages), late: plain(late.messages) };
  },
  async error() {
    const live = make("scripted", id());
    return { rejected: await run(live, "go", [{ text: "So far." }, { raise: "no" }]) };
  },
  async nothing() {
    const agent = make("scripted", id());
    await agent.connectAgent();
    const stranger = make("nobody", id());
    const refused = await run(stranger, "go");
    return { calls: agent.calls, messages: agent.messages, refused };
  },
  /** As an application gets it: the core reads the runtime's info, and makes the agent. */
  async core() {
    const core = new CopilotKitCore({ runtimeUrl, headers });
    await new Promise((done) =>
      core.subscribe({ onRuntimeConnectionStatusChanged: ({ status }) => status === "connected" && done() }),
    );
    const agent = core.getAgent("scripted").clone();
    agent.threadId = id();
    agent.addMessage(user("hello"));
    await core.runAgent({ agent, forwardedProps: { script: [{ text: "One." }] } });
    return { messages: plain(agent.messages), runs: await rows(agent.threadId) };
  },
};

await playAll(CASES);
