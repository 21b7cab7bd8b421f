/** Nothing that a person types is lost: parts of a page that hold it are not replaced. The only place that decides it. */

import { alertIn, h } from "./dom.mjs";
import { isSignIn, signedOut } from "./session.mjs";

const FIELDS = "input:not([type=hidden], [type=search], [readonly]), textarea, select";
/** A part of a page that a form in it can replace without leaving the page. */
const PART = "[data-part]";

/** Whether someone has typed or chosen something in this part of the page, or is about to. */
export function holdsDraft(part) {
  const fields = [...(part.matches(FIELDS) ? [part] : []), ...part.querySelectorAll(FIELDS)];
  return fields.some((field) => !field.hasAttribute("hx-preserve") && (field === document.activeElement || differs(field)));
}

function differs(field) {
  if (field.type === "checkbox" || field.type === "radio") return field.checked !== field.defaultChecked;
  if (field.tagName !== "SELECT") return field.value !== field.defaultValue;
  const options = [...field.options];
  const first = !field.multiple && !options.some((option) => option.defaultSelected);
  return options.some((option, i) => option.selected !== (first ? i === 0 : option.defaultSelected));
}

/** Put a new part in the place of an old one, unless that holds a draft; whether it was done. */
export function replace(old, fresh) {
  if (!old || !fresh || holdsDraft(old)) return false;
  old.replaceWith(fresh);
  window.htmx?.process(fresh);
  return true;
}

/** Send a form without leaving the page. Its text stays until the host has stored it. */
export async function sendHere(form, button) {
  const body = new URLSearchParams(new FormData(form, button));
  const buttons = [...form.querySelectorAll("button:not([disabled])")];
  for (const each of buttons) each.disabled = true;
  const answer = await fetch(form.action, { method: "POST", body }).catch(() => null);
  for (const each of buttons) each.disabled = false;
  if (answer && isSignIn(answer.url)) return signedOut();
  const page = answer && new DOMParser().parseFromString(await answer.text(), "text/html");
  const part = form.closest(PART);
  const fresh = page?.getElementById(part.id);
  if (!answer?.ok && !fresh) return refuse(form, page?.querySelector("h1")?.textContent ?? "The host did not answer. Your text is still here; send it again.");
  // The form was sent: it holds no draft.
  form.reset();
  document.activeElement.blur();
  if (fresh && holdsDraft(part)) form.replaceWith((form.id && fresh.querySelector(`#${form.id}`)) || form);
  else if (fresh) part.replaceWith(fresh);
  else part.replaceChildren(...page.querySelectorAll("main > .banner"));
  if (fresh) window.htmx?.process(fresh);
  document.body.dispatchEvent(new Event("news"));
}

function refuse(form, text) {
  let place = form.querySelector(":scope > .banner.bad");
  if (!place) form.append((place = h("p", { class: "banner bad", role: "alert" })));
  alertIn(place, text);
}

let checked = null;

/** Send a form that leads to another page, unless the session has ended: the sign-in page would replace its text. */
async function leave(form, button) {
  const answer = await fetch(location.pathname, { method: "HEAD" }).catch(() => null);
  if (answer && isSignIn(answer.url)) return signedOut();
  checked = form;
  form.requestSubmit(button);
  checked = null;
}

function submitted(event) {
  const form = event.target;
  const part = form.closest(PART);
  if (event.defaultPrevented || form.method !== "post" || form === checked) return;
  if (!part && !holdsDraft(form)) return;
  if (!part) {
    event.preventDefault();
    return leave(form, event.submitter);
  }
  const others = [...document.querySelectorAll("form[method=post]")].filter((other) => other !== form);
  if (part.dataset.part !== "always" && !others.some(holdsDraft)) return;
  event.preventDefault();
  sendHere(form, event.submitter);
}

const keep = (event) => {
  if (event.detail.target && holdsDraft(event.detail.target)) event.detail.shouldSwap = false;
};
document.body.addEventListener("htmx:beforeSwap", keep);
document.body.addEventListener("htmx:oobBeforeSwap", keep);
document.body.addEventListener("htmx:beforeOnLoad", (event) => {
  const away = event.detail.xhr.getResponseHeader("HX-Redirect");
  if (!away || !isSignIn(away)) return;
  event.preventDefault();
  signedOut();
});
addEventListener("submit", submitted);
