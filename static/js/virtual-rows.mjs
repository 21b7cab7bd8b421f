/** Rows of one height in a box that scrolls: however many there are, only those in sight are on the page. */

const HEIGHT = 30;
const SPARE = 12;

export class VirtualRows {
  /** `line(place)` makes the element of a row, for the `.rows` in `root`. */
  constructor(root, line) {
    Object.assign(this, { root, line, body: root.querySelector(".rows"), size: 0, drawn: new Map() });
  }

  /** Whether the box is visible. */
  get seen() {
    return this.root.clientHeight > 0;
  }

  get atEnd() {
    const { scrollTop, clientHeight, scrollHeight } = this.root;
    return scrollTop + clientHeight >= scrollHeight - HEIGHT;
  }

  resize(size) {
    this.size = size;
    this.body.style.height = `${size * HEIGHT}px`;
    this.root.setAttribute("aria-rowcount", size);
  }

  clear() {
    this.body.replaceChildren();
    this.drawn.clear();
  }

  drop(place) {
    this.drawn.get(place).remove();
    this.drawn.delete(place);
  }

  /** Draw the rows in sight that are not drawn yet; returns the place after the last. */
  draw() {
    const { scrollTop, clientHeight } = this.root;
    const first = Math.max(0, Math.floor(scrollTop / HEIGHT) - SPARE);
    const end = Math.min(this.size, first + Math.ceil(clientHeight / HEIGHT) + 2 * SPARE);
    for (const place of this.drawn.keys()) if (place < first || place >= end) this.drop(place);
    for (let place = first; place < end; place += 1) {
      if (this.drawn.has(place)) continue;
      const element = this.body.appendChild(this.line(place));
      element.style.top = `${place * HEIGHT}px`;
      this.drawn.set(place, element);
    }
    return end;
  }

  toEnd() {
    this.root.scrollTop = this.root.scrollHeight;
  }

  /** Bring a row into sight. */
  reveal(place) {
    const top = place * HEIGHT;
    const { scrollTop, clientHeight } = this.root;
    if (top < 0 || (top >= scrollTop && top + HEIGHT <= scrollTop + clientHeight)) return;
    this.root.scrollTop = top - clientHeight / 3;
  }

  /** Where a key leads from a place, or from none (-1); undefined for other keys. */
  walk(key, place) {
    const page = Math.max(1, Math.floor(this.root.clientHeight / HEIGHT) - 1);
    const step = { ArrowUp: -1, ArrowDown: 1, PageUp: -page, PageDown: page, Home: -this.size, End: this.size }[key];
    if (step === undefined || !this.size) return undefined;
    const next = place < 0 && key !== "End" ? 0 : place + step;
    return Math.min(Math.max(next, 0), this.size - 1);
  }
}
