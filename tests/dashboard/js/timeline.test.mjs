/** The timeline's modules that know no page: its tree, its axis, where the time went. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { format, parse } from "../../../static/js/selection.mjs";
import { OutlineRows } from "../../../static/js/timeline/rows.mjs";
import { busiest, covered, selfTime } from "../../../static/js/timeline/insight.mjs";
import { Scale } from "../../../static/js/timeline/scale.mjs";
import { flatten, nest, neighbour, rowAt } from "../../../static/js/timeline/tree.mjs";

const TABS = ["timeline", "messages", "events", "state"];

function row(n, kind, id, [seq0, seq1], [t0, t1], lane = [], more = {}) {
  return { n, kind, id, name: id, seq0, seq1, t0, t1, lane, status: seq1 ? "succeeded" : "running", result: null, ...more };
}

const ROWS = [
  row(1, "subagent", "s", [2, 20], [0, 100], ["s"]),
  row(2, "tool", "c", [3, 9], [10, 70], ["s"], { result: 12 }),
  row(3, "subagent", "t", [10, 19], [60, 90], ["s", "t"]),
  row(4, "message", "m", [11, null], [65, null], ["s", "t"]),
  row(5, "interrupt", "i", [21, 21], [100, 100], []),
];

function scaleOf(rows, axis = "clock", until = 200) {
  const scale = new Scale(axis);
  scale.measure(rows, { since: 0, until, now: 150, head: 40 });
  return scale;
}

test("the address says tab, event and lane, and a bare event is one of the log", () => {
  for (const selection of [{ tab: "timeline", seq: 12, lane: "a b&=#%" }, { tab: "events", seq: 3, lane: "" }, { tab: "state", seq: 0, lane: "" }]) {
    assert.deepEqual(parse(format(selection), TABS, "messages"), selection);
  }
  assert.equal(format({ tab: "events", seq: 3, lane: "" }), "#seq=3");
  assert.deepEqual(parse("#state&seq=x&lane=%E0%A4%A", TABS, "messages"), { tab: "state", seq: 0, lane: "" });
  assert.deepEqual(parse("#nonsense", TABS, "messages"), { tab: "messages", seq: 0, lane: "" });
});

test("subagents hold what happened in them, fold, and can be seen alone", () => {
  const tree = nest(ROWS);
  const seen = (folded, lane) => flatten(tree, new Set(folded), lane).map(({ row: { id }, level }) => `${level}${id}`);
  assert.deepEqual(seen([]), ["1s", "2c", "2t", "3m", "1i"]);
  assert.deepEqual(seen(["t"]), ["1s", "2c", "2t", "1i"]);
  assert.deepEqual(seen(["s"]), ["1s", "1i"]);
  assert.deepEqual(seen([], "t"), ["2t", "3m"]);
  assert.deepEqual(seen([], "gone"), seen([]));
});

test("ten thousand subagents, each inside the one before", () => {
  const rows = Array.from({ length: 10_000 }, (_, i) => row(i + 1, "subagent", `s${i}`, [i + 1, null], [i, null], i ? [`s${i - 1}`, `s${i}`] : ["s0"]));
  const nodes = flatten(nest(rows), new Set());
  assert.equal(nodes.length, 10_000);
  assert.equal(nodes.at(-1).level, 10_000);
});

test("an event belongs to the row of its part, its result, or what is around it", () => {
  assert.equal(rowAt(ROWS, 5).id, "c");
  assert.equal(rowAt(ROWS, 12).id, "c");
  assert.equal(rowAt(ROWS, 15, { type: "TEXT_MESSAGE_CONTENT", messageId: "m" }).id, "m");
  assert.equal(rowAt(ROWS, 10, { subagentRunId: "t" }).id, "t");
  assert.equal(rowAt(ROWS, 21).id, "i");
  assert.equal(rowAt(ROWS, 1), null);
  const tool = ({ kind }) => kind === "tool";
  assert.deepEqual([neighbour(ROWS, 0, tool)?.id, neighbour(ROWS, 3, tool), neighbour(ROWS, 9, tool, true)?.id], ["c", null, "c"]);
});

test("open rows last until now, questions until the end", () => {
  const scale = scaleOf(ROWS);
  assert.ok(scale.to > 215 && scale.length === 200, "there is room behind the end for who waits");
  assert.deepEqual(scale.span(ROWS[3]), [65, 150]);
  assert.deepEqual(scale.span(ROWS[4]), [100, scale.to]);
  assert.deepEqual(scaleOf(ROWS, "seq").span(ROWS[3]), [11, 40]);
  const calm = scaleOf(ROWS.slice(0, 4));
  calm.zoom(0.25, 0.5);
  assert.deepEqual([calm.share(50), calm.share(100), calm.share(0)], [0, 1, -1]);
  assert.deepEqual(calm.ticks(5), [50, 60, 70, 80, 90, 100]);
});

test("a place on the axis is an event, and the other way round", () => {
  const clock = scaleOf(ROWS);
  assert.deepEqual([clock.seqAt(-1, ROWS), clock.seqAt(66, [undefined, ...ROWS]), clock.seqAt(1e9, [])], [1, ROWS[3].seq0, 1]);
  assert.deepEqual([clock.placeOf(7, 50), clock.placeOf(7, 1e9), clock.placeOf(7, undefined)], [50, 200, null]);
  const counted = scaleOf(ROWS, "seq");
  assert.deepEqual([counted.seqAt(11.6, ROWS), counted.seqAt(1e9, ROWS), counted.placeOf(7)], [12, counted.head, 7]);
});

test("times that an agent made up do not squash the axis, those of an older log are its axis", () => {
  const mad = [...ROWS.slice(0, 3), row(4, "tool", "mad", [30, 31], [9e15, -9e15])];
  const scale = scaleOf(mad);
  assert.deepEqual([scale.from, scale.to], [0, 200]);
  assert.deepEqual(scale.span(mad[3]), [200, 200]);
  const old = new Scale();
  old.measure(ROWS, { since: 1e12, until: 2e12, now: 2e12, head: 40 });
  assert.deepEqual([old.from, old.length], [0, 100]);
});

test("where the time went counts parallel calls once", () => {
  assert.equal(covered([[0, 10], [5, 20], [30, 31]]), 21);
  const calls = [row(1, "tool", "a", [1, 2], [0, 60]), row(2, "tool", "b", [3, 4], [10, 40]), { ...row(3, "tool", "a", [5, 6], [50, 124]), name: "a" }];
  const best = busiest(calls, scaleOf(calls));
  assert.deepEqual([best.name, best.share, best.count, best.longest.n], ["a", 0.62, 2, 3]);
  assert.equal(busiest([], scaleOf([])), null);
  assert.equal(selfTime(nest(ROWS).roots[0], scaleOf(ROWS)), 20);
});

/** A host with so many rows, one for ten events, which sends at most `most` at once. */
function hostOf(total, most = 5000) {
  const asked = [];
  globalThis.fetch = async (url) => {
    const { searchParams } = new URL(url, "http://host");
    const after = Number(searchParams.get("after"));
    asked.push(after);
    if (after > total) return { ok: false, status: 500, json: async () => ({ error: { message: "No." } }) };
    const rows = Array.from({ length: Math.min(total - after, most) }, (_, i) => ({ n: after + i + 1, seq0: 10 * (after + i) + 1 }));
    const text = JSON.stringify({ rows, head: 10 * total });
    return { ok: true, text: async () => (most < 5000 && rows.length === most ? text.padEnd(4_000_001) : text) };
  };
  return asked;
}

async function rowsOf(total) {
  const rows = await new Promise((done) => {
    const outline = new OutlineRows({ url: "/outline", goal: 10 * total, onChange: () => done(outline.rows) });
  });
  assert.equal(rows.length, total);
  assert.ok(rows.every((row, i) => row.n === i + 1));
}

test("the rows of a long outline are asked for several answers at a time, and none too many", async (context) => {
  const real = globalThis.fetch;
  context.after(() => (globalThis.fetch = real));
  let asked = hostOf(16_000);
  await rowsOf(16_000);
  assert.deepEqual(asked, [0, 5000, 10_000, 15_000]);
  asked = hostOf(3);
  await rowsOf(3);
  assert.deepEqual(asked, [0]);
  asked = hostOf(11_000, 4000);
  await rowsOf(11_000);
  assert.deepEqual([...new Set(asked)].sort((a, b) => a - b).filter((after) => after % 4000 === 0), [0, 4000, 8000]);
});
