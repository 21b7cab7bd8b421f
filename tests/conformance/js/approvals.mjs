// The stock AI SDK's chat: a message, and a person's decision about what the agent asks then.
//
// stdin:  one JSON per line: {"url", "key", "agent", "text", "decision": {"approved", "reason"?}}
// stdout: one JSON per line: {"text": of the assistant's last message, "errors"}, or {"broke"}

import { randomUUID } from "node:crypto";

import {
  AbstractChat,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
} from "ai";

import { ChatState, answerAll, until } from "./cases.mjs";

class Chat extends AbstractChat {}

await answerAll(async ({ url, key, agent, text, decision }) => {
  const errors = [];
  let requests = 0;
  const counted = (...request) => {
    requests += 1;
    return fetch(...request);
  };
  const headers = { Authorization: `Bearer ${key}` };
  const chat = new Chat({
    id: randomUUID(),
    state: new ChatState(),
    transport: new DefaultChatTransport({ api: `${url}/api/chat/${agent}`, headers, fetch: counted }),
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    onError: (error) => void errors.push(error.message),
  });
  await chat.sendMessage({ text });
  const asked = chat.messages.at(-1).parts.find(({ state }) => state === "approval-requested");
  // The chat sends it by itself, since no other call of the message is open.
  await chat.addToolApprovalResponse({ id: asked.approval.id, ...decision });
  await until(() => requests === 2 && chat.status === "ready");
  const words = chat.messages.at(-1).parts.filter(({ type }) => type === "text");
  return { text: words.map((part) => part.text).join(""), errors };
});
