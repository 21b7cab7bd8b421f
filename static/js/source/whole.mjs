/** A run whose events the page has all, from the first: a short one, a shared one, one in a file. */

import { StateAt } from "../asof.mjs";
import { Fold } from "../fold.mjs";

/** The log, event by event. */
class Log {
  constructor() {
    this.entries = [];
  }

  get size() {
    return this.entries.length;
  }

  /** When the first event happened. */
  get start() {
    return this.entries[0]?.timestamp;
  }

  /** `{type, timestamp, raw}` of an event, if the page has it. */
  get(seq) {
    return this.entries[seq - 1];
  }

  /** The page has all that there is. */
  want() {}

  /** Tell `onHits(seqs, complete)` which events are of types that contain `query`. */
  search(query, onHits) {
    onHits(this.entries.flatMap(({ type }, i) => (type.includes(query) ? [i + 1] : [])), true);
  }

  more() {}
}

export class WholeRun {
  constructor() {
    this.fold = new Fold();
    this.log = new Log();
    this.stateAt = new StateAt(this.log.entries);
  }

  /** The run is short, so the views need no notification of new events. */
  listen() {}

  feed(seq, event, raw) {
    this.fold.feed(seq, event);
    this.log.entries.push({ type: event.type, timestamp: event.timestamp, raw });
  }

  get counts() {
    return this.fold.counts;
  }

  /** `{state, version, problem}` after an event, without one after the newest. */
  state(seq) {
    const fold = seq ? this.stateAt.at(seq) : this.fold;
    return { state: fold.state, version: `${seq}:${fold.stateVersion}`, problem: fold.problem };
  }

  /** The fold holds the conversation. */
  converse() {}
}
