/** What each type of event does to a fold, which is `this`. */

import { Text } from "../text.mjs";

export const HANDLERS = {
  RUN_STARTED({ input }, seq) {
    if (!input) return;
    this.input = input;
    this.state = structuredClone(input.state ?? {});
    this.stateVersion += 1;
    this.restate(input.messages ?? [], seq);
  },
  RUN_FINISHED(event, seq) {
    this.end = event;
    const outcome = event.outcome?.type;
    for (const interrupt of event.outcome?.interrupts ?? []) this.item("interrupt", interrupt.id, seq, { interrupt });
    if (outcome === "cancelled") this.item("mark", "cancelled", seq, { name: "Cancelled" });
    if (event.result !== undefined) this.item("result", "", seq, { value: event.result });
  },
  RUN_ERROR(event, seq) {
    this.end = event;
    this.item("error", "", seq, { code: event.code, message: event.message });
  },
  STEP_STARTED(event, seq) {
    const owner = `${event.subagentRunId ?? ""}:${event.stepName}`;
    this.steps.set(owner, this.item("step", seq, seq, { name: event.stepName, since: event.timestamp, open: true }));
  },
  STEP_FINISHED(event) {
    const item = this.steps.get(`${event.subagentRunId ?? ""}:${event.stepName}`);
    if (item) Object.assign(item, { open: false, until: event.timestamp });
    if (item) this.changed.add(item);
  },
  TEXT_MESSAGE_START({ messageId, role = "assistant", name }, seq) {
    this.item("message", messageId, seq, { role, name, text: new Text() }).open = true;
  },
  TEXT_MESSAGE_CONTENT({ messageId, delta }, seq) {
    this.append("message", messageId, seq, delta);
  },
  TEXT_MESSAGE_END({ messageId }) {
    this.close("message", messageId);
  },
  REASONING_MESSAGE_START({ messageId }, seq) {
    this.item("reasoning", messageId, seq, { text: new Text() }).open = true;
  },
  REASONING_MESSAGE_CONTENT({ messageId, delta }, seq) {
    this.append("reasoning", messageId, seq, delta);
  },
  REASONING_MESSAGE_END({ messageId }) {
    this.close("reasoning", messageId);
  },
  TOOL_CALL_START({ toolCallId, toolCallName, timestamp }, seq) {
    this.item("tool", toolCallId, seq, { name: toolCallName, text: new Text(), since: timestamp }).open = true;
  },
  TOOL_CALL_ARGS({ toolCallId, delta }, seq) {
    this.append("tool", toolCallId, seq, delta);
  },
  TOOL_CALL_END({ toolCallId }) {
    this.close("tool", toolCallId);
  },
  TOOL_CALL_RESULT({ toolCallId, content, timestamp }, seq) {
    const item = this.item("tool", toolCallId, seq, { text: new Text() });
    Object.assign(item, { result: content, until: timestamp });
  },
  ACTIVITY_SNAPSHOT({ messageId, activityType, content, replace = true }, seq) {
    const known = this.byKey.has(`activity:${messageId}`);
    if (known && !replace) return;
    Object.assign(this.item("activity", messageId, seq), { name: activityType, content });
  },
  ACTIVITY_DELTA({ messageId, activityType, patch }, seq) {
    const item = this.byKey.get(`activity:${messageId}`);
    if (!item) return;
    Object.assign(item, { name: activityType, content: this.patch(item.content, patch, seq) });
    this.changed.add(item);
  },
  SUBAGENT_STARTED({ subagentRunId, parentSubagentRunId: owner, name, timestamp }, seq) {
    this.item("subagent", subagentRunId, seq, { name, owner, since: timestamp }).open = true;
  },
  SUBAGENT_FINISHED({ subagentRunId, timestamp }, seq) {
    Object.assign(this.item("subagent", subagentRunId, seq), { open: false, until: timestamp });
  },
  SUBAGENT_ERROR({ subagentRunId, message, timestamp }, seq) {
    Object.assign(this.item("subagent", subagentRunId, seq), { open: false, until: timestamp, failure: message });
  },
  STATE_SNAPSHOT({ snapshot }) {
    this.state = snapshot;
    this.stateVersion += 1;
  },
  STATE_DELTA({ delta }, seq) {
    this.state = this.patch(this.state, delta, seq);
    this.stateVersion += 1;
  },
  MESSAGES_SNAPSHOT({ messages }, seq) {
    this.reconcile(messages, seq);
  },
};
