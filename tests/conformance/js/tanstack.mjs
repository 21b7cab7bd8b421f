// The stock TanStack AI client over HTTP: what its connections and its ChatClient make of each case.
//
// stdin:  {"url", "key", "thread": prefix of all threads' ids}
// stdout: {case: what came of it}, see CASES

import { randomUUID } from "node:crypto";
import { text } from "node:stream/consumers";

import { ChatClient, fetchHttpStream, fetchServerSentEvents } from "@tanstack/ai-client";

import { call, cutAfter, emit, plain, playAll, slowCall, until } from "./cases.mjs";

const { url: host, key, thread } = JSON.parse(await text(process.stdin));
const headers = { Authorization: `Bearer ${key}` };
const CONTENT = '"TEXT_MESSAGE_CONTENT"';
const KINDS = {
  sse: fetchServerSentEvents,
  lines: (url, options) =>
    fetchHttpStream(url, { ...options, headers: { ...options.headers, Accept: "application/x-ndjson" } }),
};
const id = () => `${thread}-${randomUUID()}`;
const user = (content) => ({ id: randomUUID(), role: "user", parts: [{ type: "text", content }] });
const script = (...steps) => ({ script: steps });
const slow = { text: "x", n: 60, rate: 40 };

/** A stock connection whose first answers are cut after so many deltas, and the requests it made. */
function connect(agent, { kind = "sse", cuts = [], marker = CONTENT, headers: own = headers } = {}) {
  const calls = [];
  const fetchClient = async (address, init) => {
    const cut = cuts[calls.length];
    const answer = await fetch(address, init);
    const after = init.headers["Last-Event-ID"] ?? null;
    calls.push({ method: init.method, status: answer.status, after });
    return cut ? cutAfter(answer, marker, cut) : answer;
  };
  const connection = KINDS[kind](`${host}/agui/agent/${agent}/run`, { headers: own, fetchClient });
  return Object.assign(connection, { calls });
}

async function all(chunks) {
  const seen = [];
  for await (const chunk of chunks) seen.push(chunk);
  return seen;
}

const run = (connection, context, message = "go") =>
  connection.connect([user(message)], {}, undefined, context);

const rows = async (threadId) => {
  const query = new URLSearchParams({ thread_id: threadId });
  return (await (await fetch(`${host}/api/v1/runs?${query}`, { headers })).json()).results;
};

/** A page: the stock ChatClient. `persistence` is its own word for "the server holds the thread". */
function page(agent, threadId, { tools, forwardedProps = {}, ...options } = {}) {
  const connection = connect(agent, options);
  const errors = [];
  const client = new ChatClient({
    connection,
    threadId,
    persistence: true,
    forwardedProps,
    tools,
    onError: (error) => errors.push(error.message),
  });
  client.attach();
  return Object.assign(client, { failures: errors, calls: connection.calls });
}

const shown = (client) =>
  client.getMessages().map(({ id, role, parts }) => ({ id, role, parts: plain(parts) }));
const idle = (client) => until(() => !client.getIsLoading());

async function cutTwice(kind, marker) {
  const context = { threadId: id(), runId: randomUUID(), forwardedProps: script(slow) };
  const connection = connect("scripted", { kind, cuts: [5, 9], marker });
  const chunks = await all(run(connection, context));
  const join = connect("scripted", { kind, cuts: [7], marker });
  const joined = await all(join.joinRun(context.runId));
  return { ...context, chunks, joined, calls: connection.calls, joins: join.calls };
}

