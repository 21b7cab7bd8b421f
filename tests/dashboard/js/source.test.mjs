/** A long run: its pages of events, and its conversation from the outline and the messages. */

import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { seqOf } from "../../../static/js/cursors.mjs";
import { Fold } from "../../../static/js/fold.mjs";
import { PagedLog } from "../../../static/js/source/paged-log.mjs";
import { PagedRun } from "../../../static/js/source/paged.mjs";
import { retell } from "../../../static/js/source/retell.mjs";
import { WholeRun } from "../../../static/js/source/whole.mjs";

const SIZE = 1200;
const typeOf = (seq) => (seq === 1 ? "RUN_STARTED" : seq === SIZE ? "RUN_FINISHED" : "CUSTOM");
const eventOf = (seq) => ({ type: typeOf(seq), timestamp: 1000 + seq });
const realFetch = globalThis.fetch;
let asked = [];

/** A host that sends at most 200 events at once. */
function host(answers = {}) {
  asked = [];
  globalThis.fetch = async (url) => {
    asked.push(url);
    const { pathname, searchParams } = new URL(url, "http://host");
    const known = Object.keys(answers).find((each) => pathname.endsWith(each));
    if (known) return { ok: true, json: async () => answers[known](searchParams) };
    const after = seqOf(searchParams.get("after"));
    const limit = Math.min(Number(searchParams.get("limit") ?? 500), 200);
    const all = Array.from({ length: SIZE - after }, (_, i) => after + 1 + i);
    const type = searchParams.get("type");
    const seqs = type ? all.filter((seq) => typeOf(seq).includes(type)).slice(0, 1) : all.slice(0, limit);
    return { ok: true, json: async () => ({ events: seqs.map((seq) => ({ seq, event: eventOf(seq) })), after: seqs.at(-1) ?? SIZE, head: SIZE }) };
  };
}

afterEach(() => (globalThis.fetch = realFetch));

/** Resolves when `holds()`, after one of the changes that `listen` reports. */
function until(holds, listen) {
  return new Promise((done) => listen(() => holds() && done()));
}

const row = (n, kind, id, seq0, seq1, more = {}) => ({ n, kind, id, seq0, seq1, t0: 1000 + seq0, t1: seq1 && 1000 + seq1, lane: [], name: "", gist: "", status: seq1 ? "succeeded" : "running", ...more });

test("the log reads the page of an event when somebody wants it", async () => {
  host();
  const log = new PagedLog({ url: "/events", size: SIZE, onLoad: () => {} });
  assert.equal(log.get(700), undefined);
  log.want(700);
  await until(() => log.get(1000) && log.start, (tell) => (log.onLoad = tell));
  assert.deepEqual([log.get(501), log.get(1000), log.get(500), log.get(1001)].map((each) => each?.timestamp), [1501, 2000, undefined, undefined]);
  assert.equal(log.start, 1001);
  assert.deepEqual(asked.map((url) => url.split("?")[1]).filter((query) => query !== "after=0&limit=1"), ["after=*-500&limit=500", "after=700&limit=300", "after=900&limit=100"]);
});

test("a filter is searched for by the host, as far as somebody looks", async () => {
  host();
  const log = new PagedLog({ url: "/events", size: SIZE, onLoad: () => {} });
  const found = [];
  let complete = false;
  await until(() => found.length, (tell) => log.search("RUN_", (seqs, all) => {
    found.push(...seqs);
    complete = all;
    tell();
  }));
  assert.deepEqual([found, complete], [[1], false]);
  await log.more();
  assert.deepEqual([found, complete, log.get(SIZE).type], [[1, SIZE], true, "RUN_FINISHED"]);
});

test("the outline and the messages tell the conversation that the events told", () => {
  const fold = new Fold();
  const rows = [
    row(1, "message", "m", 2, 5, { name: "assistant", gist: "Hel" }), row(2, "tool", "c", 6, 9, { name: "look" }),
    row(3, "step", "s", 10, null, { name: "think" }), row(4, "message", "gone", 11, 12),
  ];
  retell(fold, rows, null);
  assert.deepEqual(fold.items.map((item) => [item.kind, item.seq, item.text?.all()]), [["message", 2, "Hel"], ["tool", 6, ""], ["step", 10, undefined], ["message", 11, ""]]);
  retell(fold, rows, [
    { id: "u", role: "user", content: "Hi" }, { id: "m", role: "assistant", content: "Hello" },
    { id: "a", role: "assistant", toolCalls: [{ id: "c", function: { name: "look", arguments: "{}" } }] }, { id: "r", role: "tool", toolCallId: "c", content: "ok" },
  ]);
  assert.deepEqual(fold.items.map((item) => [item.kind, item.seq, item.role ?? item.name, item.text?.all(), item.result]), [
    ["message", 1, "user", "Hi", undefined], ["message", 2, "assistant", "Hello", undefined], ["tool", 6, "look", "{}", "ok"], ["step", 10, "think", undefined, undefined],
  ]);
  fold.feed(13, { type: "STEP_FINISHED", stepName: "think", timestamp: 1013 });
  assert.equal(fold.items[3].open, false);
});

test("what comes after the host told of the conversation and the state is added to it", async () => {
  host({ "/state": () => ({ state: { n: 1 }, at: SIZE }), "/export": () => [{ id: "m", role: "assistant", content: "one " }] });
  const run = new PagedRun({ events: "/events", run: "/run", head: SIZE });
  const outline = { complete: true, head: SIZE, rows: [row(1, "message", "m", 2, null, { name: "assistant" })] };
  assert.equal(run.asked.size, 0);
  await until(() => run.told && run.state(0), (tell) => {
    run.listen(outline, tell);
    run.converse();
    run.state(0);
  });
  const events = [{ type: "TEXT_MESSAGE_CONTENT", messageId: "m", delta: "two" }, { type: "STATE_DELTA", delta: [{ op: "replace", path: "/n", value: 2 }] }];
  events.forEach((event, i) => run.feed(SIZE + 1 + i, event, JSON.stringify(event)));
  assert.equal(run.fold.items[0].text.all(), "one two");
  assert.deepEqual(run.state(0).state, { n: 2 });
  assert.deepEqual(run.counts, { messages: 1, tools: 0 });
});

test("a short run folds its own events", () => {
  const run = new WholeRun();
  const events = [{ type: "RUN_STARTED", timestamp: 1, input: { state: { n: 1 } } }, { type: "STATE_SNAPSHOT", snapshot: { n: 2 } }];
  events.forEach((event, i) => run.feed(i + 1, event, JSON.stringify(event)));
  assert.deepEqual([run.state(1).state, run.state(0).state, run.log.size, run.log.start], [{ n: 1 }, { n: 2 }, 2, 1]);
  run.log.search("STATE", (seqs, complete) => assert.deepEqual([seqs, complete], [[2], true]));
});
