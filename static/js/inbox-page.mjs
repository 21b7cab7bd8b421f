/** The inbox: running times, polling only while the page is visible, and keys to go through its questions. */

import { startClock } from "./clock.mjs";
import { pauseWhenHidden } from "./dom.mjs";
import { Keys } from "./keys.mjs";

startClock();
pauseWhenHidden();

const cards = () => [...document.querySelectorAll("article.question")];
const current = () => document.activeElement.closest("article.question");

function go(step) {
  const all = cards();
  const card = all[Math.min(all.length - 1, Math.max(0, all.indexOf(current()) + step))];
  card?.setAttribute("tabindex", "-1");
  card?.focus();
}

/** Keys only lead to a button: Enter presses it, so that no slip approves anything. */
function to(selector) {
  (current() ?? cards()[0])?.querySelector(selector)?.focus();
}

new Keys([
  ["j", "Next question", () => go(1)],
  ["k", "Question before", () => go(-1)],
  ["a", "To the first answer; Enter sends it", () => to("form.answer .acts button")],
  ["r", "To the button that refuses", () => to("form.answer .acts button.dismiss")],
  ["x", "To the claim", () => to(".claim")],
]);
