/** The timeline of a run: its minimap, its lanes, the chosen row, and where the time went. */

import { hostNow, span } from "../clock.mjs";
import { h, perFrame } from "../dom.mjs";
import { RowDetail } from "./detail.mjs";
import { LaneGrid } from "./grid.mjs";
import { busiest } from "./insight.mjs";
import { Minimap } from "./minimap.mjs";
import { OutlineRows } from "./rows.mjs";
import { Scale } from "./scale.mjs";
import { flatten, nest, rowAt } from "./tree.mjs";

const TICK = 100;
const SPACING = 64;
/** A label further right would be cut off. */
const LAST = 0.94;

export class Timeline {
  /**
   * `eventAt(seq)` is the event, `timeOf(seq)` its time, if the page has it. `onSelect(change, options)` is the page's
   * selection; `onRows()` is told when rows came.
   */
  constructor(root, { eventAt, timeOf, onSelect, onRows }) {
    Object.assign(this, { root, eventAt, timeOf, onSelect, onRows, folded: new Set(), seq: 0, lane: "", revealed: 0 });
    this.live = Boolean(root.dataset.active);
    this.scale = new Scale();
    this.drawWhole = perFrame(() => this.drawWholeNow());
    this.part = (name) => root.querySelector(`.${name}`);
    this.outline = new OutlineRows({ url: root.dataset.url, goal: Number(root.dataset.goal), onChange: () => this.changed() });
    this.grid = new LaneGrid(this.part("lanes"), this.scale, {
      onPick: (row, step) => this.pick(row, step),
      onOpen: (row) => onSelect({ tab: "events", seq: row.seq0 }),
      onFold: (node, folds) => this.fold(node, folds),
    });
    this.minimap = new Minimap(this.part("minimap"), this.scale, {
      onSeek: (share) => onSelect({ seq: this.scale.seqAt(this.scale.at(share), this.rows) }),
      onZoom: (from, to) => this.zoom(from, to),
      onStep: (by) => this.step(by),
    });
    this.detail = new RowDetail(this.part("chosen"), this.scale, onSelect);
    this.part("axis").addEventListener("change", (event) => this.turn(event.target.value));
    this.part("whole").addEventListener("click", () => this.zoom());
    new ResizeObserver(() => this.drawRuler()).observe(this.part("ruler"));
    setInterval(() => this.tick(), TICK);
  }

  get rows() {
    return this.outline.rows;
  }

  /** The page has got an event. */
  notice(seq, type) {
    this.outline.notice(seq, type);
    if (type === "RUN_STARTED" && !this.root.dataset.since) this.root.dataset.since = new Date(hostNow()).toISOString();
    if (seq > this.outline.head) this.later = seq;
  }

  /** The host's word on when the run began and ended. */
  times({ started_at: since, ended_at: until }) {
    Object.assign(this.root.dataset, { since: since ?? "", until: until ?? "" });
    if (until) this.live = false;
    this.changed();
  }

  changed() {
    this.tree = nest(this.outline.all);
    if (this.chosen) this.chosen = this.rows[this.chosen.n - 1];
    this.measure();
    // A selection from before its row had come.
    if (this.seq !== this.revealed) this.select(this.seq);
    else this.arrange();
    this.onRows();
  }

  measure() {
    const { since, until } = this.root.dataset;
    const head = Math.max(this.outline.head, this.later ?? 0);
    this.scale.measure(this.rows, { since: Date.parse(since), until: Date.parse(until), now: hostNow(), head });
  }

  /** The tab is visible again. */
  shown() {
    if (this.stale) this.arrange();
  }

  arrange() {
    // It is hidden: a live run's rows would be arranged every second.
    this.stale = this.root.hidden;
    if (!this.tree || this.stale) return;
    this.grid.show(flatten(this.tree, this.folded, this.lane), this.folded, this.live && !this.seq);
    this.drawWhole();
  }

