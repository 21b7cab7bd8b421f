// One conversation, each turn by another stock client; then each client that can loads it.
//
// stdin:  {"url", "key", "thread"}, which other clients have begun
// stdout: {"spoken": [[role, text], …], "histories": {client: [[role, text], …]}}

import { randomUUID } from "node:crypto";
import { text } from "node:stream/consumers";

import { HttpAgent } from "@ag-ui/client";
import { Client as McpClient, StreamableHTTPClientTransport as McpTransport } from "@modelcontextprotocol/client";
import { ChatClient, fetchHttpStream, fetchServerSentEvents } from "@tanstack/ai-client";
import { HttpAgent as OlderAgent } from "ag-ui-client-0";
import { DefaultChatTransport, readUIMessageStream } from "ai";
import OpenAI from "openai";

import { clients } from "./clients.mjs";
import { captureConsole } from "./recorder.mjs";

const { url, key, thread } = JSON.parse(await text(process.stdin));
captureConsole();
const headers = { Authorization: `Bearer ${key}` };
globalThis.window = { location: new URL(url), WebSocket: globalThis.WebSocket };
const { CopilotKitCore, IntelligenceAgent } = await import("@copilotkit/core");
const { HostAgent } = (await clients("@ag-ui/client"));

const said = (name) => `I am ${name}.`;
const props = (name) => ({ script: [{ text: `Hello, ${name}.` }] });
const run = `${url}/agui/agent/scripted/run`;

async function agent(made, name) {
  made.threadId = thread;
  made.addMessage({ id: randomUUID(), role: "user", content: said(name) });
  await made.runAgent({ runId: randomUUID(), forwardedProps: props(name) });
}

const intelligence = () =>
  new IntelligenceAgent({
    url: `${url.replace("http", "ws")}/agui/intelligence/socket`,
    runtimeUrl: `${url}/agui/intelligence`,
    agentId: "scripted",
    headers,
  });
async function mcp() {
  const client = new McpClient({ name: "tests", version: "1" }, { versionNegotiation: { mode: "auto" } });
  await client.connect(new McpTransport(new URL(`${url}/mcp`), { requestInit: { headers } }));
  return client;
}

/** CopilotKit's core with its agent. */
async function copilot() {
  const core = new CopilotKitCore({ runtimeUrl: `${url}/agui`, headers });
  await new Promise((done) =>
    core.subscribe({ onRuntimeConnectionStatusChanged: ({ status }) => status === "connected" && done() }),
  );
  const made = core.getAgent("scripted");
  made.threadId = thread;
  return { core, agent: made };
}
const chat = () => new DefaultChatTransport({ api: `${url}/api/chat/scripted`, headers });

const TURNS = {
  "AG-UI 1": (name) => agent(new HttpAgent({ url: run, headers }), name),
  async "AI SDK"(name) {
    const messages = [{ id: randomUUID(), role: "user", parts: [{ type: "text", text: said(name) }] }];
    const body = { forwardedProps: props(name) };
    const stream = await chat().sendMessages({ chatId: thread, messages, trigger: "submit-message", body });
    for await (const _ of readUIMessageStream({ stream }));
  },
  async TanStack(name) {
    const connection = fetchServerSentEvents(run, { headers });
    const client = new ChatClient({ connection, threadId: thread, forwardedProps: props(name) });
    client.attach();
    await client.sendMessage(said(name));
  },
  async OpenAI(name) {
    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: key });
    await client.responses.create(
      { model: "scripted", input: said(name), conversation: thread },
      { body: { model: "scripted", input: said(name), conversation: thread, forwardedProps: props(name) } },
    );
  },
  "AG-UI 0": (name) => agent(new OlderAgent({ url: run, headers }), name),
  Intelligence: (name) => agent(intelligence(), name),
  async CopilotKit(name) {
    const { core, agent } = await copilot();
    agent.addMessage({ id: randomUUID(), role: "user", content: said(name) });
    await core.runAgent({ agent, forwardedProps: props(name) });
  },
  /** It has no room for a script but its message. */
  async MCP(name) {
    const message = JSON.stringify(props(name).script);
    await (await mcp()).callTool({ name: "scripted", arguments: { message, thread_id: thread } });
    return message;
  },
};

const plain = (messages) =>
  messages
    .filter(({ role }) => role === "user" || role === "assistant")
    .map(({ role, content, parts }) => [role, content ?? textOf(parts)]);
const textOf = (parts) =>
  parts.filter(({ type }) => type === "text").map((part) => part.text ?? part.content).join("");

async function connected(made) {
  made.threadId = thread;
  await made.connectAgent();
  return plain(made.messages);
}

const HISTORIES = {
  HostAgent: () => connected(new HostAgent({ url: run, headers })),
  async "AI SDK"() {
    return plain(await (await fetch(`${url}/api/chat/scripted/${thread}`, { headers })).json());
  },
  async TanStack() {
    const options = { headers: { ...headers, Accept: "application/x-ndjson" } };
    return plain((await fetchHttpStream(run, options).hydrate(thread)).messages);
  },
  Intelligence: () => connected(intelligence()),
  async CopilotKit() {
    const { core, agent } = await copilot();
    await core.connectAgent({ agent });
    return plain(agent.messages);
  },
  async MCP() {
    const { contents } = await (await mcp()).readResource({ uri: `agui://threads/${thread}` });
    return plain(JSON.parse(contents[0].text));
  },
};

const spoken = [];
for (const [name, turn] of Object.entries(TURNS)) {
  const words = (await turn(name)) ?? said(name);
  spoken.push(["user", words], ["assistant", `Hello, ${name}.`]);
}
const histories = {};
for (const [name, load] of Object.entries(HISTORIES)) histories[name] = await load();
process.stdout.write(JSON.stringify({ spoken, histories }), () => process.exit(0));
