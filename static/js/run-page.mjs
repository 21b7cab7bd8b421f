/** One run, live: the public stream feeds its views, a frame at a time. */

import { post, read } from "./api.mjs";
import { startClock } from "./clock.mjs";
import { replace } from "./drafts.mjs";
import { alertIn, find, pauseWhenHidden, showConnection, write } from "./dom.mjs";
import { chip, explainReset, loadAgain, page, showRun } from "./head.mjs";
import { JsonTree } from "./json-tree.mjs";
import { offer } from "./neighbours.mjs";
import { source as newsOf } from "./news.mjs";
import { RunView } from "./run-view.mjs";
import { signedOut } from "./session.mjs";
import { PagedRun } from "./source/paged.mjs";
import { WholeRun } from "./source/whole.mjs";
import { RunStream, TERMINAL } from "./stream.mjs";

/** Events that a page reads all at once, in a fraction of a second. */
const SHORT = 2000;
const BEAT = 8000;

const cancel = find("cancel");
const input = new JsonTree(find("input-tree"));
const head = Number(page.head);
const long = head > SHORT && find("timeline");
const source = long ? new PagedRun({ events: page.events, run: page.run, head }) : new WholeRun();
const view = new RunView({ source, active: Boolean(page.active), failed: chip.dataset.status === "failed", drawOther: draw });
const { fold } = view;
let drawnInput;
let reading = null;

const stream = new RunStream({
  events: page.events,
  run: page.run,
  // The newest event comes again: the run may have ended with the next one while the page was made.
  after: long ? `*-${head - 1}` : 0,
  onEvent(seq, event, raw) {
    view.feed(seq, event, raw);
    if (event.type === "RUN_STARTED" && chip.dataset.status === "queued") refresh();
    if (TERMINAL.has(event.type) && page.active) refresh();
  },
  onState(name, status) {
    showConnection(name, "Disconnected");
    if (name === "lost" && status === 401) signedOut();
    else if (name === "lost") problem("You can no longer see this run.");
    else if (name === "reset" && !loadAgain(status)) stream.restart();
  },
});

function draw(tab) {
  const { counts } = source;
  if (counts) {
    write(find("count-messages"), counts.messages);
    write(find("count-tools"), counts.tools);
  }
  if (tab === "input") drawInput();
}

async function drawInput() {
  if (drawnInput && drawnInput === fold.input) return;
  if (!fold.input) await readInput();
  drawnInput = fold.input;
  input.show(fold.input);
}

/** The stored input: for a run that waits, or whose first event was too large to hold it. */
function readInput() {
  reading ??= read(page.input).then((body) => (fold.input ??= body), () => null);
  return reading;
}

/** Ask for the run's status: its times are the host's, not those an agent wrote on its events. */
function refresh() {
  read(page.run).then(show, () => {});
}

/** The facts and actions of an ended run, and the text about its end, as on a fresh page. */
async function complete() {
  page.active = "";
  const answer = await fetch(location.pathname);
  if (!answer.ok) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of document.querySelectorAll(".later, #facts")) replace(part, fresh.getElementById(part.id));
  view.draw();
}

function show(run) {
  const active = run.status === "queued" || run.status === "running";
  if (run.status === "interrupted" && chip.dataset.status !== run.status) document.body.dispatchEvent(new Event("questions"));
  if (!showRun(run, view)) return;
  if (run.status !== "queued") find("waits")?.remove();
  chip.toggleAttribute("data-cancelling", active && Boolean(run.cancel_requested_at));
  if (page.active && !active) complete();
  if (!cancel) return;
  cancel.hidden = !active;
  cancel.disabled = Boolean(run.cancel_requested_at);
}

/** Ask for the run now and then: a stream that is open, and silent, may be dead. */
function beat() {
  const news = newsOf("run");
  let behind = 0;
  const timer = setInterval(async () => {
    if (document.hidden) return;
    const run = await read(page.run).catch(() => null);
    if (!run) return;
    show(run);
    behind = run.events > stream.last ? behind + 1 : 0;
    if (behind < 2) news.heard();
    else stream.again();
    if (run.ended_at) {
      news.end();
      clearInterval(timer);
    }
  }, BEAT);
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

startClock();
explainReset();
pauseWhenHidden();
view.keys.add(offer());
if (chip.dataset.status === "queued") {
  await readInput();
  fold.restate(fold.input?.messages ?? [], 0);
  view.draw();
}
if (!long || page.active) stream.open();
if (page.active) beat();
