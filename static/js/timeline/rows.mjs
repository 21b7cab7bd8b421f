/** The rows of a run's outline, read from the host and kept up to date. */

import { answered } from "../api.mjs";

const PAUSE = 1000;
/** The page of a run asks for the first so many while its modules are read (runs/run.html). */
const LIMIT = 5000;
const MOST = 200_000;
/** The host ends an answer early when it has so many characters. */
const FULL = 4_000_000;
/** Answers that are asked for before the one in front of them has come. */
const AHEAD = 3;
/** Events that change no row but the length of an open one. */
const QUIET = /_(CONTENT|ARGS|VALUE)$|^(RAW|CUSTOM)$/;

export class OutlineRows {
  /** `url`: of the host, or `#id` of an element of the page. `goal` is the run's newest event so far; `onChange()` is told when rows came or changed. */
  constructor({ url, goal, onChange }) {
    Object.assign(this, { url, goal, onChange, rows: [], effects: [], head: 0, timer: 0, busy: false, problem: "" });
    if (goal) this.schedule(0);
  }

  /** The page has got this event: rows may have changed. */
  notice(seq, type) {
    if (seq <= this.head || QUIET.test(type)) return;
    this.goal = Math.max(this.goal, seq);
    this.schedule(PAUSE);
  }

  /** With the run's effects, each after the event before it. */
  get all() {
    const { rows, effects } = this;
    return effects.length ? [...rows, ...effects].sort((a, b) => a.seq0 - b.seq0) : rows;
  }

  get complete() {
    return this.head >= this.goal;
  }

  schedule(pause) {
    if (this.timer || this.busy) return;
    this.timer = setTimeout(() => this.poll(), pause);
  }

  async poll() {
    this.timer = 0;
    this.busy = true;
    const before = this.head;
    try {
      await this.read();
      this.problem = "";
    } catch (error) {
      this.problem = error.message;
    }
    this.busy = false;
    this.onChange();
    // Without news, the host is away, or has dropped the run: each further attempt waits longer.
    this.pause = this.head > before ? PAUSE / 4 : Math.min(2 * (this.pause ?? PAUSE), 60 * PAUSE);
    if (!this.complete) this.schedule(this.pause);
  }

  async read() {
    if (this.url.startsWith("#")) return this.readPage();
    const since = this.head;
    const answers = new Map();
    let head = null;
    for (let after = 0, full = true; full && after < MOST; ) {
      const { part, length } = await (answers.get(after) ?? this.ask(after, since));
      for (const row of part.rows) if (row.n <= MOST) this.rows[row.n - 1] = row;
      // What changes between two answers comes again with the next poll.
      head ??= part.head;
      this.effects = part.effects;
      const last = part.rows.at(-1);
      full = part.rows.length === LIMIT || length > FULL;
      after = last?.n ?? MOST;
      // Rows are in the order of their events, so this one gives an estimate of their number.
      const all = (after * head) / last?.seq0;
      for (let next = after; full && next < Math.min(all, MOST, after + AHEAD * LIMIT); next += LIMIT) {
        if (!answers.has(next)) answers.set(next, this.ask(next, since));
      }
    }
    this.head = head;
  }

  ask(after, since) {
    const asked = this.fetch(`${this.url}?after=${after}&since=${since}&limit=${LIMIT}`);
    asked.catch(() => {}); // `read` handles it, if it gets that far
    return asked;
  }

  async fetch(url) {
    const answer = await fetch(url);
    if (!answer.ok) await answered(answer);
    const text = await answer.text();
    return { part: JSON.parse(text), length: text.length };
  }

  /** A run that was saved as a file has its rows in the page. */
  readPage() {
    const lines = document.querySelector(this.url).textContent.split("\n").filter(Boolean);
    this.rows = lines.slice(0, MOST).map((line) => JSON.parse(line));
    this.head = this.goal;
  }
}

