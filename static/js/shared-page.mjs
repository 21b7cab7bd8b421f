/** The page of a run for visitors with a link: live and read-only. */

import { spell, startClock } from "./clock.mjs";
import { alertIn, find, showConnection } from "./dom.mjs";
import { RunView } from "./run-view.mjs";
import { WholeRun } from "./source/whole.mjs";
import { RunStream } from "./stream.mjs";

const page = find("run").dataset;
const chip = document.querySelector(".title .chip");
const view = new RunView({ source: new WholeRun(), active: Boolean(page.active), failed: chip.dataset.status === "failed" });

const stream = new RunStream({
  events: page.events,
  run: page.run,
  onEvent(seq, event, raw) {
    view.feed(seq, event, raw);
    if (event.type === "RUN_STARTED" || view.fold.end) refresh();
  },
  onState(name) {
    showConnection(name, "Access ended");
    if (name === "lost") alertIn(find("problem"), "This link no longer works: it was revoked or has expired.");
  },
});

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
  view.times(run);
}

startClock();
stream.open();
