/** The page of a run that was saved as a file: it contains its log, and nothing is fetched. */

import { find } from "./dom.mjs";
import { RunView } from "./run-view.mjs";
import { WholeRun } from "./source/whole.mjs";

/** Events between two breaths, in which the page can draw and be used. */
const SLICE = 2000;

const lines = find("log-lines").textContent.split("\n").filter(Boolean);
const view = new RunView({ source: new WholeRun(), active: false, failed: Boolean(find("run").dataset.failed) });

function feed(from) {
  const end = Math.min(from + SLICE, lines.length);
  for (let i = from; i < end; i += 1) view.feed(i + 1, JSON.parse(lines[i]), lines[i]);
  if (end < lines.length) setTimeout(() => feed(end));
}

feed(0);
