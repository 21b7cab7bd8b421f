/** An event's content in one line. */

const LONGEST = 200;
const TOLD = {
  RUN_STARTED: ({ runId }) => runId,
  RUN_FINISHED: ({ outcome }) => outcome?.type ?? "success",
  RUN_ERROR: ({ code, message }) => `${code ? `${code}: ` : ""}${message}`,
  STEP_STARTED: ({ stepName }) => stepName,
  STEP_FINISHED: ({ stepName, metadata }) =>
    metadata?.status === "failed" ? `${stepName} failed` : stepName,
  TEXT_MESSAGE_START: ({ role = "assistant", messageId }) => `${role} ${messageId}`,
  TOOL_CALL_START: ({ toolCallName }) => toolCallName,
  TOOL_CALL_RESULT: ({ content }) => (typeof content === "string" ? content : JSON.stringify(content)),
  STATE_SNAPSHOT: ({ snapshot }) => JSON.stringify(snapshot),
  STATE_DELTA: ({ delta }) => delta.map(({ op, path }) => `${op} ${path}`).join(", "),
  MESSAGES_SNAPSHOT: ({ messages }) => `${messages.length} messages`,
  ACTIVITY_SNAPSHOT: ({ activityType, content }) => `${activityType} ${JSON.stringify(content)}`,
  ACTIVITY_DELTA: ({ patch }) => patch.map(({ op, path }) => `${op} ${path}`).join(", "),
  CUSTOM: ({ name, value }) => `${name} ${JSON.stringify(value)}`,
  SUBAGENT_STARTED: ({ name }) => name,
  SUBAGENT_ERROR: ({ message }) => message,
};

export function summary(event) {
  const told = TOLD[event.type]?.(event) ?? event.delta ?? event.messageId ?? event.toolCallId ?? "";
  return String(told).slice(0, LONGEST).replaceAll("\n", "⏎");
}

/** How a row is highlighted: "bad" for errors, "edge" where a run begins or ends. */
export function tone(type) {
  if (type.endsWith("_ERROR")) return "bad";
  return type.startsWith("RUN_") ? "edge" : null;
}
