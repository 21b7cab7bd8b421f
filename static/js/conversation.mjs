/** The conversation of a fold, on the page: a window of its items, and the others on request. */

import { views } from "./items.mjs";

const WINDOW = 400;
const CONTROLS = "a, button, input, label, details .body";

export class Conversation {
  /** `follows`: stay at the newest items, else at the first. `onPick(seq)`: an item was chosen. */
  constructor({ root, earlier, later, fold, follows, onPick }) {
    Object.assign(this, { root, earlier, later, fold, follows, onPick, shown: new Map(), from: 0, end: 0, kept: false, chosen: null, until: Infinity });
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
    this.root.append(...this.fold.items.slice(this.end, end).map((item) => this.view(item)));
    this.end = Math.max(this.end, end);
  }

  restart(from) {
    this.root.replaceChildren();
    this.shown.clear();
    this.from = this.end = from;
    this.kept = false;
  }

  trim(from) {
    for (const item of this.fold.items.slice(this.from, from)) {
      this.shown.get(item.key).node.remove();
      this.shown.delete(item.key);
    }
    this.from = from;
  }

  view(item) {
    const view = views[item.kind](item);
    this.shown.set(item.key, view);
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
    this.root.prepend(...this.fold.items.slice(from, this.from).map((item) => this.view(item)));
    this.from = from;
    this.kept = true;
    this.offer();
  }

  showLater() {
    this.append(Math.min(this.fold.items.length, this.end + WINDOW));
    this.offer();
  }

  offer() {
    const rest = this.fold.items.length - this.end;
    this.earlier.hidden = this.from === 0;
    this.earlier.textContent = `Show earlier (${this.from})`;
    this.later.hidden = rest <= 0;
    this.later.textContent = `Show later (${rest})`;
  }
}
