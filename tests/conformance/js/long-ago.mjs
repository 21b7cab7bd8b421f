// What each stock client makes of a run of a month ago.
//
// stdin:  {"url", "key", "thread", "id", "runId", "streamUrl"}
// stdout: {client: the text of the answer}

import { text } from "node:stream/consumers";

import { stream } from "@durable-streams/client";
import { Client as McpClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as McpTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { fetchHttpStream, fetchServerSentEvents } from "@tanstack/ai-client";
import OpenAI from "openai";

import { clients } from "./clients.mjs";
import { playAll } from "./cases.mjs";
import { captureConsole } from "./recorder.mjs";

const { url, key, thread, id, runId, streamUrl } = JSON.parse(await text(process.stdin));
captureConsole();
const headers = { Authorization: `Bearer ${key}` };
globalThis.window = { location: new URL(url), WebSocket: globalThis.WebSocket };
const { CopilotKitCore, IntelligenceAgent } = await import("@copilotkit/core");
const run = `${url}/agui/agent/scripted/run`;
const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: key });
const response = `resp_${id.replaceAll("-", "")}`;

async function all(chunks) {
  const seen = [];
  for await (const chunk of chunks) seen.push(chunk);
  return seen;
}

const deltas = (events) =>
  events.flatMap(({ type, delta }) => (type === "TEXT_MESSAGE_CONTENT" ? [delta] : [])).join("");
const answer = (messages) => {
  const { content, parts } = messages.findLast(({ role }) => role === "assistant");
  return content ?? parts.map((part) => part.text ?? part.content ?? "").join("");
};

async function connected(agent) {
  agent.threadId = thread;
  await agent.connectAgent();
  return answer(agent.messages);
}

async function visited(core) {
  const ready = new Promise((done) =>
    core.subscribe({ onRuntimeConnectionStatusChanged: ({ status }) => status === "connected" && done() }),
  );
  await ready;
  const agent = core.getAgent("scripted");
  agent.threadId = thread;
  await core.connectAgent({ agent });
  return answer(agent.messages);
}

async function got(name) {
  const agent = new (await clients(name)).Getter({ url: `${url}/api/v1/runs/${id}/events`, headers, threadId: thread });
  await agent.runAgent({ runId });
  return answer(agent.messages);
}

await playAll({
  "@ag-ui/client": () => got("@ag-ui/client"),
  "ag-ui-client-0": () => got("ag-ui-client-0"),
  HostAgent: async () => connected(new (await clients("@ag-ui/client")).HostAgent({ url: run, headers })),
  "CopilotKit core": () => visited(new CopilotKitCore({ runtimeUrl: `${url}/agui`, headers })),
  "CopilotKit Intelligence": () =>
    connected(
      new IntelligenceAgent({
        url: `${url.replace("http", "ws")}/agui/intelligence/socket`,
        runtimeUrl: `${url}/agui/intelligence`,
        agentId: "scripted",
        headers,
      }),
    ),
  "TanStack, events": async () => deltas(await all(fetchServerSentEvents(run, { headers }).joinRun(runId))),
  "TanStack, lines": async () => {
    const options = { headers: { ...headers, Accept: "application/x-ndjson" } };
    return deltas(await all(fetchHttpStream(run, options).joinRun(runId)));
  },
  "TanStack, a page": async () =>
    answer((await fetchServerSentEvents(run, { headers }).hydrate(thread)).messages),
  "AI SDK": async () => answer(await (await fetch(`${url}/api/chat/scripted/${thread}`, { headers })).json()),
  OpenAI: async () => (await openai.responses.retrieve(response)).output_text,
  "OpenAI, streamed": async () => {
    const events = await all(await openai.responses.retrieve(response, { stream: true }));
    return events.flatMap(({ type, delta }) => (type === "response.output_text.delta" ? [delta] : [])).join("");
  },
  async MCP() {
    const client = new McpClient({ name: "tests", version: "1" });
    await client.connect(new McpTransport(new URL(`${url}/mcp`), { requestInit: { headers } }));
    return (await client.readResource({ uri: `agui://runs/${id}` })).contents[0].text;
  },
  "Durable Streams": async () =>
    deltas(await (await stream({ url: url + streamUrl, headers, offset: "-1", live: true })).json()),
});
