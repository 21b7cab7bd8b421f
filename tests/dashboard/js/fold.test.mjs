/** What a page shows of a run, from its events alone. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Fold } from "../../../static/js/fold.mjs";

function fold(...events) {
  const made = new Fold();
  events.forEach((event, i) => made.feed(i + 1, event));
  return made;
}

const items = (made, ...keys) => made.items.map((item) => keys.map((key) => (key === "text" ? item.text?.all() : item[key])));
const started = (input) => ({ type: "RUN_STARTED", threadId: "t", runId: "r", input });
const text = (messageId, ...deltas) => [
  { type: "TEXT_MESSAGE_START", messageId, role: "assistant" },
  ...deltas.map((delta) => ({ type: "TEXT_MESSAGE_CONTENT", messageId, delta })),
];

test("the question comes from the input, the answer from the stream", () => {
  const made = fold(started({ messages: [{ id: "u", role: "user", content: "Why?" }] }), ...text("a", "Be", "cause"));
  assert.deepEqual(items(made, "kind", "role", "text", "open", "seq"), [
    ["message", "user", "Why?", false, 1],
    ["message", "assistant", "Because", true, 2],
  ]);
  made.feed(5, { type: "TEXT_MESSAGE_END", messageId: "a" });
  assert.equal(made.items[1].open, false);
  assert.deepEqual(made.counts, { messages: 2, tools: 0 });
});

test("messages of a history become what they were: text, calls with results, reasoning", () => {
  const call = { id: "c", type: "function", function: { name: "look", arguments: '{"a":1}' } };
  const made = fold(started({ messages: [
    { id: "1", role: "user", content: [{ type: "text", text: "See" }, { type: "document", source: { type: "data", value: "", mimeType: "text/csv" } }] },
    { id: "2", role: "reasoning", content: "Hm" },
    { id: "3", role: "assistant", toolCalls: [call] },
    { id: "4", role: "tool", toolCallId: "c", content: "found" },
    { id: "5", role: "assistant", content: "Done" },
  ] }));
  assert.deepEqual(made.items[0].attachments.map(({ type, source }) => [type, source.mimeType]), [["document", "text/csv"]]);
  assert.deepEqual(items(made, "kind", "text", "result"), [
    ["message", "See", undefined],
    ["reasoning", "Hm", undefined],
    ["tool", '{"a":1}', "found"],
    ["message", "Done", undefined],
  ]);
});

test("a call that comes after its result has its own owner and name", () => {
  const result = { type: "TOOL_CALL_RESULT", toolCallId: "c", messageId: "m", content: "1", subagentRunId: "s" };
  const told = { id: "m", role: "tool", toolCallId: "c", content: "1", subagentRunId: "s" };
  const call = { id: "c", type: "function", function: { name: "look", arguments: "{}" } };
  const snapshot = (...messages) => ({ type: "MESSAGES_SNAPSHOT", messages });
  const caller = (more) => ({ id: "a", role: "assistant", toolCalls: [call], ...more });
  const start = { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "look" };
  const args = { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: "{}" };
  for (const [events, owner] of [
    [[result], "s"],
    [[result, start, args], undefined],
    [[result, { ...start, subagentRunId: "t" }, args], "t"],
    [[result, snapshot(told, caller())], undefined],
    [[snapshot(told), snapshot(told, caller({ subagentRunId: "t" }))], "t"],
    [[{ ...start, subagentRunId: "t" }, args, snapshot(caller(), told)], "t"],
  ]) {
    const [item] = fold(...events).items;
    const [name, text] = events.length > 1 ? ["look", "{}"] : [undefined, ""];
    assert.deepEqual([item.owner, item.name, item.text.all(), item.result], [owner, name, text, "1"], JSON.stringify(events));
  }
});

test("a tool call grows, ends, and gets its result where it stands", () => {
  const made = fold(
    { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "look", timestamp: 100 },
    { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: '{"a"' },
    { type: "TOOL_CALL_ARGS", toolCallId: "c", delta: ":1}" },
    { type: "TOOL_CALL_END", toolCallId: "c" },
    ...text("a", "meanwhile"),
    { type: "TOOL_CALL_RESULT", toolCallId: "c", messageId: "m", content: "found", timestamp: 350 },
  );
  assert.deepEqual(items(made, "kind", "name", "text", "result", "since", "until"), [
    ["tool", "look", '{"a":1}', "found", 100, 350],
    ["message", undefined, "meanwhile", undefined, undefined, undefined],
  ]);
});

test("a result whose call is unknown is shown all the same", () => {
  const made = fold({ type: "TOOL_CALL_RESULT", toolCallId: "x", messageId: "m", content: "late" });
  assert.deepEqual(items(made, "kind", "text", "result"), [["tool", "", "late"]]);
});

test("steps of one name belong to their owners", () => {
  const made = fold(
    { type: "STEP_STARTED", stepName: "s", timestamp: 1 },
    { type: "STEP_STARTED", stepName: "s", subagentRunId: "b", timestamp: 2 },
    { type: "STEP_FINISHED", stepName: "s", timestamp: 9 },
  );
  assert.deepEqual(items(made, "open", "until"), [[false, 9], [true, undefined]]);
});

test("state begins with the input's, and deltas apply to it", () => {
  const input = { messages: [], state: { n: 1 } };
  const made = fold(started(input), { type: "STATE_DELTA", delta: [{ op: "add", path: "/m", value: 2 }] });
  assert.deepEqual(made.state, { n: 1, m: 2 });
  assert.deepEqual(made.input.state, { n: 1 });
  made.feed(3, { type: "STATE_DELTA", delta: [{ op: "remove", path: "/n" }, { op: "remove", path: "/none" }] });
  assert.deepEqual(made.state, { n: 1, m: 2 });
  assert.match(made.problem, /^Event 3: \/none does not exist/);
  made.feed(4, { type: "STATE_SNAPSHOT", snapshot: null });
  assert.equal(made.state, null);
});

test("a snapshot of the messages restates, adds and drops", () => {
  const made = fold(
    started({ messages: [{ id: "u", role: "user", content: "old" }] }),
    ...text("a", "gone"),
    { type: "REASONING_MESSAGE_START", messageId: "r", role: "reasoning" },
    { type: "STEP_STARTED", stepName: "s" },
    { type: "MESSAGES_SNAPSHOT", messages: [
      { id: "u", role: "user", content: "new" },
      { id: "b", role: "assistant", content: "other" },
    ] },
  );
  assert.deepEqual(items(made, "kind", "id", "text"), [
    ["message", "u", "new"],
    ["reasoning", "r", ""],
    ["step", 5, undefined],
    ["message", "b", "other"],
  ]);
  assert.equal(made.reordered, true);
  assert.deepEqual(made.counts, { messages: 2, tools: 0 });
});

test("activities are replaced, kept or patched", () => {
  const plan = { type: "ACTIVITY_SNAPSHOT", messageId: "p", activityType: "PLAN" };
  const made = fold(
    { ...plan, content: { done: 0 } },
    { ...plan, content: { done: 7 }, replace: false },
    { type: "ACTIVITY_DELTA", messageId: "p", activityType: "PLAN", patch: [{ op: "replace", path: "/done", value: 1 }] },
    { type: "ACTIVITY_DELTA", messageId: "unknown", activityType: "PLAN", patch: [] },
  );
  assert.deepEqual(items(made, "kind", "content"), [["activity", { done: 1 }]]);
});

test("every ending says what it is", () => {
  const kinds = (event) => fold(event).items.map(({ kind }) => kind);
  assert.deepEqual(kinds({ type: "RUN_FINISHED" }), []);
  assert.deepEqual(kinds({ type: "RUN_FINISHED", result: 0 }), ["result"]);
  assert.deepEqual(kinds({ type: "RUN_FINISHED", outcome: { type: "cancelled" } }), ["mark"]);
  assert.deepEqual(kinds({ type: "RUN_FINISHED", outcome: { type: "interrupt", interrupts: [{ id: "1" }, { id: "2" }] } }), ["interrupt", "interrupt"]);
  assert.deepEqual(kinds({ type: "RUN_ERROR", message: "no", code: "timeout" }), ["error"]);
});

test("100,000 deltas are folded in linear time", () => {
  const made = fold(...text("a"));
  const began = performance.now();
  for (let seq = 2; seq < 100_002; seq += 1) {
    made.feed(seq, { type: "TEXT_MESSAGE_CONTENT", messageId: "a", delta: "word " });
    if (seq % 100 === 0) made.items[0].text.fresh();
  }
  assert.equal(made.items[0].text.all().length, 500_000);
  assert.ok(performance.now() - began < 5_000);
});

test("events that the page does not know change nothing", () => {
  assert.deepEqual(fold({ type: "CUSTOM", name: "x", value: 1 }, { type: "RAW", event: {} }, { type: "constructor" }).items, []);
});

test("an item knows the subagent that made it, a subagent the one that started it", () => {
  const made = fold(
    { type: "SUBAGENT_STARTED", subagentRunId: "a", name: "planner" },
    { type: "SUBAGENT_STARTED", subagentRunId: "b", parentSubagentRunId: "a", name: "reader" },
    { type: "TOOL_CALL_START", toolCallId: "c", toolCallName: "look", subagentRunId: "b" },
    ...text("m", "done"),
  );
  assert.deepEqual(items(made, "kind", "id", "owner"), [
    ["subagent", "a", undefined], ["subagent", "b", "a"], ["tool", "c", "b"], ["message", "m", undefined],
  ]);
});
