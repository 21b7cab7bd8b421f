// The stock AI SDK's chat: a message, and a person's decision about what the agent asks then.
//
// stdin:  one JSON per line: {"url", "key", "agent", "text", "decision": {"approved", "reason"?}}
// stdout: one JSON per line: {"text": of the assistant's last message, "errors"}, or {"broke"}

import { randomUUID } from "node:crypto";

import { AbstractChat, DefaultChatTransport } from "ai";

import { ChatState, answerAll } from "./cases.mjs";

class Chat extends AbstractChat {}

await answerAll(async ({ url, key, agent, text, decision }) => {
  const errors = [];
  const headers = { Authorization: `Bearer ${key}` };
  const chat = new Chat({
    id: randomUUID(),
    state: new ChatState(),
    transport: new DefaultChatTransport({ api: `${url}/api/chat/${agent}`, headers }),
    onError: (error) => void errors.push(error.message),
  });
  await chat.sendMessage({ text });
  const asked = chat.messages.at(-1).parts.find(({ state }) => state === "approval-requested");
  await chat.addToolApprovalResponse({ id: asked.approval.id, ...decision });
  // By the application: the call that waits for the decision keeps the chat from sending by itself.
  await chat.sendMessage();
  const words = chat.messages.at(-1).parts.filter(({ type }) => type === "text");
  return { text: words.map((part) => part.text).join(""), errors };
});
