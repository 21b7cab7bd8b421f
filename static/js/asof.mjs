/** The state of a run as of one of its events, from the events that the page has. */

import { Fold } from "./fold.mjs";

const SNAPSHOTS = new Set(["RUN_STARTED", "STATE_SNAPSHOT"]);

export class StateAt {
  /** `events`: `{type, raw}` of each event, from seq 1. */
  constructor(events) {
    Object.assign(this, { events, seq: 0, fold: null });
  }

  /** The fold of the events up to `seq`, of which only the state is complete. */
  at(seq) {
    const last = Math.min(seq, this.events.length);
    let from = last;
    while (from > this.seq && !SNAPSHOTS.has(this.events[from - 1].type)) from -= 1;
    if (!this.fold || last < this.seq || from > this.seq) {
      while (from > 0 && !SNAPSHOTS.has(this.events[from - 1].type)) from -= 1;
      this.fold = new Fold();
      this.seq = Math.max(from - 1, 0);
    }
    for (; this.seq < last; this.seq += 1) {
      const { type, raw } = this.events[this.seq];
      if (SNAPSHOTS.has(type) || type === "STATE_DELTA") this.fold.feed(this.seq + 1, JSON.parse(raw));
    }
    return this.fold;
  }
}