  /** All but the lanes, once per frame: a long run has thousands of rows to sum up. */
  drawWholeNow() {
    const place = this.seq ? this.scale.placeOf(this.seq, this.timeOf(this.seq) ?? this.chosen?.t0) : null;
    this.minimap.show(this.rows, this.seq, place);
    this.drawRuler();
    this.say();
    this.detail.show(this.chosen && this.tree ? this.nodeOf(this.chosen) : null);
    this.part("whole").hidden = !this.scale.view;
    const problem = this.outline.problem || (this.outline.complete ? (this.rows.length ? "" : "Nothing has happened yet.") : this.rows.length ? "More rows are being read …" : "Loading …");
    this.part("reading").textContent = problem;
    this.part("reading").hidden = !problem;
  }

  /** Open bars grow with the time; that is ten small drawings a second of the visible part. */
  tick() {
    if (!this.live || document.hidden || this.root.hidden || this.scale.axis !== "clock" || !this.rows.length) return;
    this.measure();
    this.grid.redraw();
    this.ticks = (this.ticks ?? 0) + 1;
    if (this.ticks % 10 === 0) this.drawWhole();
  }

  say() {
    const place = this.part("busiest");
    const best = (this.best = this.scale.axis === "clock" ? busiest(this.rows, this.scale) : this.best);
    if (!best) return place.replaceChildren();
    // Drawn again only when it changed, so that the button keeps the focus.
    const [share, whole] = [Math.round(100 * best.share), span(this.scale.length)];
    const sentence = [best.kind, best.name, best.count, share, whole, best.longest.n].join();
    if (sentence === this.sentence && place.firstChild) return;
    this.sentence = sentence;
    const times = best.count > 1 ? `, ${best.count} times` : "";
    const what = best.name ? h("bdi", {}, best.name) : best.kind;
    const button = h("button", { class: "link", title: "Select the longest" }, what);
    button.addEventListener("click", () => this.pick(best.longest));
    place.replaceChildren(`${share} % of ${whole} in ${best.kind === "tool" ? "" : `${best.kind} `}`, button, times);
  }

  drawRuler() {
    const ruler = this.part("ruler");
    const values = this.scale.ticks(Math.floor(ruler.clientWidth / SPACING)).filter((value) => this.scale.share(value) < LAST);
    ruler.replaceChildren(...values.map((value) => {
      const mark = h("span", {}, this.scale.axis === "seq" ? `#${Math.max(value, 1)}` : span(value - this.scale.from));
      mark.style.left = `${100 * this.scale.share(value)}%`;
      return mark;
    }));
  }

  pick(row, step = false) {
    this.onSelect({ seq: row.seq0 }, { step, row });
    this.grid.root.focus({ preventScroll: true });
  }

  /** From the selection, which the minimap shows a frame later: keys may come faster than frames. */
  step(by) {
    const { head } = this.scale;
    this.onSelect({ seq: Math.min(Math.max((this.seq || head) + by, 1), head) }, { step: true });
  }

  /** Select an event; `row` is the chosen one, if any. */
  select(seq, row = null) {
    this.seq = seq;
    this.chosen = seq && this.tree ? row ?? rowAt(this.rows, seq, this.eventAt(seq)) : null;
    // As long as rows are being read, another one may be closer.
    const settled = row || this.outline.head >= seq || this.outline.complete;
    this.revealed = !seq || (this.chosen && settled) ? seq : 0;
    for (let node = this.chosen && this.nodeOf(this.chosen)?.parent; node; node = node.parent) this.folded.delete(node.row.id);
    this.grid.chosen = this.chosen?.n ?? 0;
    this.arrange();
    this.grid.choose(this.chosen?.n ?? 0);
  }

  /** Show one lane and its rows; all without any. */
  only(lane) {
    if (lane === this.lane) return;
    this.lane = lane;
    this.arrange();
  }

  nodeOf(row) {
    if (row.kind === "subagent") return this.tree.lanes.get(row.id);
    const parent = this.tree.lanes.get(row.lane.at(-1)) ?? null;
    return { row, parent, children: [] };
  }

  fold(node, folds) {
    this.folded[folds ? "add" : "delete"](node.row.id);
    this.arrange();
  }

  zoom(from, to) {
    this.scale.zoom(from, to);
    this.redraw();
  }

  redraw() {
    this.grid.redraw();
    this.drawWhole();
  }

  turn(axis) {
    Object.assign(this.scale, { axis, view: null });
    this.measure();
    this.redraw();
  }
}
