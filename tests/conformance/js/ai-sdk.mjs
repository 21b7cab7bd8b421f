// The stock AI SDK against a host: what its Chat makes of each case.
//
// stdin:  {"url", "key", "thread": prefix of all chats' ids,
//          "gates": where a chat's file lets its agent go on}
// stdout: {case: what came of it}, see CASES

import { randomUUID } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { text } from "node:stream/consumers";

import {
  AbstractChat,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  readUIMessageStream,
} from "ai";

import { WorkflowChatTransport } from "@ai-sdk/workflow/client";

import { ChatState, call, cutAfter, emit, heldCall, heldText, plain, playAll, until } from "./cases.mjs";

const { url: host, key, thread, gates } = JSON.parse(await text(process.stdin));
const headers = { Authorization: `Bearer ${key}` };

/** A page whose transport is another package's; `sent` is added to the body of each message. */
class WorkflowPage extends AbstractChat {
  constructor(agent, id, { cut, messages, sent, ...options } = {}) {
    const calls = [];
    const errors = [];
    const fetch = async (address, init) => {
      const answer = await globalThis.fetch(address, { ...init, headers: { ...init.headers, ...headers } });
      calls.push({ method: init.method ?? "GET", address: address.slice(host.length), status: answer.status, run: answer.headers.get("x-workflow-run-id") });
      return cut && calls.length === 1 ? cutAfter(answer, '"text-delta"', cut) : answer;
    };
    const transport = new WorkflowChatTransport({ api: `${host}/api/chat/${agent}`, fetch, ...options });
    super({ id, state: new ChatState(messages), transport, onError: (error) => errors.push(error.message) });
    Object.assign(this, { agent, calls, errors, sent });
  }
  say(text, body) {
    return this.sendMessage({ text }, { body: { ...this.sent, ...body } });
  }
  async seen() {
    const chat = (await (await fetch(`${host}/api/v1/runs/${this.calls[0].run}`, { headers })).json()).thread_id;
    const hydrated = await (await fetch(`${host}/api/chat/${this.agent}/${chat}`, { headers })).json();
    const { status, messages, errors, calls } = this;
    return { status, messages: plain(messages), hydrated, errors, calls };
  }
}

/** A page: a chat, the requests it made, and the transient parts it got. */
class Page extends AbstractChat {
  constructor(agent, id, { cut, marker = '"text-delta"', body = {}, messages, headers: own = headers, ...options } = {}) {
    const calls = [];
    const data = [];
    const errors = [];
    const fetch = async (address, init) => {
      const answer = await globalThis.fetch(address, init);
      calls.push(`${init.method} ${address.slice(host.length)} ${answer.status}`);
      return cut && calls.length === 1 ? cutAfter(answer, marker, cut) : answer;
    };
    const api = `${host}/api/chat/${agent}`;
    super({
      id,
      state: new ChatState(messages),
      transport: new DefaultChatTransport({ api, headers: own, body, fetch }),
      onData: (part) => data.push(part),
      onError: (error) => errors.push(error.message),
      ...options,
    });
    Object.assign(this, { agent, calls, data, errors });
  }
  get texts() {
    return textsOf(this.messages.filter(({ role }) => role === "assistant"));
  }
  /** What a page that loads now gets. */
  async hydrated() {
    return (await fetch(`${host}/api/chat/${this.agent}/${this.id}`, { headers })).json();
  }
  async seen() {
    const hydrated = await this.hydrated();
    const { status, messages, data, errors, calls } = this;
    return { status, messages: plain(messages), hydrated, data, errors, calls };
  }
}

const textsOf = (messages) =>
  messages.flatMap(({ parts }) => parts.filter(({ type }) => type === "text").map((part) => part.text));
const id = () => `${thread}-${randomUUID()}`;
const script = (...steps) => ({ body: { forwardedProps: { script: steps } } });
const slow = (steps, seconds) => ({ body: { forwardedProps: { steps, seconds } } });

const runs = async (chat) => {
  const query = new URLSearchParams({ thread_id: chat });
  return (await (await fetch(`${host}/api/v1/runs?${query}`, { headers })).json()).results;
};

