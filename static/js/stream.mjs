/** The public event stream of one run, each event once and in order, until its terminal event. */

import { seqOf } from "./cursors.mjs";
import { seat } from "./seats.mjs";

const RETRY = 2000;
/** Milliseconds in which a page without a seat reads what there is; then it pauses. */
const GLANCE = 400;
export const TERMINAL = new Set(["RUN_FINISHED", "RUN_ERROR"]);

export class RunStream {
  /**
   * `onEvent(seq, event, raw)` gets every event; `onState(name)` gets "connecting", "live",
   * "reconnecting", "ended", "lost" with the HTTP status as the reason, or "reset" with the epoch:
   * the host's history went back, so earlier events may not be part of the log. It begins `after`
   * an event.
   */
  constructor({ events, run, onEvent, onState, after = 0 }) {
    Object.assign(this, { events, run, onEvent, onState, cursor: after, last: seqOf(after), held: [], ended: false, source: null, leave: null });
    // A hidden page holds no connection: browsers allow six per host, and it resumes by its cursor.
    document.addEventListener("visibilitychange", () => (document.hidden ? this.close() : this.open()));
    addEventListener("pagehide", () => this.close());
    addEventListener("pageshow", (event) => event.persisted && this.open());
  }

  open() {
    if (this.ended || this.source) return;
    if (!this.resting) this.onState(this.last ? "reconnecting" : "connecting");
    this.resting = false;
    const source = (this.source = new EventSource(`${this.events}?after=${this.cursor}`));
    this.held = [];
    source.onopen = () => {
      this.held = [];
      this.onState("live");
      this.sit(source);
    };
    source.onmessage = (message) => this.receive(message.lastEventId, message.data);
    source.addEventListener("reset", ({ data }) => this.reset(JSON.parse(data)));
    source.onerror = () => {
      this.onState("reconnecting");
      // The browser repeats a broken connection by itself, but gives up on any other answer.
      if (source.readyState === EventSource.CLOSED) this.recover();
    };
  }

  close() {
    this.source?.close();
    this.leave?.();
    this.source = this.leave = null;
    clearTimeout(this.timer);
  }

  /** Stay, if there is a seat; else leave the connection to other tabs, and look again soon. */
  async sit(source) {
    if (this.leave) return;
    const leave = await seat();
    if (this.source !== source) return leave?.();
    this.leave = leave;
    if (!leave) this.timer = setTimeout(() => this.rest(), GLANCE);
  }

  /** Connect again: the connection can be dead. */
  again() {
    this.close();
    this.open();
  }

  rest() {
    this.close();
    this.resting = true;
    this.timer = setTimeout(() => this.open(), RETRY);
  }

  reset({ epoch }) {
    this.close();
    this.ended = true;
    this.onState("reset", epoch);
  }

  /** Read the log from its first event. */
  restart() {
    Object.assign(this, { cursor: 0, last: 0, ended: false });
    this.open();
  }

  receive(cursor, raw) {
    if (this.ended) return;
    const seq = seqOf(cursor);
    // Frames without a number belong to the next that has one; after a break all come again.
    if (seq === this.last) return this.held.push(raw);
    if (seq < this.last) return;
    Object.assign(this, { cursor, last: seq });
    for (const before of this.held.splice(0)) this.onEvent(seq, JSON.parse(before), before);
    const event = JSON.parse(raw);
    this.ended = TERMINAL.has(event.type);
    if (this.ended) this.close();
    this.onEvent(seq, event, raw);
    if (this.ended) this.onState("ended");
  }

  async recover() {
    this.close();
    const status = await fetch(this.run, { headers: { Accept: "application/json" } }).then((answer) => answer.status, () => 0);
    if ([401, 403, 404].includes(status)) return this.onState("lost", status);
    const error = status === 200 && (await this.refusal());
    // A host whose backup was restored in silence does not know its own cursor.
    if (["reset", "bad_cursor"].includes(error?.code)) return this.reset(error.details);
    this.timer = setTimeout(() => this.open(), RETRY);
  }

  /** Why the host does not continue at this cursor; an EventSource does not tell. */
  async refusal() {
    const asking = new AbortController();
    try {
      const headers = { Accept: "text/event-stream" };
      const answer = await fetch(`${this.events}?after=${this.cursor}`, { headers, signal: asking.signal });
      return answer.ok ? null : (await answer.json()).error;
    } catch {
      return null;
    } finally {
      asking.abort();
    }
  }
}
