/** Whole messages, as an input or a snapshot holds them, in terms of the fold's items. */

import { Text } from "./text.mjs";

/** One `{kind, id, values}` for each thing that the messages show. */
export function messagesOf(messages) {
  const found = new Map();
  const tell = (kind, id, values, alone = {}) => {
    const key = `${kind}:${id}`;
    if (!found.has(key)) found.set(key, { kind, id, values: { open: false, ...alone } });
    Object.assign(found.get(key).values, values);
  };
  // A call and its result can come in any order; the call says whose it is.
  const tellCall = (id, values) => {
    const earlier = found.get(`tool:${id}`)?.values;
    if (earlier?.alone) delete earlier.owner;
    tell("tool", id, { ...values, alone: false });
  };
  for (const message of messages) (TELLERS[message.role] ?? said)(message, tell, tellCall);
  return [...found.values()];
}

const TELLERS = {
  // The owner is that of the call; a result whose call is unknown has its own.
  tool: ({ toolCallId, content, error, ...rest }, tell) => tell("tool", toolCallId, { result: error ?? content }, { ...ownerOf(rest), alone: true }),
  reasoning: ({ id, content, ...rest }, tell) => tell("reasoning", id, { ...ownerOf(rest), text: new Text(content) }),
  activity: ({ id, activityType, content, ...rest }, tell) =>
    tell("activity", id, { name: activityType, ...ownerOf(rest), content: structuredClone(content) }),
};

// A snapshot that names no owner takes none away.
function ownerOf({ subagentRunId }) {
  return subagentRunId === undefined ? {} : { owner: subagentRunId };
}

function said({ id, role, name, content, toolCalls = [], ...rest }, tell, tellCall) {
  const owned = ownerOf(rest);
  const parts = Array.isArray(content) ? content.filter(({ type }) => type !== "text") : [];
  const text = parts.length ? content.filter(({ type }) => type === "text") : content;
  if (content || !toolCalls.length) tell("message", id, { role, name, ...owned, text: new Text(plain(text)), attachments: parts });
  for (const { id, function: call } of toolCalls) tellCall(id, { name: call.name, ...owned, text: new Text(call.arguments) });
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
