/** The page of a run for visitors with a link: live and read-only. */

import { read } from "./api.mjs";
import { startClock } from "./clock.mjs";
import { alertIn, find, showConnection } from "./dom.mjs";
import { chip, explainReset, loadAgain, page, showRun } from "./head.mjs";
import { RunView } from "./run-view.mjs";
import { WholeRun } from "./source/whole.mjs";
import { RunStream } from "./stream.mjs";

const view = new RunView({ source: new WholeRun(), active: Boolean(page.active), failed: chip.dataset.status === "failed" });

const stream = new RunStream({
  events: page.events,
  run: page.run,
  onEvent(seq, event, raw) {
    view.feed(seq, event, raw);
    if (event.type === "RUN_STARTED" || view.fold.end) read(page.run).then((run) => showRun(run, view), () => {});
  },
  onState(name, epoch) {
    showConnection(name, "Access ended");
    if (name === "reset" && !loadAgain(epoch)) stream.restart();
    if (name === "lost") alertIn(find("problem"), "This link no longer works: it was revoked or has expired.");
  },
});

startClock();
explainReset();
stream.open();
