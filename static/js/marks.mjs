/** The few marks of Markdown that agents' answers are full of: bold, code, blocks of code. */

import { h } from "./dom.mjs";

const MARK = /(```[^\n]*\n[^]*?```\n?|`[^`\n]+`|\*\*[^*\n]+\*\*)/;
const LONGEST = 100_000;

/** Text and elements for `text`; what is not a mark stays as it was written. */
export function marked(text) {
  if (text.length > LONGEST) return [text];
  return text.split(MARK).map((part, i) => (i % 2 ? element(part) : part));
}

function element(part) {
  if (part.startsWith("```")) return h("pre", {}, part.trimEnd().slice(part.indexOf("\n") + 1, -3).trimEnd());
  if (part.startsWith("`")) return h("code", {}, part.slice(1, -1));
  return h("strong", {}, part.slice(2, -2));
}
