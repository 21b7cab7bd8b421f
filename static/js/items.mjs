/** How each kind of item looks: `views[kind](item)` gives `{node, update}`. */

import { attachments } from "./attachments.mjs";
import { cited } from "./cited.mjs";
import { span } from "./clock.mjs";
import { h } from "./dom.mjs";
import { JsonTree } from "./json-tree.mjs";
import { markdown } from "./markdown.mjs";
import { plain } from "./messages.mjs";

const LONGEST = 200_000;

export const views = { message, reasoning, tool, step, subagent, mark: step, activity, interrupt, error, result };

function at({ seq }, tag = "a") {
  return seq ? h(tag, { class: "at", href: tag === "a" ? `#seq=${seq}` : null, title: `Event ${seq}` }, `#${seq}`) : null;
}

/** An item that unfolds. A summary must not hold a link: the item itself leads to the event. */
function card(item, classes, open, summary, ...body) {
  return h("details", { class: `item ${classes}`, open }, h("summary", {}, ...summary, at(item, "span")), ...body);
}

/** Shows an item's text and lets it grow; an assistant's message that has ended gets its marks. */
function growing(item, into) {
  let tail = null;
  return () => {
    if (!item.open && item.role === "assistant") {
      tail = null;
      into.replaceChildren(...markdown(item.text.all()));
    } else if (tail && !item.restated) {
      tail.appendData(item.text.fresh());
    } else {
      tail = document.createTextNode(item.text.all());
      into.replaceChildren(tail);
    }
    item.restated = false;
  };
}

function message(item) {
  const text = h("div", { class: "text", dir: "auto" });
  const who = h("b", {}, item.name ?? item.role);
  const files = h("div", { class: "attachments" });
  const sources = h("div");
  const node = h("article", { class: `item message ${item.role}` }, h("header", {}, who, at(item)), text, files, sources);
  const grow = growing(item, text);
  let attached = null;
  const view = live(node, () => {
    grow();
    node.classList.toggle("open", item.open);
    if (item.attachments !== attached) files.replaceChildren(...attachments(item.attachments ?? []));
    attached = item.attachments;
  });
  const cite = (rows) => sources.replaceChildren(...(rows.length ? [cited(rows, sources.firstChild?.open)] : []));
  return { ...view, cite };
}

function reasoning(item) {
  const text = h("div", { class: "text" });
  const gist = h("span", { class: "gist" });
  const node = card(item, "", false, [h("b", {}, "Reasoning"), gist], text);
  const grow = growing(item, text);
  return live(node, () => {
    grow();
    gist.textContent = item.open ? "thinking …" : `${item.text.length} characters`;
  });
}

function tool(item) {
  const name = h("b");
  const gist = h("span", { class: "gist" });
  const took = h("span");
  const body = h("div");
  const node = card(item, "tool", false, [name, gist, took], body);
  return lazily(node, () => {
    const args = item.text?.all() ?? "";
    name.textContent = item.name ?? "unknown tool";
    gist.textContent = args.slice(0, 160);
    took.textContent = item.result === undefined ? (item.open ? "…" : "no result yet") : lasted(item);
    if (!node.open) return;
    body.replaceChildren(
      h("h3", {}, "Arguments"), item.open ? h("div", { class: "body" }, args.slice(0, LONGEST)) : readable(args),
      ...(item.result === undefined ? [] : [h("h3", {}, "Result"), readable(plain(item.result))]),
    );
  });
}

function step(item) {
  const took = h("span");
  const node = h("div", { class: "item step" }, h("span", {}, item.name), took, at(item));
  return live(node, () => (took.textContent = item.open ? "…" : lasted(item)));
}

/** A card that holds the subagent's items: `inside` is where its items go. */
function subagent(item) {
  const gist = h("span", { class: "gist" });
  const took = h("span");
  const inside = h("div", { class: "inside" });
  const node = card(item, "subagent", true, [h("b", {}, `Subagent ${item.name ?? item.id}`), gist, took], inside);
  const view = live(node, () => {
    gist.textContent = item.failure ?? (item.open ? "running" : "");
    took.textContent = item.open ? "…" : lasted(item);
    node.classList.toggle("failed", item.failure !== undefined);
  });
  return { ...view, inside };
}

function activity(item) {
  const name = h("b");
  const root = h("div", { class: "body tree" });
  const tree = new JsonTree(root);
  const node = card(item, "", true, [name], root);
  return lazily(node, () => {
    name.textContent = item.name;
    if (node.open) tree.show(item.content);
  });
}

function interrupt(item) {
  const { reason, message: question, responseSchema, expiresAt } = item.interrupt;
  const details = responseSchema && h("details", {}, h("summary", {}, "Expected answer"), h("div", { class: "body" }, JSON.stringify(responseSchema, null, 2)));
  return fixed(h("section", { class: "item notice interrupt" },
    h("header", {}, h("b", {}, `Question · ${reason}`), at(item)),
    h("p", { class: "text" }, question ?? reason),
    expiresAt && h("p", { class: "hint" }, `Expires ${expiresAt}`),
    details,
  ));
}

function error(item) {
  return fixed(h("section", { class: "item notice error", role: "alert" },
    h("header", {}, h("b", {}, `Failed${item.code ? ` · ${item.code}` : ""}`), at(item)),
    h("p", { class: "text" }, item.message),
  ));
}

function result(item) {
  const node = card(item, "", false, [h("b", {}, "Result")]);
  node.addEventListener("toggle", () => node.children[1] ?? node.append(unfolding(item.value)));
  return fixed(node);
}

function live(node, update) {
  update();
  return { node, update };
}

const fixed = (node) => ({ node, update() {} });

/** The body of a folded card is made when it is opened. */
function lazily(node, update) {
  node.addEventListener("toggle", update);
  return live(node, update);
}

function lasted({ since, until }) {
  return since && until ? span(until - since) : "";
}

/** Objects and lists as a tree that unfolds, anything else as it was written. */
function readable(text) {
  const value = /^\s*[[{]/.test(text) ? parsed(text) : undefined;
  return value === undefined ? h("div", { class: "body" }, text.slice(0, LONGEST)) : unfolding(value);
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function unfolding(value) {
  const root = h("div", { class: "body tree" });
  new JsonTree(root).show(value);
  return root;
}
