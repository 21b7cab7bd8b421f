// OpenAI's Agents SDK, whose model is an agent of the host: through Responses, its default, and
// through Chat Completions.
//
// stdin:  {"url", "key"}; the environment has OPENAI_BASE_URL and OPENAI_API_KEY
// stdout: {"CASE, API": what came of it}, see CASES

import { text } from "node:stream/consumers";

import { Agent, MemorySession, OpenAIConversationsSession, OpenAIProvider, Runner, hostedMcpTool, run, setTracingDisabled, tool } from "@openai/agents";
import OpenAI from "openai";
import { z } from "zod";

import { call, emit, playAll } from "./cases.mjs";

const { url, key } = JSON.parse(await text(process.stdin));
const baseURL = `${url}/v1`;
const MODES = { responses: undefined, chat: false };
setTracingDisabled(true);

/** What an application writes: an address, a key, a name. */
function running(useResponses) {
  return new Runner({ modelProvider: new OpenAIProvider({ baseURL, apiKey: key, useResponses }) });
}

/** The same; each request that starts a run brings the next script for the scripted agent. */
function scripted(useResponses, ...scripts) {
  const requests = [];
  const wrapped = (address, init) => {
    const path = new URL(address).pathname;
    if (init?.method !== "POST" || !/responses$|completions$/.test(path)) return fetch(address, init);
    const body = JSON.parse(init.body);
    requests.push(body);
    return fetch(address, { ...init, body: JSON.stringify({ ...body, forwardedProps: { script: scripts.shift() } }) });
  };
  const openAIClient = new OpenAI({ baseURL, apiKey: key, fetch: wrapped });
  const runner = new Runner({ modelProvider: new OpenAIProvider({ openAIClient, useResponses }) });
  return { runner, requests, openAIClient };
}

const agentOf = (model, more) => new Agent({ name: "Assistant", instructions: "Be brief.", model, ...more });
const user = (content) => ({ role: "user", content });
const kinds = ({ newItems }) => newItems.map(({ type }) => type);
const place = (more) =>
  tool({ name: "place", description: "Where somebody is.", parameters: z.object({ of: z.string() }), execute: async ({ of }) => `Basel, ${of}`, ...more });
const calls = call("c1", "place", '{"of":"Ann"}');
const EVERYTHING = [
  emit("REASONING_MESSAGE_START", { messageId: "r", role: "reasoning" }),
  emit("REASONING_MESSAGE_CONTENT", { messageId: "r", delta: "Hm." }),
  emit("REASONING_MESSAGE_END", { messageId: "r" }),
  emit("TOOL_CALL_START", { toolCallId: "s1", toolCallName: "look_up" }),
  emit("TOOL_CALL_ARGS", { toolCallId: "s1", delta: '{"word":"run"}' }),
  emit("TOOL_CALL_END", { toolCallId: "s1" }),
  emit("TOOL_CALL_RESULT", { messageId: "t", toolCallId: "s1", content: "a run", role: "tool" }),
  { text: "A run is a run." },
  { usage: { input_tokens: 3, output_tokens: 5 } },
];

/** The thread of an answer, and what stands in it after the last of them. */
async function threadOf(result) {
  const id = result.lastResponseId.replace(/^(resp_|chatcmpl-)/, "").replace(/(.{8})(.{4})(.{4})(.{4})(.{12})/, "$1-$2-$3-$4-$5");
  const headers = { Authorization: `Bearer ${key}` };
  const { thread_id } = await (await fetch(`${url}/api/v1/runs/${id}`, { headers })).json();
  const { data } = await (await fetch(`${url}/v1/conversations/${thread_id}/items?order=asc`, { headers })).json();
  return { thread_id, said: data.map(({ content }) => content.map(({ text }) => text).join("")) };
}

/** Three turns, whose words are no other conversation's. */
async function talk(name, ask) {
  const results = [];
  for (const words of ["One", "Two", "Three"]) results.push(await ask(`${words}, ${name}.`, results.at(-1)));
  const threads = await Promise.all(results.map(threadOf));
  const ids = threads.map(({ thread_id }) => thread_id);
  return { outputs: results.map(({ finalOutput }) => finalOutput), threads: new Set(ids).size, said: threads.at(-1).said };
}

