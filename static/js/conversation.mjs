/** The conversation of a fold, on the page: a window of its items, and the others on request. */

import { citationKeys, citations } from "./cited.mjs";
import { write } from "./dom.mjs";
import { views } from "./items.mjs";

const WINDOW = 400;
const DEEPEST = 8;
const CONTROLS = "a, button, input, label, details .body, .cited";

export class Conversation {
  /** `follows`: stay at the newest items, else at the first. `onPick(seq)`: an item was chosen. */
  constructor({ root, earlier, later, fold, follows, onPick }) {
    Object.assign(this, { root, earlier, later, fold, follows, onPick, shown: new Map(), from: 0, end: 0, kept: false, chosen: null, until: Infinity, made: 0 });
    earlier.addEventListener("click", () => this.showEarlier());
    later.addEventListener("click", () => this.showLater());
    root.addEventListener("click", (event) => this.clicked(event));
  }

  /** Bring the page up to date with the fold. */
  draw() {
    const { items, changed, reordered } = this.fold;
    if (reordered || (this.follows && items.length - this.end > 2 * WINDOW)) this.restart(this.follows ? Math.max(0, items.length - WINDOW) : 0);
    for (const item of changed) this.shown.get(item.key)?.update();
    this.append(this.follows ? items.length : Math.max(this.end, Math.min(items.length, this.from + WINDOW)));
    if (this.follows && !this.kept && this.end - this.from > 2 * WINDOW) this.trim(this.end - WINDOW);
    this.fold.settle();
    this.offer();
  }

  append(end) {
    for (const item of this.fold.items.slice(this.end, end)) this.place(item).append(this.view(item));
    this.end = Math.max(this.end, end);
  }

  /** The place of an item: in the card of its subagent, while that is on the page; beyond some depth next to it. */
  place(item) {
    const card = this.cardOf(item);
    if (!card) return this.root;
    return card.depth > DEEPEST ? card.node.parentNode : card.inside;
  }

  cardOf({ owner }) {
    return owner === undefined ? undefined : this.shown.get(`subagent:${owner}`);
  }

  /** Show each message's citations, which are in the run's state. */
  cite(state, version) {
    const stands = `${version}:${this.made}`;
    if (stands === this.citedAt) return;
    this.citedAt = stands;
    const keys = citationKeys(state);
    if (!keys.length) return;
    for (const view of this.shown.values()) {
      if (!view.cite) continue;
      const rows = citations(state, keys, view.id);
      const statuses = rows.map(({ id, status }) => `${id} ${status}`).join();
      if (statuses !== (view.cited ?? "")) view.cite(rows);
      view.cited = statuses;
    }
  }

  restart(from) {
    this.root.replaceChildren();
    this.shown.clear();
    this.from = this.end = from;
    this.kept = false;
  }

  trim(from) {
    for (const item of this.fold.items.slice(this.from, from)) {
      const { node, inside } = this.shown.get(item.key);
      // The items of an active subagent stay.
      node.replaceWith(...(inside?.childNodes ?? []));
      this.shown.delete(item.key);
    }
    this.from = from;
  }

  view(item) {
    const depth = (this.cardOf(item)?.depth ?? 0) + 1;
    const view = { ...views[item.kind](item), id: item.id, depth };
    this.shown.set(item.key, view);
    this.made += 1;
    view.node.dataset.key = item.key;
    view.node.hidden = item.seq > this.until;
    if (item === this.chosen) view.node.setAttribute("aria-current", "true");
    return view.node;
  }

  /** Hide what began after an event; nothing without one. Returns how many items that are. */
  asOf(seq) {
    const until = seq || Infinity;
    if (until !== this.until) {
      this.until = until;
      for (const [key, { node }] of this.shown) node.hidden = this.fold.byKey.get(key)?.seq > until;
    }
    return seq ? this.fold.items.reduce((sum, item) => sum + (item.seq > seq), 0) : 0;
  }

  /** Mark an item and bring it into sight; none without one. */
  choose(item) {
    this.root.querySelector("[aria-current]")?.removeAttribute("aria-current");
    this.chosen = item;
    const place = item ? this.fold.items.indexOf(item) : -1;
    if (place < 0) return;
    if (place < this.from || place >= this.end) {
      this.follows = false;
      this.restart(Math.max(0, place - WINDOW / 2));
      this.draw();
    }
    const { node } = this.shown.get(item.key);
    for (let card = node.parentElement.closest("details"); card; card = card.parentElement.closest("details")) card.open = true;
    node.setAttribute("aria-current", "true");
    node.scrollIntoView({ block: "nearest" });
  }

  clicked(event) {
    const key = event.target.closest("[data-key]")?.dataset.key;
    if (!key || event.target.closest(CONTROLS) || !getSelection().isCollapsed) return;
    const seq = this.fold.byKey.get(key)?.seq;
    if (seq) this.onPick(seq);
  }

  showEarlier() {
    const from = Math.max(0, this.from - WINDOW);
    const first = this.root.firstChild;
    for (const item of this.fold.items.slice(from, this.from)) {
      const place = this.place(item);
      place.insertBefore(this.view(item), place === this.root ? first : null);
    }
    this.gather(this.fold.items.slice(this.from, this.end));
    this.from = from;
    this.kept = true;
    this.offer();
  }

  showLater() {
    this.append(Math.min(this.fold.items.length, this.end + WINDOW));
    this.offer();
  }

  /** Move items into the cards that have come before them. */
  gather(items) {
    for (const item of items) {
      const { node } = this.shown.get(item.key);
      const place = this.place(item);
      if (node.parentNode === this.root && place !== this.root && !node.contains(place)) place.append(node);
    }
  }

  offer() {
    const rest = this.fold.items.length - this.end;
    this.earlier.hidden = this.from === 0;
    this.later.hidden = rest <= 0;
    write(this.earlier, `Show earlier (${this.from})`);
    write(this.later, `Show later (${rest})`);
  }
}
