// MCP's stock JavaScript clients against a host: version 2, which speaks 2026-07-28, and version 1,
// which shakes hands.
//
// stdin:  {"url", "key", "gates": where a thread's file lets its agent go on}
// stdout: {"CASE, CLIENT": what came of it}, see CASES

import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { text } from "node:stream/consumers";

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Client as OlderClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OlderTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

import { heldCall, playAll, slowCall, until } from "./cases.mjs";

const { url, key, gates } = JSON.parse(await text(process.stdin));
const address = new URL(`${url}/mcp`);
const options = { requestInit: { headers: { Authorization: `Bearer ${key}` } } };
const NAME = { name: "tests", version: "1" };
const FORMS = { capabilities: { elicitation: { form: {} } } };

async function negotiated(mode, { answer, transport = options } = {}) {
  const client = new Client(NAME, { versionNegotiation: { mode }, ...(answer ? FORMS : {}) });
  if (answer) client.setRequestHandler("elicitation/create", answer);
  await client.connect(new StreamableHTTPClientTransport(address, transport));
  return client;
}

const CLIENTS = {
  "2026-07-28": (more) => negotiated({ pin: "2026-07-28" }, more),
  auto: (more) => negotiated("auto", more),
  legacy: (more) => negotiated("legacy", more),
  async sdk({ transport = options } = {}) {
    const client = new OlderClient(NAME);
    await client.connect(new OlderTransport(address, transport));
    return client;
  },
};

const words = ({ content }) => content.map((part) => part.text).join("");
const failure = (asking) => asking.then(() => null, ({ code, message }) => ({ code: code ?? null, message }));
/** The two versions differ in what comes behind the parameters. */
const call = (client, params, request) =>
  client instanceof OlderClient ? client.callTool(params, undefined, request) : client.callTool(params, request);
/** The extension's method by each client's own means; what it answers differs, too. */
const ANY = { "~standard": { version: 1, vendor: "tests", validate: (value) => ({ value }) } };
const cancelTask = (client, taskId) =>
  client instanceof OlderClient
    ? client.experimental.tasks.cancelTask(taskId)
    : client.request({ method: "tasks/cancel", params: { taskId } }, ANY);
const script = (thread_id, ...steps) => ({ name: "scripted", arguments: { message: JSON.stringify(steps), thread_id } });

const CASES = {
  async talk(connect) {
    const client = await connect();
    const tools = (await client.listTools()).tools.map(({ name }) => name);
    const first = await client.callTool({ name: "docs", arguments: { question: "What is a journal?" } });
    const thread_id = first._meta.agui.threadId;
    const second = await client.callTool({ name: "docs", arguments: { message: "And a hub?", thread_id } });
    const { contents } = await client.readResource({ uri: `agui://threads/${thread_id}` });
    const unknown = await failure(client.callTool({ name: "nobody", arguments: { message: "Hi." } }));
    return { tools, texts: [words(first), words(second)], messages: JSON.parse(contents[0].text), unknown };
  },
  /** Of all that an agent does, a call's result has the texts. */
  async error(connect) {
    const steps = [...slowCall(0), { text: "So far." }, { raise: "no" }];
    const result = await (await connect()).callTool(script(randomUUID(), ...steps));
    return { text: words(result), isError: result.isError };
  },
  /** A call is lost while the agent uses a tool; other readers then find its run, live and ended. */
  async lost(connect) {
    const thread = randomUUID();
    const [client, other] = [await connect(), await connect()];
    const leave = new AbortController();
    const steps = [{ text: "So far." }, ...heldCall(`${gates}/${thread}`), { text: "And the rest." }];
    const calling = failure(call(client, script(thread, ...steps), { signal: leave.signal }));
    const find = async () =>
      (await other.listResources()).resources.find(({ description }) => description.endsWith(` ${thread}.`));
    const read = async ({ uri }) => (await other.readResource({ uri })).contents[0].text;
    let run;
    await until(async () => (run = await find()) && (await read(run)) === "So far.");
    leave.abort();
    const { message } = await calling;
    await writeFile(`${gates}/${thread}`, "");
    await until(async () => (await find()).title.includes("succeeded"));
    return { message, whole: await read(run) };
  },
  /** A call's run is a task by its own id, to clients without the Tasks extension, too. */
  async cancel(connect) {
    const thread = randomUUID();
    const [client, other] = [await connect(), await connect()];
    const calling = client.callTool(script(thread, { text: "So far." }, { forever: true }));
    const find = async () =>
      (await other.listResources()).resources.find(({ description }) => description.endsWith(` ${thread}.`));
    let run;
    await until(async () => (run = await find()) && (await other.readResource({ uri: run.uri })).contents[0].text);
    const task = await cancelTask(other, run.name);
    const { content, isError } = await calling;
    return { task, text: words({ content }), isError, title: (await find()).title };
  },
  /** A call takes longer than the client waits; progress makes it wait on. */
  async long(connect) {
    const [client, other] = [await connect(), await connect()];
    const steps = [{ text: "So far." }, { sleep: 8 }, { text: "And the rest." }];
    const timeout = 5_000;
    const impatient = failure(call(other, script(randomUUID(), ...steps), { timeout }));
    let progress = 0;
    const patient = { timeout, resetTimeoutOnProgress: true, maxTotalTimeout: 60_000, onprogress: () => void (progress += 1) };
    const result = await call(client, script(randomUUID(), ...steps), patient);
    return { text: words(result), progress, impatient: await impatient };
  },
  async refused(connect) {
    return (await failure(connect({ transport: {} }))).message;
  },
};

/** A form asks; clients of before 2026 get the question as text. */
async function question(connect, action) {
  const forms = [];
  const answer = ({ params }) => {
    forms.push(params);
    return action === "accept" ? { action, content: { approved: true } } : { action };
  };
  const client = await connect({ answer });
  const result = await client.callTool({ name: "approval", arguments: { message: "delete report.txt" } });
  return { forms, text: words(result) };
}

const played = Object.entries(CLIENTS).flatMap(([name, connect]) => [
  ...Object.entries(CASES).map(([each, play]) => [`${each}, ${name}`, () => play(connect)]),
  ...["accept", "decline"].map((action) => [`${action}, ${name}`, () => question(connect, action)]),
]);
await playAll(Object.fromEntries(played));
