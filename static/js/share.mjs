/** The share dialog of a run page: make a link, see the shares, end them. */

import { post, read } from "./api.mjs";
import { local } from "./clock.mjs";
import { alertIn, find, h } from "./dom.mjs";

const dialog = find("share");
const api = dialog.dataset.grants;
const form = dialog.querySelector("form");
const list = find("grants");
const made = find("made");
const HOUR = 3600e3;

find("open-share").addEventListener("click", () => {
  made.hidden = true;
  say(null);
  dialog.showModal();
  show();
});
dialog.querySelector("[data-close]").addEventListener("click", () => dialog.close());

/** Show the fields that this kind of share has. */
function fit() {
  const kind = form.with.value;
  for (const part of form.querySelectorAll("[data-for]")) part.hidden = part.dataset.for !== kind;
  for (const option of form.level.options) option.disabled = kind === "link" && !["view", "comment"].includes(option.value);
  if (form.level.selectedOptions[0].disabled) form.level.value = "view";
  for (const name of ["member", "to_team"]) form[name].required = name === kind;
  form.querySelector("button").textContent = kind === "link" ? "Create link" : "Share";
}
form.with.addEventListener("change", fit);
fit();
for (const option of form.hours.options) {
  const at = Date.now() + option.value * HOUR;
  if (+option.value) option.textContent = `${local(at, { weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" })} (${option.textContent})`;
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const asked = new FormData(form);
  const hours = Number(asked.get("hours"));
  const what = asked.get("what") === "thread" ? { thread: dialog.dataset.thread } : { run: dialog.dataset.run };
  const kind = asked.get("with");
  const forLinks = { sign_in: asked.has("sign_in"), redact: asked.get("redact").split(/[\s,]+/).filter(Boolean) };
  const body = {
    ...what,
    ...(kind === "link" ? forLinks : { [kind]: asked.get(kind).trim() }),
    level: asked.get("level"),
    expires_at: hours ? new Date(Date.now() + hours * HOUR).toISOString() : null,
  };
  try {
    const grant = await post(api, body);
    say(null);
    made.hidden = !grant.url;
    if (grant.url) {
      find("link").value = grant.url + location.hash; // at the chosen event, or the turn
      find("link").focus();
      find("link").select();
    }
    await show();
  } catch (error) {
    say(error.message);
  }
});

find("copy").addEventListener("click", async () => {
  const field = find("link");
  field.select();
  await navigator.clipboard?.writeText(field.value).catch(() => {});
  find("copy").textContent = "Copied";
});

/** Grants on this run and on its thread that let others in. */
async function show() {
  const { run, thread } = dialog.dataset;
  const pages = await Promise.all([`run=${run}`, `thread=${thread}`].map((query) => read(`${api}?limit=200&${query}`))).catch((error) => say(error.message));
  const live = (pages ?? []).flatMap(({ results }) => results).filter((grant) => grant.live);
  list.replaceChildren(...live.map(row));
  find("no-grants").hidden = live.length > 0;
}

const medium = (time) => local(time, { dateStyle: "medium", timeStyle: "short" });

function row(grant) {
  const who = { link: "Link", member: grant.member, team: grant.to_team_name }[grant.kind];
  const words = [grant.level, grant.thread ? "whole thread" : "this run", grant.sign_in && "sign-in required",
    grant.redact.length && `hides ${grant.redact.join(", ")}`, grant.expires_at && `until ${medium(grant.expires_at)}`,
    grant.last_used_at ? `used ${medium(grant.last_used_at)}` : "not used yet"];
  const button = h("button", { type: "button", class: "quiet danger", "aria-label": `Revoke: ${who}, ${grant.level}` }, "Revoke");
  const item = h("li", {}, h("span", {}, h("strong", {}, who), ` ${words.filter(Boolean).join(" · ")}`), button);
  button.addEventListener("click", async () => {
    if (!button.dataset.sure) {
      button.dataset.sure = "yes";
      button.textContent = "Really revoke?";
      return button.setAttribute("aria-label", `Really revoke: ${who}, ${grant.level}`);
    }
    button.disabled = true;
    const answer = await fetch(`${api}/${grant.id}`, { method: "DELETE" }).catch(() => null);
    if (answer?.ok) await show();
    else say("It could not be revoked; try again.");
    button.disabled = false;
  });
  return item;
}

function say(text) {
  alertIn(find("share-problem"), text);
}
