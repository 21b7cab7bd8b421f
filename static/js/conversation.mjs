/** The conversation of a fold, on the page: the newest items, and earlier ones on request. */

import { views } from "./items.mjs";

const WINDOW = 400;

export class Conversation {
  constructor(root, earlier, fold) {
    Object.assign(this, { root, earlier, fold, shown: new Map(), from: 0, end: 0, kept: false });
    earlier.addEventListener("click", () => this.showEarlier());
  }

  /** Bring the page up to date with the fold. */
  draw() {
    const { items, changed, reordered } = this.fold;
    if (reordered || items.length - this.end > 2 * WINDOW) this.restart(Math.max(0, items.length - WINDOW));
    for (const item of changed) this.shown.get(item.key)?.update();
    const fresh = items.slice(this.end).map((item) => this.view(item));
    this.end = items.length;
    this.root.append(...fresh);
    if (!this.kept && this.end - this.from > 2 * WINDOW) this.trim(this.end - WINDOW);
    this.fold.settle();
    this.offerEarlier();
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
    return view.node;
  }

  showEarlier() {
    const from = Math.max(0, this.from - WINDOW);
    this.root.prepend(...this.fold.items.slice(from, this.from).map((item) => this.view(item)));
    this.from = from;
    this.kept = true;
    this.offerEarlier();
  }

  offerEarlier() {
    this.earlier.hidden = this.from === 0;
    this.earlier.textContent = `Show earlier (${this.from})`;
  }
}
