/** The stream of a run's page: cursors go back as they came, and a reset is told once. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { seqOf } from "../../../static/js/cursors.mjs";

const sources = [];

/** A browser's EventSource, of which the test is the host. */
class Source extends EventTarget {
  static CLOSED = 2;

  constructor(url) {
    super();
    Object.assign(this, { url, readyState: 1 });
    sources.push(this);
  }

  close() {
    this.readyState = Source.CLOSED;
  }
}

globalThis.EventSource = Source;
globalThis.document = Object.assign(new EventTarget(), { hidden: false });
globalThis.addEventListener = () => {};
const browser = (locks) => Object.defineProperty(globalThis, "navigator", { value: { locks }, configurable: true });
browser();
const { RunStream } = await import("../../../static/js/stream.mjs");

function reading() {
  const seqs = [];
  const states = [];
  const stream = new RunStream({
    events: "/events", run: "/run", onEvent: (seq) => seqs.push(seq), onState: (...state) => states.push(state),
  });
  stream.open();
  const came = (lastEventId, type = "CUSTOM") => sources.at(-1).onmessage({ lastEventId, data: JSON.stringify({ type }) });
  return { stream, seqs, states, came };
}

test("the number of a cursor is the last part of it", () => {
  assert.deepEqual(["", "17", "2-17", 17, 0].map(seqOf), [0, 17, 17, 17, 0]);
});

test("a page that comes back gives its cursor as the host wrote it", () => {
  const { stream, seqs, came } = reading();
  for (const cursor of ["1", "2-2", "1", "2-3"]) came(cursor);
  stream.close();
  stream.open();
  assert.deepEqual([seqs, sources.at(-1).url], [[1, 2, 3], "/events?after=2-3"]);
});

test("a reset ends the stream until it is restarted from the first event", () => {
  const { stream, seqs, states, came } = reading();
  came("1");
  came("2");
  const data = JSON.stringify({ reset: true, epoch: 2, head: 1 });
  sources.at(-1).dispatchEvent(Object.assign(new Event("reset"), { data }));
  assert.deepEqual([states.at(-1), sources.at(-1).readyState], [["reset", 2], Source.CLOSED]);
  stream.open();
  assert.deepEqual(states.at(-1), ["reset", 2], "a page that is seen again does not continue either");
  stream.restart();
  assert.equal(sources.at(-1).url, "/events?after=0");
  came("1");
  came("2-2", "RUN_FINISHED");
  assert.deepEqual([seqs, states.at(-1)], [[1, 2, 1, 2], ["ended"]]);
});

for (const [status, code, epoch] of [[410, "reset", 3], [400, "bad_cursor", undefined]]) {
  test(`a cursor that the host refuses as ${code} is a reset too`, async () => {
    const { stream, states, came } = reading();
    came("9");
    const error = { code, message: "", details: { epoch, head: 4 } };
    globalThis.fetch = async (url) => (url === "/run" ? { status: 200 } : { status, json: async () => ({ error }) });
    await stream.recover();
    assert.deepEqual(states.at(-1), ["reset", epoch]);
  });
}

test("another refusal is no reset", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { stream, states, came } = reading();
  came("9");
  const error = { code: "overloaded", message: "", details: {} };
  globalThis.fetch = async (url) => (url === "/run" ? { status: 200 } : { status: 503, json: async () => ({ error }) });
  await stream.recover();
  assert.ok(states.every(([name]) => name !== "reset"));
  t.mock.timers.tick(10_000);
  assert.equal(sources.at(-1).url, "/events?after=9");
  stream.close();
});

/** A browser's locks, for all tabs. */
class Locks {
  held = new Set();

  async request(name, { ifAvailable }, hold) {
    assert.equal(ifAvailable, true);
    if (this.held.has(name)) return hold(null);
    this.held.add(name);
    await hold({ name });
    this.held.delete(name);
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("of many tabs three hold their connection, the others look again and again", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  browser(new Locks());
  const open = (tabs) => tabs.filter(({ stream }) => stream.source).length;
  const tabs = [];
  for (let number = 0; number < 9; number++) {
    tabs.push(reading());
    sources.at(-1).onopen();
    await settled();
  }
  assert.equal(open(tabs), 9);
  t.mock.timers.tick(400);
  assert.equal(open(tabs), 3);
  tabs[5].stream.cursor = 7;
  t.mock.timers.tick(2000);
  assert.equal(open(tabs), 9);
  assert.ok(sources.some(({ url }) => url === "/events?after=7"));
  assert.deepEqual(tabs[5].states, [["connecting"], ["live"]], "a page that rests does not say so");
  tabs[0].stream.close();
  await settled();
  tabs[5].stream.source.onopen();
  await settled();
  t.mock.timers.tick(400);
  assert.ok(tabs[5].stream.source, "it has the seat that became free");
  for (const { stream } of tabs) stream.close();
  await settled();
  assert.equal(navigator.locks.held.size, 0);
});

test("a page that is left while it asks for a seat gives it back", async () => {
  const locks = new Locks();
  browser(locks);
  const { stream } = reading();
  sources.at(-1).onopen();
  stream.close();
  await settled();
  assert.equal(locks.held.size, 0);
});

test("without locks, as in a page without TLS, each tab holds its connection", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  browser();
  const tabs = Array.from({ length: 5 }, reading);
  for (const source of sources.slice(-5)) source.onopen();
  await settled();
  t.mock.timers.tick(10_000);
  assert.ok(tabs.every(({ stream }) => stream.source));
});
