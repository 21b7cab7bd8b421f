/** Plays a run that has ended: the selection moves through its events in their own time. */

const TICK = 100;
const SPEEDS = [1, 4, 16];
/** A pause between two events that is longer, in ms, is idle. */
const IDLE = 1000;
/** Between events without believable times. */
const STEP = 50;

export class Playback {
  /** `log` has the events; `seqNow()` is the selected one; `onSeek(seq)`: playing has come to an event. */
  constructor(root, { log, seqNow, onSeek, tick = TICK }) {
    Object.assign(this, { root, log, seqNow, onSeek, tick, timer: 0, seq: 0, at: 0 });
    this.button = root.querySelector("button");
    this.speed = root.querySelector("select");
    this.skips = root.querySelector("input");
    this.button.addEventListener("click", () => this.toggle());
    this.say();
  }

  /** The rows of the page's table of keys. */
  keys() {
    const act = (action) => () => this.root.hidden || action();
    return [
      ["p", "Play, pause", act(() => this.toggle())],
      ["v", "Play faster: 1×, 4×, 16×", act(() => this.faster())],
    ];
  }

  faster() {
    this.speed.value = SPEEDS[(SPEEDS.indexOf(Number(this.speed.value)) + 1) % SPEEDS.length];
  }

  get plays() {
    return this.timer !== 0;
  }

  toggle() {
    if (this.plays) return this.pause();
    const now = this.seqNow();
    this.seek(now && now < this.log.size ? now : 1);
    this.last = performance.now();
    this.timer = setInterval(() => this.advance(performance.now()), this.tick);
    this.say();
  }

  pause() {
    clearInterval(this.timer);
    this.timer = 0;
    this.say();
  }

  /** Another event was selected: playing stops if that was not its own doing. */
  moved(seq) {
    if (this.plays && seq !== this.seq) this.pause();
  }

  seek(seq) {
    this.seq = seq;
    this.at = this.log.get(seq)?.timestamp;
    this.onSeek(seq);
  }

  /** So much later by the clock of the page; waits for events that the page has yet to read. */
  advance(now) {
    const passed = (now - this.last) * Number(this.speed.value);
    this.last = now;
    this.log.want(this.seq);
    if (!this.log.get(this.seq)) return;
    if (this.at === undefined) this.at = this.log.get(this.seq).timestamp;
    this.at += passed;
    const reached = this.reached();
    if (reached === this.seq) return;
    this.seq = reached;
    this.onSeek(reached);
    if (reached >= this.log.size) this.pause();
  }

  /** The last event that has happened by now. */
  reached() {
    let { seq } = this;
    while (seq < this.log.size) {
      const entry = this.log.get(seq + 1);
      if (!entry) {
        this.log.want(seq + 1);
        // Reading takes no time of the run.
        this.at = this.log.get(seq).timestamp;
        return seq;
      }
      const before = this.log.get(seq).timestamp;
      const due = Number.isFinite(entry.timestamp) && Number.isFinite(before) ? Math.max(entry.timestamp, before) : (before ?? this.at) + STEP;
      if (this.skips.checked && seq === this.seq && due - this.at > IDLE) this.at = due;
      if (due > this.at) return seq;
      seq += 1;
    }
    return seq;
  }

  say() {
    this.button.textContent = this.plays ? "❚❚ Pause" : "▶ Play";
    this.button.setAttribute("aria-label", this.plays ? "Pause" : "Play the run");
  }
}
