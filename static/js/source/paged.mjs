/** A long run: the host has folded it, and the page reads the visible parts of its log. */

import { read } from "../api.mjs";
import { Fold } from "../fold.mjs";
import { PagedLog } from "./paged-log.mjs";
import { retell } from "./retell.mjs";

const STATE = /^STATE_/;
const PAUSE = 2000;

export class PagedRun {
  /** Addresses of the public API: `events`, `run`. `head` is the newest event when the page was made. */
  constructor({ events, run, head }) {
    Object.assign(this, { run, fold: new Fold(), told: 0, states: new Map(), live: null, asked: new Set() });
    this.log = new PagedLog({ url: events, size: head, onLoad: () => this.onChange() });
  }

  /** `onChange()` is told when something came that a view asked for; `outline`: the rows of the run. */
  listen(outline, onChange) {
    Object.assign(this, { outline, onChange });
  }

  feed(seq, event, raw) {
    this.log.push(seq, event, raw);
    // Events that the host's fold lacks: `converse` and `state` read it from the log.
    if (this.told && seq === this.told + 1) this.take(seq, event);
    if (this.live && seq === this.live.at + 1) this.advance(seq, event);
  }

  take(seq, event) {
    if (seq !== this.told + 1) return;
    if (!STATE.test(event.type)) this.fold.feed(seq, event);
    this.told = seq;
  }

  advance(seq, event) {
    if (STATE.test(event.type)) this.live.fold.feed(seq, event);
    this.live.at = seq;
  }

  /** Give `take` every event from `reached()` to the newest, also new ones. */
  async catchUp(reached, take) {
    while (reached() < this.log.size) {
      const before = reached();
      for await (const [seq, event] of this.log.between(before + 1, this.log.size)) take(seq, event);
      if (reached() === before) return;
    }
  }

  /** Null until the outline is there. */
  get counts() {
    if (!this.outline.complete) return null;
    const count = (kind) => this.outline.rows.reduce((sum, row) => sum + (row?.kind === kind), 0);
    return { messages: count("message"), tools: count("tool") };
  }

  /** The same as of a whole run; null until the host has answered. */
  state(seq) {
    if (seq) {
      this.once(`state ${seq}`, async () => this.states.set(seq, await this.stateAt(seq)));
      return this.states.get(seq) ?? null;
    }
    this.once("state", async () => {
      const { state, at } = await this.stateAt(this.log.size);
      this.live = { fold: new Fold(), at };
      this.live.fold.state = state;
      await this.catchUp(() => this.live.at, (each, event) => each > this.live.at && this.advance(each, event));
    });
    if (!this.live) return null;
    const { state, stateVersion, problem } = this.live.fold;
    return { state, version: `live:${stateVersion}`, problem };
  }

  /** Of a long log, the host folds a part for each request. */
  async stateAt(seq) {
    let before = -1;
    for (;;) {
      const { state, at } = await read(`${this.run}/state?at=${seq}`);
      if (at >= seq || at === before) return { state, at, version: `${seq}`, problem: at < seq ? `The state as of #${at}: the host could not read further.` : null };
      before = at;
    }
  }

  /** Have the conversation told: first by the outline, then by the messages, then by later events. */
  converse() {
    if (!this.outline.complete) return;
    this.once("conversation", async () => {
      const at = this.outline.head;
      const rows = this.outline.rows.filter(Boolean);
      retell(this.fold, rows, null);
      this.onChange();
      const messages = await read(`${this.run}/export?format=messages&at=${at}`);
      retell(this.fold, rows, messages);
      for await (const [seq, event] of this.log.between(at, at)) if (/^RUN_(FINISHED|ERROR)$/.test(event.type)) this.fold.feed(seq, event);
      this.told = at;
      await this.catchUp(() => this.told, (seq, event) => this.take(seq, event));
    });
  }

  /** Do this once; again after a while if it fails. */
  async once(name, act) {
    if (this.asked.has(name)) return;
    this.asked.add(name);
    try {
      await act();
    } catch {
      setTimeout(() => this.asked.delete(name) && this.onChange(), PAUSE);
      return;
    }
    this.onChange();
  }
}
