// HostAgent against a host that is made of canned answers: what a real one seldom does.

import assert from "node:assert/strict";
import { test } from "node:test";

import { clients } from "./clients.mjs";

// The client says on the console what it also rejects with.
console.error = () => {};

const { HostAgent } = await clients("@ag-ui/client");

const RUN = "/api/v1/runs/01900000-0000-7000-8000-000000000001/events";
const NEXT = "/api/v1/runs/01900000-0000-7000-8000-000000000002/events";
const started = (runId = "r") => ({ type: "RUN_STARTED", threadId: "t", runId });
const finished = (runId = "r") => ({ type: "RUN_FINISHED", threadId: "t", runId });
const start = { type: "TEXT_MESSAGE_START", messageId: "m", role: "assistant" };
const say = (delta) => ({ type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta });
const end = { type: "TEXT_MESSAGE_END", messageId: "m" };
const LOG = [started(), start, say("Hel"), say("lo"), end, finished()];
const frame = (event, id) => `${id ? `id: ${id}\n` : ""}data: ${JSON.stringify(event)}\n\n`;
const log = (from = 1, to = LOG.length) =>
  LOG.slice(from - 1, to).map((event, at) => frame(event, from + at)).join("");

/** An event stream; `then` is "end", "break" or "silence". */
function stream(text, { then = "end", at = RUN } = {}) {
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(`retry: 1000\n\n${text}`));
      if (then === "end") controller.close();
    },
    pull: (controller) => then === "break" && controller.error(new TypeError("terminated")),
  });
  const headers = { "content-type": "text/event-stream; charset=utf-8" };
  return new Response(body, { headers: at ? { ...headers, "content-location": at } : headers });
}

const json = (value, status = 200) =>
  new Response(JSON.stringify(value), { status, headers: { "content-type": "application/json" } });

/** An agent whose host gives these answers in turn; `asked` are the requests. */
function agentOf(answers, config = {}) {
  const asked = [];
  const fetch = async (url, { method = "GET", headers, signal }) => {
    const cursor = new Headers(headers).get("last-event-id");
    asked.push([method, String(url).replace("http://host", ""), cursor]);
    const answer = answers.shift();
    assert.ok(answer, `an unexpected request: ${method} ${url}`);
    if (answer instanceof Error) throw answer;
    signal?.throwIfAborted();
    return answer;
  };
  const resume = { delay: 1, longest: 2, attempts: 3, ...config.resume };
  const url = config.url ?? "http://host/agui/agent/a/run";
  const agent = new HostAgent({ threadId: "t", ...config, url, fetch, resume });
  return { agent, asked };
}

const RUNS = ["POST", "/agui/agent/a/run", null];
const CONNECTS = ["POST", "/agui/agent/a/connect", null];
const from = (seq, path = RUN) => ["GET", path, String(seq)];

async function reads(agent, verb = "runAgent") {
  const types = [];
  await agent[verb]({ runId: "r" }, { onEvent: ({ event }) => void types.push(event.type) });
  return types;
}

const types = LOG.map(({ type }) => type);
const said = (agent) => agent.messages.map(({ content }) => content).join("|");

test("a broken stream goes on from the last event, each event once", async () => {
  for (const then of ["break", "end"]) {
    const { agent, asked } = agentOf([stream(log(1, 3), { then }), stream(log(4))]);
    assert.deepEqual(await reads(agent), types);
    assert.equal(said(agent), "Hello");
    assert.deepEqual(asked, [RUNS, from(3)]);
  }
});

test("half a frame at the end counts as nothing", async () => {
  const { agent, asked } = agentOf([stream(log(1, 4).slice(0, -9)), stream(log(4))]);
  assert.deepEqual(await reads(agent), types);
  assert.deepEqual(asked, [RUNS, from(3)]);
});

test("what was delivered is not delivered again, whatever the host sends", async () => {
  const { agent } = agentOf([stream(log(1, 3)), stream(log(1))]);
  assert.deepEqual(await reads(agent), types);
  assert.equal(said(agent), "Hello");
});

test("a connection that is silent for too long is given up", async () => {
  const answers = [stream(log(1, 3), { then: "silence" }), stream(log(4))];
  const { agent, asked } = agentOf(answers, { resume: { silence: 20 } });
  assert.deepEqual(await reads(agent), types);
  assert.deepEqual(asked, [RUNS, from(3)]);
});

test("it tries again while the host is away", async () => {
  const { agent, asked } = agentOf([stream(log(1, 3)), new TypeError("refused"), json({}, 503), stream(log(4))]);
  assert.deepEqual(await reads(agent), types);
  assert.deepEqual(asked, [RUNS, from(3), from(3), from(3)]);
});

test("it gives up in the end: a stream without a terminal event is no success", async () => {
  const away = [1, 2, 3].map(() => new TypeError("refused"));
  const { agent } = agentOf([stream(log(1, 3)), ...away]);
  await assert.rejects(reads(agent), /The stream ended before the run did/);
  const never = agentOf([stream(log(1, 3))], { resume: { attempts: 0 } });
  await assert.rejects(reads(never.agent), /The stream ended before the run did/);
});

test("a refusal is final", async () => {
  for (const status of [401, 404, 410]) {
    const { agent, asked } = agentOf([stream(log(1, 3)), json({}, status)]);
    await assert.rejects(reads(agent), (error) => error.status === status);
    assert.equal(asked.length, 2);
  }
});

