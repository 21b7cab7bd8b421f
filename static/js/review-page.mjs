/** The queue of a data set by keys: a verdict for a run, then the next one. */

import { startClock } from "./clock.mjs";
import { Keys } from "./keys.mjs";

const PLACE = `review${location.pathname}${location.search}`;
const rows = [...document.querySelectorAll("#review tbody tr")];
const current = () => Math.max(0, rows.indexOf(document.activeElement.closest("#review tbody tr")));

function go(place) {
  const row = rows[Math.min(rows.length - 1, Math.max(0, place))];
  row?.setAttribute("tabindex", "-1");
  row?.focus();
}

/** The page comes back without a judged run in the queue, so the next one has its place there. */
function judge(value) {
  const place = current();
  const button = rows[place]?.querySelector(`button[name=label][value=${value}]`);
  if (!button) return;
  const isQueue = new URLSearchParams(location.search).get("show") === "review";
  sessionStorage.setItem(PLACE, isQueue ? place : place + 1);
  button.click();
}

startClock();
const before = sessionStorage.getItem(PLACE);
sessionStorage.removeItem(PLACE);
if (before !== null) go(Number(before));

new Keys([
  ["j", "Next run", () => go(document.activeElement.closest("#review tbody tr") ? current() + 1 : 0)],
  ["k", "Run before", () => go(current() - 1)],
  ["g", "Good, and on to the next", () => judge("good")],
  ["b", "Bad, and on to the next", () => judge("bad")],
  ["l", "Write a label", () => rows[current()]?.querySelector("input[name=label]")?.focus()],
  ["o", "Open the run", () => rows[current()]?.querySelector("th a")?.click()],
  ["Enter", "Open the run", () => (document.activeElement.closest("a, button") ?? rows[current()]?.querySelector("th a"))?.click()],
]);
