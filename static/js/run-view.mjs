/** The views of one run, which its page and the shared page have in common, under one selection. */

import { Conversation } from "./conversation.mjs";
import { alertIn, find, paced, perFrame, write } from "./dom.mjs";
import { EventTable } from "./event-table.mjs";
import { JsonTree } from "./json-tree.mjs";
import { Keys } from "./keys.mjs";
import { Playback } from "./playback.mjs";
import { Selection } from "./selection.mjs";
import { Tabs } from "./tabs.mjs";
import { Timeline } from "./timeline/timeline.mjs";
import { neighbour } from "./timeline/tree.mjs";

/** Between two drawings of the stream's events, in ms: each costs a layout and a frame. */
const PAUSE = 100;
const WALKS = [
  ["x", "error", (row) => row.kind === "error" || (row.status === "failed" && row.kind !== "attempt")],
  ["c", "tool call", (row) => row.kind === "tool"],
  ["w", "message", (row) => row.kind === "message"],
];

export class RunView {
  /** `source` has the run's events. `active`: the run has not ended. `drawOther(tab)` draws a tab that only one page has. */
  constructor({ source, active, failed, drawOther = () => {} }) {
    Object.assign(this, { source, active, failed, drawOther, fold: source.fold, log: source.log, drawnState: "", marked: 0, cuts: true, cut: 0 });
    this.draw = perFrame(() => this.drawNow());
    this.drawSoon = paced(this.draw, PAUSE);
    this.tabs = new Tabs(document.querySelector("[role=tablist]"), (tab) => this.select({ tab }));
    this.selection = new Selection({ tabs: this.tabs.names, first: this.tabs.shown, onChange: (now, before) => this.changed(now, before) });
    this.table = new EventTable({
      log: find("log"), detail: find("detail"), filter: find("filter"), follow: find("follow"), shown: find("shown"), events: source.log,
      onSelect: (seq, step) => this.select({ seq }, { step }),
    });
    this.conversation = new Conversation({
      root: find("conversation"), earlier: find("earlier"), later: find("later"), fold: this.fold, follows: active || failed,
      // A choice among visible items must not hide any.
      onPick: (seq) => this.select({ seq }, { cuts: false }),
    });
    this.state = new JsonTree(find("state-tree"));
    this.timeline = find("timeline") && new Timeline(find("timeline"), {
      eventAt: (seq) => this.eventAt(seq),
      timeOf: (seq) => this.log.get(seq)?.timestamp,
      onSelect: (change, options) => this.select(change, options, change.tab),
      onRows: () => {
        this.open();
        this.draw();
      },
    });
    this.playback = new Playback(find("playback"), { log: source.log, seqNow: () => this.selection.now.seq, onSeek: (seq) => this.select({ seq }, { step: true }) });
    find("ahead").lastElementChild.addEventListener("click", () => {
      this.cut = 0;
      this.draw();
    });
    source.listen(this.timeline?.outline, () => this.came());
    this.keys = new Keys([...this.tabs.keys(), ...this.walks(), ...this.playback.keys(), ["Escape", "Back to the whole run", () => this.leave()]]);
    find("leave").addEventListener("click", () => this.leave());
    find("all-lanes").addEventListener("click", () => this.select({ lane: "" }));
    find("keys-help").addEventListener("click", () => this.keys.help());
    find("follow").checked = active && !this.selection.now.seq;
    this.changed(this.selection.now, {});
  }

  /** The next event of the run has come. */
  feed(seq, event, raw) {
    this.source.feed(seq, event, raw);
    this.table.came(seq, event.type);
    this.timeline?.notice(seq, event.type);
    // A link may have led here before its event was there.
    if (seq === this.selection.now.seq) this.changed(this.selection.now, {});
    this.drawSoon();
  }

  /** Something came that a view had asked for. */
  came() {
    this.table.loaded();
    const { seq } = this.selection.now;
    // The row that was chosen stays so: it may begin with the same event as others.
    if (seq && this.log.get(seq) && this.located !== seq) {
      Object.assign(this, { located: seq, revealed: false });
      if (this.timeline?.chosen?.seq0 !== seq) this.timeline?.select(seq);
    }
    this.draw();
  }

  eventAt(seq) {
    const raw = this.log.get(seq)?.raw;
    if (raw === undefined) this.log.want(seq);
    return raw === undefined ? null : JSON.parse(raw);
  }

