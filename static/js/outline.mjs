/** The outline of a run: the page's rows kept up to date, and a way to the events of each. */

import { span } from "./clock.mjs";
import { h } from "./dom.mjs";

const PAUSE = 1000;
const LIMIT = 1000;
const ROWS = 200;
const MOST = 2 * ROWS;
/** Events that change no row but the length of an open one. */
const QUIET = /_(CONTENT|ARGS|SNAPSHOT|DELTA|VALUE)$|^(RAW|CUSTOM)$/;

export class OutlinePanel {
  /** `onSelect(seq)` is told where the row that somebody chose begins. */
  constructor(root, onSelect) {
    const { url, after, head, goal, more } = root.dataset;
    Object.assign(this, { root, url, onSelect, after: Number(after), head: Number(head), goal: Number(goal) });
    Object.assign(this, { full: more === "yes", timer: 0, busy: false, opened: root.open });
    this.body = root.querySelector("tbody");
    this.box = root.querySelector(".outline-box");
    for (const [place, link] of this.links().entries()) {
      link.tabIndex = place ? -1 : 0;
      link.href = `#seq=${link.dataset.seq}`;
    }
    this.body.addEventListener("click", (event) => this.clicked(event));
    this.body.addEventListener("keydown", (event) => this.move(event));
    this.body.addEventListener("focusin", (event) => this.focused(event.target));
    if (this.head < this.goal) this.schedule(0);
  }

  /** The page has got this event: rows may have changed. */
  notice(seq, type) {
    if (seq <= this.head || QUIET.test(type)) return;
    this.goal = Math.max(this.goal, seq);
    this.schedule(PAUSE);
  }

  schedule(pause) {
    if (this.timer || this.busy) return;
    this.timer = setTimeout(() => this.poll(), pause);
  }

  async poll() {
    this.timer = 0;
    this.busy = true;
    const before = this.head;
    try {
      await this.read(this.after);
    } catch {
      this.head = before; // The host is away: the next event tries again.
    }
    this.busy = false;
    if (this.head < this.goal) this.schedule(this.head > before ? PAUSE / 4 : 5 * PAUSE);
  }

  async read(after) {
    const answer = await fetch(`${this.url}?after=${after}&since=${this.head}&limit=${LIMIT}`);
    if (!answer.ok) throw new Error(answer.status);
    const { rows, head } = await answer.json();
    const { scrollTop, clientHeight, scrollHeight } = this.box;
    const atEnd = scrollTop && scrollTop + clientHeight >= scrollHeight - 40;
    for (const row of rows) this.put(row, atEnd);
    if (atEnd) this.box.scrollTop = this.box.scrollHeight;
    if (rows.length === LIMIT && !this.full) return this.read(rows.at(-1).n);
    this.head = head;
    this.count();
  }

  /** Draw a row again, or append it. At the end of a live run the oldest rows make room. */
  put(row, atEnd) {
    const old = document.getElementById(`outline-${row.n}`);
    if (!old && (this.full || row.n !== this.last + 1)) return;
    const children = this.body.children;
    if (!old && children.length >= MOST) {
      if (!atEnd) return void (this.full = true);
      this.after = number(children[0]);
      children[0].remove();
    }
    const element = drawn(row);
    element.querySelector("a").tabIndex = old?.querySelector("a").tabIndex ?? (children.length ? -1 : 0);
    if (old?.hasAttribute("aria-current")) element.setAttribute("aria-current", "true");
    const focused = old?.contains(document.activeElement);
    if (old) old.replaceWith(element);
    else this.body.append(element);
    if (focused) element.querySelector("a").focus();
  }

  count() {
    if (!this.body.children.length) return;
    // Where there is more than the conversation, it opens, once; closing it is up to the reader.
    if (!this.opened && this.body.querySelector("tr:not([data-kind=message], [data-kind=reasoning])")) this.root.open = this.opened = true;
    this.root.querySelector("summary .hint").textContent = `rows ${this.after + 1} to ${this.last}`;
    const pages = [this.after && more("Earlier rows", Math.max(0, this.after - ROWS)), this.full && more("Later rows", this.last)];
    this.root.querySelector(".pages").replaceChildren(...pages.filter(Boolean));
  }

  get last() {
    return this.body.lastElementChild ? number(this.body.lastElementChild) : this.after;
  }

  links() {
    return [...this.body.querySelectorAll("a")];
  }

  clicked(event) {
    const row = event.target.closest("tr");
    if (!row || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.select(row);
  }

  select(row) {
    this.body.querySelector("[aria-current]")?.removeAttribute("aria-current");
    row.setAttribute("aria-current", "true");
    this.onSelect(Number(row.querySelector("a").dataset.seq));
  }

  move(event) {
    const links = this.links();
    const now = links.indexOf(event.target);
    const next = { ArrowUp: now - 1, ArrowDown: now + 1, Home: 0, End: links.length - 1 }[event.key];
    if (next === undefined || now < 0) return;
    event.preventDefault();
    links[Math.min(Math.max(next, 0), links.length - 1)].focus();
  }

  /** Tab leads to one row, the last that had the focus; the arrows to the others. */
  focused(link) {
    if (!link.matches("a")) return;
    this.body.querySelector('a[tabindex="0"]')?.setAttribute("tabindex", "-1");
    link.tabIndex = 0;
  }
}

function number(element) {
  return Number(element.id.slice("outline-".length));
}

function more(text, after) {
  return h("a", { class: "quiet button", href: `?outline=${after}#outline` }, text);
}

/** The same row as in templates/runs/outline.html. */
function drawn(row) {
  const depth = Math.min(row.lane.length - (row.kind === "subagent"), 6);
  const takes = row.seq1 && row.seq1 !== row.seq0 && row.t0 !== null && row.t1 !== null;
  return h("tr", { id: `outline-${row.n}`, "data-kind": row.kind, "data-depth": depth },
    h("th", { scope: "row" },
      h("a", { href: `#seq=${row.seq0}`, "data-seq": row.seq0 }, h("span", { class: "kind" }, row.kind), " ", h("bdi", {}, row.name)),
      " ", h("span", { class: "gist", dir: "auto" }, row.gist)),
    h("td", {}, h("span", { class: "chip", "data-status": row.status }, row.status)),
    h("td", { class: "num" }, takes ? span(row.t1 - row.t0) : ""),
    h("td", { class: "num" }, row.seq1 === row.seq0 ? row.seq0 : `${row.seq0}–${row.seq1 ?? ""}`));
}