const EVERYTHING = [
  emit("REASONING_START", { messageId: "r" }),
  emit("REASONING_MESSAGE_START", { messageId: "r", role: "reasoning" }),
  emit("REASONING_MESSAGE_CONTENT", { messageId: "r", delta: "Hm." }),
  emit("REASONING_MESSAGE_END", { messageId: "r" }),
  emit("REASONING_END", { messageId: "r" }),
  emit("STEP_STARTED", { stepName: "look" }),
  emit("TEXT_MESSAGE_START", { messageId: "a", role: "assistant" }),
  emit("TEXT_MESSAGE_CONTENT", { messageId: "a", delta: "I look\u2028it " }),
  emit("TEXT_MESSAGE_CONTENT", { messageId: "a", delta: "up." }),
  emit("TOOL_CALL_START", { toolCallId: "c", toolCallName: "look_up", parentMessageId: "a" }),
  emit("TOOL_CALL_ARGS", { toolCallId: "c", delta: '{"word":' }),
  emit("STEP_FINISHED", { stepName: "look" }),
  emit("TOOL_CALL_ARGS", { toolCallId: "c", delta: ' "run"}' }),
  emit("TOOL_CALL_END", { toolCallId: "c" }),
  emit("TEXT_MESSAGE_END", { messageId: "a" }),
  emit("TOOL_CALL_RESULT", { messageId: "t", toolCallId: "c", content: "a run", role: "tool" }),
  emit("TOOL_CALL_START", { toolCallId: "d", toolCallName: "broken" }),
  emit("TOOL_CALL_ARGS", { toolCallId: "d", delta: "{oh" }),
  emit("TOOL_CALL_END", { toolCallId: "d" }),
  emit("TOOL_CALL_RESULT", { messageId: "t2", toolCallId: "d", content: "no", role: "tool" }),
  emit("STATE_SNAPSHOT", { snapshot: { n: 1 } }),
  emit("STATE_DELTA", { delta: [{ op: "replace", path: "/n", value: 2 }] }),
  emit("ACTIVITY_SNAPSHOT", { messageId: "v", activityType: "plan", content: { steps: [] } }),
  emit("ACTIVITY_DELTA", {
    messageId: "v",
    activityType: "plan",
    patch: [{ op: "add", path: "/steps/-", value: "one" }],
  }),
  emit("CUSTOM", { name: "mark", value: { at: 7 } }),
];

