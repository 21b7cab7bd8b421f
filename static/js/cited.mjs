/** The citations of a message, as the `citations` middleware keeps them in the run's state. */

import { h } from "./dom.mjs";

const MOST_KEYS = 200;
const MOST = 100;
const WORDS = { verified: "verified", partial: "in part", missed: "not found", pending: "being checked" };

/** The members of a state that hold citations; their names are a setting of the middleware. */
export function citationKeys(state) {
  const members = Object.entries(state ?? {}).slice(0, MOST_KEYS);
  return members.filter(([, value]) => value?.messages && value.citations && value.verifications).map(([key]) => key);
}

/** A message's citations: `{id, quote, source, status}` each, at most a hundred. */
export function citations(state, keys, messageId) {
  const messages = keys.map((key) => state[key].messages).filter((each) => Object.hasOwn(each, messageId));
  return messages.flatMap(({ [messageId]: message }) => Object.entries(message?.citations ?? {}).slice(0, MOST).map(([id, citation]) => {
    const verifications = message.verifications ?? {};
    const { status = "pending", source = citation?.source } = verifications[id] ?? {};
    return { id, quote: citation?.quote, source, status };
  }));
}

/** The list of them. `open`: whether it is unfolded. */
export function cited(rows, open) {
  return h("details", { class: "cited", open }, h("summary", {}, summary(rows)), h("ul", {}, ...rows.map(entry)));
}

function summary(rows) {
  const counts = Object.entries(WORDS).map(([status, word]) => [rows.filter((row) => row.status === status).length, word]);
  const parts = counts.filter(([count]) => count).map(([count, word]) => `${count} ${word}`);
  return `${rows.length} ${rows.length === 1 ? "citation" : "citations"}: ${parts.join(", ")}`;
}

function entry({ quote, source, status }) {
  return h("li", { "data-status": status }, h("q", { dir: "auto" }, `${quote ?? ""}`), typeof source === "string" ? ` ${source} ` : " ", h("span", { class: "hint" }, WORDS[status] ?? `${status}`));
}
