/** Whole messages, as an input or a snapshot holds them, in terms of the fold's items. */

import { Text } from "./text.mjs";

/** One `{kind, id, values}` for each thing that the messages show. */
export function messagesOf(messages) {
  const found = new Map();
  const tell = (kind, id, values) => {
    const key = `${kind}:${id}`;
    if (!found.has(key)) found.set(key, { kind, id, values: { open: false } });
    Object.assign(found.get(key).values, values);
  };
  for (const message of messages) (TELLERS[message.role] ?? said)(message, tell);
  return [...found.values()];
}

const TELLERS = {
  tool: ({ toolCallId, content, error }, tell) => tell("tool", toolCallId, { result: error ?? content }),
  reasoning: ({ id, content }, tell) => tell("reasoning", id, { text: new Text(content) }),
  activity: ({ id, activityType, content }, tell) => 
    tell("activity", id, { name: activityType, content: structuredClone(content) }),
};

function said({ id, role, name, content, toolCalls = [], subagentRunId }, tell) {
  // A snapshot that names no owner takes none away.
  const owned = subagentRunId === undefined ? {} : { owner: subagentRunId };
  const parts = Array.isArray(content) ? content.filter(({ type }) => type !== "text") : [];
  const text = parts.length ? content.filter(({ type }) => type === "text") : content;
  if (content || !toolCalls.length) tell("message", id, { role, name, ...owned, text: new Text(plain(text)), attachments: parts });
  for (const { id, function: call } of toolCalls) tell("tool", id, { name: call.name, ...owned, text: new Text(call.arguments) });
}

/** Content as text: parts that are not text are named. */
export function plain(content) {
  if (content == null) return "";
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : `[${part.type}${kindOf(part.source)}]`)).join("\n");
}

function kindOf(source) {
  return source?.mimeType ? ` ${source.mimeType}` : "";
}
