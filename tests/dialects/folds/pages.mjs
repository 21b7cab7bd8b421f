// The pages' own folds, for the readers of readers.py: a line of JSON in, a line out.
//
// {"events"} is a short run, which a page folds by itself; {"rows", "messages"} are the outline and
// the messages of a long one, which the host has folded.

import { createInterface } from "node:readline";

import { Fold } from "../../../static/js/fold.mjs";
import { retell } from "../../../static/js/source/retell.mjs";

const SHOWN = new Set(["message", "tool", "reasoning", "activity"]);

function folded({ events, rows, messages }) {
  const fold = new Fold();
  if (rows) retell(fold, rows, messages);
  for (const [index, event] of (events ?? []).entries()) fold.feed(index + 1, event);
  return fold;
}

/** The conversation as a page shows it. A message without words can be one that only calls. */
function shown({ items }) {
  return items
    .filter(({ kind }) => SHOWN.has(kind))
    .map(({ kind, id, role, name, owner, text, attachments = [], result = null, content = null, open = false }) =>
      ({ kind, id, role, name: name || undefined, owner, text: text?.all() ?? "", attachments, result, content, open }))
    .filter(({ kind, text, attachments }) => kind !== "message" || text || attachments.length);
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(shown(folded(JSON.parse(line))))}\n`);
}
