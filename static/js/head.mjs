/** The head of a run's page: how the run stands, by the host's clock. */

import { spell } from "./clock.mjs";
import { find } from "./dom.mjs";

export const page = find("run").dataset;
export const chip = document.querySelector(".title .chip");

/** Show the run as the API does; false for an answer from before its end that came behind it. */
export function showRun(run, view) {
  const took = find("took");
  if (took.dataset.until && !run.ended_at) return false;
  chip.dataset.status = chip.textContent = run.status;
  document.title = document.title.replace(/· \w+ ·/, `· ${run.status} ·`);
  Object.assign(took.dataset, { since: run.started_at ?? "", until: run.ended_at ?? "" });
  spell(took);
  view.times(run);
  return true;
}
