// Each stock client reads a run of its own, in mid-text, while the web process is killed; then each
// resumes in its own way.
//
// stdin:  {"url", "key", "script": what each agent plays, "half": the text before the script's gate,
//         "few": the names of the clients that play, if not all do}
// stdout: "halfway" when all of them hold the half, "resumed" when all of them are back, then
//         {client: text}; the client's name is its thread. Or {"broke"} as soon as one fails

import { randomUUID } from "node:crypto";
import { text } from "node:stream/consumers";

import { Chat } from "@ai-sdk/react";
import { Client as McpClient, StreamableHTTPClientTransport as McpTransport } from "@modelcontextprotocol/client";
import { Client as OlderMcp } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as OlderTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ChatClient, fetchServerSentEvents } from "@tanstack/ai-client";
import { DefaultChatTransport } from "ai";
import OpenAI from "openai";

import { BrowserSocket } from "./browser-socket.mjs";
import { until } from "./cases.mjs";
import { clients } from "./clients.mjs";
import { follow } from "./durable.mjs";
import { captureConsole } from "./recorder.mjs";

const { url, key, script, half, few } = JSON.parse(await text(process.stdin));
captureConsole();
// CopilotKit's clients handle neither the refusal of a cancel of a stream that broke, nor that of the
// request with which they come back.
const UNHANDLED = ["terminated", "REST connect request failed: fetch failed"];
process.on("unhandledRejection", (error) => UNHANDLED.includes(error.message) || broke(error));

const headers = { Authorization: `Bearer ${key}` };
const address = `${url}/agui/agent/scripted/run`;
globalThis.WebSocket = BrowserSocket;
globalThis.window = { location: new URL(url), WebSocket: BrowserSocket };
const { CopilotKitCore, IntelligenceAgent } = await import("@copilotkit/core");

const user = () => ({ id: randomUUID(), role: "user", content: "go" });
const answer = (messages) => {
  const { content, parts } = messages.findLast(({ role }) => role === "assistant") ?? {};
  return content ?? parts?.map((part) => part.text ?? part.content ?? "").join("") ?? "";
};
/** The stock `fetch`, which counts. */
const counted = (calls) => (...request) => (calls.push(request), fetch(...request));
/** The host answers again. */
const up = () => until(() => fetch(`${url}/ready`).then(({ ok }) => ok, () => false));

/** A client that starts a run again finds it under way: with the same runId it reads that one. */
async function repeated(name, thread, moments) {
  const { HttpAgent } = await clients(name);
  const request = { runId: randomUUID(), forwardedProps: { script } };
  const initialMessages = [user()];
  const make = () => new HttpAgent({ url: address, headers, threadId: thread, initialMessages });
  const first = make();
  const lost = first.runAgent(request).then(() => null, (error) => error);
  await until(() => answer(first.messages) === half);
  moments.halfway();
  if (!(await lost)) throw new Error("nothing was lost");
  await up();
  const again = make();
  const reading = again.runAgent(request);
  await until(() => answer(again.messages).startsWith(half));
  moments.resumed();
  await reading;
  return answer(again.messages);
}

/** A call waits for its result; one that is lost has left its run, which is a resource. */
async function called(connect, thread, moments) {
  const first = await connect();
  const message = JSON.stringify(script);
  const lost = first.callTool({ name: "scripted", arguments: { message, thread_id: thread } }).catch((error) => error);
  const find = async (client) =>
    (await client.listResources()).resources.find(({ description }) => description.endsWith(` ${thread}.`));
  const read = async (client, { uri }) => (await client.readResource({ uri })).contents[0].text;
  let run;
  await until(async () => (run = await find(first)) && (await read(first, run)) === half);
  moments.halfway();
  if (!((await lost) instanceof Error)) throw new Error("nothing was lost");
  await up();
  const again = await connect();
  if ((await read(again, run)) !== half) throw new Error("the half is gone");
  moments.resumed();
  await until(async () => (await find(again)).title.includes("succeeded"));
  return read(again, run);
}