test("the first answer is refused as the stock client does", async () => {
  const { agent } = agentOf([json({ error: "busy" }, 409)]);
  await assert.rejects(reads(agent), (error) => error.status === 409 && error.payload.error === "busy");
  const odd = agentOf([new Response("<html>", { headers: { "content-type": "text/html" } })]);
  await assert.rejects(reads(odd.agent), /answers no stream: text\/html/);
});

const snapshot = (content) => ({
  type: "MESSAGES_SNAPSHOT",
  messages: [{ id: "m", role: "assistant", content }],
});

test("half a prelude counts as nothing: the same request again", async () => {
  const half = [started(), snapshot("Hel")].map((event) => frame(event)).join("");
  const whole = `${half}${frame(start, 3)}`;
  const { agent, asked } = agentOf([stream(half, { then: "break" }), stream(whole), stream(log(4))]);
  const seen = await reads(agent, "connectAgent");
  assert.deepEqual(seen, ["RUN_STARTED", "MESSAGES_SNAPSHOT", ...types.slice(1, 2), ...types.slice(3)]);
  assert.equal(said(agent), "Hello");
  assert.deepEqual(asked, [CONNECTS, CONNECTS, from(3)]);
});

test("a thread without runs connects to nothing", async () => {
  const { agent, asked } = agentOf([stream("", { at: null })]);
  assert.deepEqual(await reads(agent, "connectAgent"), []);
  assert.deepEqual(asked, [CONNECTS]);
});

test("the stream of a thread goes on with the next run, and finds it again when it breaks", async () => {
  const second = [started("r2"), { ...start, messageId: "m2" }, { ...end, messageId: "m2" }, finished("r2")];
  const next = second.map((event, at) => frame(event, at + 1));
  const { agent, asked } = agentOf([
    stream(log() + next.slice(0, 2).join("")),
    json({ results: [{ id: NEXT.split("/")[4] }] }),
    stream(next.slice(2).join(""), { at: NEXT }),
  ]);
  assert.deepEqual(await reads(agent, "connectAgent"), [...types, ...second.map(({ type }) => type)]);
  const lookup = ["GET", "/api/v1/runs?thread_id=t&limit=1&run_id=r2", null];
  assert.deepEqual(asked, [CONNECTS, lookup, from(2, NEXT)]);
});

test("aborting ends it here, and asks nobody", async () => {
  const { agent, asked } = agentOf([stream(log(1, 3), { then: "silence" })]);
  const seen = [];
  const run = agent.runAgent({}, {
    onTextMessageContentEvent: () => agent.abortRun(),
    onRunErrorEvent: ({ event }) => void seen.push(event.code),
  });
  await run;
  assert.deepEqual(seen, ["abort"]);
  assert.deepEqual(asked, [RUNS]);
});

test("cancel stops the run that is read", async () => {
  const { agent, asked } = agentOf([stream(log(1, 3), { then: "silence" }), json({ status: "running" })]);
  let told;
  await agent.runAgent({}, {
    onTextMessageContentEvent: async () => {
      told = await agent.cancel();
      agent.abortRun();
    },
  });
  assert.equal(told.status, "running");
  assert.deepEqual(asked[1], ["POST", RUN.replace("events", "cancel"), null]);
});

test("cancel without a stream stops what is running on the thread", async () => {
  const running = { results: [{ id: NEXT.split("/")[4] }] };
  const { agent, asked } = agentOf([json(running), json({ status: "running" }), json({ results: [] })]);
  await agent.cancel();
  assert.deepEqual(asked, [
    ["GET", "/api/v1/runs?thread_id=t&limit=1&status=running", null],
    ["POST", NEXT.replace("events", "cancel"), null],
  ]);
  assert.equal(await agent.cancel(), null);
});

test("open questions do not stand in the way of connecting", async () => {
  const question = { id: "q", reason: "acme:ask" };
  const asks = { ...finished(), outcome: { type: "interrupt", interrupts: [question] } };
  const { agent } = agentOf([stream(frame(started()) + frame(asks, 2)), json({}, 503)]);
  agent.pendingInterrupts = [{ id: "old", reason: "acme:ask" }];
  await reads(agent, "connectAgent");
  assert.deepEqual(agent.pendingInterrupts.map(({ id }) => id), ["q"]);
  await assert.rejects(reads(agent, "connectAgent"));
  assert.deepEqual(agent.pendingInterrupts.map(({ id }) => id), ["q"]);
});

test("a clone reads and stops its own run", async () => {
  const { agent, asked } = agentOf([stream(log(1, 3)), stream(log(4))]);
  const twin = agent.clone();
  assert.ok(twin instanceof HostAgent);
  assert.deepEqual(await reads(twin), types);
  assert.deepEqual(asked, [RUNS, from(3)]);
  assert.equal(agent.messages.length, 0);
});

test("every address has its connect address", () => {
  const cases = {
    "http://host/agui/agent/a/run/": "http://host/agui/agent/a/connect",
    "http://host/agui/": "http://host/agui/agent/default/connect",
    "http://host/api/agui": "http://host/api/agui/agent/default/connect",
    "http://host/": "http://host/agui/agent/default/connect",
  };
  for (const [url, expected] of Object.entries(cases)) {
    assert.equal(agentOf([], { url }).agent.connectUrl, expected);
  }
});
