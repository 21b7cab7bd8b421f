/** The inbox: running times, polling only while the page is visible, keys, and answers that can be taken back for some seconds. */

import { startClock } from "./clock.mjs";
import { h, pauseWhenHidden } from "./dom.mjs";
import { sendHere } from "./drafts.mjs";
import { Keys, step } from "./keys.mjs";

startClock();
pauseWhenHidden();

const cards = () => [...document.querySelectorAll("article.question:not([hidden])")];
const current = () => document.activeElement.closest("article.question");

function go(by) {
  const card = step(cards(), current(), by);
  card?.setAttribute("tabindex", "-1");
  card?.focus();
}

/** Keys only lead to a button: Enter presses it, so that no slip approves anything. */
function to(selector) {
  (current() ?? cards()[0])?.querySelector(selector)?.focus();
}

const UNDO = 5;
const held = new Map();

/** Keep an answer in the page for some seconds before it is sent. Leaving the page sends it at once. */
function hold(form, button) {
  const card = form.closest("article");
  const undo = h("button", { type: "button", class: "quiet" }, "Undo");
  const bar = h("p", { class: "banner info undo", role: "status" }, h("b", {}, button?.textContent.trim() ?? "Answer"), ` is sent in ${UNDO} s `, undo);
  const show = () => {
    clearTimeout(held.get(form).timer);
    held.delete(form);
    bar.remove();
    card.hidden = false;
  };
  const timer = setTimeout(() => {
    show();
    sendHere(form, button);
  }, UNDO * 1000);
  held.set(form, { button, timer });
  undo.addEventListener("click", () => {
    show();
    button?.focus();
  });
  go(1);
  card.before(bar);
  card.hidden = true;
}

document.addEventListener("submit", (event) => {
  if (!event.target.matches("form.answer")) return;
  event.preventDefault();
  hold(event.target, event.submitter);
});
addEventListener("pagehide", () => {
  for (const [form, { button, timer }] of held) {
    clearTimeout(timer);
    fetch(form.action, { method: "POST", body: new URLSearchParams(new FormData(form, button)), keepalive: true });
  }
});

new Keys([
  ["u", "Take back the answer that waits", () => document.querySelector(".undo button")?.click()],
  ["j", "Next question", () => go(1)],
  ["k", "Question before", () => go(-1)],
  ["a", "To the first answer; Enter sends it", () => to("form.answer .acts button")],
  ["r", "To the button that refuses", () => to("form.answer .acts button.dismiss")],
  ["x", "To the claim", () => to(".claim")],
]);