const CASES = {
  /** Two connections are lost in the middle of a text, and one of a join. */
  cut: () => cutTwice("sse", CONTENT),
  lines: () => cutTwice("lines", CONTENT),
  /** A lost connection in the middle of a call's arguments. */
  async cut_in_a_tool() {
    const context = { threadId: id(), runId: randomUUID(), forwardedProps: script(...slowCall()) };
    const connection = connect("scripted", { cuts: [4], marker: 'data: {"type":"TOOL_CALL_ARGS"' });
    return { ...context, chunks: await all(run(connection, context)), calls: connection.calls };
  },
  /** A second tab joins while the run goes on. */
  async second_tab() {
    const context = { threadId: id(), runId: randomUUID(), forwardedProps: script(slow) };
    const chunks = [];
    const first = (async () => {
      for await (const chunk of run(connect("scripted"), context)) chunks.push(chunk);
    })();
    await until(() => chunks.length > 5);
    const joined = await all(connect("scripted", { kind: "lines" }).joinRun(context.runId));
    await first;
    return { ...context, chunks, joined };
  },
  /** A page with all that a log can say; another one loads when it has ended. */
  async everything() {
    const threadId = id();
    const steps = [
      emit("REASONING_START", { messageId: "r" }),
      emit("REASONING_MESSAGE_START", { messageId: "r", role: "reasoning" }),
      emit("REASONING_MESSAGE_CONTENT", { messageId: "r", delta: "Hm." }),
      emit("REASONING_MESSAGE_END", { messageId: "r" }),
      emit("REASONING_END", { messageId: "r" }),
      emit("TOOL_CALL_START", { toolCallId: "c", toolCallName: "look_up" }),
      emit("TOOL_CALL_ARGS", { toolCallId: "c", delta: '{"word": "run"}' }),
      emit("TOOL_CALL_END", { toolCallId: "c" }),
      emit("TOOL_CALL_RESULT", { messageId: "t", toolCallId: "c", content: "a run" }),
      { text: "There." },
    ];
    const live = page("scripted", threadId, { forwardedProps: script(...steps) });
    await live.sendMessage("look");
    const late = page("scripted", threadId);
    await until(() => late.getMessages().length);
    return { live: shown(live), late: shown(late), errors: live.failures };
  },
  /** A page reloads in the middle of its second answer: history, then the run it finds. */
  async reload() {
    const threadId = id();
    const first = page("scripted", threadId, { forwardedProps: script({ text: "One." }) });
    await first.sendMessage("hello");
    const second = page("scripted", threadId, { forwardedProps: script(slow) });
    await until(() => second.getMessages().length === 2);
    const sending = second.sendMessage("again");
    await until(() => JSON.stringify(shown(second)).includes(" 9 x"));
    const late = page("scripted", threadId);
    await until(() => late.getIsLoading());
    await Promise.all([sending, idle(late)]);
    return { live: shown(second), late: shown(late), errors: late.failures, calls: late.calls };
  },
  /** A question, answered by a page that has loaded since. */
  async approval() {
    const threadId = id();
    await page("approval", threadId).sendMessage("delete report.txt");
    const later = page("approval", threadId);
    await until(() => later.getInterrupts().length);
    const [{ message, canResolve }] = later.getInterrupts();
    later.getInterrupts()[0].resolveInterrupt({ approved: true });
    await until(async () => (await rows(threadId)).length === 2);
    await idle(later);
    const fresh = page("approval", threadId);
    await until(() => fresh.getMessages().length);
    return {
      message, canResolve, later: shown(later), fresh: shown(fresh),
      left: fresh.getInterrupts().length, errors: later.failures, runs: await rows(threadId),
    };
  },
  /** A call of the client's tool, whose output goes back by itself. */
  async client_tool() {
    const threadId = id();
    const forwardedProps = script(...call("c1", "place"));
    const tools = [{ __toolSide: "client", name: "place", description: "where" }];
    const live = page("scripted", threadId, { tools, forwardedProps });
    await live.sendMessage("where?");
    live.updateOptions({ forwardedProps: script({ text: "Basel, then." }) });
    await live.addToolResult({ toolCallId: "c1", tool: "place", output: { at: "Basel" } });
    await until(async () => (await rows(threadId)).length === 2);
    await idle(live);
    return { live: shown(live), runs: await rows(threadId), errors: live.failures };
  },
  /** A call without arguments, answered by a page that has loaded since. */
  async no_arguments() {
    const threadId = id();
    const ids = { toolCallId: "c2" };
    const bare = [emit("TOOL_CALL_START", { ...ids, toolCallName: "place" }), emit("TOOL_CALL_END", ids)];
    const tools = [{ __toolSide: "client", name: "place", description: "where" }];
    const options = { tools, forwardedProps: script(...bare) };
    await page("scripted", threadId, options).sendMessage("where?");
    const forwardedProps = script({ text: "Basel, then." });
    const late = page("scripted", threadId, { tools, forwardedProps });
    await until(() => late.getMessages().length);
    const loaded = shown(late);
    await late.addToolResult({ ...ids, tool: "place", output: { at: "Basel" } });
    await until(async () => (await rows(threadId)).length === 2);
    await idle(late);
    const parsed = loaded.flatMap(({ parts }) => parts)
      .filter(({ type }) => type === "tool-call")
      .map((part) => [JSON.parse(part.arguments), part.input]);
    return { parsed, late: shown(late), errors: late.failures };
  },
  async error() {
    const threadId = id();
    const live = page("scripted", threadId, { forwardedProps: script({ text: "So far." }, { raise: "no" }) });
    await live.sendMessage("hello");
    const [{ run_id: runId }] = await rows(threadId);
    const joined = await all(connect("scripted").joinRun(runId));
    return { errors: live.failures, live: shown(live), joined };
  },
  /** `stop()` only disconnects; the thread's address stops the run. */
  async stop() {
    const context = { threadId: id(), runId: randomUUID() };
    const forwardedProps = script({ text: "x", n: 10_000, rate: 50 });
    const live = page("scripted", context.threadId, { forwardedProps });
    const sending = live.sendMessage("hello");
    await until(() => live.getMessages().length === 2);
    live.stop();
    await sending;
    const [{ run_id: runId, status: before }] = await rows(context.threadId);
    const address = `${host}/agui/agent/scripted/stop/${context.threadId}`;
    const stopped = await (await fetch(address, { method: "POST", headers })).json();
    const joined = await all(connect("scripted").joinRun(runId));
    return { before, stopped: stopped.stopped, last: joined.at(-1), runs: await rows(context.threadId) };
  },
  async refusals() {
    const outcome = {};
    for (const [name, agent, own] of [["agent", "nobody", headers], ["key", "scripted", {}]]) {
      const threadId = id();
      const live = page(agent, threadId, { headers: own });
      await live.sendMessage("hello");
      outcome[name] = { errors: live.failures, runs: await rows(threadId) };
    }
    outcome.join = await all(connect("scripted").joinRun("nowhere")).catch(({ message }) => message);
    outcome.empty = await connect("scripted").hydrate(id());
    return outcome;
  },
};

await playAll(CASES);