const CLIENTS = {
  /** Its connection gives up while nobody answers; the page, loaded again, joins the run. */
  async TanStack(thread, moments) {
    const open = (forwardedProps) => {
      const connection = fetchServerSentEvents(address, { headers });
      const client = new ChatClient({ connection, threadId: thread, persistence: true, forwardedProps });
      client.attach();
      return client;
    };
    const first = open({ script });
    const sending = first.sendMessage("go");
    await until(() => answer(first.getMessages()) === half);
    moments.halfway();
    await sending;
    await up();
    const page = open();
    await until(() => page.getIsLoading() && answer(page.getMessages()).startsWith(half));
    moments.resumed();
    await until(() => !page.getIsLoading());
    return answer(page.getMessages());
  },
  async "AI SDK"(thread, moments) {
    const calls = [];
    const transport = new DefaultChatTransport({ api: `${url}/api/chat/scripted`, headers, fetch: counted(calls) });
    const chat = new Chat({ id: thread, transport });
    const sending = chat.sendMessage({ text: "go" }, { body: { forwardedProps: { script } } });
    await until(() => answer(chat.messages) === half);
    moments.halfway();
    await sending;
    if (chat.status !== "error") throw new Error("nothing was lost");
    await up();
    const resuming = chat.resumeStream();
    await until(() => chat.status === "streaming" && answer(chat.messages) === half);
    moments.resumed();
    await resuming;
    return answer(chat.messages);
  },
  async "OpenAI, npm"(thread, moments) {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key });
    const request = { model: "scripted", input: "go", conversation: thread, stream: true, background: true };
    let [made, last, words, lost] = [null, null, "", false];
    const take = (event) => {
      made ??= event.response?.id;
      last = event.sequence_number;
      words += event.type === "response.output_text.delta" ? event.delta : "";
    };
    try {
      for await (const event of await client.responses.create({ ...request, forwardedProps: { script } })) {
        take(event);
        if (words === half) moments.halfway();
      }
    } catch {
      lost = true;
    }
    if (!lost) throw new Error("nothing was lost");
    await up();
    const rest = await client.responses.retrieve(made, { stream: true, starting_after: last });
    moments.resumed();
    for await (const event of rest) take(event);
    return words;
  },
  async "Durable Streams, npm"(thread, moments) {
    const body = JSON.stringify({ agent: "scripted", input: { threadId: thread, forwardedProps: { script } } });
    const json = { ...headers, "Content-Type": "application/json" };
    const run = await (await fetch(`${url}/api/v1/runs`, { method: "POST", headers: json, body })).json();
    let words = "";
    const take = (events) => {
      for (const { type, delta } of events) words += type === "TEXT_MESSAGE_CONTENT" ? delta : "";
      if (words === half) moments.halfway();
    };
    const options = { url: url + run.stream_url, headers, live: "sse" };
    await follow(options, take, () => up().then(moments.resumed));
    return words;
  },
  "@ag-ui/client 1": (thread, moments) => repeated("@ag-ui/client", thread, moments),
  "@ag-ui/client 0": (thread, moments) => repeated("ag-ui-client-0", thread, moments),
  /** It comes back by itself. */
  async HostAgent(thread, moments) {
    const { HostAgent } = await clients("@ag-ui/client");
    const calls = [];
    const agent = new HostAgent({ url: address, headers, threadId: thread, fetch: counted(calls) });
    agent.addMessage(user());
    const reading = agent.runAgent({ forwardedProps: { script } });
    await until(() => answer(agent.messages) === half);
    moments.halfway();
    await until(() => calls.length > 1);
    await up();
    moments.resumed();
    await reading;
    return answer(agent.messages);
  },
  async "CopilotKit core"(thread, moments) {
    const core = new CopilotKitCore({ runtimeUrl: `${url}/agui`, headers });
    const known = (done) =>
      core.subscribe({ onRuntimeConnectionStatusChanged: ({ status }) => status === "connected" && done() });
    await new Promise(known);
    const agent = core.getAgent("scripted");
    agent.threadId = thread;
    agent.addMessage(user());
    const lost = core.runAgent({ agent, forwardedProps: { script } });
    await until(() => answer(agent.messages) === half);
    moments.halfway();
    await lost.catch(() => {});
    await up();
    agent.setMessages([]);
    const reading = core.connectAgent({ agent });
    await until(() => answer(agent.messages) === half);
    moments.resumed();
    await reading;
    return answer(agent.messages);
  },
  /** It tries once, while nobody answers; the page, loaded again, joins the run. */
  async "CopilotKit Intelligence"(thread, moments) {
    const calls = [];
    const make = () => {
      const agent = new IntelligenceAgent({
        url: `${url.replace("http", "ws")}/agui/intelligence/socket`,
        runtimeUrl: `${url}/agui/intelligence`,
        agentId: "scripted",
        headers,
        fetch: counted(calls),
      });
      agent.threadId = thread;
      return agent;
    };
    const first = make();
    first.addMessage(user());
    first.runAgent({ runId: randomUUID(), forwardedProps: { script } }).catch(() => {});
    await until(() => answer(first.messages) === half);
    moments.halfway();
    await until(() => calls.length > 1);
    await up();
    const page = make();
    const reading = page.connectAgent();
    await until(() => answer(page.messages) === half);
    moments.resumed();
    await reading;
    return answer(page.messages);
  },
  "MCP, npm": (thread, moments) =>
    called(
      async () => {
        const client = new McpClient({ name: "tests", version: "1" }, { versionNegotiation: { mode: "auto" } });
        await client.connect(new McpTransport(new URL(`${url}/mcp`), { requestInit: { headers } }));
        return client;
      },
      thread,
      moments,
    ),
  "MCP, npm, 2025": (thread, moments) =>
    called(
      async () => {
        const client = new OlderMcp({ name: "tests", version: "1" });
        await client.connect(new OlderTransport(new URL(`${url}/mcp`), { requestInit: { headers } }));
        return client;
      },
      thread,
      moments,
    ),
};

const PLAYERS = Object.entries(CLIENTS).filter(([name]) => !few || few.includes(name));

/** A moment that all clients reach. */
function moment(word) {
  const missing = new Set(PLAYERS.map(([name]) => name));
  return (name) => {
    if (!missing.delete(name)) return;
    process.stderr.write(`${word}: ${name}\n`);
    if (!missing.size) process.stdout.write(`${word}\n`);
  };
}

function broke(error, name = "") {
  process.stdout.write(`${JSON.stringify({ broke: `${name}: ${error.stack}` })}\n`, () => process.exit(1));
}

const [halfway, resumed] = [moment("halfway"), moment("resumed")];
const texts = await Promise.all(
  PLAYERS.map(async ([name, play]) => {
    const moments = { halfway: () => halfway(name), resumed: () => resumed(name) };
    return [name, await play(name, moments).catch((error) => broke(error, name))];
  }),
);
process.stdout.write(JSON.stringify(Object.fromEntries(texts)), () => process.exit(0));