const CASES = {
  /** A text, then another turn. */
  async text() {
    const page = new Page("scripted", id(), script({ text: "One." }));
    await page.sendMessage({ text: "hello" });
    await page.sendMessage({ text: "again" });
    await page.resumeStream();
    return page.seen();
  },
  async everything() {
    const page = new Page("scripted", id(), script(...EVERYTHING));
    await page.sendMessage({
      text: "look",
      files: [{ type: "file", mediaType: "image/png", url: "data:image/png;base64,iVBORw0=" }],
    });
    return page.seen();
  },
  /** The first connection is lost in the middle of a text; another page comes late. */
  async cut() {
    const chat = id();
    const page = new Page("scripted", chat, { ...script(...heldText(`${gates}/${chat}`)), cut: 2 });
    await page.sendMessage({ text: "hello" });
    const lost = page.texts.join("");
    const late = new Page("scripted", page.id, { messages: await page.hydrated() });
    const resuming = [page.resumeStream(), late.resumeStream()];
    await until(() => page.calls.length === 2 && late.calls.length === 1);
    await writeFile(`${gates}/${chat}`, "");
    await Promise.all(resuming);
    return { ...(await page.seen()), lost, late: plain(late.messages) };
  },
  /** The transport names no chat; it comes back by itself, and its second turn is in the same chat. */
  async workflow() {
    const gate = `${gates}/${id()}`;
    const page = new WorkflowPage("scripted", id(), { cut: 2 });
    const sending = page.say("hello", script(...heldText(gate)).body);
    await until(() => page.calls.length === 2);
    await writeFile(gate, "");
    await sending;
    await page.say("again", script({ text: "Four." }).body);
    await page.regenerate({ body: script({ text: "Five." }).body });
    return page.seen();
  },
  /** It names the chat: a page that loads gets its newest message, running or ended. */
  async workflow_loads() {
    const chat = id();
    const gate = `${gates}/${chat}`;
    const page = new WorkflowPage("scripted", chat, { sent: { id: chat } });
    const sending = page.say("hello", script(...heldText(gate)).body);
    await until(() => page.lastMessage?.role === "assistant");
    const hydrated = async () => (await fetch(`${host}/api/chat/scripted/${chat}`, { headers })).json();
    const late = new WorkflowPage("scripted", chat, { messages: await hydrated() });
    const near = new WorkflowPage("scripted", chat, { initialStartIndex: -2 });
    const resuming = [late.resumeStream(), near.resumeStream()];
    await until(() => late.calls.length === 1 && near.calls.length === 1);
    await writeFile(gate, "");
    await Promise.all([sending, ...resuming]);
    const after = new WorkflowPage("scripted", chat, { messages: await hydrated() });
    await after.resumeStream();
    const others = [late, after].map(({ messages }) => plain(messages));
    const errors = [late, near, after].flatMap((each) => each.errors);
    return { ...(await page.seen()), others, near: plain(near.messages), errors };
  },
  /** A failed run ends for it as well. */
  async workflow_fails() {
    const page = new WorkflowPage("scripted", id());
    await page.say("hello", script({ text: "So far." }, { raise: "no" }).body);
    return page.seen();
  },
  /** The connection is lost, and the run ends before the page is back: nothing runs, it loads again. */
  async missed() {
    const page = new Page("scripted", id(), { ...script({ text: "x", n: 40, rate: 40 }), cut: 3 });
    await page.sendMessage({ text: "hello" });
    await until(async () => (await runs(page.id))[0].status === "succeeded");
    await page.resumeStream();
    const lost = page.texts.join("");
    page.messages = await page.hydrated();
    return { ...(await page.seen()), lost };
  },
  /** The connection is lost in the middle of a call's arguments. */
  async cut_in_a_tool() {
    const chat = id();
    const gate = `${gates}/${chat}`;
    const options = { ...script(...heldCall(gate)), cut: 4, marker: '"tool-input-delta"' };
    const page = new Page("scripted", chat, options);
    await page.sendMessage({ text: "hello" });
    const lost = plain(page.messages.at(-1).parts.at(-1));
    const resuming = page.resumeStream();
    await until(() => page.calls.length === 2);
    await writeFile(gate, "");
    await resuming;
    return { ...(await page.seen()), lost };
  },
  async stop() {
    const page = new Page("slow", id(), slow(1000, 60));
    const sending = page.sendMessage({ text: "hello" });
    await until(() => page.texts.join(""));
    const answer = await fetch(`${host}/api/chat/slow/${page.id}/stop`, { method: "POST", headers });
    await sending;
    return { ...(await page.seen()), stop: answer.status, runs: await runs(page.id) };
  },
  async error() {
    const page = new Page("scripted", id(), script({ text: "So far." }, { raise: "no" }));
    await page.sendMessage({ text: "hello" });
    return page.seen();
  },
  /** The tool is the client's: its output goes back by itself. */
  async client_tool() {
    const tools = { place: { description: "where", inputSchema: { type: "object" } } };
    const body = { tools, forwardedProps: { script: call("c1", "place") } };
    const page = new Page("scripted", id(), {
      body: () => body,
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
      onToolCall: ({ toolCall }) => {
        body.forwardedProps = { script: [{ text: "Basel, then." }] };
        page.addToolOutput({ tool: "place", toolCallId: toolCall.toolCallId, output: { at: "Basel" } });
      },
    });
    await page.sendMessage({ text: "where?" });
    await until(() => page.calls.length === 2 && page.status === "ready");
    return page.seen();
  },
  /** A question, answered; a page that comes while the answer is worked on sees all of it. */
  async approval() {
    const page = new Page("approval", id(), {
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    });
    await page.sendMessage({ text: "delete report.txt" });
    const asked = await page.seen();
    const part = page.messages.at(-1).parts.find(({ state }) => state === "approval-requested");
    await page.addToolApprovalResponse({ id: part.approval.id, approved: true });
    await until(() => page.calls.length === 2 && page.status === "ready");
    return { ...(await page.seen()), asked };
  },
  async regenerate() {
    const page = new Page("scripted", id(), script({ text: "One.", n: 1 }));
    await page.sendMessage({ text: "hello" });
    const before = page.texts;
    await page.regenerate();
    return { ...(await page.seen()), before };
  },
  async refusals() {
    const outcomes = {};
    const unknown = new Page("nobody", id());
    await unknown.sendMessage({ text: "hello" });
    outcomes.agent = { calls: unknown.calls, errors: unknown.errors, runs: await runs(unknown.id) };
    const stranger = new Page("scripted", id(), { headers: {} });
    await stranger.sendMessage({ text: "hello" });
    outcomes.key = { calls: stranger.calls, errors: stranger.errors, runs: await runs(stranger.id) };
    const nothing = new Page("scripted", id());
    await nothing.resumeStream();
    outcomes.nothing = await nothing.seen();
    return outcomes;
  },
  /** As one reads a stream without a Chat. */
  async bare() {
    const transport = new DefaultChatTransport({ api: `${host}/api/chat/docs`, headers });
    const chatId = id();
    const messages = [{ id: "u", role: "user", parts: [{ type: "text", text: "What is a journal?" }] }];
    const stream = await transport.sendMessages({ chatId, messages, trigger: "submit-message" });
    let last;
    for await (const message of readUIMessageStream({ stream })) last = message;
    const hydrated = await (await fetch(`${host}/api/chat/docs/${chatId}`, { headers })).json();
    return { message: plain(last), hydrated };
  },
};

await playAll(CASES);
