/**
 * The fold of a run's events: the conversation, in order, and the state. Independent of pages.
 *
 * `items` are the parts of the conversation. An item has a `kind`, the `seq` that opened it, the
 * subagent that is its `owner`, if any, and what its kind needs; `changed` holds items that differ
 * since the last `settle()`, and `reordered` means that some have gone, so that a view must start
 * over.
 */

import { applyPatch } from "./json-patch.mjs";
import { messagesOf } from "./messages.mjs";
import { HANDLERS } from "./source/handlers.mjs";
import { Text } from "./text.mjs";

const HISTORY = new Set(["message", "tool", "reasoning", "activity"]);

export class Fold {
  constructor() {
    this.changed = new Set();
    this.clear();
    this.reordered = false;
    this.state = {};
    this.stateVersion = 0;
    this.input = null;
    this.end = null;
    this.problem = null;
  }

  /** Forget the conversation, to be told it again. */
  clear() {
    this.items = [];
    this.counts = { messages: 0, tools: 0 };
    this.byKey = new Map();
    this.steps = new Map();
    this.dropped = new Set();
    this.changed.clear();
    this.reordered = true;
  }

  feed(seq, event) {
    this.owner = event.subagentRunId;
    HANDLERS[event.type]?.call(this, event, seq);
  }

  restore(state) {
    this.state = state;
    this.stateVersion += 1;
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
      item = { kind, id, key, seq, owner: this.owner, ...values };
      this.byKey.set(key, item);
      this.dropped.delete(key);
      this.items.push(item);
      if (kind === "message") this.counts.messages += 1;
      if (kind === "tool") this.counts.tools += 1;
    }
    this.changed.add(item);
    return item;
  }

  /** Text that belongs to an item which the log should have opened; opened here if it did not. No snapshot's drop is undone. */
  append(kind, id, seq, delta) {
    if (this.dropped.has(`${kind}:${id}`)) return;
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
    if (item) this.changed.add(Object.assign(item, { open: false }));
  }

  /** A patch that fails changes nothing; `take` gets the document of any other one. */
  patch(document, operations, seq, take) {
    let made;
    try {
      made = applyPatch(document, operations);
    } catch (error) {
      this.problem = `Event ${seq}: ${error.message}; the patch was left out.`;
      return;
    }
    take(made);
  }

  /** Take messages as they are; returns the keys of the items that show them. */
  restate(messages, seq) {
    const keys = new Set();
    for (const { kind, id, values } of messagesOf(messages)) {
      const item = this.item(kind, id, seq, values);
      if (item.alone && values.alone === false) item.owner = undefined; // That of its result.
      Object.assign(item, values);
      item.restated = true;
      item.seq ||= seq;
      keys.add(item.key);
    }
    return keys;
  }

  /** A snapshot is the whole list: held messages that it leaves out are gone, and so are parts of calls. */
  reconcile({ messages, metadata }, seq) {
    for (const item of this.items) if (item.kind === "tool") Object.assign(item, { name: undefined, text: new Text(), result: undefined });
    const keep = this.restate(messages, seq);
    for (const item of messages.filter(({ toolCalls }) => toolCalls?.length).map(({ id }) => this.byKey.get(`message:${id}`))) {
      if (!item || keep.has(item.key)) continue; // It only calls now; words can follow.
      this.changed.add(Object.assign(item, { text: new Text(), attachments: [] }));
      keep.add(item.key);
    }
    const told = new Set(messages.map((message) => message.role));
    const activityStays = stayingActivities(metadata, !told.has("activity"));
    const stays = ({ kind, name }) => (kind === "activity" ? activityStays(name) : kind === "reasoning" && !told.has(kind));
    const goes = (item) => HISTORY.has(item.kind) && !keep.has(item.key) && !stays(item);
    const kept = this.items.filter((item) => !goes(item));
    if (kept.length === this.items.length) return;
    for (const item of this.items) if (goes(item)) this.dropped.add(item.key);
    const count = (kind) => kept.filter((item) => item.kind === kind).length;
    const counts = { messages: count("message"), tools: count("tool") };
    Object.assign(this, { items: kept, byKey: new Map(kept.map((item) => [item.key, item])), reordered: true, counts });
  }
}

/** Which types of activities survive a snapshot that leaves them out: all if it has none (`silent`), unless its metadata lists them. */
function stayingActivities(metadata, silent) {
  const declared = metadata?.["@ag-ui/client"];
  if (declared === undefined) return () => silent;
  if (declared === null || typeof declared !== "object" || Array.isArray(declared)) return () => true;
  const { authoritativeActivityTypes: types } = declared;
  if (types === undefined) return () => silent;
  if (types === null) return () => false;
  return Array.isArray(types) && types.every((type) => typeof type === "string") ? (name) => !types.includes(name) : () => true;
}
