/** The lanes of a run as a tree of rows with bars: however many there are, few are on the page. */

import { span } from "../clock.mjs";
import { h } from "../dom.mjs";
import { VirtualRows } from "../virtual-rows.mjs";
import { nameOf } from "./tree.mjs";

const DEEPEST = 6;
/** A row's words in place of its duration. */
const SAYS = new Set(["failed", "asked", "pending", "unfinished", "interrupted"]);

export class LaneGrid {
  /** `onPick(row, step)`: a person chose a row; `onOpen(row)`: asks for its events; `onFold(node, folds)`. */
  constructor(root, scale, { onPick, onOpen, onFold }) {
    Object.assign(this, { root, scale, onPick, onOpen, onFold, nodes: [], folded: new Set(), chosen: 0 });
    this.rows = new VirtualRows(root, (place) => this.line(place));
    root.addEventListener("scroll", () => this.draw(), { passive: true });
    root.addEventListener("keydown", (event) => this.move(event));
    root.addEventListener("click", (event) => this.clicked(event));
    root.addEventListener("dblclick", (event) => this.at(event) && this.onOpen(this.at(event).row));
    new ResizeObserver(() => this.draw()).observe(root);
  }

  /** Show these nodes of the tree; `live`: stay at the end, where the reader is. */
  show(nodes, folded, live = false) {
    const atEnd = live && this.rows.atEnd;
    Object.assign(this, { nodes, folded });
    this.rows.clear();
    this.rows.resize(nodes.length);
    if (atEnd) this.rows.toEnd();
    this.draw();
  }

  /** Draw the rows in sight that are not drawn yet. */
  draw() {
    if (!this.rows.seen) return;
    if (this.toReveal) this.rows.reveal(this.placeOf(this.toReveal));
    this.toReveal = 0;
    this.rows.draw();
    this.root.toggleAttribute("aria-activedescendant", false);
    if (this.rows.drawn.has(this.placeOf(this.chosen))) this.root.setAttribute("aria-activedescendant", `lane-row-${this.chosen}`);
  }

  /** Draw only the bars of the rows in sight: time has passed, or the view is another. */
  redraw() {
    for (const [place, element] of this.rows.drawn) this.stretch(element, this.nodes[place].row);
  }

  line(place) {
    const { row, level, children } = this.nodes[place];
    const folds = row.kind === "subagent" && children.length > 0;
    const folded = this.folded.has(row.id);
    const bar = h("span", { class: "span" });
    const element = h("div", {
      class: "lane", role: "row", id: `lane-row-${row.n}`, "data-n": row.n, "data-kind": row.kind, "data-status": row.status,
      "data-depth": Math.min(level - 1, DEEPEST), "aria-level": level, "aria-rowindex": place + 1,
      "aria-selected": String(row.n === this.chosen), "aria-expanded": folds ? String(!folded) : null,
    },
    h("span", { role: "gridcell", class: "what" },
      folds ? h("span", { class: "fold", "aria-hidden": "true" }, folded ? "▸" : "▾") : null,
      h("span", { class: "kind" }, row.kind), " ", h("bdi", {}, nameOf(row)), " ", h("span", { class: "gist", dir: "auto" }, row.gist)),
    h("span", { role: "gridcell", class: "took" }),
    h("span", { role: "gridcell", class: "track" }, bar));
    this.stretch(element, row);
    return element;
  }

  stretch(element, row) {
    const [from, to] = this.scale.span(row).map((value) => this.scale.share(value));
    const bar = element.lastChild.firstChild;
    bar.hidden = to < 0 || from > 1;
    bar.style.left = `min(${100 * Math.max(from, 0)}%, 100% - var(--least))`;
    bar.style.width = `${100 * (Math.min(to, 1) - Math.max(from, 0))}%`;
    element.children[1].textContent = SAYS.has(row.status) ? row.status : lasted(row, this.scale);
  }

  placeOf(n) {
    return this.nodes.findIndex(({ row }) => row.n === n);
  }

  /** Mark a row, by its number, and bring it into sight. */
  choose(n) {
    if (n) this.toReveal = n;
    this.rows.body.querySelector('[aria-selected="true"]')?.setAttribute("aria-selected", "false");
    this.chosen = n;
    this.rows.body.querySelector(`#lane-row-${n}`)?.setAttribute("aria-selected", "true");
    this.draw();
  }

  at(event) {
    const element = event.target.closest(".lane");
    return element && this.nodes[this.placeOf(Number(element.dataset.n))];
  }

  clicked(event) {
    const node = this.at(event);
    if (!node) return;
    if (event.target.closest(".fold")) this.onFold(node, !this.folded.has(node.row.id));
    else this.onPick(node.row, false);
  }

  move(event) {
    const place = this.placeOf(this.chosen);
    const next = this.rows.walk(event.key, place);
    const turns = place >= 0 && ["ArrowLeft", "ArrowRight", "Enter"].includes(event.key);
    if ((next === undefined && !turns) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (turns) this.turn(event.key, this.nodes[place]);
    else this.onPick(this.nodes[next].row, true);
  }

  /** Left folds a lane, or leads to the one around it; Right unfolds; Enter opens the events. */
  turn(key, node) {
    const folded = this.folded.has(node.row.id);
    const folds = node.row.kind === "subagent" && node.children.length > 0;
    if (key === "Enter") this.onOpen(node.row);
    else if (key === "ArrowRight" && folds && folded) this.onFold(node, false);
    else if (key === "ArrowLeft" && folds && !folded) this.onFold(node, true);
    else if (key === "ArrowLeft" && node.parent) this.onPick(node.parent.row, true);
  }
}

function lasted(row, scale) {
  if (row.t0 === null || row.seq1 === row.seq0) return "";
  if (scale.axis === "seq") return row.seq1 && row.t1 !== null ? span(row.t1 - row.t0) : "…";
  const [from, to] = scale.span(row);
  return row.seq1 ? span(row.t1 - row.t0) : span(to - from);
}
