/** The citations of a message, as the `citations` middleware keeps them in the run's state. */

import { citationsOf } from "./citations.mjs";
import { h } from "./dom.mjs";

const MOST_KEYS = 200;
const MOST = 100;
const WORDS = { verified: "verified", partial: "in part", missed: "not found", pending: "being checked" };

/** The members of a state that hold citations; their names are a setting of the middleware. */
export function citationKeys(state) {
  const members = Object.entries(state ?? {}).slice(0, MOST_KEYS);
  return members.filter(([, value]) => value?.messages && value.citations && value.verifications).map(([key]) => key);
}

/** The list of a message's citations, or null if it has none. */
export function cited(state, keys, messageId) {
  const found = keys.map((key) => citationsOf(state, messageId, key));
  const rows = found.flatMap(({ citations, verifications }) => Object.entries(citations).map(([id, citation]) => [citation, verifications[id]]));
  if (!rows.length) return null;
  return h("details", { class: "cited" }, h("summary", {}, summary(rows)),
    h("ul", {}, ...rows.slice(0, MOST).map(([citation, result]) => entry(citation ?? {}, result ?? {}))));
}

function summary(rows) {
  const counts = Object.keys(WORDS).map((status) => [rows.filter(([, result]) => (result?.status ?? "pending") === status).length, WORDS[status]]);
  const parts = counts.filter(([count]) => count).map(([count, word]) => `${count} ${word}`);
  return `${rows.length} ${rows.length === 1 ? "citation" : "citations"}: ${parts.join(", ")}`;
}

function entry({ quote, source }, { status = "pending", source: where = source }) {
  return h("li", { "data-status": status }, h("q", { dir: "auto" }, `${quote ?? ""}`), typeof where === "string" ? ` ${where} ` : " ", h("span", { class: "hint" }, WORDS[status] ?? `${status}`));
}
