/** On every page of a signed-in person: drafts are kept, the number of open questions is current, news have an age. */

import "./drafts.mjs";
import { find } from "./dom.mjs";
import { source } from "./news.mjs";
import { isSignIn, signedOut } from "./session.mjs";

const PAUSE = 10_000;
const badge = find("inbox-link");
const news = source("badge");
const title = document.title.replace(/^\(\d+\+?\) /, "");

async function look() {
  if (document.hidden) return;
  const answer = await fetch(badge.dataset.count, { headers: { "HX-Request": "true" } }).catch(() => null);
  if (!answer?.ok) return;
  if (isSignIn(answer.headers.get("HX-Redirect") ?? answer.url)) return signedOut();
  news.heard();
  const text = await answer.text();
  const fresh = new DOMParser().parseFromString(text, "text/html").body;
  if (badge.innerHTML !== fresh.innerHTML) badge.replaceChildren(...fresh.childNodes);
  const number = badge.querySelector(".badge")?.firstChild.textContent.trim();
  const rest = document.title.replace(/^\(\d+\+?\) /, "") || title;
  document.title = number ? `(${number}) ${rest}` : rest;
}

if (badge) {
  setInterval(look, PAUSE);
  document.addEventListener("visibilitychange", look);
  document.body.addEventListener("news", look);
}
// A list or an inbox that polls brings news with every answer.
let polls = null;
document.body.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.successful && event.detail.requestConfig.verb === "get") (polls ??= source("polls")).heard();
});
document.body.addEventListener("paused", () => {
  polls?.end();
  polls = null;
});