const ANSWERS = [[{ text: "First." }], [{ text: "Second." }], [{ text: "Third." }]];

const CASES = {
  async plain(mode) {
    const runner = running(mode);
    const result = await runner.run(agentOf("docs"), "What is a journal?");
    return { output: result.finalOutput, kinds: kinds(result) };
  },
  /** As its README begins: `run()`, with nothing but the environment. */
  async environment() {
    const result = await run(agentOf("docs"), "What is a journal?");
    return { output: result.finalOutput };
  },
  async history(mode) {
    const { runner } = scripted(mode, ...ANSWERS);
    return talk("history", (words, before) => runner.run(agentOf("scripted"), [...(before?.history ?? []), user(words)]));
  },
  async session(mode) {
    const { runner } = scripted(mode, ...ANSWERS);
    const session = new MemorySession();
    return talk("session", (words) => runner.run(agentOf("scripted"), words, { session }));
  },
  async conversations(mode) {
    const { runner, openAIClient } = scripted(mode, ...ANSWERS);
    const session = new OpenAIConversationsSession({ client: openAIClient });
    const outcome = await talk("conversations", (words) => runner.run(agentOf("scripted"), words, { session }));
    const items = await session.getItems();
    const last = await session.popItem();
    const left = (await session.getItems()).length;
    await session.clearSession();
    return { ...outcome, items: items.length, last: last?.role, left };
  },
  async previous(mode) {
    const { runner } = scripted(mode, ...ANSWERS);
    return talk("previous", (words, before) => runner.run(agentOf("scripted"), words, { previousResponseId: before?.lastResponseId }));
  },
  async conversation(mode) {
    const { runner, openAIClient } = scripted(mode, ...ANSWERS);
    const { id: conversationId } = await openAIClient.conversations.create({});
    return talk("conversation", (words) => runner.run(agentOf("scripted"), words, { conversationId }));
  },
  async stream(mode) {
    const { runner } = scripted(mode, EVERYTHING);
    const result = await runner.run(agentOf("scripted"), "go", { stream: true });
    const events = [];
    let streamed = "";
    for await (const event of result) {
      events.push(event.type === "run_item_stream_event" ? event.name : event.type);
      if (event.type === "raw_model_stream_event" && event.data.type === "output_text_delta") streamed += event.data.delta;
    }
    await result.completed;
    return { events: [...new Set(events)], streamed, output: result.finalOutput, kinds: kinds(result), usage: result.state.usage };
  },
  async whole(mode) {
    const { runner } = scripted(mode, EVERYTHING, [{ text: "Yes." }]);
    const result = await runner.run(agentOf("scripted"), "go");
    const next = await runner.run(agentOf("scripted"), [...result.history, user("Sure?")]);
    return { output: result.finalOutput, kinds: kinds(result), usage: result.state.usage, next: next.finalOutput };
  },
  async tool(mode) {
    const { runner, requests } = scripted(mode, calls, [{ text: "Basel, then." }]);
    const result = await runner.run(agentOf("scripted", { tools: [place()] }), "Where is Ann?");
    return { output: result.finalOutput, kinds: kinds(result), requests: requests.length };
  },
  async "streamed tool"(mode) {
    const { runner, requests } = scripted(mode, calls, [{ text: "Basel, then." }], [{ text: "Yes." }]);
    const agent = agentOf("scripted", { tools: [place()] });
    const result = await runner.run(agent, "Where is Ann?", { stream: true });
    for await (const _ of result);
    const next = await runner.run(agent, [...result.history, user("Sure?")]);
    return { output: result.finalOutput, kinds: kinds(result), requests: requests.length, next: next.finalOutput };
  },
  /** A tool without parameters, called without arguments. */
  async "no arguments"(mode) {
    const ids = { toolCallId: "c1" };
    const bare = [emit("TOOL_CALL_START", { ...ids, toolCallName: "now" }), emit("TOOL_CALL_END", ids)];
    const answers = [bare, [{ text: "Noon, then." }]];
    const now = tool({ name: "now", description: "The time.", parameters: z.object({}), execute: async () => "noon" });
    const outcome = {};
    for (const stream of [false, true]) {
      const { runner } = scripted(mode, ...answers);
      const result = await runner.run(agentOf("scripted", { tools: [now] }), "When?", { stream });
      if (stream) for await (const _ of result);
      const { output } = result.history.find(({ type }) => type === "function_call_result");
      outcome[stream ? "streamed" : "whole"] = [output.text ?? output, result.finalOutput];
    }
    if (mode !== false) return outcome;
    // The helper of the `openai` package parses the arguments itself.
    const given = { name: "now", parse: JSON.parse, function: () => "noon", parameters: { type: "object", properties: {} } };
    for (const stream of [false, true]) {
      const { openAIClient } = scripted(mode, ...answers);
      const asked = { model: "scripted", stream, messages: [user("When?")], tools: [{ type: "function", function: given }] };
      const helper = openAIClient.chat.completions.runTools(asked);
      outcome[`runTools, ${stream}`] = [await helper.finalFunctionToolCallResult(), await helper.finalContent()];
    }
    return outcome;
  },
  /** The application asks a person before it runs its tool. */
  async "needs approval"(mode) {
    const outcome = {};
    for (const verdict of ["approve", "reject"]) {
      const { runner } = scripted(mode, calls, [{ text: "Fine." }]);
      const agent = agentOf("scripted", { tools: [place({ needsApproval: true })] });
      const asked = await runner.run(agent, "Where is Ann?");
      const [question] = asked.interruptions;
      asked.state[verdict](question);
      const done = await runner.run(agent, asked.state);
      outcome[verdict] = { name: question.name, output: done.finalOutput, result: done.history.find(({ type }) => type === "function_call_result")?.output };
    }
    return outcome;
  },
  /** The agent asks before it runs a tool of its own. */
  async approval(mode) {
    const outcome = {};
    for (const verdict of ["approve", "reject"]) {
      const runner = running(mode);
      const agent = agentOf("approval", { tools: [hostedMcpTool({ serverLabel: "host", serverUrl: `${url}/mcp`, requireApproval: "always" })] });
      const asked = await runner.run(agent, "delete report.txt");
      const [question] = asked.interruptions;
      asked.state[verdict](question);
      const done = await runner.run(agent, asked.state);
      outcome[verdict] = { question: question.name, arguments: question.arguments, output: done.finalOutput };
    }
    return outcome;
  },
  async structured(mode) {
    const { runner } = scripted(mode, [{ text: '{"city":"Basel"}' }]);
    const result = await runner.run(agentOf("scripted", { outputType: z.object({ city: z.string() }) }), "Where?");
    return { output: result.finalOutput };
  },
  async error(mode) {
    const { runner, requests } = scripted(mode, [{ text: "So far." }, { raise: "no" }]);
    const message = await runner.run(agentOf("scripted"), "go").then(() => null, (error) => error.message);
    const streaming = scripted(mode, [{ text: "So far." }, { raise: "no" }]);
    const result = await streaming.runner.run(agentOf("scripted"), "go", { stream: true });
    let streamed = null;
    try {
      for await (const _ of result);
      await result.completed;
    } catch (error) {
      streamed = error.message;
    }
    return { message, requests: requests.length, streamed, again: streaming.requests.length };
  },
};

/** What Chat Completions has no word for; the SDK itself says so. */
const RESPONSES_ONLY = ["environment", "previous", "conversation", "approval"];

const both = Object.entries(MODES).flatMap(([api, mode]) =>
  Object.entries(CASES)
    .filter(([name]) => api === "responses" || !RESPONSES_ONLY.includes(name))
    .map(([name, play]) => [`${name}, ${api}`, () => play(mode)]),
);
await playAll(Object.fromEntries(both));
