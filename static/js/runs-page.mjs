/** The runs list: start a run, filter at once, keys, and poll only while the page is visible. */

import { post } from "./api.mjs";
import { startClock } from "./clock.mjs";
import { alertIn, find, h, pauseWhenHidden } from "./dom.mjs";
import { Keys, step } from "./keys.mjs";
import { remember } from "./neighbours.mjs";

startClock();

pauseWhenHidden();

const pause = find("pause");
pause.hidden = false;
pause.addEventListener("click", () => {
  const paused = pause.getAttribute("aria-pressed") !== "true";
  pause.setAttribute("aria-pressed", paused);
  pause.textContent = paused ? "Paused" : "Pause";
  document.body.dispatchEvent(new Event("paused"));
});
document.body.addEventListener("htmx:beforeRequest", (event) => {
  if (pause.getAttribute("aria-pressed") === "true") event.preventDefault();
});

const all = find("pick-all");
if (all) {
  const boxes = () => [...document.querySelectorAll(".runs input[name=run]")];
  const chosen = () => boxes().filter((box) => box.checked);
  const count = () => {
    const number = chosen().length;
    find("picked").textContent = `${number} chosen:`;
    all.checked = number === boxes().length;
    all.indeterminate = number > 0 && !all.checked;
  };
  all.hidden = false;
  all.addEventListener("change", () => {
    for (const box of boxes()) box.checked = all.checked;
    count();
  });
  document.querySelector(".runs").addEventListener("change", (event) => event.target !== all && count());
  addEventListener("pageshow", count);
  const pages = find("pages");
  pages.hidden = false;
  pages.addEventListener("click", () => {
    for (const { value } of chosen()) h("a", { href: `/api/v1/runs/${value}/export?format=html`, download: "" }).click();
  });
}

const filters = document.querySelector(".filters");
filters.addEventListener("submit", () => {
  for (const field of filters.elements) field.disabled ||= field.name && !field.value;
});
filters.addEventListener("change", () => filters.requestSubmit());
filters.querySelector("[data-apply]").hidden = true;

const links = () => [...document.querySelectorAll(".runs .name a")];
const current = () => document.activeElement.closest(".runs tbody tr");

const go = (by) => step(links(), current()?.querySelector(".name a"), by)?.focus();

new Keys([
  ["/", "Search", () => find("q").focus()],
  ["j", "Next run; Enter opens it", () => go(1)],
  ["k", "Run before", () => go(-1)],
  ["x", "Choose the run", () => current()?.querySelector("[name=run]")?.click()],
]);
document.querySelector(".runs")?.addEventListener("click", (event) => {
  if (event.target.closest(".name a")) remember(links());
});

const form = find("start");
if (form) {
  const problem = form.querySelector("[role=alert]");
  const button = form.querySelector("button");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    alertIn(problem, null);
    const { agent, message } = form.elements;
    const input = { messages: [{ role: "user", content: message.value }] };
    try {
      const run = await post(form.dataset.action, { agent: agent.value, input });
      location.assign(`${form.dataset.page}${run.id}/`);
    } catch (error) {
      alertIn(problem, error.message);
      button.disabled = false;
    }
  });
  form.elements.message.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  // A page that comes back from the browser's cache must be usable again.
  addEventListener("pageshow", () => (button.disabled = false));
}
