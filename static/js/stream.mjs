/** The public event stream of one run, each event once and in order, until its terminal event. */

const RETRY = 2000;
export const TERMINAL = new Set(["RUN_FINISHED", "RUN_ERROR"]);

export class RunStream {
  /**
   * `onEvent(seq, event, raw)` gets every event; `onState(name)` hears "connecting", "live",
   * "reconnecting", "ended", or "lost" with the HTTP status that says why. It begins `after` an event.
   */
  constructor({ events, run, onEvent, onState, after = 0 }) {
    Object.assign(this, { events, run, onEvent, onState, last: after, held: [], ended: false, source: null });
    // A hidden page holds no connection: browsers allow six per host, and it resumes by seq.
    document.addEventListener("visibilitychange", () => (document.hidden ? this.close() : this.open()));
    addEventListener("pagehide", () => this.close());
    addEventListener("pageshow", (event) => event.persisted && this.open());
  }

  open() {
    if (this.ended || this.source) return;
    this.onState(this.last ? "reconnecting" : "connecting");
    const source = (this.source = new EventSource(`${this.events}?after=${this.last}`));
    this.held = [];
    source.onopen = () => {
      this.held = [];
      this.onState("live");
    };
    source.onmessage = (message) => this.receive(Number(message.lastEventId), message.data);
    source.onerror = () => {
      this.onState("reconnecting");
      // The browser repeats a broken connection by itself, but gives up on any other answer.
      if (source.readyState === EventSource.CLOSED) this.recover();
    };
  }

  close() {
    this.source?.close();
    this.source = null;
    clearTimeout(this.timer);
  }

  receive(seq, raw) {
    if (this.ended) return;
    // Frames without a number of their own belong to the next that has one; after a break all come again.
    if (seq === this.last) return this.held.push(raw);
    if (seq < this.last) return;
    this.last = seq;
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
    this.timer = setTimeout(() => this.open(), RETRY);
  }
}
