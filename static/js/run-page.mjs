/** One run, live: the public stream feeds the fold and the table, a frame at a time. */

import { spell, startClock } from "./clock.mjs";
import { Conversation } from "./conversation.mjs";
import { alertIn, find, pauseWhenHidden, perFrame, post, showConnection } from "./dom.mjs";
import { EventTable } from "./event-table.mjs";
import { Fold } from "./fold.mjs";
import { JsonTree } from "./json-tree.mjs";
import { OutlinePanel } from "./outline.mjs";
import { RunStream } from "./stream.mjs";
import { Tabs } from "./tabs.mjs";

const page = find("run").dataset;
const chip = document.querySelector(".title .chip");
const cancel = find("cancel");
const fold = new Fold();
const conversation = new Conversation(find("conversation"), find("earlier"), fold);
const state = new JsonTree(find("state-tree"));
const input = new JsonTree(find("input-tree"));
const table = new EventTable({
  log: find("log"), detail: find("detail"), filter: find("filter"), follow: find("follow"), shown: find("shown"),
  onSelect: (seq) => history.replaceState(null, "", `#seq=${seq}`),
});
const schedule = perFrame(draw);
const tabs = new Tabs(document.querySelector("[role=tablist]"), schedule);
const outline = find("outline") && new OutlinePanel(find("outline"), (seq) => {
  history.pushState(null, "", `#seq=${seq}`);
  route();
  find("log").focus();
});
const drawn = { state: -1, input: undefined };
let reading = null;

const stream = new RunStream({
  events: page.events,
  run: page.run,
  onEvent(seq, event, raw) {
    fold.feed(seq, event);
    table.push(event.type, event.timestamp, raw);
    outline?.notice(seq, event.type);
    if (event.type === "RUN_STARTED" && chip.dataset.status === "queued") refresh();
    if (fold.end && page.active) refresh();
    schedule();
  },
  onState(name, status) {
    showConnection(name, "Disconnected");
    if (name === "lost" && status === 401) location.assign(page.login);
    else if (name === "lost") problem("You can no longer see this run.");
  },
});

function draw() {
  find("count-events").textContent = Math.max(table.events.length, page.active ? 0 : Number(page.head));
  find("count-messages").textContent = fold.counts.messages;
  find("count-tools").textContent = fold.counts.tools;
  if (tabs.shown === "messages") drawConversation();
  if (tabs.shown === "events") table.draw();
  if (tabs.shown === "state") drawState();
  if (tabs.shown === "input") drawInput();
}

function drawConversation() {
  const { scrollHeight, clientHeight } = document.documentElement;
  const atEnd = scrollY + clientHeight >= scrollHeight - 80;
  conversation.draw();
  find("placeholder").hidden = fold.items.length > 0;
  if (fold.end) find("placeholder").textContent = "This run produced no messages.";
  if (atEnd && page.active && table.events.length) scrollTo({ top: document.documentElement.scrollHeight });
}

function drawState() {
  if (drawn.state === fold.stateVersion) return;
  drawn.state = fold.stateVersion;
  alertIn(find("state-problem"), fold.problem);
  state.show(fold.state);
}

async function drawInput() {
  if (drawn.input && drawn.input === fold.input) return;
  if (!fold.input) await readInput();
  drawn.input = fold.input;
  input.show(fold.input);
}

/** The stored input: for a run that waits, or whose first event was too large to hold it. */
function readInput() {
  reading ??= fetch(page.input).then(async (answer) => {
    const body = answer.ok ? await answer.json() : null;
    fold.input ??= body;
  });
  return reading;
}

/** Ask how the run stands: its times are the host's, not those an agent wrote on its events. */
async function refresh() {
  const answer = await fetch(page.run, { headers: { Accept: "application/json" } });
  if (answer.ok) show(await answer.json());
}

function show(run) {
  const active = run.status === "queued" || run.status === "running";
  if (run.status === "interrupted" && chip.dataset.status !== run.status) document.body.dispatchEvent(new Event("questions"));
  chip.dataset.status = chip.textContent = run.status;
  chip.toggleAttribute("data-cancelling", active && Boolean(run.cancel_requested_at));
  document.title = document.title.replace(/· \w+ ·/, `· ${run.status} ·`);
  const took = find("took");
  took.dataset.since = run.started_at ?? "";
  took.dataset.until = run.ended_at ?? "";
  spell(took);
  if (!cancel) return;
  cancel.hidden = !active;
  cancel.disabled = Boolean(run.cancel_requested_at);
}

function problem(text) {
  alertIn(find("problem"), text);
}

cancel?.addEventListener("click", async (event) => {
  event.preventDefault();
  cancel.disabled = true;
  problem(null);
  try {
    show(await post(cancel.dataset.action, {}));
  } catch (error) {
    problem(error.message);
    cancel.disabled = false;
  }
});

/** The address may name a tab, or an event. */
function route() {
  const name = location.hash.slice(1);
  const seq = Number(/^seq=(\d+)$/.exec(name)?.[1] ?? 0);
  if (seq) {
    tabs.show("events");
    table.select(seq);
  } else if (tabs.has(name)) tabs.show(name);
}

addEventListener("hashchange", route);
find("follow").checked = Boolean(page.active) && !location.hash.startsWith("#seq=");
startClock();
pauseWhenHidden();
route();
if (chip.dataset.status === "queued") {
  await readInput();
  fold.restate(fold.input?.messages ?? [], 0);
  schedule();
}
stream.open();
