/** Playing a run: which event is reached when, with pauses, gaps in the log and speeds. */

import assert from "node:assert/strict";
import { test } from "node:test";

import { Playback } from "../../../static/js/playback.mjs";

function element(values = {}) {
  return { addEventListener() {}, setAttribute() {}, ...values };
}

/** A player of events at these times; nothing ticks by itself. */
function player(times, { skips = false, speed = "1", now = 0 } = {}) {
  const parts = { button: element(), select: element({ value: speed }), input: element({ checked: skips }) };
  const wanted = [];
  const log = { size: times.length, get: (seq) => (times[seq - 1] === undefined ? undefined : { timestamp: times[seq - 1] }), want: (seq) => wanted.push(seq) };
  const seqs = [];
  const playback = new Playback({ querySelector: (name) => parts[name] }, { log, seqNow: () => now, onSeek: (seq) => seqs.push(seq), tick: 1e6 });
  playback.toggle();
  const began = playback.last;
  return { playback, parts, seqs, wanted, times, at: (ms) => playback.advance(began + ms) };
}

test("it goes through the events in their time and stops at the last", () => {
  const { playback, seqs, at } = player([1000, 1100, 1100, 1900]);
  at(50);
  at(110);
  assert.deepEqual([seqs, playback.plays], [[1, 3], true]);
  at(950);
  assert.deepEqual([seqs, playback.plays], [[1, 3, 4], false]);
});

test("faster, and without the time in which nothing happens", () => {
  const fast = player([0, 1600], { speed: "16" });
  fast.at(101);
  assert.deepEqual(fast.seqs, [1, 2]);
  const idle = player([0, 3_600_000, 3_600_500], { skips: true });
  idle.at(20);
  idle.at(40);
  assert.deepEqual([idle.seqs, idle.playback.plays], [[1, 2], true]);
  idle.playback.faster();
  assert.equal(idle.parts.select.value, 4);
  idle.playback.pause();
});

test("it waits for events that the page has yet to read, and stops for who selects another", () => {
  const { playback, seqs, wanted, times, at } = player([0, undefined, 20], { now: 0 });
  at(500);
  assert.deepEqual([seqs, wanted.includes(2)], [[1], true]);
  times[1] = 10;
  at(515);
  assert.deepEqual(seqs, [1, 2]);
  playback.moved(2);
  assert.equal(playback.plays, true);
  playback.moved(1);
  assert.equal(playback.plays, false);
});

test("times that are missing or go back do not stop it", () => {
  const { playback, seqs, at } = player([100, 50, undefined, 130].map((time, i) => (i === 2 ? NaN : time)));
  at(10);
  at(300);
  assert.equal(seqs.at(-1), 4);
  assert.equal(playback.plays, false);
});
