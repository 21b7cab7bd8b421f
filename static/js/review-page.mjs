/** The queue of a data set by keys. */

import { Keys, step } from "./keys.mjs";

const links = [...document.querySelectorAll("#review th a")];
const row = () => document.activeElement.closest("#review tr");
const go = (by) => step(links, row()?.querySelector("a"), by)?.focus();

/** The queue comes back without the run: the next one is in its place. */
function judge(value) {
  sessionStorage.setItem("at", Math.max(0, links.indexOf(row()?.querySelector("a"))));
  (row() ?? document).querySelector(`#review [value=${value}]`)?.click();
}

links[Math.min(sessionStorage.getItem("at") ?? -1, links.length - 1)]?.focus();
sessionStorage.removeItem("at");

new Keys([
  ["j", "Next run; Enter opens it", () => go(1)],
  ["k", "Run before", () => go(-1)],
  ["g", "Good, and on to the next", () => judge("good")],
  ["b", "Bad, and on to the next", () => judge("bad")],
  ["l", "Write a label", () => row()?.querySelector("[required]")?.focus()],
]);
