/** The head of a run's page: the run's status, by the host's clock. */

import { spell } from "./clock.mjs";
import { alertIn, find } from "./dom.mjs";

export const page = find("run").dataset;
export const chip = document.querySelector(".title .chip");

/** Show the run as the API does; false for an answer from before its end that came after it. */
export function showRun(run, view) {
  const took = find("took");
  if (took.dataset.until && !run.ended_at) return false;
  if (chip.dataset.status !== run.status) {
    chip.textContent = run.status === "interrupted" ? "needs an answer" : run.status;
    chip.dataset.status = run.status;
  }
  document.title = document.title.replace(/[^·]+(?=·[^·]*$)/, ` ${chip.textContent} `);
  Object.assign(took.dataset, { since: run.started_at ?? "", until: run.ended_at ?? "" });
  spell(took);
  view.times(run);
  return true;
}

const MARK = `reset of ${location.pathname}`;
const WENT_BACK = "The host's database went back to an earlier state. This is the run as it is now; events that you saw may be gone.";

/** The host's history went back: load the page again, once in each epoch. False if that was done. */
export function loadAgain(epoch) {
  if (sessionStorage.getItem(MARK)?.split(":")[0] === String(epoch)) return false;
  sessionStorage.setItem(MARK, `${epoch}:unsaid`);
  location.reload();
  return true;
}

/** Say why the page was loaded again. */
export function explainReset() {
  const [epoch, unsaid] = sessionStorage.getItem(MARK)?.split(":") ?? [];
  if (!unsaid) return;
  sessionStorage.setItem(MARK, epoch);
  alertIn(find("problem"), WENT_BACK);
}
