/** JSON as a tree that unfolds. Only open parts are on the page, so size does not matter. */

import { h } from "./dom.mjs";

const PAGE = 100;
const LONGEST = 10_000;

export class JsonTree {
  constructor(root) {
    this.root = root;
    this.open = new Map([["", true]]);
    this.pages = new Map();
  }

  /** Show `value`; unfolded parts stay so. */
  show(value) {
    this.value = value;
    const focused = this.root.contains(document.activeElement) ? document.activeElement.dataset.path : undefined;
    this.root.replaceChildren(this.node(null, value, "", 0));
    if (focused === undefined) return;
    [...this.root.querySelectorAll("summary")].find((each) => each.dataset.path === focused)?.focus({ preventScroll: true });
  }

  node(key, value, path, depth) {
    const name = key === null ? null : h("span", { class: "key" }, `${key}:`);
    if (value === null || typeof value !== "object") return h("div", { class: "leaf" }, name, leaf(value));
    const size = Array.isArray(value) ? value.length : Object.keys(value).length;
    const label = Array.isArray(value) ? `[${size}]` : `{${size}}`;
    if (!size) return h("div", { class: "leaf" }, name, h("span", { class: "size" }, Array.isArray(value) ? "[]" : "{}"));
    const body = h("div");
    const open = this.open.get(path) ?? (depth < 4 && size <= 20);
    const node = h("details", { open }, h("summary", { "data-path": path }, name, h("span", { class: "size" }, label)), body);
    const fill = () => body.replaceChildren(...this.children(value, path, depth));
    if (open) fill();
    node.addEventListener("toggle", () => {
      this.open.set(path, node.open);
      if (node.open && !body.firstChild) fill();
    });
    return node;
  }

  children(value, path, depth) {
    const keys = Object.keys(value);
    const count = this.pages.get(path) ?? PAGE;
    const nodes = keys.slice(0, count).map((key) => this.node(key, value[key], `${path}/${key}`, depth + 1));
    if (keys.length > count) {
      const more = h("button", { class: "quiet" }, `${keys.length - count} more`);
      more.addEventListener("click", () => {
        this.pages.set(path, count + PAGE * 5);
        this.show(this.value);
      });
      nodes.push(more);
    }
    return nodes;
  }
}

function leaf(value) {
  const text = JSON.stringify(value);
  const shown = text.length > LONGEST ? `${text.slice(0, LONGEST)} … ${text.length - LONGEST} more characters` : text;
  return h("span", { class: "value", "data-type": value === null ? "null" : typeof value }, shown);
}
