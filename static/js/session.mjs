/** A session that ends while a page is open: the page stays, with all that was typed, and asks to sign in again. */

import { h } from "./dom.mjs";

const TOKENS = "input[name=csrfmiddlewaretoken]";
const signIn = document.body.dataset.login;
let dialog = null;

/** Whether an address is that of the sign-in page. */
export function isSignIn(address) {
  return Boolean(signIn) && new URL(address, location).pathname === signIn;
}

/** Cover the page until its person has signed in again, in another tab. */
export function signedOut() {
  if (dialog) return;
  const link = h("a", { class: "button", href: `${signIn}?next=${encodeURIComponent(location.pathname)}`, target: "_blank" }, "Sign in again");
  const check = h("button", { type: "button", class: "quiet" }, "I have signed in");
  const title = h("h2", { id: "signed-out-title" }, "Your session has ended");
  const text = h("p", {}, "Sign in in another tab. This page stays as it is, with everything that you typed.");
  dialog = h("dialog", { id: "signed-out", class: "dialog", "aria-labelledby": title.id }, title, text, h("div", { class: "acts" }, link, check));
  dialog.addEventListener("cancel", (event) => event.preventDefault());
  check.addEventListener("click", resume);
  addEventListener("focus", resume);
  document.body.append(dialog);
  dialog.showModal();
}

/** Go on, if there is a session again; the forms get the token of the new one. */
async function resume() {
  const answer = await fetch(location.pathname).catch(() => null);
  if (!dialog || !answer?.ok || isSignIn(answer.url)) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const token = page.querySelector(TOKENS)?.value;
  for (const field of token ? document.querySelectorAll(TOKENS) : []) field.value = field.defaultValue = token;
  removeEventListener("focus", resume);
  dialog?.remove();
  dialog = null;
  document.body.dispatchEvent(new Event("news"));
}