  /** `leads`: away from the focus, to the tab that the change names. */
  select(change, { step = false, row = null, cuts = true } = {}, leads = "") {
    Object.assign(this, { row, cuts });
    this.selection.set(change, { step });
    Object.assign(this, { row: null, cuts: true });
    // Several questions begin with the event that ended their run.
    if (row && this.timeline.chosen?.n !== row.n) this.timeline.select(row.seq0, row);
    if (leads) find(leads === "events" ? "log" : `tab-${leads}`).focus();
  }

  /** The host's view of the run's status. */
  times(run) {
    this.active = find("playback").hidden = !run.ended_at;
    this.timeline?.times(run);
  }

  leave() {
    this.failed = false;
    this.select({ seq: 0, lane: "" });
    this.changed(this.selection.now, {});
    find("follow").checked = this.active;
  }

  /** A failed run opens at its error, as long as nothing else is selected. */
  open() {
    if (!this.failed || this.selection.now.seq || !this.timeline.outline.complete) return;
    const error = this.timeline.rows.findLast((row) => row?.kind === "error");
    if (error && this.marked !== error.seq0) this.mark(error.seq0, error);
  }

  changed(now, before) {
    if (now.tab !== before.tab) {
      this.tabs.show(now.tab);
      this.timeline?.shown();
    }
    if (now.lane !== before.lane) this.timeline?.only(now.lane);
    if (now.seq !== before.seq) {
      this.mark(now.seq, this.row);
      this.cut = this.cuts ? now.seq : 0;
      this.playback.moved(now.seq);
    }
    find("as-of").hidden = !now.seq;
    find("as-of-seq").textContent = `As of #${now.seq}`;
    find("leave").textContent = this.active ? "Back to live" : "Back to the whole run";
    find("all-lanes").hidden = !now.lane;
    this.draw();
  }

  /** Show an event as selected in every view. */
  mark(seq, row = null) {
    this.marked = seq;
    this.located = this.log.get(seq) ? seq : 0;
    if (seq) find("follow").checked = false;
    this.table.select(seq);
    this.timeline?.select(seq, row);
    this.revealed = false;
  }

  drawNow() {
    const { tab } = this.selection.now;
    write(find("count-events"), Math.max(this.log.size, this.active ? 0 : Number(find("run").dataset.head) || 0));
    if (tab === "messages") this.drawConversation();
    if (tab === "events") this.table.draw();
    if (tab === "state") this.drawState();
    this.drawOther(tab);
  }

  drawConversation() {
    const { scrollHeight, clientHeight } = document.documentElement;
    const atEnd = scrollY + clientHeight >= scrollHeight - 80;
    this.source.converse();
    if (this.fold.reordered) this.revealed = false;
    const ahead = this.conversation.asOf(this.cut);
    this.conversation.draw();
    this.conversation.cite(this.fold.state, this.fold.stateVersion);
    find("ahead").hidden = !ahead;
    write(find("ahead").firstElementChild, `As of #${this.cut}. Later: ${ahead}.`);
    find("placeholder").hidden = this.fold.items.length > 0;
    if (this.fold.end) write(find("placeholder"), "This run produced no messages.");
    if (this.marked && !this.revealed) this.reveal();
    else if (!this.marked && this.conversation.chosen) this.conversation.choose(null);
    if (atEnd && !this.marked && this.active && this.log.size) scrollTo({ top: document.documentElement.scrollHeight });
  }

  reveal() {
    const item = this.fold.itemOf(this.eventAt(this.marked), this.marked);
    this.revealed = Boolean(item);
    if (item) this.conversation.choose(item);
  }

  drawState() {
    const shown = this.source.state(this.selection.now.seq);
    if (!shown || this.drawnState === shown.version) return;
    this.drawnState = shown.version;
    alertIn(find("state-problem"), shown.problem);
    this.state.show(shown.state);
  }

  walks() {
    const go = (accepts, back) => {
      const row = neighbour(this.timeline?.rows ?? [], this.marked || (back ? Infinity : 0), accepts, back);
      if (row) this.select({ seq: row.seq0 }, { step: true, row });
    };
    return WALKS.flatMap(([key, name, accepts]) => [
      [key, `Next ${name}`, () => go(accepts, false)],
      [key.toUpperCase(), `Previous ${name}`, () => go(accepts, true)],
    ]);
  }
}
