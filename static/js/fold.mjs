/**
 * The fold of a run's events: the conversation, in order, and the state. Knows no page.
 *
 * `items` are the parts of the conversation. An item has a `kind`, the `seq` that opened it, and
 * what its kind needs; `changed` holds those that differ since the last `settle()`, and
 * `reordered` says that some have gone, so that a view must start over.
 */

import { applyPatch } from "./json-patch.mjs";
import { messagesOf } from "./messages.mjs";
import { Text } from "./text.mjs";

const HISTORY = new Set(["message", "tool", "reasoning", "activity"]);

export class Fold {
  constructor() {
    this.items = [];
    this.changed = new Set();
    this.reordered = false;
    this.state = {};
    this.stateVersion = 0;
    this.input = null;
    this.end = null;
    this.problem = null;
    this.counts = { messages: 0, tools: 0 };
    this.byKey = new Map();
    this.steps = new Map();
  }

  feed(seq, event) {
    HANDLERS[event.type]?.call(this, event, seq);
  }

  /** The view is up to date. */
  settle() {
    this.changed.clear();
    this.reordered = false;
  }

  /** The item of that kind and id, made at the end of the conversation if it is new. */
  item(kind, id, seq, values = {}) {
    const key = `${kind}:${id}`;
    let item = this.byKey.get(key);
    if (!item) {
      item = { kind, id, key, seq, ...values };
      this.byKey.set(key, item);
      this.items.push(item);
      if (kind === "message") this.counts.messages += 1;
      if (kind === "tool") this.counts.tools += 1;
    }
    this.changed.add(item);
    return item;
  }

  /** Text that belongs to an item which the log should have opened; opened here if it did not. */
  append(kind, id, seq, delta) {
    const item = this.item(kind, id, seq, { text: new Text(), open: true });
    item.text.append(delta);
  }

  /** The item in which an event shows: that of its call or message, else the last before it. */
  itemOf(event, seq) {
    const named = [["tool", event?.toolCallId], ["message", event?.messageId], ["reasoning", event?.messageId], ["activity", event?.messageId], ["subagent", event?.subagentRunId]];
    for (const [kind, id] of named) {
      const item = id !== undefined && this.byKey.get(`${kind}:${id}`);
      if (item) return item;
    }
    return this.items.findLast((item) => item.seq <= seq) ?? null;
  }

  close(kind, id) {
    const item = this.byKey.get(`${kind}:${id}`);
    if (!item) return;
    item.open = false;
    this.changed.add(item);
  }

  patch(document, operations, seq) {
    try {
      return applyPatch(document, operations);
    } catch (error) {
      this.problem = `Event ${seq}: ${error.message}; the patch was left out.`;
      return document;
    }
  }

  /** Take messages as they stand; returns the keys of the items that show them. */
  restate(messages, seq) {
    const keys = new Set();
    for (const { kind, id, values } of messagesOf(messages)) {
      const item = this.item(kind, id, seq, values);
      Object.assign(item, values);
      item.restated = true;
      item.seq ||= seq;
      keys.add(item.key);
    }
    return keys;
  }

  /** A snapshot is the whole list: held messages that it leaves out are gone. */
  reconcile(messages, seq) {
    const keep = this.restate(messages, seq);
    const told = new Set(messages.map((message) => message.role));
    const goes = (item) =>
      HISTORY.has(item.kind) && !keep.has(item.key) &&
      (told.has(item.kind) || (item.kind !== "activity" && item.kind !== "reasoning"));
    const kept = this.items.filter((item) => !goes(item));
    if (kept.length === this.items.length) return;
    this.items = kept;
    this.byKey = new Map(kept.map((item) => [item.key, item]));
    this.reordered = true;
    const count = (kind) => kept.filter((item) => item.kind === kind).length;
    this.counts = { messages: count("message"), tools: count("tool") };
  }
}

const HANDLERS = {
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
  SUBAGENT_STARTED({ subagentRunId, name, timestamp }, seq) {
    this.item("subagent", subagentRunId, seq, { name, since: timestamp }).open = true;
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
