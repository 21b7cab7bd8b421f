/** What each type of event does to a fold, which is `this`. */

import { Text } from "../text.mjs";

const appends = (kind, id) => function (event, seq) {
  this.append(kind, event[id], seq, event.delta);
};

const closes = (kind, id) => function (event) {
  this.close(kind, event[id]);
};

const stepOf = ({ subagentRunId = "", stepName }) => `${subagentRunId}:${stepName}`;

export const HANDLERS = {
  RUN_STARTED({ input }, seq) {
    if (!input) return;
    this.input = input;
    this.restore(structuredClone(input.state ?? {}));
    this.restate(input.messages ?? [], seq);
  },
  RUN_FINISHED(event, seq) {
    this.end = event;
    const { type, interrupts = [] } = event.outcome ?? {};
    for (const interrupt of interrupts) this.item("interrupt", interrupt.id, seq, { interrupt });
    if (type === "cancelled") this.item("mark", type, seq, { name: "Cancelled" });
    if (event.result !== undefined) this.item("result", "", seq, { value: event.result });
  },
  RUN_ERROR(event, seq) {
    this.end = event;
    this.item("error", "", seq, { code: event.code, message: event.message });
  },
  STEP_STARTED(event, seq) {
    this.steps.set(stepOf(event), this.item("step", seq, seq, { name: event.stepName, since: event.timestamp, open: true }));
  },
  STEP_FINISHED(event) {
    const item = this.steps.get(stepOf(event));
    if (item) this.changed.add(Object.assign(item, { open: false, until: event.timestamp }));
  },
  TEXT_MESSAGE_START({ messageId, role = "assistant", name }, seq) {
    Object.assign(this.item("message", messageId, seq, { role, name, text: new Text() }), { open: true, own: true });
  },
  TEXT_MESSAGE_CONTENT: appends("message", "messageId"),
  TEXT_MESSAGE_END: closes("message", "messageId"),
  REASONING_MESSAGE_START({ messageId }, seq) {
    this.item("reasoning", messageId, seq, { text: new Text() }).open = true;
  },
  REASONING_MESSAGE_CONTENT: appends("reasoning", "messageId"),
  REASONING_MESSAGE_END: closes("reasoning", "messageId"),
  TOOL_CALL_START({ toolCallId, toolCallName: name, parentMessageId: parent, timestamp: since }, seq) {
    // A call brings back the message that it names, which a snapshot may have dropped.
    if (this.dropped.has(`message:${parent}`)) this.item("message", parent, seq, { role: "assistant", text: new Text() });
    const item = this.item("tool", toolCallId, seq, { text: new Text() });
    if (item.alone) item.owner = this.owner;
    Object.assign(item, { name, since: item.since ?? since, open: true, alone: false });
  },
  TOOL_CALL_ARGS: appends("tool", "toolCallId"),
  TOOL_CALL_END: closes("tool", "toolCallId"),
  TOOL_CALL_RESULT({ toolCallId, content: result, timestamp: until }, seq) {
    Object.assign(this.item("tool", toolCallId, seq, { text: new Text(), alone: true }), { result, until });
  },
  ACTIVITY_SNAPSHOT({ messageId, activityType: name, content, replace = true, subagentRunId: owner }, seq) {
    if (this.byKey.has(`activity:${messageId}`) && !replace) return;
    Object.assign(this.item("activity", messageId, seq), { name, content, owner });
  },
  ACTIVITY_DELTA({ messageId, activityType: name, patch }, seq) {
    const item = this.byKey.get(`activity:${messageId}`);
    if (item) this.patch(item.content, patch, seq, (content) => this.changed.add(Object.assign(item, { name, content })));
  },
  SUBAGENT_STARTED({ subagentRunId, parentSubagentRunId: owner, name, timestamp: since }, seq) {
    this.item("subagent", subagentRunId, seq, { name, owner, since }).open = true;
  },
  SUBAGENT_FINISHED({ subagentRunId, timestamp: until }, seq) {
    Object.assign(this.item("subagent", subagentRunId, seq), { open: false, until });
  },
  SUBAGENT_ERROR({ subagentRunId, message: failure, timestamp: until }, seq) {
    Object.assign(this.item("subagent", subagentRunId, seq), { open: false, until, failure });
  },
  STATE_SNAPSHOT({ snapshot }) {
    this.restore(snapshot);
  },
  STATE_DELTA({ delta }, seq) {
    this.patch(this.state, delta, seq, (state) => this.restore(state));
  },
  MESSAGES_SNAPSHOT(event, seq) {
    this.reconcile(event, seq);
  },
};
