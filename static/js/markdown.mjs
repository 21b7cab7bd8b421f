/** Markdown as DOM nodes, by marked's lexer: nothing that an agent wrote becomes markup. */

import { Lexer } from "../vendor/marked-18.2.1/marked.esm.js";
import { h } from "./dom.mjs";

const LONGEST = 30_000;
const LONGEST_PARAGRAPH = 4_000;
const MILLISECONDS = 60;
const DEEPEST = 30;
const TOO_DEEP = new RegExp(String.raw`^(?:[ \t]*(?:>|(?:[*+-]|\d+[.)])(?=[ \t]))){${DEEPEST}}`, "m");
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", nbsp: "\u00a0" };

/** The nodes for `text`. Text that is too long or too deep stays as it was written. */
export function markdown(text) {
  return tree(text).map(node);
}

function node(part) {
  return typeof part === "string" ? part : h(part[0], part[1], ...part.slice(2).map(node));
}

/** The same as strings and `[tag, attributes, ...children]`. */
export function tree(text) {
  if (text.length > LONGEST || TOO_DEEP.test(text)) return [text];
  try {
    return blocks(tokensOf(text));
  } catch (error) {
    if (error instanceof RangeError) return [text]; // the lexer calls itself for each level
    throw error;
  }
}

/** The lexer's inner loops take time by the square of a paragraph, so they get little of both. */
function tokensOf(text) {
  const lexer = new Lexer();
  const tokens = lexer.blockTokens(text.replaceAll("\r\n", "\n"), []);
  const until = performance.now() + MILLISECONDS;
  for (const { src, tokens: inner } of lexer.inlineQueue) {
    if (src.length <= LONGEST_PARAGRAPH && performance.now() < until) lexer.inlineTokens(src, inner);
    else inner.push({ type: "escape", text: src });
  }
  return tokens;
}

const AUTO = { dir: "auto" };
const BLOCKS = {
  space: () => null,
  def: () => null,
  hr: () => ["hr", {}],
  paragraph: ({ tokens }) => ["p", AUTO, ...inline(tokens)],
  text: ({ tokens, text }) => ["span", AUTO, ...(tokens ? inline(tokens) : [decoded(text)])],
  heading: ({ depth, tokens }) => [`h${Math.min(6, depth + 2)}`, AUTO, ...inline(tokens)],
  code: ({ text, lang }) => ["pre", { "data-language": lang || null, tabindex: 0 }, text],
  blockquote: ({ tokens }) => ["blockquote", {}, ...blocks(tokens)],
  list: ({ ordered, start, items }) => [ordered ? "ol" : "ul", { start: ordered && start !== 1 ? start : null }, ...items.map(item)],
  table: ({ header, rows }) => ["div", { class: "wide", tabindex: 0 }, ["table", {},
    ["thead", {}, row("th", header)], ["tbody", {}, ...rows.map((cells) => row("td", cells))]]],
};

function blocks(tokens) {
  return tokens.map((token) => (BLOCKS[token.type] ?? written)(token)).filter((part) => part !== null);
}

function item({ task, checked, tokens }) {
  return ["li", AUTO, ...(task ? [checked ? "☑ " : "☐ "] : []), ...blocks(tokens.filter(({ type }) => type !== "checkbox"))];
}

function row(tag, cells) {
  return ["tr", {}, ...cells.map(({ tokens, align }) => [tag, { ...AUTO, "data-align": align }, ...inline(tokens)])];
}

const INLINE = {
  br: () => ["br", {}],
  checkbox: () => "",
  codespan: ({ text }) => ["code", {}, text],
  del: ({ tokens }) => ["del", {}, ...inline(tokens)],
  em: ({ tokens }) => ["em", {}, ...inline(tokens)],
  escape: ({ text }) => text,
  image: ({ href, text }) => link(href, [text || "image"]),
  link: ({ href, tokens }) => link(href, inline(tokens)),
  strong: ({ tokens }) => ["strong", {}, ...inline(tokens)],
  text: ({ tokens, text }) => (tokens ? ["span", {}, ...inline(tokens)] : decoded(text)),
};

function inline(tokens) {
  return tokens.map((token) => (INLINE[token.type] ?? written)(token));
}

/** Other text, such as HTML. */
const written = ({ raw }) => raw;

/** A link that leads away from the host, without a referrer; other schemes stay text. */
function link(href, children) {
  if (!/^(https?:\/\/|mailto:)/i.test(href)) return ["span", {}, ...children];
  return ["a", { href, target: "_blank", rel: "noopener noreferrer nofollow" }, ...children];
}

function decoded(text) {
  return text.replace(/&(amp|lt|gt|quot|#39|nbsp);/g, (_, name) => ENTITIES[name]);
}
