/** The log as a table: however long it is, only the rows in sight are on the page. */

import { local } from "./clock.mjs";
import { h, write } from "./dom.mjs";
import { summary, tone } from "./summary.mjs";
import { VirtualRows } from "./virtual-rows.mjs";

const LONGEST = 500_000;

export class EventTable {
  /** `events` is the log, of which the page may have but a part. `onSelect(seq, step)` is called when a person chooses an event; `step`: by a key, one of many. */
  constructor({ log, detail, filter, follow, shown, events, onSelect }) {
    Object.assign(this, { log, detail, follow, shown, events, onSelect });
    Object.assign(this, { rows: new VirtualRows(log, (place) => this.row(place)), hits: null, searched: true, selected: 0 });
    filter.addEventListener("input", () => this.sift(filter.value.trim().toUpperCase()));
    follow.addEventListener("change", () => this.draw());
    log.addEventListener("scroll", () => this.scrolled(), { passive: true });
    log.addEventListener("keydown", (event) => this.move(event));
    log.addEventListener("pointerdown", (event) => {
      const row = event.target.closest(".row");
      if (row && event.button === 0) this.pick(Number(row.dataset.seq));
    });
    new ResizeObserver(() => this.draw()).observe(log);
  }

  /** The log has got this event. */
  came(seq, type) {
    if (this.hits && this.searched && type.includes(this.query)) this.hits.push(seq);
    if (seq === this.wanted) this.select(seq);
  }

  /** The log has got events that were missing. */
  loaded() {
    for (const [place, row] of this.rows.drawn) if ("missing" in row.dataset && this.events.get(this.seqAt(place))) this.rows.drop(place);
    if (this.selected && this.untold) this.tell(this.selected);
    this.draw();
  }

  get size() {
    return this.hits ? this.hits.length : this.events.size;
  }

  seqAt(place) {
    return this.hits ? this.hits[place] : place + 1;
  }

  placeOf(seq) {
    return this.hits ? this.hits.indexOf(seq) : seq - 1;
  }

  draw() {
    if (!this.rows.seen) return;
    this.rows.resize(this.size);
    write(this.shown, this.hits ? `${this.size}${this.searched ? "" : " or more"} of ${this.events.size} events` : `${this.size} events`);
    if (this.follow.checked) this.rows.toEnd();
    if (this.toReveal) this.rows.reveal(this.placeOf(this.toReveal));
    this.toReveal = 0;
    const end = this.rows.draw();
    if (this.hits && !this.searched && end === this.size) this.events.more();
  }

  row(place) {
    const seq = this.seqAt(place);
    const entry = this.events.get(seq);
    if (!entry) this.events.want(seq);
    const cells = entry ? [seq, offset(entry.timestamp - this.events.start), entry.type, summary(JSON.parse(entry.raw))] : [seq, "", "…", ""];
    return h("div", {
      class: "row", role: "row", id: `event-${seq}`, "data-seq": seq, "data-tone": entry && tone(entry.type), "data-missing": !entry,
      "aria-rowindex": place + 1, "aria-selected": String(seq === this.selected),
    }, ...cells.map((cell) => h("span", { role: "gridcell" }, cell)));
  }

  /** A reader who scrolls back wants to read in peace. */
  scrolled() {
    if (!this.rows.atEnd) this.follow.checked = false;
    this.draw();
  }

  sift(query) {
    Object.assign(this, { query, hits: query ? [] : null, searched: !query });
    this.rows.clear();
    this.log.scrollTop = 0;
    if (query) this.events.search(query, (seqs, complete) => this.matched(seqs, complete));
    this.draw();
  }

  matched(seqs, complete) {
    this.hits = [...this.hits, ...seqs];
    this.searched = complete;
    this.draw();
  }

  move(event) {
    // Events may have come since the table was drawn.
    this.rows.size = this.size;
    const place = this.rows.walk(event.key, this.selected ? this.placeOf(this.selected) : -1);
    if (place === undefined) return;
    event.preventDefault();
    this.pick(this.seqAt(place), true);
  }

  pick(seq, step = false) {
    this.follow.checked = false;
    this.select(seq);
    this.onSelect(seq, step);
  }

  /** Choose an event and bring it into sight; a later one is chosen when it comes. */
  select(seq) {
    if (seq > this.events.size) return void (this.wanted = seq);
    this.wanted = 0;
    if (seq === this.selected && !this.toReveal && seq) return;
    this.mark(false);
    this.selected = seq;
    this.toReveal = seq;
    if (!seq) return this.none();
    this.log.setAttribute("aria-activedescendant", `event-${seq}`);
    this.tell(seq);
    this.draw();
    this.mark(true);
  }

  mark(selected) {
    this.rows.body.querySelector(`#event-${this.selected}`)?.setAttribute("aria-selected", String(selected));
  }

  none() {
    this.log.removeAttribute("aria-activedescendant");
    this.detail.replaceChildren(h("p", { class: "hint" }, "Choose an event to see its JSON."));
    this.draw();
  }

  tell(seq) {
    const entry = this.events.get(seq);
    this.untold = !entry;
    if (!entry) {
      this.events.want(seq);
      return this.detail.replaceChildren(h("p", { class: "hint" }, `Event #${seq} is being read …`));
    }
    const { type, timestamp, raw } = entry;
    const text = JSON.stringify(JSON.parse(raw), null, 2);
    const cut = text.length > LONGEST ? `${text.slice(0, LONGEST)}\n… ${text.length - LONGEST} more characters` : text;
    this.detail.replaceChildren(
      h("h2", {}, h("span", { class: "hint" }, `#${seq}`), type),
      h("p", { class: "hint" }, `${local(timestamp)} · ${raw.length} characters`),
      h("pre", {}, cut),
    );
  }
}

function offset(milliseconds) {
  return Number.isFinite(milliseconds) ? `+${(milliseconds / 1000).toFixed(3)}` : "";
}
