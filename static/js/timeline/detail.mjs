/** The details of the chosen row, and ways to look at it elsewhere. */

import { span } from "../clock.mjs";
import { h } from "../dom.mjs";
import { selfTime } from "./insight.mjs";
import { nameOf } from "./tree.mjs";

export class RowDetail {
  constructor(root, scale, onSelect) {
    Object.assign(this, { root, scale, onSelect, text: "" });
  }

  /** Show a node of the tree, or nothing. */
  show(node) {
    this.root.hidden = !node;
    const text = node ? this.facts(node).join(" · ") : "";
    // Drawn again only when it changed, so that a button keeps the focus.
    if (!node || text + node.row.n === this.text) return;
    this.text = text + node.row.n;
    const { row } = node;
    const parts = [
      h("p", {}, h("span", { class: "kind" }, row.kind), " ", h("strong", {}, h("bdi", {}, nameOf(row))), " ", h("span", { class: "chip", "data-status": row.status }, row.status)),
      h("p", { class: "hint" }, text),
      row.gist ? h("p", { class: "gist", dir: "auto" }, row.gist) : "",
      h("p", { class: "ways" }, ...this.ways(row)),
    ];
    this.root.replaceChildren(...parts);
  }

  facts({ row, children }) {
    const facts = [row.seq1 === row.seq0 ? `event #${row.seq0}` : `events #${row.seq0} to ${row.seq1 ? `#${row.seq1}` : "now"}`];
    if (row.seq1 && row.seq1 !== row.seq0 && row.t0 !== null) facts.push(`took ${span(row.t1 - row.t0)}`);
    if (this.scale.axis === "clock" && children.length) facts.push(`${span(selfTime({ row, children }, this.scale))} of it itself`);
    if (row.bytes) facts.push(`${row.bytes.toLocaleString()} bytes`);
    return facts;
  }

  ways(row) {
    const way = (name, change) => {
      const button = h("button", { class: "quiet" }, name);
      button.addEventListener("click", () => this.onSelect(change));
      return button;
    };
    const lane = row.lane.at(-1);
    return [
      way("Events", { tab: "events", seq: row.seq0 }),
      way("Conversation", { tab: "messages", seq: row.seq0 }),
      way("State then", { tab: "state", seq: row.result ?? row.seq1 ?? row.seq0 }),
      ...(lane ? [way("Only this lane", { lane })] : []),
    ];
  }
}
