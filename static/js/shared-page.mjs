/** The page of a run for visitors with a link: live and read-only. */

import { spell, startClock } from "./clock.mjs";
import { Conversation } from "./conversation.mjs";
import { alertIn, find, perFrame, showConnection } from "./dom.mjs";
import { EventTable } from "./event-table.mjs";
import { Fold } from "./fold.mjs";
import { JsonTree } from "./json-tree.mjs";
import { OutlinePanel } from "./outline.mjs";
import { RunStream } from "./stream.mjs";
import { Tabs } from "./tabs.mjs";

const page = find("run").dataset;
const chip = document.querySelector(".title .chip");
const fold = new Fold();
const conversation = new Conversation(find("conversation"), find("earlier"), fold);
const state = new JsonTree(find("state-tree"));
const table = new EventTable({
  log: find("log"), detail: find("detail"), filter: find("filter"), follow: find("follow"), shown: find("shown"),
  onSelect: () => {},
});
const schedule = perFrame(draw);
const tabs = new Tabs(document.querySelector("[role=tablist]"), schedule);
const outline = find("outline") && new OutlinePanel(find("outline"), (seq) => {
  tabs.show("events");
  table.select(seq);
  find("log").focus();
});
let drawnState = -1;

const stream = new RunStream({
  events: page.events,
  run: page.run,
  onEvent(seq, event, raw) {
    fold.feed(seq, event);
    table.push(event.type, event.timestamp, raw);
    outline?.notice(seq, event.type);
    if (event.type === "RUN_STARTED" || fold.end) refresh();
    schedule();
  },
  onState(name) {
    showConnection(name, "Access ended");
    if (name === "lost") alertIn(find("problem"), "This link no longer works: it was revoked or has expired.");
  },
});

function draw() {
  find("count-events").textContent = table.events.length;
  if (tabs.shown === "messages") {
    const { scrollHeight, clientHeight } = document.documentElement;
    const atEnd = scrollY + clientHeight >= scrollHeight - 80;
    conversation.draw();
    find("placeholder").hidden = fold.items.length > 0;
    if (fold.end) find("placeholder").textContent = "This run produced no messages.";
    if (atEnd && page.active) scrollTo({ top: scrollHeight });
  }
  if (tabs.shown === "events") table.draw();
  if (tabs.shown === "state" && drawnState !== fold.stateVersion) {
    drawnState = fold.stateVersion;
    state.show(fold.state);
  }
}

/** How the run stands, by the host's clock. */
async function refresh() {
  const answer = await fetch(page.run, { headers: { Accept: "application/json" } });
  if (!answer.ok) return;
  const run = await answer.json();
  chip.dataset.status = chip.textContent = run.status;
  document.title = document.title.replace(/· \w+ ·/, `· ${run.status} ·`);
  const took = find("took");
  took.dataset.since = run.started_at ?? "";
  took.dataset.until = run.ended_at ?? "";
  spell(took);
}

startClock();
stream.open();
