/** From moments, or numbers of events, to places on an axis. Independent of pages. */

const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500];
const SMALLEST = 1;
/** The share of the axis on which a question waits after the end of its run. */
const WAITING = 0.08;

export class Scale {
  /** `axis` is "clock" or "seq". */
  constructor(axis = "clock") {
    Object.assign(this, { axis, from: 0, to: 1, view: null, head: 1, now: 0 });
  }

  /** Take the rows as they are now. The run began at `since` and ended at `until`, in ms, or NaN. */
  measure(rows, { since, until, now, head }) {
    Object.assign(this, { head: Math.max(head, 1), now });
    this.waits = rows.some((row) => row?.kind === "interrupt");
    if (this.axis === "seq") return this.bound(1, this.head);
    const end = Number.isFinite(until) ? until : now;
    const times = { all: 0, believable: 0, least: Infinity, most: -Infinity };
    for (const row of rows) {
      if (row) count(times, row.t0, since, end);
      if (row) count(times, row.t1, since, end);
    }
    // Agents may write any time on their events. The host's clock bounds them, unless they tell of another day.
    if (Number.isFinite(since) && 2 * times.believable >= times.all) this.bound(since, end);
    else this.bound(times.least, times.most);
  }

  bound(from, to) {
    this.from = Number.isFinite(from) ? from : 0;
    this.length = Math.max(Number.isFinite(to) ? to - this.from : 0, SMALLEST);
    this.to = this.from + this.length / (this.waits ? 1 - WAITING : 1);
  }

  /** Where a row begins and ends. A question waits at the end of the axis; an open row lasts until now. */
  span(row) {
    if (this.axis === "seq") return [row.seq0, row.kind === "interrupt" ? this.to : row.seq1 ?? this.head];
    const from = this.clamp(row.t0 ?? this.from);
    if (row.kind === "interrupt") return [from, this.to];
    return [from, Math.max(from, this.clamp(row.seq1 ? row.t1 ?? from : this.now))];
  }

  clamp(value) {
    return Math.min(Math.max(value, this.from), this.from + this.length);
  }

  /** Where an event of the time `at` is; null without a time. */
  placeOf(seq, at) {
    if (this.axis === "seq") return seq;
    return Number.isFinite(at) ? this.clamp(at) : null;
  }

  /** The event at a place: by the clock, the beginning of the last row before it. */
  seqAt(value, rows) {
    if (this.axis === "seq") return Math.min(Math.round(value), this.head);
    let last = 1;
    let most = -Infinity;
    for (const row of rows) {
      const from = row ? this.span(row)[0] : Infinity;
      if (from <= value && from >= most) [last, most] = [row.seq0, from];
    }
    return last;
  }

  /** The share of the visible width at which `value` is; beyond 0 and 1 outside of it. */
  share(value, [from, to] = this.view ?? [this.from, this.to]) {
    return (value - from) / (to - from);
  }

  /** The value at a share of the whole. */
  at(share) {
    return this.from + Math.min(Math.max(share, 0), 1) * (this.to - this.from);
  }

  /** Show only the part between two shares of the whole; all of it without any. */
  zoom(from, to) {
    const whole = from === undefined || to - from > 0.995;
    this.view = whole ? null : [this.at(from), Math.max(this.at(to), this.at(from) + SMALLEST)];
  }

  /** About `count` round values in sight. */
  ticks(count) {
    const [from, to] = this.view ?? [this.from, this.to];
    const start = this.axis === "seq" ? 0 : this.from;
    const rough = (to - from) / Math.max(count, 1);
    const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
    const step = Math.max(SMALLEST, (STEPS.find((each) => each * power >= rough) ?? 10) * power);
    const ticks = [];
    for (let value = start + Math.ceil((from - start) / step) * step; value <= to; value += step) ticks.push(value);
    return ticks;
  }
}

function count(times, time, since, end) {
  if (!Number.isFinite(time)) return;
  times.all += 1;
  if (time >= since - 1000 && time <= end + 1000) times.believable += 1;
  if (time < times.least) times.least = time;
  if (time > times.most) times.most = time;
}
