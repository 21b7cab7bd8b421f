/** How each kind of item looks: `views[kind](item)` gives `{node, update}`. */

import { span } from "./clock.mjs";
import { h } from "./dom.mjs";
import { markdown } from "./markdown.mjs";
import { plain } from "./messages.mjs";

const LONGEST = 200_000;

export const views = { message, reasoning, tool, step, subagent, mark: step, activity, interrupt, error, result };

function at(item) {
  return item.seq ? h("a", { class: "at", href: `#seq=${item.seq}`, title: `Event ${item.seq}` }, `#${item.seq}`) : null;
}

/** The same in a summary, which must not hold a link: the item itself leads to the event. */
function number(item) {
  return item.seq ? h("span", { class: "at", title: `Event ${item.seq}` }, `#${item.seq}`) : null;
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
  const text = h("div", { class: "text" });
  const who = h("b", {}, item.name ?? item.role);
  const node = h("article", { class: `item message ${item.role}` }, h("header", {}, who, at(item)), text);
  const grow = growing(item, text);
  return live(node, () => {
    grow();
    node.classList.toggle("open", item.open);
  });
}

function reasoning(item) {
  const text = h("div", { class: "text" });
  const gist = h("span", { class: "gist" });
  const node = h("details", { class: "item" }, h("summary", {}, h("b", {}, "Reasoning"), gist, number(item)), text);
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
  const node = h("details", { class: "item tool" }, h("summary", {}, name, gist, took, number(item)), body);
  return lazily(node, () => {
    const args = item.text?.all() ?? "";
    name.textContent = item.name ?? "unknown tool";
    gist.textContent = args.slice(0, 160);
    took.textContent = item.result === undefined ? (item.open ? "…" : "no result yet") : lasted(item);
    if (!node.open) return;
    body.replaceChildren(
      h("h3", {}, "Arguments"), h("div", { class: "body" }, pretty(args)),
      ...(item.result === undefined ? [] : [h("h3", {}, "Result"), h("div", { class: "body" }, pretty(plain(item.result)))]),
    );
  });
}

function step(item) {
  const took = h("span");
  const node = h("div", { class: "item step" }, h("span", {}, item.name), took, at(item));
  return live(node, () => (took.textContent = item.open ? "…" : lasted(item)));
}

function subagent(item) {
  const view = step({ ...item, name: `Subagent ${item.name ?? item.id}` });
  return live(view.node, () => {
    view.node.children[1].textContent = item.failure ?? (item.open ? "…" : lasted(item));
  });
}

function activity(item) {
  const name = h("b");
  const body = h("div", { class: "body" });
  const node = h("details", { class: "item", open: true }, h("summary", {}, name, number(item)), body);
  return lazily(node, () => {
    name.textContent = item.name;
    if (node.open) body.textContent = JSON.stringify(item.content, null, 2).slice(0, LONGEST);
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
  const body = h("div", { class: "body" }, JSON.stringify(item.value, null, 2).slice(0, LONGEST));
  return fixed(h("details", { class: "item" }, h("summary", {}, h("b", {}, "Result"), number(item)), body));
}

function live(node, update) {
  update();
  return { node, update };
}

const fixed = (node) => ({ node, update() {} });

/** The body of a folded card is made when somebody opens it. */
function lazily(node, update) {
  node.addEventListener("toggle", update);
  return live(node, update);
}

function lasted({ since, until }) {
  return since && until ? span(until - since) : "";
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2).slice(0, LONGEST);
  } catch {
    return text.slice(0, LONGEST);
  }
}
