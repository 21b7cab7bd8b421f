/** The keys of a page: one table binds them and makes the help that `?` shows. */

import { h } from "./dom.mjs";

const FIELDS = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]";

/** Of all of them, the one so many steps from another. */
export const step = (all, from, by) => all[Math.min(all.length - 1, Math.max(0, all.indexOf(from) + by))];

export class Keys {
  /** `table`: rows of `[key, description, action]`; keys of one action are rows of one name. */
  constructor(table) {
    this.table = [...table, ["?", "Show the keys", () => this.help()]];
    document.addEventListener("keydown", (event) => this.pressed(event));
  }

  /** More rows, before the help is shown for the first time. */
  add(rows) {
    this.table.push(...rows);
  }

  pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest(FIELDS)) return;
    if (document.querySelector("dialog[open]")) return;
    const row = this.table.find(([key]) => key === event.key);
    if (!row) return;
    event.preventDefault();
    row[2]();
  }

  help() {
    this.dialog ??= this.made();
    this.dialog.showModal();
  }

  made() {
    const names = new Map();
    for (const [key, name] of this.table) names.set(name, [...(names.get(name) ?? []), key]);
    const rows = [...names].map(([name, keys]) => h("div", {}, h("dt", {}, ...keys.map((key) => h("kbd", {}, spelled(key)))), h("dd", {}, name)));
    const close = h("button", { class: "quiet", "aria-label": "Close" }, "✕");
    const title = h("h2", { id: "keys-title" }, "Keys");
    const dialog = h("dialog", { id: "keys", class: "dialog", "aria-labelledby": "keys-title" },
      h("form", { method: "dialog", class: "title" }, title, close), h("dl", { class: "keys" }, ...rows));
    document.body.append(dialog);
    return dialog;
  }
}

function spelled(key) {
  return key === "Escape" ? "Esc" : /^[A-Z]$/.test(key) ? `Shift ${key.toLowerCase()}` : key;
}
